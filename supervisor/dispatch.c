#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/dispatch.h"
#include "supervisor/notify.h"
#include "syscalls/account/denials.h"
#include "syscalls/arch/arch.h"
#include "syscalls/call/decode.h"
#include "syscalls/exec/execve.h"
#include "syscalls/net/inet-work.h"
#include "syscalls/net/inet.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

int dispatch_init(struct dispatch *dispatch, struct sandbox *sandbox, struct tracer *tracer, struct blocking *blocking)
{
	size_t rows;

	(void)table_rows(&rows);
	*dispatch = (struct dispatch){.sandbox = sandbox, .tracer = tracer, .blocking = blocking};
	dispatch->call = calloc(1, sizeof(*dispatch->call));
	dispatch->by_row = calloc(rows, sizeof(*dispatch->by_row));
	if (dispatch->call && dispatch->by_row)
		return 0;
	dispatch_done(dispatch);
	return -ENOMEM;
}

void dispatch_done(struct dispatch *dispatch)
{
	free(dispatch->call);
	free(dispatch->by_row);
	dispatch->call = NULL;
	dispatch->by_row = NULL;
}

/* Only what handlers read before they write; the texts are as large as the call and stay as they are. */
static void begin(struct dispatch *dispatch, const struct seccomp_notif *notification, const struct syscall_row *row)
{
	struct call *call = dispatch->call;

	call->sandbox = dispatch->sandbox;
	call->id = notification->id;
	call->tid = (pid_t)notification->pid;
	call->row = row;
	memcpy(call->arg, notification->data.args, sizeof(call->arg));
	call->start_ns = io_now_ns();
	call->paths = 0;
	call->text_len = 0;
	call->place[0].mount = NULL;
	call->place[1].mount = NULL;
	call->place[0].virt_len = call->place[1].virt_len = 0;
	call->net.host[0] = '\0';
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "bad_argument"};
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -ENOSYS, .fd = -1};
	call->slot = (struct audit_slot){0};
	call->committed = false;
	call->again = false;
}

/* Numbers nobody listed and calls of another architecture (int 0x80, x32): as if the kernel did not have them. */
static void refuse_unknown(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	static struct syscall_row row = {.class = ROW_REFUSE, .error = ENOSYS};
	static char name[32];
	bool native = notification->data.arch == arch_audit();

	(void)snprintf(name, sizeof(name), "%s_%d", native ? "syscall" : "foreign", notification->data.nr);
	row.name = name;
	begin(dispatch, notification, &row);
	call_refuse(dispatch->call, -ENOSYS, NULL, native ? "unlisted_syscall" : "foreign_architecture");
}

static bool may_continue(const struct call *call)
{
	const struct inet *inet = call->sandbox->inet;
	enum row_basis basis = call->row->basis;

	return basis == BASIS_REGS || (basis == BASIS_MOUNTNS && view_is_root(call->sandbox->view)) ||
	       (basis == BASIS_NETNS && (!inet || inet_bounded(inet)));
}

/* notify.c asks the row once more. */
static void answer_continue(const struct call *call)
{
	(void)notify_continue(call->sandbox->listener_fd, call->id, call->row,
			      may_continue(call) ? CONTINUE_BOUNDED : CONTINUE_ROW);
}

static void perform(struct call *call)
{
	syscall_fn *handler = table_handler(call->row);
	int r;

	if (!handler) {
		call_refuse(call, -(call->row->error ? call->row->error : ENOSYS), NULL, "refused_syscall");
		return;
	}
	r = decode_call(call);
	if (!call_valid(call)) {
		/* What was read may be another process's memory by now: the number was used again. */
		call->outcome.kind = OUTCOME_GONE;
		return;
	}
	if (r == -EPERM || r == -ESRCH) {
		call_refuse(call, -EPERM, NULL, "memory_unreadable");
		return;
	}
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	handler(call);
	if (call->outcome.kind == OUTCOME_CONTINUE && !may_continue(call))
		call_refuse(call, -EPERM, NULL, "continue_forbidden");
}

/* The kernel gives the lowest number that is free: all below it are taken. */
static void note_descriptor(struct limit_notes *notes, int number)
{
	if (number == -EMFILE)
		notes->open_files_full = true;
	if (number >= 0)
		notes->files_opened++;
	if (number >= 0 && (uint64_t)number + 1 > notes->open_files)
		notes->open_files = (uint64_t)number + 1;
}

/* /proc/PID/status and its threads': they tell on which CPUs a task may run, when they are read. */
static bool shows_masks(const struct call *call)
{
	static const char proc[] = "/proc/", leaf[] = "/status";
	const struct place *place = &call->place[0];
	size_t len = place->virt_len;

	return len >= sizeof(proc) + sizeof(leaf) && memcmp(place->virt + len - (sizeof(leaf) - 1), leaf, sizeof(leaf) - 1) == 0 &&
	       memcmp(place->virt, proc, sizeof(proc) - 1) == 0;
}

