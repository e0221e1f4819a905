/*
 * Calls that name a process: those outside the run do not exist. Verdict and effect are shared by signal.c, process.c.
 */
#ifndef CALLGATE_SYSCALLS_PROCESS_TARGET_H
#define CALLGATE_SYSCALLS_PROCESS_TARGET_H

#include "syscalls/call/call.h"

/* Marks the call allowed. Rows that no policy rule speaks about have no rule to name. */
void target_allow(struct call *call);

/* Allowed, but fails as the kernel would. error is -errno. */
static inline void target_fail(struct call *call, int error)
{
	target_allow(call);
	call_fail(call, error);
}

/* Refuses with ESRCH: the process is not a member of the run. */
void target_absent(struct call *call);

/* True when pid is the caller: its process or the calling thread. */
bool target_is_self(const struct call *call, pid_t pid);

/*
 * A pidfd of a member of the run: of the process pid belongs to or, with `thread`, of that thread (Linux 6.9).
 * Membership is asked after the descriptor holds the process, so a number used again cannot slip in between. Returns a
 * descriptor owned by the caller; -ESRCH for what is outside or gone; -EINVAL where the kernel knows no pidfds of
 * threads.
 */
int target_open(const struct call *call, pid_t pid, bool thread);

/* For calls whose registers alone name the target: continues them on members of the run, refuses the rest. */
void target_continue(struct call *call, pid_t pid);

#endif
