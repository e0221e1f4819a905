#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/trace/private.h"

/* most calls of one thread that wait for a restart, because signal handlers interrupted each other */
#define RESTARTS_PER_THREAD_MAX 8

struct pending *pending_find_newest(const struct tracer *tracer, pid_t tid)
{
	struct pending *pending = tracer->pending;

	while (pending && pending->tid != tid)
		pending = pending->next;
	return pending;
}

bool pending_is_in_exec(const struct pending *pending)
{
	return pending->plan && pending->state == PENDING_RUNNING;
}

bool pending_tid_may_be_reused(const struct pending *pending)
{
	return pending && pending_is_in_exec(pending) && !pending->interrupt_would_end_response_wait;
}

void pending_end_record(struct tracer *tracer, struct pending *pending, int64_t ret)
{
	audit_end_record(tracer->sandbox->audit, pending->outcome_location, ret,
			 io_read_clock_ns() - pending->start_ns);
	pending->outcome_location.seq = 0; /* the record has ended: ending it again has no effect */
}

/* Releases what the entry holds for its call. */
static void pending_release_resources_of_call(struct tracer *tracer, struct pending *pending)
{
	exec_plan_free(steal_pointer(&pending->plan));
	free(steal_pointer(&pending->path_as_written));
	blob_release(&pending->blob);
	pending->blob_addr = 0;
	pending->interrupt_would_end_response_wait = false;
	pending->carrier_is_directory = pending->carrier_becomes_controlling_tty = false;
	pending->calls_before_restart = 0;
	if (pending->kind == PENDING_SEND_FD_TO_SUPERVISOR) {
		cleanup_close(&pending->supervisor_carrier_end_fd);
		cleanup_close(&pending->fetched_fd);
		tracer->fetched_descriptor_count--;
	}
	pending->kind = PENDING_VERIFY_EXEC;
}

void pending_remove_entry(struct tracer *tracer, struct pending *pending)
{
	struct pending **link = &tracer->pending;

	while (*link != pending)
		link = &(*link)->next;
	*link = pending->next;
	pending_release_resources_of_call(tracer, pending);
	free(pending);
}

void pending_end_and_remove(struct tracer *tracer, struct pending *pending, int64_t ret)
{
	pending_end_record(tracer, pending, ret);
	pending_remove_entry(tracer, pending);
}

void pending_end_call_and_detach(struct tracer *tracer, struct pending *pending)
{
	pending_end_record(tracer, pending, -EINTR);
	pending_release_resources_of_call(tracer, pending);
	pending->state = PENDING_TO_BE_DETACHED;
	if (ptrace(PTRACE_INTERRUPT, pending->tid, 0, 0) < 0)
		pending_remove_entry(tracer, pending); /* the thread is dead */
}

static struct pending *pending_add_entry(struct tracer *tracer, const struct call *call)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return NULL;
	pending->tid = call->tid;
	pending->tgid = call->task->tgid;
	pending->next = tracer->pending;
	tracer->pending = pending;
	return pending;
}

/* The entry for a new call of a seized thread: a new entry if the newest waits for a restart, else the newest. */
static struct pending *pending_get_entry_for_new_call(struct tracer *tracer, const struct call *call,
						      struct pending *newest)
{
	unsigned depth = 0;

	for (const struct pending *pending = newest; pending; pending = pending->next)
		depth += pending->tid == call->tid;
	if (newest->state == PENDING_RESTARTED && depth < RESTARTS_PER_THREAD_MAX)
		return pending_add_entry(tracer, call);
	pending_end_record(tracer, newest, -EINTR);
	pending_release_resources_of_call(tracer, newest);
	return newest;
}

/*
 * Seizes a notified thread. It waits in the kernel, so it keeps its tid while the notification is valid. That is
 * checked after the seize, because the thread could die before. 0 or -errno.
 */
static int pending_seize_thread(struct tracer *tracer, const struct call *call, struct pending **ret_pending)
{
	struct pending *newest = pending_find_newest(tracer, call->tid);
	struct pending *pending =
		newest ? pending_get_entry_for_new_call(tracer, call, newest) : pending_add_entry(tracer, call);

	*ret_pending = pending;
	if (!pending || newest)
		return pending ? 0 : -ENOMEM;
	if (ptrace(PTRACE_SEIZE, call->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
		int error = errno;

		pending_remove_entry(tracer, pending);
		return error == EPERM ? -EACCES : -error;
	}
	if (!call_thread_still_waits(call)) {
		pending_end_call_and_detach(tracer, pending);
		return -ESRCH;
	}
	return 0;
}

int pending_seize_and_interrupt(struct tracer *tracer, const struct call *call, enum pending_state state,
				struct pending **ret_pending)
{
	struct pending *pending = NULL;
	char *text = strndup(call->path[0].text, call->path[0].len);
	int r;

	if (!text)
		return -ENOMEM;
	r = pending_seize_thread(tracer, call, &pending);
	if (r != 0) {
		free(text);
		return r;
	}
	pending->path_as_written = text; /* NOLINT(clang-analyzer-core*): the analyzer takes a failure for 0 */
	pending->state = state;
	pending->row = call->row;
	pending->decision = call->decision;
	pending->start_ns = call->start_ns;
	memcpy(pending->arg, call->arg, sizeof(pending->arg));
	memcpy(pending->restart_arg, call->arg, sizeof(pending->restart_arg));
	pending->pc_after_call = call->pc_after_call;
	if (ptrace(PTRACE_INTERRUPT, call->tid, 0, 0) < 0) {
		r = -errno;
		pending_remove_entry(tracer, pending);
		return r;
	}
	pending->outcome_location = call->outcome_location;
	*ret_pending = pending;
	return 0;
}

int pending_seize_with_carrier(struct tracer *tracer, const struct call *call, int carrier,
			       struct pending **ret_pending)
{
	_cleanup_close_ int owned = carrier;
	struct pending *pending = NULL;
	int r;

	r = pending_seize_and_interrupt(tracer, call, PENDING_RESPONDED, &pending);
	if (!pending) /* r is an error */
		return r;
	r = answer_add_descriptor(tracer->sandbox->listener_fd, call->id, steal_fd(&owned), true);
	if (r < 0) {
		pending->outcome_location.seq = 0; /* the caller ends the record */
		pending_end_call_and_detach(tracer, pending);
		return r;
	}
	pending->carrier_fd = r;
	*ret_pending = pending;
	return 0;
}

static bool pending_matches_restarted_call(const struct pending *pending, int nr, const __u64 *args)
{
	return pending->state == PENDING_RESTARTED && nr == pending->row->nr &&
	       memcmp(args, pending->restart_arg, sizeof(pending->restart_arg)) == 0;
}

struct pending *pending_find_entry_of_restart(struct tracer *tracer, pid_t tid, int nr, const __u64 *args)
{
	struct pending *match = tracer->pending, *newest = pending_find_newest(tracer, tid);

	if (pending_tid_may_be_reused(newest))
		return NULL;
	while (match && !(match->tid == tid && pending_matches_restarted_call(match, nr, args)))
		match = match->next;
	while (match && (newest = pending_find_newest(tracer, tid)) != match)
		pending_end_and_remove(tracer, newest, -EINTR);
	return match;
}
