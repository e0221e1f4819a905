#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "supervisor/answer.h"
#include "supervisor/trace/private.h"

/* The entry of an exec that another thread of the process is performing, or NULL. */
static struct pending *delayed_find_exec_of_other_thread(const struct tracer *tracer, pid_t tgid, pid_t tid)
{
	struct pending *pending = tracer->pending;

	while (pending && !(pending->tgid == tgid && pending->tid != tid && pending_is_in_exec(pending)))
		pending = pending->next;
	return pending;
}

/*
 * Interrupts the thread of an exec that was continued without an interrupt. If the exec has failed, the thread stops
 * now.
 */
static void delayed_interrupt_exec(struct pending *busy)
{
	if (busy->interrupt_would_end_response_wait && ptrace(PTRACE_INTERRUPT, busy->tid, 0, 0) == 0)
		busy->interrupt_would_end_response_wait = false;
}

bool delayed_call_must_wait(const struct tracer *tracer, const struct call *call)
{
	return pending_tid_may_be_reused(pending_find_newest(tracer, call->tid)) ||
	       delayed_find_exec_of_other_thread(tracer, call->task->tgid, call->tid);
}

void delayed_call_free(struct delayed_call *later)
{
	exec_plan_free(later->call.outcome.exec_plan);
	cleanup_close(&later->call.outcome.fd);
	free(later);
}

int delay_call_until_exec_ends(struct tracer *tracer, struct call *call)
{
	struct pending *busy = delayed_find_exec_of_other_thread(tracer, call->task->tgid, call->tid);
	struct delayed_call *later = calloc(1, sizeof(*later));

	if (!later)
		return -ENOMEM;
	later->call = *call;
	call->outcome.exec_plan = NULL;
	call->outcome.fd = -1;
	for (size_t i = 0; i < sizeof(call->resolved_place) / sizeof(call->resolved_place[0]); i++)
		place_fix_path_after_assignment(&later->call.resolved_place[i], &call->resolved_place[i]);
	later->task = *call->task;
	later->task.exe = NULL;
	later->call.task = &later->task;
	later->next = tracer->delayed_calls;
	tracer->delayed_calls = later;
	if (busy)
		delayed_interrupt_exec(busy);
	return 0;
}

struct delayed_call *delayed_call_dequeue_ready(struct tracer *tracer, bool *ret_awaited)
{
	for (struct delayed_call **link = &tracer->delayed_calls; *link; link = &(*link)->next) {
		struct delayed_call *later = *link;
		struct delayed_response answer = answer_make_for_later_response(&later->call);

		*ret_awaited = answer_thread_still_waits(&answer);
		if (*ret_awaited && delayed_call_must_wait(tracer, &later->call))
			continue;
		*link = later->next;
		return later;
	}
	return NULL;
}

bool delay_stop_until_exec_ends(const struct tracer *tracer, struct pending *pending, int status)
{
	pid_t pid = pending->tid;
	struct pending *busy = pid == pending->tgid ? delayed_find_exec_of_other_thread(tracer, pid, pid) : NULL;

	if (!busy)
		return false;
	delayed_interrupt_exec(busy);
	pending->deferred_wait_status = status;
	return true;
}

void delayed_calls_free(struct tracer *tracer)
{
	while (tracer->delayed_calls) {
		struct delayed_call *later = tracer->delayed_calls;

		tracer->delayed_calls = later->next;
		delayed_call_free(later);
	}
}