/* Returns what the log says: a value or -errno. */
static int64_t answer_fd(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	int listener = call->sandbox->listener_fd;
	int number;

	if (dispatch->handoff) {
		if (shows_masks(call))
			handoff_pause(dispatch->handoff, call->start_ns);
		handoff_before(dispatch->handoff, call->task, call->start_ns);
	}
	dispatch->ready_ns = dispatch->ended_ns = io_now_ns();
	number = notify_add(listener, call->id, call->outcome.fd, call->outcome.fd_cloexec);
	if (dispatch->handoff)
		dispatch->ended_ns = io_now_ns();
	if (number >= 0)
		(void)notify_value(listener, call->id, number); /* fails when the task was killed meanwhile */
	else if (number != -ENOENT)
		(void)notify_error(listener, call->id, number); /* a full table is the program's EMFILE, never CONTINUE */
	if (number >= 0)
		handoff_after(dispatch->handoff, dispatch->ended_ns - dispatch->ready_ns, dispatch->ended_ns);
	note_descriptor(&call->sandbox->notes, number);
	return number == -ENOENT ? -EINTR : number;
}

/* 0: how it ends is seen, and recorded, by the tracer; or the -errno that was answered. */
static int64_t answer_traced(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	struct outcome *outcome = &call->outcome;
	int listener = call->sandbox->listener_fd, error = -EPERM;
	enum trace_answer answer;

	if (outcome->kind == OUTCOME_EXEC)
		answer = trace_exec(dispatch->tracer, call, outcome->exec, &error);
	else if (outcome->kind == OUTCOME_MAP)
		answer = trace_map(dispatch->tracer, call, outcome->fd, &error);
	else
		answer = trace_pathfd(dispatch->tracer, call, outcome->fd, outcome->fd_cloexec, &error);
	if (answer == TRACE_CONTINUE)
		(void)notify_continue(listener, call->id, call->row, CONTINUE_VERIFIED);
	else if (answer != TRACE_LATER)
		(void)notify_error(listener, call->id, answer == TRACE_INTERRUPT ? -EINTR : error);
	return answer == TRACE_FAIL ? error : 0;
}

static void answer(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	struct outcome *outcome = &call->outcome;
	int listener = call->sandbox->listener_fd;
	int64_t result = 0;

	/* The clock before the answer: the caller may run at once, in our place. */
	if (outcome->kind == OUTCOME_ERROR || outcome->kind == OUTCOME_VALUE || outcome->kind == OUTCOME_CONTINUE)
		dispatch->ready_ns = dispatch->ended_ns = io_now_ns();
	switch (outcome->kind) {
	case OUTCOME_ERROR:
		(void)notify_error(listener, call->id, (int)outcome->value);
		result = outcome->value;
		break;
	case OUTCOME_VALUE:
		(void)notify_value(listener, call->id, outcome->value);
		result = outcome->value;
		break;
	case OUTCOME_FD:
		result = answer_fd(dispatch);
		break;
	case OUTCOME_CONTINUE:
		answer_continue(call);
		break;
	case OUTCOME_EXEC:
	case OUTCOME_PATHFD:
	case OUTCOME_MAP:
		result = answer_traced(dispatch);
		if (result == 0)
			return;
		break;
	case OUTCOME_BLOCKING:
	case OUTCOME_CONNECT:
	case OUTCOME_INET:
		handoff_apart(dispatch->handoff); /* its thread would inherit the mask */
		result = blocking_start(dispatch->blocking, call);
		handoff_again(dispatch->handoff);
		if (result == 0)
			return; /* its thread answers and records */
		(void)notify_error(listener, call->id, (int)result);
		break;
	case OUTCOME_GONE:
		result = -EINTR;
		(void)notify_error(listener, call->id, -EINTR); /* normally nobody is there to hear it */
		break;
	case OUTCOME_EGRESS:
		result = egress_client_connect(dispatch->egress, call);
		if (result == 0)
			return; /* the client answers and records */
		(void)notify_error(listener, call->id, (int)result);
		break;
	case OUTCOME_FETCH: /* answered by fetch() */
	default:
		(void)notify_error(listener, call->id, -EPERM);
		result = -EPERM;
		break;
	}
	if (dispatch->ready_ns == 0)
		dispatch->ready_ns = dispatch->ended_ns = io_now_ns();
	audit_end(call->sandbox->audit, call->slot, result, dispatch->ready_ns - call->start_ns);
}

/* What cannot be recorded is not done: whatever the handler had prepared is dropped. */
static void drop_outcome(struct call *call, struct outcome *prepared)
{
	if (prepared->fd >= 0)
		(void)close(prepared->fd);
	if (prepared->kind == OUTCOME_CONNECT)
		(void)close(prepared->peer_fd);
	if (prepared->kind == OUTCOME_EGRESS)
		free(prepared->egress);
	if (prepared->kind == OUTCOME_INET)
		prepared->work->free(prepared->work);
	if (prepared->kind == OUTCOME_EXEC)
		exec_plan_free(prepared->exec);
	call->outcome.fd = -1;
}

