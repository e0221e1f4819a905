#include "supervisor/outcome.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "syscalls/exec/execve.h"
#include "syscalls/call/work.h"
#include "syscalls/net/inet.h"

#include "base/banned.h"

/* Reads the clock before the response: the target thread may then run at once, in place of the supervisor. */
static uint64_t outcome_stop_clock(struct dispatch *dispatch)
{
	return dispatch->ended_ns = io_now_ns();
}

/* Completes the record. True, because the response was sent. */
static bool outcome_end(const struct call *call, int64_t result, uint64_t ended_ns)
{
	audit_end(call->sandbox->audit, call->slot, result, ended_ns - call->start_ns);
	return true;
}

static bool outcome_fail(struct dispatch *dispatch, int error)
{
	uint64_t ended_ns = outcome_stop_clock(dispatch);

	(void)answer_error(dispatch->sandbox->listener_fd, dispatch->call->id, error);
	return outcome_end(dispatch->call, error, ended_ns);
}

/* r: 0 when something was started that responds later, else -errno. */
static bool outcome_started(struct dispatch *dispatch, int r)
{
	return r < 0 && outcome_fail(dispatch, r);
}

/* ---- one function for each kind ---- */

static bool outcome_send_error(struct dispatch *dispatch)
{
	return outcome_fail(dispatch, (int)dispatch->call->outcome.value);
}

static bool outcome_send_value(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	uint64_t ended_ns = outcome_stop_clock(dispatch);

	(void)answer_value(dispatch->sandbox->listener_fd, call->id, call->outcome.value);
	return outcome_end(call, call->outcome.value, ended_ns);
}

/* For the meter of open files. The kernel gives out the lowest free descriptor, so all below it are in use. */
static void outcome_note_descriptor(struct limit_events *notes, int number)
{
	if (number == -EMFILE)
		notes->open_files_full = true;
	if (number >= 0)
		notes->files_opened++;
	if (number >= 0 && (uint64_t)number + 1 > notes->open_files)
		notes->open_files = (uint64_t)number + 1;
}

static bool outcome_send_descriptor(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	int listener_fd = dispatch->sandbox->listener_fd, number;
	uint64_t ended_ns = outcome_stop_clock(dispatch);

	number = answer_add(listener_fd, call->id, steal_fd(&call->outcome.fd), call->outcome.fd_cloexec);
	if (number >= 0)
		(void)answer_value(listener_fd, call->id, number);
	else if (number != -EINTR) /* -EINTR: no response is due. A full table is EMFILE, never a continue */
		(void)answer_error(listener_fd, call->id, number);
	outcome_note_descriptor(&call->sandbox->notes, number);
	return outcome_end(call, number, ended_ns);
}

bool outcome_may_continue(const struct call *call)
{
	const struct inet *inet = call->sandbox->inet;
	enum row_basis basis = call->row->basis;

	return basis == BASIS_REGS || (basis == BASIS_MOUNTNS && view_is_root(call->sandbox->view)) ||
	       (basis == BASIS_NETNS && (!inet || inet_bounded(inet)));
}

/* answer.c checks the row's basis once more. */
static bool outcome_send_continue(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	uint64_t ended_ns = outcome_stop_clock(dispatch);

	(void)answer_continue(dispatch->sandbox->listener_fd, call->id, call->row,
			      outcome_may_continue(call) ? CONTINUE_BOUNDED : CONTINUE_ROW);
	return outcome_end(call, 0, ended_ns);
}

static bool outcome_start_tracer(struct dispatch *dispatch)
{
	return outcome_started(dispatch, trace_start(dispatch->tracer, dispatch->call));
}

static bool outcome_start_worker(struct dispatch *dispatch)
{
	return outcome_started(dispatch, blocking_start(dispatch->blocking, dispatch->call));
}

static bool outcome_start_egress(struct dispatch *dispatch)
{
	return outcome_started(dispatch, egress_client_connect(dispatch->egress, dispatch->call));
}

/* ---- what each kind owns ---- */

static void outcome_release_fd(struct outcome *outcome)
{
	close_fd(&outcome->fd);
}

static void outcome_release_exec(struct outcome *outcome)
{
	exec_plan_free(steal_pointer(&outcome->exec));
}

static void outcome_release_connect(struct outcome *outcome)
{
	outcome_release_fd(outcome);
	close_fd(&outcome->peer_fd);
}

static void outcome_release_egress(struct outcome *outcome)
{
	outcome_release_fd(outcome);
	free(steal_pointer(&outcome->egress));
}

static void outcome_release_work(struct outcome *outcome)
{
	struct call_work *work = steal_pointer(&outcome->work);

	outcome_release_fd(outcome);
	if (work)
		work->free(work);
}

/* ---- the table ---- */

struct outcome_ops {
	bool (*perform)(struct dispatch *dispatch); /* as outcome_perform; what it starts takes what the outcome owns */
	int error;                                  /* the response if perform is NULL */
	void (*release)(struct outcome *outcome);   /* NULL: the kind owns nothing */
};

static const struct outcome_ops outcome_ops[] = {
	[OUTCOME_ERROR] = {.perform = outcome_send_error},
	[OUTCOME_VALUE] = {.perform = outcome_send_value},
	[OUTCOME_FD] = {.perform = outcome_send_descriptor, .release = outcome_release_fd},
	[OUTCOME_CONTINUE] = {.perform = outcome_send_continue},
	[OUTCOME_EXEC] = {.perform = outcome_start_tracer, .release = outcome_release_exec},
	[OUTCOME_PATHFD] = {.perform = outcome_start_tracer, .release = outcome_release_fd},
	[OUTCOME_MAP] = {.perform = outcome_start_tracer, .release = outcome_release_fd},
	[OUTCOME_BLOCKING] = {.perform = outcome_start_worker, .release = outcome_release_fd},
	[OUTCOME_CONNECT] = {.perform = outcome_start_worker, .release = outcome_release_connect},
	[OUTCOME_EGRESS] = {.perform = outcome_start_egress, .release = outcome_release_egress},
	[OUTCOME_WORK] = {.perform = outcome_start_worker, .release = outcome_release_work},
	[OUTCOME_FETCH] = {.error = -EPERM}, /* a bug of ours: dispatch.c restarts these calls or makes them fail */
	[OUTCOME_GONE] = {.error = -EINTR},  /* only if the target thread waits after all */
};
_Static_assert(sizeof(outcome_ops) / sizeof(outcome_ops[0]) == OUTCOME_MAX, "each kind is performed");

bool outcome_perform(struct dispatch *dispatch)
{
	struct outcome *outcome = &dispatch->call->outcome;
	const struct outcome_ops *ops = &outcome_ops[outcome->kind];
	bool responded = ops->perform ? ops->perform(dispatch) : outcome_fail(dispatch, ops->error);

	outcome_release(outcome);
	return responded;
}

void outcome_release(struct outcome *outcome)
{
	if (outcome_ops[outcome->kind].release)
		outcome_ops[outcome->kind].release(outcome);
}
