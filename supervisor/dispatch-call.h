/*
 * The steps of handling one call, on dispatch->call. For dispatch.c and ask/, in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_DISPATCH_CALL_H
#define CALLGATE_SUPERVISOR_DISPATCH_CALL_H

#include "supervisor/dispatch.h"

/* Begins the call of a notification: resets dispatch->call. */
void dispatch_begin_call(struct dispatch *dispatch, const struct seccomp_notif *notification,
			 const struct syscall_row *row);
/*
 * Begins a call with an unlisted number or of another architecture (int 0x80, x32), and refuses it with ENOSYS, as an
 * older kernel does.
 */
void dispatch_refuse_unlisted_call(struct dispatch *dispatch, const struct seccomp_notif *notification);

/*
 * Sets call->task. False: the target thread is dead, and no response is due. If the thread cannot be looked up (no
 * memory, no descriptor), its call is refused, and only its pid is recorded.
 */
bool dispatch_find_task(struct call *call);

/* Copies the arguments, and calls the row's handler, which judges the call and sets the outcome. */
void dispatch_judge_call(struct call *call);
/* Closes the fetched descriptor, unless the handler took it. */
void dispatch_close_fetched_fd(struct call *call);
/* Refuses a call for which the supervisor would have to seize a thread that another process of the run traces. */
void dispatch_refuse_traced_call(struct call *call);

/* Records the verdict, then performs the outcome. A call that cannot be recorded fails and is not performed. */
void dispatch_finish_call(struct dispatch *dispatch, const struct seccomp_notif *notification);

/*
 * Records the call that is judged again, as it was judged before it waited for a copy, because its thread is dead:
 * it becomes dispatch->call. False: it is no such call.
 */
bool dispatch_record_killed_call(struct dispatch *dispatch, const struct seccomp_notif *notification);

/* Begins what OUTCOME_COPY_FIRST of dispatch->call needs. False: no thread can, and it is to be done in the call. */
bool dispatch_begin_copy(struct dispatch *dispatch, const struct seccomp_notif *notification);

#endif
