/*
 * Calls with a process id argument: processes outside the run do not exist for them. Also the verdict of calls that no
 * policy rule is about. Used by many handlers.
 */
#ifndef CALLGATE_SYSCALLS_PROCESS_TARGET_H
#define CALLGATE_SYSCALLS_PROCESS_TARGET_H

#include "syscalls/call/call.h"

/* Allows a call that no policy rule is about. */
void target_allow_call(struct call *call);

/* As target_allow_call, and the kernel performs the call. */
static inline void target_allow_continue(struct call *call)
{
	target_allow_call(call);
	call_continue(call);
}

/* Allows the call, but fails it as the kernel would. error is -errno. */
static inline void target_fail_call(struct call *call, int error)
{
	target_allow_call(call);
	call_fail(call, error);
}

/* Refuses with ESRCH "outside_run". */
void target_refuse_outsider(struct call *call);

/* True when pid is the target process or thread itself. */
bool target_is_self(const struct call *call, pid_t pid);

/*
 * A pidfd of a member of the run: of the process that pid belongs to; with `thread`, of that thread (Linux 6.9).
 * Membership is checked after the pidfd is open, so that the pid cannot be reused in between. Returns a descriptor
 * owned by the caller; -ESRCH: outside the run, or dead; -EINVAL: the kernel has no pidfds of threads.
 */
int target_open_pidfd(const struct call *call, pid_t pid, bool thread);

/* Judges a call by the pid in a register alone: continued for members of the run, else refused. */
void target_continue_if_member(struct call *call, pid_t pid);

#endif
