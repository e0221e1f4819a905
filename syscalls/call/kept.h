/*
 * A copy of a judged call that waits for a copy of a file (OUTCOME_COPY_FIRST), and is judged again then. If its thread
 * is killed meanwhile, this is what the log tells of the call. Used in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_CALL_KEPT_H
#define CALLGATE_SYSCALLS_CALL_KEPT_H

#include "syscalls/call/call.h"

struct kept_call {
	struct call call; /* it has failed with EINTR */
	struct task task; /* of call */
	struct call_answer answer;
	char exe[]; /* of task */
};

/* Copies the call. Owned by the caller: free(). NULL: no memory. */
struct kept_call *kept_call_create(const struct call *call);

#endif
