/*
 * A copy of a judged call that waits for a copy of a file (OUTCOME_COPY_FIRST), and is judged again then. If its thread
 * is killed meanwhile, this is what the log tells of the call. It has the texts as long as they are, because each
 * thread of the run may wait. Used in the supervisor thread.
 */
#ifndef CALLGATE_SYSCALLS_CALL_KEPT_H
#define CALLGATE_SYSCALLS_CALL_KEPT_H

#include "syscalls/call/call.h"

struct kept_call;

/* Copies the call. Owned by the caller: free(). NULL: no memory. */
struct kept_call *kept_call_create(const struct call *call);

/*
 * Makes *ret_call the call that was kept, failed with EINTR, or with its errno if it was denied. It borrows from
 * `kept`.
 */
void kept_call_restore(struct kept_call *kept, struct call *ret_call);

#endif
