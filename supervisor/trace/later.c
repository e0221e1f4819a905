#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "supervisor/answer.h"
#include "supervisor/trace/private.h"

/* The entry of an exec that another thread of the process is performing, or NULL. */
static struct pending *later_find_exec_of_other_thread(const struct tracer *tracer, pid_t tgid, pid_t tid)
{
	struct pending *pending = tracer->pending;

	while (pending && !(pending->tgid == tgid && pending->tid != tid && pending_is_in_exec(pending)))
		pending = pending->next;
	return pending;
}

/* Interrupts an exec that was continued without an interrupt. If the exec has failed, its thread stops now. */
static void later_interrupt_exec(struct pending *busy)
{
	if (busy->skip_interrupt && ptrace(PTRACE_INTERRUPT, busy->tid, 0, 0) == 0)
		busy->skip_interrupt = false;
}

bool later_call_must_wait(const struct tracer *tracer, const struct call *call)
{
	return pending_tid_may_be_reused(pending_find_newest(tracer, call->tid)) ||
	       later_find_exec_of_other_thread(tracer, call->task->tgid, call->tid);
}

void later_free(struct later *later)
{
	exec_plan_free(later->call.outcome.exec);
	cleanup_close(&later->call.outcome.fd);
	free(later);
}

int later_queue_call_until_exec_ends(struct tracer *tracer, struct call *call)
{
	struct pending *busy = later_find_exec_of_other_thread(tracer, call->task->tgid, call->tid);
	struct later *later = calloc(1, sizeof(*later));

	if (!later)
		return -ENOMEM;
	later->call = *call;
	call->outcome.exec = NULL;
	call->outcome.fd = -1;
	for (size_t i = 0; i < sizeof(call->place) / sizeof(call->place[0]); i++)
		place_fix_rest_after_assignment(&later->call.place[i], &call->place[i]);
	later->task = *call->task;
	later->task.exe = NULL;
	later->call.task = &later->task;
	later->next = tracer->later;
	tracer->later = later;
	if (busy)
		later_interrupt_exec(busy);
	return 0;
}

struct later *later_dequeue_ready_call(struct tracer *tracer, bool *ret_awaited)
{
	for (struct later **link = &tracer->later; *link; link = &(*link)->next) {
		struct later *later = *link;
		struct answer answer = answer_make_for_later_response(&later->call);

		*ret_awaited = answer_is_awaited(&answer);
		if (*ret_awaited && later_call_must_wait(tracer, &later->call))
			continue;
		*link = later->next;
		return later;
	}
	return NULL;
}

bool later_keep_stop_during_exec(const struct tracer *tracer, struct pending *pending, int status)
{
	pid_t pid = pending->tid;
	struct pending *busy = pid == pending->tgid ? later_find_exec_of_other_thread(tracer, pid, pid) : NULL;

	if (!busy)
		return false;
	later_interrupt_exec(busy);
	pending->held_status = status;
	return true;
}

void later_free_all(struct tracer *tracer)
{
	while (tracer->later) {
		struct later *later = tracer->later;

		tracer->later = later->next;
		later_free(later);
	}
}
