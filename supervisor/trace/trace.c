#include "supervisor/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

#define DEPTH_MAX 8 /* calls of one thread that are yet to come round again: handlers interrupted by handlers */
#define OTHERS_MAX 4096 /* calls of a signal handler before a rewound call is taken for abandoned (longjmp) */

int tracer_create(struct sandbox *sandbox, struct tracer **ret_tracer)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return -ENOMEM;
	tracer->sandbox = sandbox;
	tracer->fetches_most = fetch_most();
	*ret_tracer = tracer;
	return 0;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	later_free_all(tracer);
	while (tracer->pending)
		pending_remove(tracer, tracer->pending);
	free(tracer);
}

size_t tracer_pending(const struct tracer *tracer)
{
	size_t count = 0;

	for (const struct pending *pending = tracer->pending; pending; pending = pending->next)
		count++;
	return count;
}

/* ---- entries ---- */

struct pending *pending_find(const struct tracer *tracer, pid_t tid)
{
	struct pending *pending = tracer->pending;

	while (pending && pending->tid != tid)
		pending = pending->next;
	return pending;
}

bool pending_in_exec(const struct pending *pending)
{
	return pending->plan && pending->state == PENDING_RUNNING;
}

bool pending_outlived(const struct pending *pending)
{
	return pending && pending_in_exec(pending) && !pending->patient;
}

void pending_end(struct tracer *tracer, struct pending *pending, int64_t ret)
{
	audit_end(tracer->sandbox->audit, pending->slot, ret, io_now_ns() - pending->start_ns);
	pending->slot.seq = 0; /* no record: later ends are no-ops */
}

/* Everything about the call, not about the task. */
static void pending_clear(struct tracer *tracer, struct pending *pending)
{
	exec_plan_free(steal_pointer(&pending->plan));
	free(steal_pointer(&pending->text));
	blob_done(&pending->blob);
	pending->blob_addr = 0;
	pending->patient = false;
	pending->carries = false;
	pending->direct = false;
	pending->maps = false;
	pending->others = 0;
	if (pending->fetches) {
		cleanup_close(&pending->near_fd);
		cleanup_close(&pending->fetched_fd);
		tracer->fetches--;
	}
	pending->fetches = false;
}

void pending_remove(struct tracer *tracer, struct pending *pending)
{
	struct pending **link = &tracer->pending;

	while (*link != pending)
		link = &(*link)->next;
	*link = pending->next;
	pending_clear(tracer, pending);
	free(pending);
}

/* Its call is over as far as we are concerned: detached at the stop this makes, which comes before its next call. */
static void pending_drop(struct tracer *tracer, struct pending *pending)
{
	pending_end(tracer, pending, -EINTR);
	pending_clear(tracer, pending);
	pending->state = PENDING_DROPPED;
	if (ptrace(PTRACE_INTERRUPT, pending->tid, 0, 0) < 0)
		pending_remove(tracer, pending); /* dead */
}

/* ---- beginning ---- */

static struct pending *pending_add(struct tracer *tracer, const struct call *call)
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

/*
 * An entry for a task that is seized already: a new one above calls that are yet to come round again, or its only
 * one.
 */
static struct pending *pending_reuse(struct tracer *tracer, const struct call *call, struct pending *newest)
{
	unsigned depth = 0;

	for (const struct pending *pending = newest; pending; pending = pending->next)
		depth += pending->tid == call->tid;
	if (newest->state == PENDING_REWOUND && depth < DEPTH_MAX)
		return pending_add(tracer, call);
	pending_end(tracer, newest, -EINTR);
	pending_clear(tracer, newest);
	return newest;
}

/*
 * A notified task waits in the kernel, so its tid is its own as long as the notification is valid: asked after the
 * seize, because before it the answer could be stale. 0 or -errno.
 */
static int seize(struct tracer *tracer, const struct call *call, struct pending **ret_pending)
{
	struct pending *pending = pending_find(tracer, call->tid);

	if (pending) {
		*ret_pending = pending_reuse(tracer, call, pending);
		return *ret_pending ? 0 : -ENOMEM;
	}
	pending = pending_add(tracer, call);
	if (!pending)
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, call->tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
		int error = errno;

		pending_remove(tracer, pending);
		return error == EPERM ? -EACCES : -error;
	}
	if (!call_valid(call)) {
		pending_drop(tracer, pending);
		return -ESRCH;
	}
	*ret_pending = pending;
	return 0;
}

