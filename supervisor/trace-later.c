#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/notify.h"
#include "supervisor/trace-private.h"

#include "base/banned.h"

/* A judged call that waits in the kernel, its notification unanswered. */
struct later {
	struct later *next;
	struct call call;       /* a copy: texts, registers, slot */
	struct task task;       /* what call.task points to; no exe */
	struct exec_plan *plan; /* owned */
	char *host;             /* owned, when there is no plan */
};

/* The exec of another thread of the call's process that the kernel may be busy with. */
static struct pending *exec_under_way(const struct tracer *tracer, const struct call *call)
{
	struct pending *pending = tracer->pending;

	while (pending && !(pending->tgid == call->task->tgid && pending->tid != call->tid && pending->plan &&
			    pending->state == PENDING_RUNNING))
		pending = pending->next;
	return pending;
}

bool later_needed(const struct tracer *tracer, const struct call *call)
{
	return exec_under_way(tracer, call) != NULL;
}

static void later_free(struct later *later)
{
	exec_plan_free(later->plan);
	free(later->host);
	free(later);
}

enum trace_answer later_add(struct tracer *tracer, const struct call *call, struct exec_plan *plan, char *host,
			    int *ret_error)
{
	struct pending *busy = exec_under_way(tracer, call);
	struct later *later = calloc(1, sizeof(*later));

	if (!later) {
		exec_plan_free(plan);
		free(host);
		*ret_error = -ENOMEM;
		return TRACE_FAIL;
	}
	later->call = *call;
	later->task = *call->task;
	later->task.exe = NULL;
	later->call.task = &later->task;
	later->plan = plan;
	later->host = host;
	later->next = tracer->later;
	tracer->later = later;
	/* One that was let run without an interrupt and has failed shows it by this. */
	if (busy && busy->patient)
		(void)ptrace(PTRACE_INTERRUPT, busy->tid, 0, 0);
	return TRACE_LATER;
}

/* As the dispatcher answers: the outcome of a failure is written here, everything else by the tracer in the end. */
static void begin_late(struct tracer *tracer, struct later *later)
{
	struct call *call = &later->call;
	int listener = call->sandbox->listener_fd;
	enum trace_answer answer;
	int error = -EPERM;

	if (later->plan)
		answer = trace_exec(tracer, call, steal_pointer(&later->plan), &error);
	else
		answer = trace_chdir(tracer, call, steal_pointer(&later->host), &error);
	/* ENOENT of an answer: the task is gone, its exit is reported. */
	if (answer == TRACE_CONTINUE)
		(void)notify_continue(listener, call->id);
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
