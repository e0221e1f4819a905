#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/ask/ask.h"
#include "supervisor/dispatch-call.h"
#include "supervisor/outcome.h"
#include "supervisor/session/session.h"
#include "syscalls/arch/arch.h"
#include "syscalls/net/netlink.h"

int dispatch_init(struct dispatch *dispatch, struct sandbox *sandbox)
{
	size_t rows;

	(void)table_get_rows(&rows);
	dispatch->sandbox = sandbox;
	dispatch->call = calloc(1, sizeof(*dispatch->call));
	dispatch->counts.call_count_by_row = calloc(rows, sizeof(*dispatch->counts.call_count_by_row));
	return dispatch->call && dispatch->counts.call_count_by_row ? 0 : -ENOMEM;
}

void dispatch_release(struct dispatch *dispatch)
{
	free(steal_pointer(&dispatch->call));
	free(steal_pointer(&dispatch->counts.call_count_by_row));
}

/* Runs the row's hook. True: the call needs neither a verdict nor a record. */
static bool dispatch_run_hook(struct dispatch *dispatch, const struct syscall_row *row,
			      const struct seccomp_notif *notification)
{
	struct sandbox *sandbox = dispatch->sandbox;
	pid_t tid = (pid_t)notification->pid;

	switch (row->hook) {
	case HOOK_SIGRETURN:
		interrupted_on_sigreturn(&dispatch->interrupted_calls, sandbox->target_memory, sandbox->listener_fd,
					 notification);
		return true;
	case HOOK_GET_AFFINITY:
	case HOOK_SET_AFFINITY:
		return cpu_unpin_before_affinity_call(dispatch->cpu, row, notification);
	case HOOK_SEND:
		return netlink_send_may_continue(sandbox->netlink, tid, row, notification->data.args);
	case HOOK_FCNTL_LOCK: /* dispatch_continue_unjudged() */
	case HOOK_NONE:
	default:
		return false;
	}
}

/* Judges a call again, which copies what it needs by itself. */
static void dispatch_again_inline(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	const struct dispatch_again outer = dispatch->again;

	dispatch->again = (struct dispatch_again){.id = notification->id,
						  .start_ns = dispatch->call->start_ns,
						  .copies_inline = true,
						  .judged = outer.judged};
	dispatch_notification(dispatch, notification);
	dispatch->again = outer;
}

/*
 * Continues a call that is not judged: an exec that was verified and then restarted, or a record lock up to the limit.
 * Other commands of fcntl(2), and further locks, are judged.
 */
static bool dispatch_continue_unjudged(struct dispatch *dispatch, const struct seccomp_notif *notification,
				       const struct syscall_row *row)
{
	struct sandbox *sandbox = dispatch->sandbox;
	const struct seccomp_data *data = &notification->data;

	if (trace_is_restarted_exec(dispatch->tracer, (pid_t)notification->pid, data->nr, data->args)) {
		(void)answer_continue(sandbox->listener_fd, notification->id, row, CONTINUE_EXEC_VERIFIED);
		return true;
	}
	if (row && row->hook == HOOK_FCNTL_LOCK && locks_command_needs_admission(data->args[1]) &&
	    locks_admit_fcntl(&sandbox->record_locks, data->args[1], io_read_clock_ns())) {
		(void)answer_continue(sandbox->listener_fd, notification->id, row, CONTINUE_REGISTERS_JUDGED);
		return true;
	}
	return false;
}

/* Finishes dispatch->call, which was judged, or begins what must come first: a descriptor, a copy, an answer. */
static void dispatch_finish_judged_call(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct call *call = dispatch->call;

	if (call->outcome.kind == OUTCOME_FETCH_DESCRIPTOR) {
		/* The target thread sends the supervisor a descriptor; then its call is restarted and judged again. */
		int r = trace_start_call(dispatch->tracer, call);

		if (r == 0)
			return;
		call_fail(call, r);
	}
	if (ask_about_denial(dispatch, notification))
		return;
	if (call->outcome.kind != OUTCOME_COPY_FIRST)
		dispatch_finish_call(dispatch, notification);
	else if (!dispatch_begin_copy(dispatch, notification)) /* else a worker copies; then the call is judged again */
		dispatch_again_inline(dispatch, notification);
}

void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct call *call = dispatch->call;
	const struct seccomp_data *data = &notification->data;
	const struct syscall_row *row = data->arch == arch_get_audit_arch() ? table_find_row(data->nr) : NULL;
	pid_t tid = (pid_t)notification->pid;
	int fetched = -1;
	bool again;

	dispatch->last_response_ns = 0;
	if (row && dispatch_run_hook(dispatch, row, notification)) {
		(void)answer_continue_after_hook(dispatch->sandbox->listener_fd, notification, row);
		return;
	}
	/* the latter for a call whose question was about another one */
	again = trace_take_fetched_fd(dispatch->tracer, tid, data->nr, data->args, &fetched) ||
		trace_copy_fetched_fd(dispatch->tracer, tid, data->nr, data->args, &fetched);
	if (!again && dispatch_continue_unjudged(dispatch, notification, row))
		return;
	if (row)
		dispatch_begin_call(dispatch, notification, row);
	else
		dispatch_refuse_unlisted_call(dispatch, notification);
	call->fails_instead_of_waiting = interrupted_is_restarted_open(&dispatch->interrupted_calls, notification);
	call->has_fetched_fd = again;
	call->fetched_fd = fetched;
	if (!dispatch_find_task(call)) {
		dispatch_close_fetched_fd(call);
		(void)dispatch_record_killed_call(dispatch, notification);
		return;
	}
	if (dispatch->session)
		session_assign_task_to_program(dispatch->session, call->task);
	if (row && call->decision.verdict != VERDICT_DENY)
		dispatch_judge_call(call);
	dispatch_refuse_traced_call(call);
	dispatch_close_fetched_fd(call);
	dispatch_finish_judged_call(dispatch, notification);
}

void dispatch_after_copy(struct dispatch *dispatch, const struct copies_ended *ended)
{
	dispatch->again = (struct dispatch_again){.id = ended->notification.id,
						  .start_ns = ended->start_ns,
						  /* -ECANCELED: its thread does not wait any more */
						  .fill_error = ended->result == -ECANCELED ? 0 : (int)ended->result,
						  .judged = ended->judged};
	if (!ask_continue_after_copy(dispatch, ended->notification.id))
		dispatch_notification(dispatch, &ended->notification);
	dispatch->again = (struct dispatch_again){.id = 0};
	free(ended->judged);
}

void dispatch_end_copies(struct dispatch *dispatch)
{
	struct copies_ended ended;

	copies_end(dispatch->copies);
	while (copies_pop(dispatch->copies, &ended)) {
		dispatch->again = (struct dispatch_again){.judged = ended.judged};
		(void)dispatch_record_killed_call(dispatch, &ended.notification);
		free(ended.judged);
	}
}
