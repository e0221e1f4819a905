#include "supervisor/outcome.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/answer.h"
#include "syscalls/call/work.h"
#include "syscalls/exec/execve.h"
#include "syscalls/net/inet.h"

/* Responds with a value or -errno, ends the record, and notes when the response was sent. */
static void outcome_send_result(struct dispatch *dispatch, int64_t result)
{
	const struct delayed_response answer = answer_make_for_later_response(dispatch->call);

	dispatch->last_response_ns = answer_send_and_end_record(&answer, result);
}

/* Completes the record of a call that has got its response. */
static void outcome_end_record(const struct dispatch *dispatch, int64_t result)
{
	const struct call *call = dispatch->call;

	audit_end_record(call->sandbox->audit, call->outcome_location, result,
			 dispatch->last_response_ns - call->start_ns);
}

/*
 * Notes a descriptor for the meter of open files. The kernel uses the lowest free number, so all descriptors with lower
 * numbers are open.
 */
static void outcome_count_open_files(struct rlimit_usage *notes, int number)
{
	if (number == -EMFILE)
		notes->open_files_limit_hit = true;
	if (number >= 0)
		notes->files_opened_in_total++;
	if (number >= 0 && (uint64_t)number + 1 > notes->open_files)
		notes->open_files = (uint64_t)number + 1;
}

/* Adds a descriptor to the target process, and returns its number as the call's result. */
static void outcome_send_descriptor(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	int listener_fd = dispatch->sandbox->listener_fd, number;

	dispatch->last_response_ns = io_read_clock_ns();
	number = answer_add_descriptor(listener_fd, call->id, steal_fd(&call->outcome.fd), call->outcome.fd_is_cloexec);
	if (number >= 0)
		(void)answer_with_value(listener_fd, call->id, number);
	else if (number != -EINTR) /* -EINTR: the call has ended already, so no response is due */
		(void)answer_with_error(listener_fd, call->id, number);
	outcome_count_open_files(&call->sandbox->rlimit_usage, number);
	outcome_end_record(dispatch, number);
}

bool outcome_may_continue(const struct call *call)
{
	const struct inet *inet = call->sandbox->inet;
	enum row_basis basis = call->row->basis;

	return basis == BASIS_REGS || (basis == BASIS_MOUNTNS && view_is_attached(call->sandbox->view)) ||
	       (basis == BASIS_NETNS && !call->sandbox->has_unix_datagrams && (!inet || inet_has_own_netns(inet)));
}

/* answer.c checks the row's basis once more. */
static void outcome_send_continue(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;

	dispatch->last_response_ns = io_read_clock_ns();
	(void)answer_continue(dispatch->sandbox->listener_fd, call->id, call->row,
			      outcome_may_continue(call) ? CONTINUE_NAMESPACE_BOUNDED : CONTINUE_REGISTERS_JUDGED);
	outcome_end_record(dispatch, 0);
}

void outcome_carry_out(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	int r = 0; /* 0: the response was sent, or the code that will send it took the outcome's resources */

	switch (call->outcome.kind) {
	case OUTCOME_ERROR:
	case OUTCOME_VALUE:
		outcome_send_result(dispatch, call->outcome.value);
		break;
	case OUTCOME_FD:
		outcome_send_descriptor(dispatch);
		break;
	case OUTCOME_CONTINUE:
		outcome_send_continue(dispatch);
		break;
	case OUTCOME_EXEC:
	case OUTCOME_OPATH_FD:
	case OUTCOME_MAP_MEMFD:
		r = trace_start_call(dispatch->tracer, call);
		break;
	case OUTCOME_BLOCKING_OPEN:
	case OUTCOME_BLOCKING_WORK:
		r = blocking_start_call(dispatch->blocking, call);
		break;
	case OUTCOME_CONNECT_BY_EGRESS:
		r = egress_client_start_connect(dispatch->egress, call);
		break;
	case OUTCOME_TARGET_GONE:
		r = -EINTR; /* has no effect, unless the target thread still waits */
		break;
	case OUTCOME_FETCH_DESCRIPTOR:
	case OUTCOME_COPY_FIRST:
	case OUTCOME_MAX:
	default:
		r = -EPERM; /* a bug: dispatch.c restarts calls with OUTCOME_FETCH_DESCRIPTOR, or makes them fail */
	}
	if (r < 0)
		outcome_send_result(dispatch, r);
	outcome_release(&call->outcome);
}

void outcome_release(struct outcome *outcome)
{
	struct call_work *work = steal_pointer(&outcome->blocking_work);

	close_fd(&outcome->fd);
	exec_plan_free(steal_pointer(&outcome->exec_plan));
	free(steal_pointer(&outcome->egress_connect));
	if (work)
		work->free(work);
}
