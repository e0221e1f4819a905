/*
 * Judges calls with a process id argument: for them, processes outside the run do not exist. Also the verdict of calls
 * that no policy rule is about. Used by many handlers.
 */
#ifndef CALLGATE_SYSCALLS_PROCESS_TARGET_H
#define CALLGATE_SYSCALLS_PROCESS_TARGET_H

#include "syscalls/call/call.h"

/* Allows a call that no policy rule is about. */
void target_allow_without_rule(struct call *call);

/* Allows the call, and lets the kernel perform it. */
static inline void target_allow_continue(struct call *call)
{
	target_allow_without_rule(call);
	call_continue(call);
}

/* Allows the call, but sets an error that the kernel would return. error is -errno. */
static inline void target_allow_but_fail(struct call *call, int error)
{
	target_allow_without_rule(call);
	call_fail(call, error);
}

/* Refuses the call with ESRCH, reason "outside_run". */
void target_refuse_pid_outside_run(struct call *call);

/* Whether pid is the target process or thread itself. */
bool target_is_self(const struct call *call, pid_t pid);

/*
 * Opens a pidfd of the process that pid belongs to or, with `thread`, of that thread (Linux 6.9). Checks that it is in
 * the run only after it is open, so that the pid cannot be reused meanwhile. Returns a descriptor owned by the caller;
 * -ESRCH: outside the run, or dead; -EINVAL: the kernel has no pidfds of threads.
 */
int target_open_pidfd(const struct call *call, pid_t pid, bool thread);

/* Continues the call if the pid in a register is of the run, else refuses it. */
void target_continue_if_in_run(struct call *call, pid_t pid);

#endif
