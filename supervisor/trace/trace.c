#include "supervisor/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "confine/filter.h"
#include "supervisor/answer.h"
#include "supervisor/workers/blocking.h"
#include "supervisor/trace/private.h"

/*
 * at most 1/8 of the supervisor's descriptors are used by fetches: each fetch keeps one descriptor, and its call needs
 * further ones
 */
#define FETCHED_FDS_MAX_NOFILE_DIVISOR 8u
/* after this number of calls by signal handlers, the call to be restarted counts as abandoned by longjmp(3) */
#define OTHER_CALLS_BEFORE_RESTART_MAX 4096

int tracer_create(struct sandbox *sandbox, struct tracer **ret_tracer)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return -ENOMEM;
	tracer->sandbox = sandbox;
	tracer->response_wait_is_killable = filter_can_wait_killable();
	tracer->fetched_descriptors_max = blocking_get_share_of_fd_limit(FETCHED_FDS_MAX_NOFILE_DIVISOR);
	*ret_tracer = tracer;
	return 0;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	delayed_calls_free(tracer);
	while (tracer->pending)
		pending_remove_entry(tracer, tracer->pending);
	free(tracer);
}

size_t tracer_count_pending(const struct tracer *tracer)
{
	size_t count = 0;

	for (const struct pending *pending = tracer->pending; pending; pending = pending->next)
		count++;
	return count;
}

bool trace_must_end_calls_before_closing(const struct tracer *tracer)
{
	for (const struct pending *pending = tracer->pending; pending; pending = pending->next)
		if (pending->state == PENDING_RESPONDED || pending->state == PENDING_RUNNING)
			return true;
	return tracer->delayed_calls != NULL;
}

bool trace_has_thread(const struct tracer *tracer, pid_t tid)
{
	return pending_find_newest(tracer, tid) != NULL;
}

/* Lets a judged exec continue, or restarts it with other arguments, under ptrace(2). */
static int trace_start_exec(struct tracer *tracer, struct call *call)
{
	const struct exec_plan *plan = call->outcome.exec_plan;
	enum pending_state state = plan->needs_restart ? PENDING_RESPONDED : PENDING_RUNNING;
	struct trace_blob blob = {0};
	struct pending *pending;
	int r = plan->needs_restart ? blob_build_for_exec(call, plan, &tracer->total_blob_bytes, &blob) : 0;

	if (r == 0)
		r = pending_seize_and_interrupt(tracer, call, state, &pending);
	if (r != 0) {
		blob_release(&blob);
		return r;
	}
	pending->plan = steal_pointer(&call->outcome.exec_plan); /* NOLINT(clang-analyzer-core*): failure is not 0 */
	pending->blob = blob;
	if (plan->needs_restart)
		/* the call is restarted at its stop */
		(void)answer_with_error(call->sandbox->listener_fd, call->id, -EINTR);
	else
		(void)answer_continue(tracer->sandbox->listener_fd, call->id, call->row, CONTINUE_EXEC_VERIFIED);
	return 0;
}

/*
 * For an open with O_PATH, the thread receives the descriptor; for a chdir(2) it changes its cwd to it. For an open of
 * a terminal, the thread receives the terminal and makes it the controlling terminal.
 */
static int trace_start_passing_descriptor(struct tracer *tracer, struct call *call)
{
	_cleanup_close_ int owned = steal_fd(&call->outcome.fd);
	struct pending *pending;
	const bool controlling = call->outcome.becomes_controlling_terminal;
	int carrier = controlling ? steal_fd(&owned) : pathfd_open_directory(call, owned), r;
	bool direct = carrier >= 0;

	if (!direct)
		carrier = pathfd_make_carrier_socket(owned);
	r = carrier < 0 ? carrier : pending_seize_with_carrier(tracer, call, carrier, &pending);
	if (r < 0)
		return r;
	pending->kind = PENDING_RECEIVE_FD; /* NOLINT(clang-analyzer-core*): as above */
	pending->carrier_is_directory = direct;
	pending->carrier_becomes_controlling_tty = controlling;
	pending->fd_is_cloexec = call->outcome.fd_is_cloexec;
	return 0;
}

/* Makes the thread map a file in place of the anonymous memory that it asked for. */
static int trace_start_mapping_file(struct tracer *tracer, struct call *call)
{
	struct pending *pending;
	int r = pending_seize_with_carrier(tracer, call, steal_fd(&call->outcome.fd), &pending);

	if (r < 0)
		return r == -EMFILE ? -ENOMEM : r; /* natively mmap needs no descriptor */
	pending->kind = PENDING_MAP_FILE; /* NOLINT(clang-analyzer-core*): as above */
	return 0;
}

int trace_start_call(struct tracer *tracer, struct call *call)
{
	int r;

	if (delayed_call_must_wait(tracer, call))
		return delay_call_until_exec_ends(tracer, call);
	if (call->outcome.kind == OUTCOME_EXEC)
		return trace_start_exec(tracer, call);
	if (call->outcome.kind == OUTCOME_FETCH_DESCRIPTOR)
		r = fetch_start_for_call(tracer, call);
	else
		r = call->outcome.kind == OUTCOME_MAP_MEMFD ? trace_start_mapping_file(tracer, call)
						      : trace_start_passing_descriptor(tracer, call);
	if (r == 0)
		/* The thread then stops for the tracer, which finishes the call: PENDING_RESPONDED. */
		(void)answer_with_error(call->sandbox->listener_fd, call->id, -EINTR);
	return r;
}

