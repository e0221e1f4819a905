#include "supervisor/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "syscalls/exec/execve.h"
#include "syscalls/call/work.h"
#include "syscalls/net/inet.h"

#include "base/banned.h"

/* The clock before the response: the target may run at once, in our place. */
static uint64_t outcome_ready(struct dispatch *dispatch)
{
	return dispatch->ended_ns = io_now_ns();
}

static enum call_state outcome_end(const struct call *call, int64_t result, uint64_t ready_ns)
{
	audit_end(call->sandbox->audit, call->slot, result, ready_ns - call->start_ns);
	return CALL_ANSWERED;
}

static enum call_state outcome_fail(struct dispatch *dispatch, int error)
{
	uint64_t ready_ns = outcome_ready(dispatch);

	(void)answer_error(dispatch->sandbox->listener_fd, dispatch->call->id, error);
	return outcome_end(dispatch->call, error, ready_ns);
}

/* r: of something that responds later, 0, or -errno: it does not. */
static enum call_state outcome_started(struct dispatch *dispatch, int r)
{
	return r < 0 ? outcome_fail(dispatch, r) : CALL_PENDING;
}

/* ---- how each is answered ---- */

static enum call_state answer_failure(struct dispatch *dispatch)
{
	return outcome_fail(dispatch, (int)dispatch->call->outcome.value);
}

static enum call_state answer_number(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	uint64_t ready_ns = outcome_ready(dispatch);

	(void)answer_value(dispatch->sandbox->listener_fd, call->id, call->outcome.value);
	return outcome_end(call, call->outcome.value, ready_ns);
}

/* The kernel gives the lowest number that is free: all below it are taken. */
static void note_descriptor(struct limit_events *notes, int number)
{
	if (number == -EMFILE)
		notes->open_files_full = true;
	if (number >= 0)
		notes->files_opened++;
	if (number >= 0 && (uint64_t)number + 1 > notes->open_files)
		notes->open_files = (uint64_t)number + 1;
}

static enum call_state answer_descriptor(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	int listener_fd = dispatch->sandbox->listener_fd, number;
	uint64_t ready_ns = outcome_ready(dispatch);

	number = answer_add(listener_fd, call->id, steal_fd(&call->outcome.fd), call->outcome.fd_cloexec);
	if (number >= 0)
		(void)answer_value(listener_fd, call->id, number);
	else if (number != -EINTR) /* then nobody waits */
		/* a full table is the program's EMFILE, never CONTINUE */
		(void)answer_error(listener_fd, call->id, number);
	note_descriptor(&call->sandbox->notes, number);
	return outcome_end(call, number, ready_ns);
}

bool outcome_may_continue(const struct call *call)
{
	const struct inet *inet = call->sandbox->inet;
	enum row_basis basis = call->row->basis;

	return basis == BASIS_REGS || (basis == BASIS_MOUNTNS && view_is_root(call->sandbox->view)) ||
	       (basis == BASIS_NETNS && (!inet || inet_bounded(inet)));
}

/* answer.c asks the row once more. */
static enum call_state answer_continued(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	uint64_t ready_ns = outcome_ready(dispatch);

	(void)answer_continue(dispatch->sandbox->listener_fd, call->id, call->row,
			      outcome_may_continue(call) ? CONTINUE_BOUNDED : CONTINUE_ROW);
	return outcome_end(call, 0, ready_ns);
}

static enum call_state start_traced(struct dispatch *dispatch)
{
	return outcome_started(dispatch, trace_start(dispatch->tracer, dispatch->call));
}

static enum call_state start_worker(struct dispatch *dispatch)
{
	return outcome_started(dispatch, blocking_start(dispatch->blocking, dispatch->call));
}

static enum call_state start_egress(struct dispatch *dispatch)
{
	return outcome_started(dispatch, egress_client_connect(dispatch->egress, dispatch->call));
}

/* Normally nobody is there to get it. */
static enum call_state answer_nobody(struct dispatch *dispatch)
{
	return outcome_fail(dispatch, -EINTR);
}

/* A bug of ours: the dispatcher has restarted it, or made it a failure. */
static enum call_state answer_unjudged(struct dispatch *dispatch)
{
	return outcome_fail(dispatch, -EPERM);
}

/* ---- what each owns ---- */

static void release_fd(struct outcome *outcome)
{
	cleanup_close(&outcome->fd);
	outcome->fd = -1;
}

static void release_exec(struct outcome *outcome)
{
	exec_plan_free(steal_pointer(&outcome->exec));
}

static void release_connect(struct outcome *outcome)
{
	release_fd(outcome);
	cleanup_close(&outcome->peer_fd);
	outcome->peer_fd = -1;
}

static void release_egress(struct outcome *outcome)
{
	release_fd(outcome);
	free(steal_pointer(&outcome->egress));
}

static void release_inet(struct outcome *outcome)
{
	struct call_work *work = steal_pointer(&outcome->work);

	release_fd(outcome);
	if (work)
		work->free(work);
}

/* ---- the table ---- */

struct outcome_ops {
	/* Responds, or sees to it that somebody will, who takes what the outcome owns. */
	enum call_state (*answer)(struct dispatch *dispatch);
	void (*release)(struct outcome *outcome); /* NULL: it owns nothing */
};

static const struct outcome_ops ops[] = {
	[OUTCOME_ERROR] = {.answer = answer_failure},
	[OUTCOME_VALUE] = {.answer = answer_number},
	[OUTCOME_FD] = {.answer = answer_descriptor, .release = release_fd},
	[OUTCOME_CONTINUE] = {.answer = answer_continued},
	[OUTCOME_EXEC] = {.answer = start_traced, .release = release_exec},
	[OUTCOME_PATHFD] = {.answer = start_traced, .release = release_fd},
	[OUTCOME_MAP] = {.answer = start_traced, .release = release_fd},
	[OUTCOME_BLOCKING] = {.answer = start_worker, .release = release_fd},
	[OUTCOME_CONNECT] = {.answer = start_worker, .release = release_connect},
	[OUTCOME_EGRESS] = {.answer = start_egress, .release = release_egress},
	[OUTCOME_WORK] = {.answer = start_worker, .release = release_inet},
	[OUTCOME_FETCH] = {.answer = answer_unjudged},
	[OUTCOME_GONE] = {.answer = answer_nobody},
};
_Static_assert(sizeof(ops) / sizeof(ops[0]) == OUTCOME_MAX, "each kind of outcome is answered");

enum call_state outcome_answer(struct dispatch *dispatch)
{
	struct outcome *outcome = &dispatch->call->outcome;
	enum call_state state = ops[outcome->kind].answer(dispatch);

	outcome_release(outcome);
	return state;
}

void outcome_release(struct outcome *outcome)
{
	if (ops[outcome->kind].release)
		ops[outcome->kind].release(outcome);
}
