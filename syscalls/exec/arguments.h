/* The arguments of an exec as text, for the audit record. */
#ifndef CALLGATE_SYSCALLS_EXEC_ARGUMENTS_H
#define CALLGATE_SYSCALLS_EXEC_ARGUMENTS_H

#include "syscalls/call/call.h"

/*
 * Puts the arguments at argv, an address in target memory, into call->text_arg for the record: separated by blanks,
 * quoted as for a shell, at most about 4 KiB. The kernel reads argv again, and the program may change it before that.
 */
void exec_record_arguments(struct call *call, uint64_t argv);

#endif