static void count(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	size_t rows;
	const struct syscall_row *first = table_rows(&rows);

	dispatch->judged++;
	if (call->decision.verdict == VERDICT_DENY) {
		const char *reason = call->decision.reason;

		dispatch->denied++;
		dispatch->expected += reason && strcmp(reason, DENIAL_EXPECTED) == 0;
	} else {
		dispatch->allowed++;
	}
	if (call->row >= first && call->row < first + rows)
		dispatch->by_row[call->row - first]++;
	redirects_note(&dispatch->redirects, call);
}

/*
 * Who calls. False: it died, and nobody waits. A caller that cannot be looked up (no memory, no descriptor) is refused, and
 * on record by its number alone.
 */
static bool find_caller(struct call *call)
{
	static char nothing[] = "";
	static struct task unknown = {.pidfd = -1, .exe = nothing};

	call->task = tree_task(call->sandbox->tree, call->tid);
	if (call->task)
		return true;
	if (!call_valid(call))
		return false;
	unknown.tid = unknown.tgid = call->tid;
	call->task = &unknown;
	call_refuse(call, -EPERM, NULL, "caller_unknown");
	return true;
}

/* True: the task sends its descriptor, and its call is judged, counted and recorded when it comes round again. */
static bool fetch(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	enum trace_answer answer;
	int error;

	if (call->outcome.kind != OUTCOME_FETCH)
		return false;
	answer = trace_fetch(dispatch->tracer, call, (int)call->outcome.value, &error);
	if (answer == TRACE_FAIL) {
		call_fail(call, error);
		return false;
	}
	if (answer == TRACE_INTERRUPT)
		(void)notify_error(call->sandbox->listener_fd, call->id, -EINTR);
	return true;
}

static void drop_fetched(struct call *call)
{
	if (call->again && call->fetched >= 0)
		(void)close(call->fetched);
	call->again = false;
}

/*
 * What the filter allows natively in runs whose CPU masks are not ours (TOLD in syscalls.def): handoff_call has seen it, and
 * the kernel does the rest, as unrecorded as without us.
 */
static bool is_mere_notice(const struct syscall_row *row, pid_t tid, const struct seccomp_data *data)
{
	uint64_t arg[6];

	if (!row->told)
		return false;
	memcpy(arg, data->args, sizeof(arg));
	if ((pid_t)arg[0] != 0 && (pid_t)arg[0] != tid)
		return false; /* a mask of another's, which may be ours again at once */
	return table_allows(row, arg);
}

/* A record lock that is counted (locks.h), unrecorded where there is room. Otherwise it is refused as any call is. */
static bool is_admitted(struct sandbox *sandbox, const struct syscall_row *row, const struct seccomp_data *data)
{
	return row->nr == __NR_fcntl && locks_counts(data->args[1]) &&
	       locks_admit(&sandbox->locks, data->args[1], io_now_ns());
}

void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct sandbox *sandbox = dispatch->sandbox;
	struct call *call = dispatch->call;
	const struct syscall_row *row = NULL;
	struct outcome prepared;
	pid_t tid = (pid_t)notification->pid;
	int fetched;
	bool again;

	dispatch->ready_ns = dispatch->ended_ns = 0;
	if (notification->data.arch == arch_audit())
		row = table_find(notification->data.nr);
	if (row && row->nr == __NR_rt_sigreturn) {
		interrupted_return(&dispatch->interrupted, sandbox->guest, sandbox->listener_fd, notification);
		(void)notify_pass(sandbox->listener_fd, notification->id, row, notification->data.args);
		return;
	}
	handoff_call(dispatch->handoff, tid, notification->data.nr);
	again = trace_fetched(dispatch->tracer, tid, notification->data.nr, notification->data.args, &fetched);

	if (!again && trace_rerun(dispatch->tracer, tid, notification->data.nr, notification->data.args)) {
		(void)notify_continue(sandbox->listener_fd, notification->id, row, CONTINUE_VERIFIED);
		return;
	}
	if (row && is_mere_notice(row, tid, &notification->data)) {
		(void)notify_pass(sandbox->listener_fd, notification->id, row, notification->data.args);
		return;
	}
	if (row && is_admitted(sandbox, row, &notification->data)) {
		(void)notify_continue(sandbox->listener_fd, notification->id, row, CONTINUE_ROW);
		return;
	}
	if (row)
		begin(dispatch, notification, row);
	else
		refuse_unknown(dispatch, notification);
	call->no_wait = interrupted_again(&dispatch->interrupted, notification);
	call->again = again;
	call->fetched = again ? fetched : -1;
	if (!find_caller(call)) {
		drop_fetched(call);
		return;
	}
	handoff_known(dispatch->handoff, call->task, notification->data.nr, call->start_ns);
	if (row && call->decision.verdict != VERDICT_DENY)
		perform(call);
	drop_fetched(call); /* what the handler had no use for */
	if (fetch(dispatch))
		return;
	count(dispatch);
	prepared = call->outcome;
	if (prepared.kind == OUTCOME_BLOCKING)
		interrupted_waits(&dispatch->interrupted, notification);
	if (call->outcome.kind != OUTCOME_GONE && call_commit(call) < 0)
		drop_outcome(call, &prepared);
	answer(dispatch);
}
