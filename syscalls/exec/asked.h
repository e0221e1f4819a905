/* Execs that an approver is asked about: makes what the question shows. For execve.c; the check is in execve.h. */
#ifndef CALLGATE_SYSCALLS_EXEC_ASKED_H
#define CALLGATE_SYSCALLS_EXEC_ASKED_H

#include <stdint.h>

#include "syscalls/call/call.h"
#include "syscalls/exec/execve.h"
#include "syscalls/exec/shebang.h"

/*
 * Copies what a judged exec would run: the arguments at argv and the environment at envp, in target memory, and the
 * state of the files at its resolved places. args: what a script's arguments begin with. 0 with an owned *ret_asked, or
 * -errno: do not ask.
 */
int exec_asked_create(const struct call *call, uint64_t argv, uint64_t envp, const struct exec_args *args,
		      struct exec_asked **ret_asked);

#endif
