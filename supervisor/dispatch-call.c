/* One call: begins it, judges it, records and performs it. For dispatch.c and ask/ only. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/dispatch-call.h"
#include "supervisor/on-deny.h"
#include "supervisor/outcome.h"
#include "syscalls/account/result/after.h"
#include "syscalls/account/result/decoys.h"
#include "syscalls/account/result/denial-text.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/account/result/probes.h"
#include "syscalls/arch/arch.h"
#include "syscalls/call/decode.h"
#include "syscalls/table/handlers.h"

/* Resets only members that are read before they are written: the texts make the struct too large to clear. */
void dispatch_begin_call(struct dispatch *dispatch, const struct seccomp_notif *notification,
			 const struct syscall_row *row)
{
	struct call *call = dispatch->call;

	memset(call, 0, offsetof(struct call, net));
	call->sandbox = dispatch->sandbox;
	call->id = notification->id;
	call->tid = (pid_t)notification->pid;
	call->row = row;
	memcpy(call->arg, notification->data.args, sizeof(call->arg));
	call->pc_after_call = notification->data.instruction_pointer;
	call->start_ns = dispatch->again.id == notification->id ? dispatch->again.start_ns : io_read_clock_ns();
	if (dispatch->again.id == notification->id) {
		call->fill_error = dispatch->again.fill_error;
		call->copies_inline = dispatch->again.copies_inline;
	}
	call->resolved_place[0].mount = NULL;
	call->resolved_place[1].mount = NULL;
	call->resolved_place[0].virt_len = call->resolved_place[1].virt_len = 0;
	call->net.host[0] = '\0';
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "bad_argument"};
	call->outcome = (struct outcome){.kind = OUTCOME_ERROR, .value = -ENOSYS, .fd = -1};
}

/* Refuses unlisted numbers and calls of other architectures (int 0x80, x32) with ENOSYS, as a kernel without them. */
void dispatch_refuse_unlisted_call(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	static struct syscall_row row = {.class = ROW_REFUSE, .error = ENOSYS};
	static char name[32];
	bool native = notification->data.arch == arch_get_audit_arch();

	(void)snprintf(name, sizeof(name), "%s_%d", native ? "syscall" : "foreign", notification->data.nr);
	row.name = name;
	dispatch_begin_call(dispatch, notification, &row);
	call_refuse(dispatch->call, -ENOSYS, NULL, native ? "unlisted_syscall" : "foreign_architecture");
}

/*
 * Whether this kernel, or a filter that was here before, has no such call. A path that is NULL below no directory is
 * what each of the calls in question fails for, elsewhere.
 */
static bool dispatch_kernel_lacks(int nr)
{
	return syscall(nr, -1, NULL, 0, 0, 0, 0) < 0 && errno == ENOSYS;
}