static int begin(struct tracer *tracer, const struct call *call, enum pending_state state, struct pending **ret_pending)
{
	struct pending *pending = NULL;
	char *text = strndup(call->path[0].text, call->path[0].len);
	int r;

	if (!text)
		return -ENOMEM;
	r = seize(tracer, call, &pending);
	if (r != 0) {
		free(text);
		return r;
	}
	pending->text = text; /* NOLINT(clang-analyzer-core*): it takes -errno for 0 */
	pending->state = state;
	pending->row = call->row;
	pending->decision = call->decision;
	pending->start_ns = call->start_ns;
	memcpy(pending->arg, call->arg, sizeof(pending->arg));
	memcpy(pending->rerun, call->arg, sizeof(pending->rerun));
	if (ptrace(PTRACE_INTERRUPT, call->tid, 0, 0) < 0) {
		r = -errno;
		pending_remove(tracer, pending);
		return r;
	}
	pending->slot = call->slot;
	*ret_pending = pending;
	return 0;
}

static int start_exec(struct tracer *tracer, struct call *call)
{
	const struct exec_plan *plan = call->outcome.exec;
	enum pending_state state = plan->detour ? PENDING_ANSWERED : PENDING_RUNNING;
	struct trace_blob blob = {0};
	struct pending *pending;
	int r = plan->detour ? blob_for_exec(call, plan, &tracer->blob_bytes, &blob) : 0;

	if (r == 0)
		r = begin(tracer, call, state, &pending);
	if (r != 0) {
		blob_done(&blob);
		return r;
	}
	pending->plan = steal_pointer(&call->outcome.exec); /* NOLINT(clang-analyzer-core*): it takes -errno for 0 */
	pending->blob = blob;
	if (plan->detour)
		(void)answer_error(call->sandbox->listener_fd, call->id, -EINTR); /* at its stop the call is rewound */
	else
		(void)answer_continue(tracer->sandbox->listener_fd, call->id, call->row, CONTINUE_VERIFIED);
	return 0;
}

int pending_begin_carried(struct tracer *tracer, const struct call *call, int carrier, struct pending **ret_pending)
{
	_cleanup_close_ int owned = carrier;
	struct pending *pending;
	int r;

	r = begin(tracer, call, PENDING_ANSWERED, &pending);
	if (r != 0)
		return r;
	r = answer_add(tracer->sandbox->listener_fd, call->id, steal_fd(&owned), true);
	if (r < 0) {
		/* NOLINT(clang-analyzer-core*): begin takes -errno for 0. The dispatcher records */
		pending->slot.seq = 0;
		pending_drop(tracer, pending);
		return r;
	}
	pending->carrier = r; /* NOLINT(clang-analyzer-core*): as above */
	*ret_pending = pending;
	return 0;
}

/* The thread receives an O_PATH descriptor; that of a chdir(2) goes there. */
static int start_pathfd(struct tracer *tracer, struct call *call)
{
	_cleanup_close_ int owned = steal_fd(&call->outcome.fd);
	struct pending *pending;
	int carrier = pathfd_directory(call, owned), r;
	bool direct = carrier >= 0;

	if (!direct)
		carrier = pathfd_carrier(owned);
	r = carrier < 0 ? carrier : pending_begin_carried(tracer, call, carrier, &pending);
	if (r < 0)
		return r;
	pending->carries = true; /* NOLINT(clang-analyzer-core*): as above */
	pending->direct = direct;
	pending->cloexec = call->outcome.fd_cloexec;
	return 0;
}

/* It maps a file of ours in place of the memory without a file that it asked for. */
static int start_map(struct tracer *tracer, struct call *call)
{
	struct pending *pending;
	int r = pending_begin_carried(tracer, call, steal_fd(&call->outcome.fd), &pending);

	if (r < 0)
		return r == -EMFILE ? -ENOMEM : r; /* mmap needs no descriptor */
	pending->maps = true; /* NOLINT(clang-analyzer-core*): as above */
	return 0;
}

int trace_start(struct tracer *tracer, struct call *call)
{
	int r;

	if (later_needed(tracer, call))
		return later_add(tracer, call);
	if (call->outcome.kind == OUTCOME_EXEC)
		return start_exec(tracer, call);
	if (call->outcome.kind == OUTCOME_FETCH)
		r = fetch_start(tracer, call);
	else
		r = call->outcome.kind == OUTCOME_MAP ? start_map(tracer, call) : start_pathfd(tracer, call);
	if (r == 0)
		(void)answer_error(call->sandbox->listener_fd, call->id, -EINTR); /* the rest happens at its stop */
	return r;
}

