#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "supervisor/answer.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

/* A judged call that waits in the kernel: nobody has responded to its notification yet. */
struct later {
	struct later *next;
	struct call call; /* a copy: texts, registers, slot; what its outcome owns is owned here */
	struct task task; /* what call.task points to; no exe */
};

/* The exec under way of another thread of the process. */
static struct pending *exec_under_way(const struct tracer *tracer, pid_t tgid, pid_t tid)
{
	struct pending *pending = tracer->pending;

	while (pending && !(pending->tgid == tgid && pending->tid != tid && pending_in_exec(pending)))
		pending = pending->next;
	return pending;
}

/* One that was let run without an interrupt shows by this that it failed. */
static void hurry(struct pending *busy)
{
	if (busy->patient && ptrace(PTRACE_INTERRUPT, busy->tid, 0, 0) == 0)
		busy->patient = false;
}

bool later_needed(const struct tracer *tracer, const struct call *call)
{
	return pending_outlived(pending_find(tracer, call->tid)) || exec_under_way(tracer, call->task->tgid, call->tid);
}

static void later_free(struct later *later)
{
	exec_plan_free(later->call.outcome.exec);
	cleanup_close(&later->call.outcome.fd);
	free(later);
}

int later_add(struct tracer *tracer, struct call *call)
{
	struct pending *busy = exec_under_way(tracer, call->task->tgid, call->tid);
	struct later *later = calloc(1, sizeof(*later));

	if (!later)
		return -ENOMEM;
	later->call = *call;
	call->outcome.exec = NULL;
	call->outcome.fd = -1;
	for (size_t i = 0; i < sizeof(call->place) / sizeof(call->place[0]); i++)
		place_copied(&later->call.place[i], &call->place[i]);
	later->task = *call->task;
	later->task.exe = NULL;
	later->call.task = &later->task;
	later->next = tracer->later;
	tracer->later = later;
	if (busy)
		hurry(busy);
	return 0;
}

bool later_stop(const struct tracer *tracer, struct pending *pending, int status)
{
	pid_t pid = pending->tid;
	struct pending *busy = pid == pending->tgid ? exec_under_way(tracer, pid, pid) : NULL;

	if (!busy)
		return false;
	hurry(busy);
	pending->held = status;
	return true;
}

/* Stops that were held. Handling one may begin an exec that others have to wait for. */
static void stops_run(struct tracer *tracer)
{
	struct pending *pending = tracer->pending;

	while (pending) {
		int status = pending->held;

		pending->held = 0;
		if (status == 0 || later_stop(tracer, pending, status)) {
			pending = pending->next;
			continue;
		}
		stop_other(tracer, pending->tid, status);
		pending = tracer->pending; /* it may be gone */
	}
}

void later_run(struct tracer *tracer)
{
	struct later **link = &tracer->later;

	stops_run(tracer);
	while (*link) {
		struct later *later = *link;
		struct answer answer = answer_later(&later->call);
		bool waits = answer_is_awaited(&answer);
		int r;

		if (waits && later_needed(tracer, &later->call)) {
			link = &later->next;
			continue;
		}
		*link = later->next;
		r = waits ? trace_start(tracer, &later->call) : -EINTR;
		if (r < 0 && waits && later->call.outcome.kind == OUTCOME_FETCH) { /* not on record so far */
			call_fail(&later->call, r);
			(void)call_commit(&later->call); /* failing, it is an error nevertheless */
			answer.slot = later->call.slot;
		}
		if (r < 0)
			answer_end(&answer, r);
		later_free(later);
		link = &tracer->later; /* what was begun may be in the others' way again */
	}
}

void later_free_all(struct tracer *tracer)
{
	while (tracer->later) {
		struct later *later = tracer->later;

		tracer->later = later->next;
		later_free(later);
	}
}