void dispatch_judge_call(struct call *call)
{
	syscall_fn *handler = table_get_handler(call->row);
	int r;

	if (!handler) {
		call_refuse(call, -(call->row->error ? call->row->error : ENOSYS), NULL, "refused_syscall");
		return;
	}
	if (call->row->may_be_lacking && dispatch_kernel_lacks(call->row->nr)) {
		call_fail(call, -ENOSYS);
		return;
	}
	r = decode_call_args(call);
	if (!call_thread_still_waits(call)) {
		/* The target thread died, and its pid may be reused, so the memory may have been another process's. */
		call->outcome.kind = OUTCOME_TARGET_GONE;
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

/* Counts a call whose path a redirect rule has led elsewhere. */
static void dispatch_count_redirect(struct call_counts *counts, const struct mount *mount, const char *op)
{
	size_t i = 0;

	while (i < counts->redirect_count &&
	       (counts->redirect[i].mount != mount || strcmp(counts->redirect[i].access_kind, op) != 0))
		i++;
	if (i == COUNTED_REDIRECTS_MAX)
		return;
	if (i == counts->redirect_count)
		counts->redirect[counts->redirect_count++] = (struct redirect){.mount = mount, .access_kind = op};
	counts->redirect[i].count++;
}

/* Counts the judged call by its row and verdict, for the result. */
static void dispatch_count_call(struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;
	bool denied = call->decision.verdict == VERDICT_DENY;
	size_t rows;
	const struct syscall_row *first = table_get_rows(&rows);

	dispatch->counts.judged++;
	dispatch->counts.denied += denied;
	dispatch->counts.allowed += !denied;
	dispatch->counts.observed_denial_count += call_is_observed(call);
	dispatch->counts.allowed_by_answer_count += !denied && call->answer;
	dispatch->counts.refused_probe_count += denied && probe_is_refused_call(call);
	if (call->row >= first && call->row < first + rows)
		dispatch->counts.call_count_by_row[call->row - first]++;
	for (unsigned i = 0; !denied && i < call->path_count; i++)
		if (call->resolved_place[i].mount && call->resolved_place[i].mount->flags & MOUNT_REDIRECT)
			dispatch_count_redirect(&dispatch->counts, call->resolved_place[i].mount,
						denial_get_operation(call));
}

/*
 * Sets call->task. False: the target thread is dead, and no response is due. If the thread cannot be looked up (no
 * memory, no descriptor), its call is refused, and only its pid is recorded.
 */
bool dispatch_find_task(struct call *call)
{
	static char no_exe[] = "";
	static struct task unknown = {.pidfd = -1, .exe = no_exe};

	call->task = task_table_find_task(call->sandbox->tree, call->tid);
	if (call->task)
		return true;
	if (!call_thread_still_waits(call))
		return false;
	unknown.tid = unknown.tgid = call->tid;
	call->task = &unknown;
	call_refuse(call, -EPERM, NULL, "caller_unknown");
	return true;
}

void dispatch_close_fetched_fd(struct call *call)
{
	if (call->has_fetched_fd && call->fetched_fd >= 0)
		(void)close(call->fetched_fd);
	call->has_fetched_fd = false;
}

/* Refuses a call for which the supervisor would have to seize a thread that another process of the run traces. */
void dispatch_refuse_traced_call(struct call *call)
{
	enum outcome_kind kind = call->outcome.kind;

	if (kind != OUTCOME_EXEC && kind != OUTCOME_OPATH_FD && kind != OUTCOME_MAP_MEMFD &&
	    kind != OUTCOME_FETCH_DESCRIPTOR)
		return;
	if (!ptrace_is_traced(call->sandbox, call->tid))
		return;
	outcome_release(&call->outcome);
	call_refuse(call, -EPERM, NULL, kind == OUTCOME_EXEC ? "exec_of_traced" : "traced");
}

/*
 * Whether the call gets a descriptor of a decoy. A descriptor opened with O_PATH counts, because /proc/self/fd opens it
 * again for reading. Where reading this decoy ends the run, the call fails.
 */
static bool dispatch_call_reads_decoy(struct dispatch *dispatch)
{
	struct call *call = dispatch->call;
	enum outcome_kind kind = call->outcome.kind;

	if (call->decision.verdict != VERDICT_PROVIDE || strcmp(call->decision.reason, "decoy") != 0 ||
	    (kind != OUTCOME_FD && kind != OUTCOME_OPATH_FD))
		return false;
	if (policy_decoy_read_ends_run(call->sandbox->policy, call->decision.rule)) {
		outcome_release(&call->outcome);
		call->decision.verdict = VERDICT_KILL;
		(void)call_fail(call, -EACCES);
		dispatch->decoy_read_ends_run = true;
	}
	return true;
}

/*
 * Does to the process what the policy says about a recorded denial, or about reading a decoy, before the target gets
 * its response.
 */
static void dispatch_act_on_denial_or_decoy(struct dispatch *dispatch, bool decoy)
{
	struct call *call = dispatch->call;

	if (decoy) {
		decoys_add(call->sandbox->decoys, call);
		if (dispatch->decoy_read_ends_run)
			on_deny_signal_process(call->task, SIGKILL);
	} else if (policy_on_deny_asks(call->on_deny)) {
		if (call->answer->kills_process || call->answer->ends_run)
			on_deny_signal_process(call->task, SIGKILL);
		dispatch->answer_ends_run = dispatch->answer_ends_run || call->answer->ends_run;
	} else if (call->on_deny > ON_DENY_ERRNO) {
		on_deny_kill_or_stop_process(call->sandbox->stop_notices, call->on_deny, call->task,
					     call->outcome_location.seq);
	}
}

/*
 * True: the call fires entries of after_read. It is made again after the run has lost what these entries take away. If
 * that was tried and something may be left, the call is refused.
 */
static bool dispatch_fire_after_entries(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct call *call = dispatch->call;
	struct after_entries *after = call->sandbox->after_entries;

	/* A call that has failed natively has read nothing: the file does not exist. */
	if (!call->after_entries_to_fire && !call->record_was_written && call->outcome.kind != OUTCOME_ERROR)
		call->after_entries_to_fire = after_find_entries_to_fire(call);
	call->after_entries_checked = true;
	if (!call->after_entries_to_fire || !dispatch->closing)
		return false;
	outcome_release(&call->outcome);
	if (after->refused == call->tid) {
		after->refused = 0;
		call_refuse(call, -EACCES,
			    policy_get_after_label(call->sandbox->policy,
						   (unsigned)__builtin_ctz(call->after_entries_to_fire)),
			    "after_read_incomplete");
		return false;
	}
	if (!copies_have_calls(dispatch->copies) || copies_wait_for_others(dispatch->copies, call, notification) < 0)
		closing_fire_entries(dispatch->closing, call);
	return true;
}

/* Adds the denial of an endpoint to the network's part of the result. */
static void dispatch_report_refused_endpoint(const struct dispatch *dispatch)
{
	const struct call *call = dispatch->call;

	if (dispatch->egress && call->net.host[0] && call->decision.verdict == VERDICT_DENY)
		egress_client_add_refusal(dispatch->egress, call->net.host, call->net.audit_net.port,
					  call->decision.rule, call->decision.reason);
}

/* Records the verdict, then performs the outcome. A call that cannot be recorded fails and is not performed. */
void dispatch_finish_call(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct call *call = dispatch->call;
	bool decoy;

	if (call->outcome.kind == OUTCOME_TARGET_GONE && dispatch_record_killed_call(dispatch, notification))
		return;
	if (call->sandbox->after_entries && dispatch_fire_after_entries(dispatch, notification))
		return;
	decoy = dispatch_call_reads_decoy(dispatch);

	dispatch_count_call(dispatch);
	dispatch_report_refused_endpoint(dispatch);
	if (call->outcome.kind == OUTCOME_BLOCKING_OPEN)
		interrupted_note_waiting_open(&dispatch->interrupted_calls, notification);
	if (call->outcome.kind != OUTCOME_TARGET_GONE)
		(void)call_commit_record(call); /* on failure the outcome is set to the error */
	dispatch_act_on_denial_or_decoy(dispatch, decoy);
	cpu_update_placement_before_response(dispatch->cpu, call);
	outcome_carry_out(dispatch);
}

bool dispatch_record_killed_call(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	struct kept_call *judged = steal_pointer(&dispatch->again.judged);

	if (!judged)
		return false;
	kept_call_restore(judged, dispatch->call);
	dispatch_finish_call(dispatch, notification);
	return true;
}

bool dispatch_begin_copy(struct dispatch *dispatch, const struct seccomp_notif *notification)
{
	const bool has_begun = copies_begin(dispatch->copies, dispatch->call, notification) == 0;

	outcome_release(&dispatch->call->outcome);
	return has_begun;
}