/*
 * Handles the stops that were held until an exec ended. One of them may begin another exec, for which the other stops
 * are held again.
 */
static void trace_handle_held_stops(struct tracer *tracer)
{
	struct pending *pending = tracer->pending;

	while (pending) {
		int status = pending->deferred_wait_status;

		pending->deferred_wait_status = 0;
		if (status == 0 || delay_stop_until_exec_ends(tracer, pending, status)) {
			pending = pending->next;
			continue;
		}
		stop_on_stop_other_than_exec(tracer, pending->tid, status);
		pending = tracer->pending; /* begins anew, because the entry may have been removed */
	}
}

/* Starts the delayed calls whose thread has no pending call any more. */
static void trace_start_waiting_calls(struct tracer *tracer)
{
	struct delayed_call *later;
	bool awaited;

	trace_handle_held_stops(tracer);
	while ((later = delayed_call_dequeue_ready(tracer, &awaited))) {
		struct delayed_response answer = answer_make_for_later_response(&later->call);
		int r = awaited ? trace_start_call(tracer, &later->call) : -EINTR;

		if (r < 0 && awaited && later->call.outcome.kind == OUTCOME_FETCH_DESCRIPTOR) { /* not recorded yet */
			call_fail(&later->call, r);
			(void)call_commit_record(&later->call); /* on failure the outcome is an error all the same */
			answer.outcome_location = later->call.outcome_location;
		}
		if (r < 0)
			answer_send_and_end_record(&answer, r);
		delayed_call_free(later);
	}
}

/* Handles a call of a seized thread that is not its restarted call. */
static void trace_on_call_of_signal_handler(struct tracer *tracer, struct pending *pending)
{
	if (pending->state == PENDING_TO_BE_DETACHED || pending_tid_may_be_reused(pending))
		return;
	/* A signal handler makes this call: the thread has yet to make the call that is restarted. */
	if (pending->state == PENDING_RESTARTED && ++pending->calls_before_restart <= OTHER_CALLS_BEFORE_RESTART_MAX)
		return;
	pending_end_call_and_detach(tracer, pending);
	trace_start_waiting_calls(tracer);
}

bool trace_is_restarted_exec(struct tracer *tracer, pid_t tid, int nr, const __u64 *args)
{
	struct pending *newest = tracer->pending ? pending_find_newest(tracer, tid) : NULL;
	struct pending *pending = newest ? pending_find_entry_of_restart(tracer, tid, nr, args) : NULL;

	/* Only an exec is continued, because its image is verified later. All other calls are judged again. */
	if (pending && !(pending->plan && pending->row->basis == BASIS_EXEC)) {
		pending_end_call_and_detach(tracer, pending);
		return false;
	}
	if (!pending) {
		if (newest)
			trace_on_call_of_signal_handler(tracer, newest);
		return false;
	}
	/* A signal frame may have overwritten the blob. If this write fails, the kernel's read fails too (EFAULT). */
	if (pending->blob_addr)
		(void)memory_copy_out(tracer->sandbox->target_memory, tid, pending->blob_addr, pending->blob.bytes,
				      pending->blob.len);
	if (!pending->interrupt_would_end_response_wait && ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return false; /* the thread is dead: no response reaches it */
	pending->state = PENDING_RUNNING;
	return true;
}

/*
 * Forgets the calls of a thread that exited. A leader's exit is reported when its whole thread group is gone, including
 * any thread whose exec was about to take the leader's pid. A thread does not die alone in its exec. So the leader's
 * held stop is obsolete too.
 */
static void trace_forget_exited_thread(struct tracer *tracer, pid_t pid)
{
	struct pending *next, *leader;

	for (struct pending *pending = tracer->pending; pending; pending = next) {
		next = pending->next;
		if (pending->tid != pid && pending->tgid != pid)
			continue;
		leader = pending_is_in_exec(pending) ? pending_find_newest(tracer, pending->tgid) : NULL;
		if (leader)
			leader->deferred_wait_status = 0;
		pending_end_and_remove(tracer, pending, -ESRCH);
	}
}

bool trace_on_wait_status(struct tracer *tracer, pid_t pid, int status)
{
	if (!WIFSTOPPED(status))
		trace_forget_exited_thread(tracer, pid);
	else if (status >> 16 == PTRACE_EVENT_EXEC)
		stop_on_exec(tracer, pid);
	else
		stop_on_stop_other_than_exec(tracer, pid, status);
	trace_start_waiting_calls(tracer);
	return WIFSTOPPED(status);
}

void trace_forget_thread(struct tracer *tracer, pid_t tid)
{
	struct pending *pending = pending_find_newest(tracer, tid);

	/* A successful exec takes the thread's tid away without an exit. Its entry is needed until the exec's stop. */
	if (!pending || pending_is_in_exec(pending))
		return;
	pending_end_and_remove(tracer, pending, -ESRCH);
	trace_start_waiting_calls(tracer);
}
