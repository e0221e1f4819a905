#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/answer.h"
#include "supervisor/dispatch.h"
#include "supervisor/outcome.h"
#include "syscalls/account/probes.h"
#include "syscalls/arch/arch.h"
#include "syscalls/call/decode.h"
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

/* Resets only what is read before it is written: the texts make the struct too large to clear for every call. */
static void dispatch_begin(struct dispatch *dispatch, const struct seccomp_notif *notification,
			   const struct syscall_row *row)
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
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -ENOSYS, .fd = -1, .peer_fd = -1};
	call->slot = (struct audit_slot){0};
	call->committed = false;
	call->again = false;
}

/* Unlisted numbers and calls of another architecture (int 0x80, x32): ENOSYS, as if the kernel did not have them. */
static void dispatch_refuse_unlisted(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	static struct syscall_row row = {.class = ROW_REFUSE, .error = ENOSYS};
	static char name[32];
	bool native = notification->data.arch == arch_audit();

	(void)snprintf(name, sizeof(name), "%s_%d", native ? "syscall" : "foreign", notification->data.nr);
	row.name = name;
	dispatch_begin(dispatch, notification, &row);
	call_refuse(dispatch->call, -ENOSYS, NULL, native ? "unlisted_syscall" : "foreign_architecture");
}

static void dispatch_judge(struct call *call)
{
	syscall_fn *handler = table_handler(call->row);
	int r;

	if (!handler) {
		call_refuse(call, -(call->row->error ? call->row->error : ENOSYS), NULL, "refused_syscall");
		return;
	}
	r = decode_call(call);
	if (!call_valid(call)) {
		/* The target thread died, and its pid may be reused: the memory read may be another process's. */
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
	if (call->outcome.kind == OUTCOME_CONTINUE && !outcome_may_continue(call))
		call_refuse(call, -EPERM, NULL, "continue_forbidden");
}

static void dispatch_count(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	size_t rows;
	const struct syscall_row *first = table_rows(&rows);

	dispatch->judged++;
	if (call->decision.verdict == VERDICT_DENY) {
		dispatch->denied++;
		dispatch->expected += probe_was_refused(call);
	} else {
		dispatch->allowed++;
	}
	if (call->row >= first && call->row < first + rows)
		dispatch->by_row[call->row - first]++;
	redirects_note(&dispatch->redirects, call);
}

/*
 * Sets call->task. False: the target thread is dead, and no response is due. When the thread cannot be looked up (no
 * memory, no descriptor) its call is refused, with the pid as the only thing on record about it.
 */
static bool dispatch_find_task(struct call *call)
{
	static char no_exe[] = "";
	static struct task unknown = {.pidfd = -1, .exe = no_exe};

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

/*
 * OUTCOME_FETCH: the target thread is to send us a descriptor, then its call is restarted and judged again. False: the
 * call fails instead.
 */
static bool dispatch_fetch(struct dispatch *dispatch)
{
	int r = trace_start(dispatch->tracer, dispatch->call);

	if (r < 0)
		call_fail(dispatch->call, r);
	return r == 0;
}

/* Closes the fetched descriptor, unless the handler has taken it. */
static void dispatch_close_fetched(struct call *call)
{
	if (call->again && call->fetched >= 0)
		(void)close(call->fetched);
	call->again = false;
}

/* The row's hook. True: the call needs neither a verdict nor a record. */
static bool dispatch_run_hook(struct dispatch *dispatch, const struct syscall_row *row,
			      const struct seccomp_notif *notification)
{
	struct sandbox *sandbox = dispatch->sandbox;

	switch (row->hook) {
	case HOOK_SIGRETURN:
		interrupted_return(&dispatch->interrupted, sandbox->guest, sandbox->listener_fd, notification);
		return true;
	case HOOK_GET_AFFINITY:
	case HOOK_SET_AFFINITY:
		return cpu_received(dispatch->cpu, row, notification);
	case HOOK_RECORD_LOCK: /* dispatch_admits_lock */
	case HOOK_NONE:
	default:
		return false;
	}
}

/* HOOK_RECORD_LOCK: true when there is room for the lock. Other commands, and locks beyond the limit, are judged. */
static bool dispatch_admits_lock(struct sandbox *sandbox, const struct syscall_row *row, const __u64 *args)
{
	return row->hook == HOOK_RECORD_LOCK && locks_counts(args[1]) &&
	       locks_admit(&sandbox->locks, args[1], io_now_ns());
}

/* Records the verdict, then performs the outcome. A call that cannot be recorded fails and is not performed. */
static void dispatch_finish(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct call *call = dispatch->call;
	struct outcome prepared = call->outcome;

	dispatch_count(dispatch);
	if (prepared.kind == OUTCOME_BLOCKING)
		interrupted_waits(&dispatch->interrupted, notification);
	if (prepared.kind != OUTCOME_GONE && call_commit(call) < 0)
		outcome_release(&prepared); /* call->outcome is an error by now */
	cpu_responding(dispatch->cpu, call);
	(void)outcome_perform(dispatch); /* when it responds does not matter here */
}

void dispatch_notification(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct sandbox *sandbox = dispatch->sandbox;
	struct call *call = dispatch->call;
	const struct seccomp_data *data = &notification->data;
	const struct syscall_row *row = data->arch == arch_audit() ? table_find(data->nr) : NULL;
	pid_t tid = (pid_t)notification->pid;
	int fetched = -1;
	bool again;

	dispatch->ended_ns = 0;
	if (row && dispatch_run_hook(dispatch, row, notification)) {
		(void)answer_pass(sandbox->listener_fd, notification, row);
		return;
	}
	again = trace_fetched(dispatch->tracer, tid, data->nr, data->args, &fetched);
	if (!again && trace_restarted(dispatch->tracer, tid, data->nr, data->args)) {
		(void)answer_continue(sandbox->listener_fd, notification->id, row, CONTINUE_VERIFIED);
		return;
	}
	if (row && dispatch_admits_lock(sandbox, row, data->args)) {
		(void)answer_continue(sandbox->listener_fd, notification->id, row, CONTINUE_ROW);
		return;
	}
	if (row)
		dispatch_begin(dispatch, notification, row);
	else
		dispatch_refuse_unlisted(dispatch, notification);
	call->no_wait = interrupted_again(&dispatch->interrupted, notification);
	call->again = again;
	call->fetched = fetched;
	if (!dispatch_find_task(call)) {
		dispatch_close_fetched(call);
		return;
	}
	if (row && call->decision.verdict != VERDICT_DENY)
		dispatch_judge(call);
	dispatch_close_fetched(call);
	if (call->outcome.kind == OUTCOME_FETCH && dispatch_fetch(dispatch))
		return;
	dispatch_finish(dispatch, notification);
}
