#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/notify.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

/* A judged call that waits in the kernel, its notification unanswered. */
struct later {
	struct later *next;
	struct call call;       /* a copy: texts, registers, slot */
	struct task task;       /* what call.task points to; no exe */
	struct later_what what; /* what it holds is owned */
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

static void what_done(struct later_what *what)
{
	exec_plan_free(what->plan);
	cleanup_close(&what->fd);
}

static void later_free(struct later *later)
{
	what_done(&later->what);
	free(later);
}

enum trace_answer later_add(struct tracer *tracer, const struct call *call, const struct later_what *what, int *ret_error)
{
	struct pending *busy = exec_under_way(tracer, call->task->tgid, call->tid);
	struct later *later = calloc(1, sizeof(*later));

	if (!later) {
		what_done(&(struct later_what){.plan = what->plan, .fd = what->fd});
		*ret_error = -ENOMEM;
		return TRACE_FAIL;
	}
	later->call = *call;
	for (size_t i = 0; i < sizeof(call->place) / sizeof(call->place[0]); i++)
		place_rebase(&later->call.place[i], &call->place[i]);
	later->task = *call->task;
	later->task.exe = NULL;
	later->call.task = &later->task;
	later->what = *what;
	later->next = tracer->later;
	tracer->later = later;
	if (busy)
		hurry(busy);
	return TRACE_LATER;
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

/* As the dispatcher answers: the outcome of a failure is written here, everything else by the tracer in the end. */
static void begin_late(struct tracer *tracer, struct later *later)
{
	struct call *call = &later->call;
	int listener = call->sandbox->listener_fd;
	enum trace_answer answer;
	int error = -EPERM;

	if (later->what.plan)
		answer = trace_exec(tracer, call, steal_pointer(&later->what.plan), &error);
	else if (later->what.maps)
		answer = trace_map(tracer, call, steal_fd(&later->what.fd), &error);
	else if (later->what.fetches)
		answer = trace_fetch(tracer, call, later->what.wanted, &error);
	else
		answer = trace_pathfd(tracer, call, steal_fd(&later->what.fd), later->what.cloexec, &error);
	if (answer == TRACE_FAIL && later->what.fetches) { /* judged only when it comes round again: not on record so far */
		call_fail(call, error);
		(void)call_commit(call); /* failing, it is an error nevertheless */
	}
	/* ENOENT of an answer: the task is gone, its exit is reported. */
	if (answer == TRACE_CONTINUE)
		(void)notify_continue(listener, call->id, call->row, CONTINUE_VERIFIED);
	else if (answer == TRACE_INTERRUPT)
		(void)notify_error(listener, call->id, -EINTR);
	else if (answer == TRACE_FAIL)
		(void)notify_error(listener, call->id, error);
	if (answer == TRACE_FAIL)
		audit_end(tracer->sandbox->audit, call->slot, error, io_now_ns() - call->start_ns);
}

void later_run(struct tracer *tracer)
{
	struct later **link = &tracer->later;

	stops_run(tracer);
	while (*link) {
		struct later *later = *link;
		bool waits = call_valid(&later->call);

		if (waits && later_needed(tracer, &later->call)) {
			link = &later->next;
			continue;
		}
		*link = later->next;
		if (waits)
			begin_late(tracer, later);
		else
			audit_end(tracer->sandbox->audit, later->call.slot, -EINTR, io_now_ns() - later->call.start_ns);
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
