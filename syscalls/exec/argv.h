/* The arguments of an exec, for its record. */
#ifndef CALLGATE_SYSCALLS_EXEC_ARGV_H
#define CALLGATE_SYSCALLS_EXEC_ARGV_H

#include "syscalls/call/call.h"

/*
 * Puts the texts argv (an address in the task) points to into call->text, separated by blanks, quoted as a shell wants
 * them, cut after about 4 KiB. Informational: the kernel reads argv again, and the program may have changed it by then.
 */
void exec_note_argv(struct call *call, uint64_t argv);

#endif
