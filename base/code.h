/* The process's own code. */
#ifndef CALLGATE_BASE_CODE_H
#define CALLGATE_BASE_CODE_H

/*
 * Gives back the memory of code that was needed once: of every library's executable part, which comes again from the page
 * cache where it is needed. For a process that goes on to wait.
 */
void code_give_back(void);

#endif
