/* Prepares the descriptor table of a fork of the keeper. */
#ifndef CALLGATE_CONFINE_DESCRIPTORS_H
#define CALLGATE_CONFINE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* Closes all descriptors except 0-2 and those in `keep`, which is sorted; its negative entries are ignored. */
void descriptors_close_all_but(int *keep, size_t count);

/* Redirects descriptors 0 and 1 to /dev/null; also 2, unless with_stderr (for sanitizers and the C library). */
void descriptors_detach_stdio(bool with_stderr);

/*
 * Makes the descriptor table as large as a usual run needs, while the process has one thread. In a process with several
 * threads, growing the table waits for an RCU grace period (expand_fdtable() in fs/file.c): 4-15 ms without any
 * response. May fail.
 */
void descriptors_enlarge_table(void);

#endif