/* ---- the second round ---- */

/*
 * What the kernel may do by itself when it comes again: an exec, which is verified afterwards. All else is judged
 * again.
 */
static bool is_for_kernel(const struct pending *pending)
{
	return pending->plan && pending->row->basis == BASIS_EXEC;
}

static bool comes_again(const struct pending *pending, int nr, const __u64 *args)
{
	if (pending->state != PENDING_REWOUND || nr != pending->row->nr)
		return false;
	for (unsigned i = 0; i < 6; i++)
		if (args[i] != pending->rerun[i])
			return false;
	return true;
}

struct pending *pending_rerun(struct tracer *tracer, pid_t tid, int nr, const __u64 *args)
{
	struct pending *match = tracer->pending, *newest = pending_find(tracer, tid);

	if (pending_outlived(newest))
		return NULL;
	while (match && !(match->tid == tid && comes_again(match, nr, args)))
		match = match->next;
	while (match && (newest = pending_find(tracer, tid)) != match) {
		pending_end(tracer, newest, -EINTR);
		pending_remove(tracer, newest);
	}
	return match;
}

/* A call of a seized task that is not the one that was to come again. */
static void other_call(struct tracer *tracer, struct pending *pending)
{
	if (pending->state == PENDING_DROPPED || pending_outlived(pending))
		return;
	/* A signal handler ran before the call was repeated and makes calls of its own; the call still comes. */
	if (pending->state == PENDING_REWOUND && ++pending->others <= OTHERS_MAX)
		return;
	pending_drop(tracer, pending);
	later_run(tracer);
}

bool trace_rerun(struct tracer *tracer, pid_t tid, int nr, const __u64 *args)
{
	struct pending *newest = tracer->pending ? pending_find(tracer, tid) : NULL;
	struct pending *pending = newest ? pending_rerun(tracer, tid, nr, args) : NULL;

	if (pending && !is_for_kernel(pending)) {
		pending_drop(tracer, pending);
		return false;
	}
	if (!pending) {
		if (newest)
			other_call(tracer, newest);
		return false;
	}
	/* A handler's frame may have been put over it. Failing here, the kernel finds the same and says EFAULT. */
	if (pending->blob_addr)
		(void)memory_copy_out(tracer->sandbox->guest, tid, pending->blob_addr, pending->blob.bytes,
				      pending->blob.len);
	if (!pending->patient && ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return false; /* dead: whatever is answered reaches nobody */
	pending->state = PENDING_RUNNING;
	return true;
}

/* ---- wait statuses ---- */

static void unhold(const struct tracer *tracer, pid_t pid)
{
	struct pending *leader = pending_find(tracer, pid);

	if (leader)
		leader->held = 0;
}

/*
 * A leader's exit is reported when its whole group is gone: also the thread whose exec was about to take its pid. A
 * thread in an exec does not die alone: its leader needs nothing any more, or is replaced already, and the exit is
 * another task's.
 */
static void forget_group(struct tracer *tracer, pid_t pid)
{
	struct pending *next;

	for (struct pending *pending = tracer->pending; pending; pending = next) {
		next = pending->next;
		if (pending->tid != pid && pending->tgid != pid)
			continue;
		if (pending_in_exec(pending))
			unhold(tracer, pending->tgid);
		pending_end(tracer, pending, -ESRCH);
		pending_remove(tracer, pending);
	}
}

bool trace_event(struct tracer *tracer, pid_t pid, int status)
{
	if (!WIFSTOPPED(status)) {
		forget_group(tracer, pid);
	} else if (status >> 16 == PTRACE_EVENT_EXEC) {
		stop_exec(tracer, pid);
	} else {
		stop_other(tracer, pid, status);
	}
	later_run(tracer);
	return WIFSTOPPED(status);
}

void trace_forget(struct tracer *tracer, pid_t tid)
{
	struct pending *pending = pending_find(tracer, tid);

	/*
	 * An exec takes its thread's tid away without an exit: the entry is needed until the event or the group's
	 * exit.
	 */
	if (!pending || pending_in_exec(pending))
		return;
	pending_end(tracer, pending, -ESRCH);
	pending_remove(tracer, pending);
	later_run(tracer);
}
