#include "supervisor/ask/again.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/syscall.h>

#include "supervisor/ask/key.h"
#include "supervisor/dispatch-call.h"
#include "supervisor/outcome.h"
#include "supervisor/trace/trace.h"
#include "syscalls/account/result/probes.h"
#include "syscalls/net/inet.h"
#include "syscalls/table/handlers.h"

/*
 * A gate for calls that are judged in the second view: it permits an effect only if the key of the call is that of the
 * approved question.
 */
struct rejudge_gate {
	/* the first member: rejudge_gate_permits_effect() converts its address into that of the whole struct */
	struct call_effect_check effect_check;
	uint64_t start_ns;     /* when the notification was received, for the record; 0: the time of judging */
	/* key of the approved question; NULL: the call must have no effect, because only its key is wanted */
	const char *approved_key;
	struct sha256_ctx copied_hash; /* hash of what was copied from the target */
	bool would_have_had_effect;       /* the call would have had an effect; `keys` is set */
	bool effect_was_permitted;        /* the call was still the approved one */
	bool effect_was_refused;          /* it was not, or its key could not be computed: its handler did nothing */
	struct rejudge_keys keys; /* of the call */
};

/* Adds what the call reads from target memory to what identifies it. */
static void rejudge_gate_hash_copied_bytes(struct call_effect_check *gate, const void *bytes, size_t len)
{
	sha256_update(&((struct rejudge_gate *)gate)->copied_hash, len, bytes);
}

/* Permits the effect only if the call is still the one that the answer was about. */
static bool rejudge_gate_permits_effect(struct call_effect_check *gate, const struct call *call)
{
	struct rejudge_gate *own = (struct rejudge_gate *)gate;

	if (own->effect_was_permitted || own->effect_was_refused)
		return own->effect_was_permitted;
	own->effect_was_refused = true;
	if (!ask_key_compute(call, &own->copied_hash, own->keys.call) || !ask_key_compute_scope(call, own->keys.scope))
		return false;
	own->would_have_had_effect = true;
	own->effect_was_permitted = own->approved_key && strcmp(own->keys.call, own->approved_key) == 0;
	own->effect_was_refused = !own->effect_was_permitted;
	return own->effect_was_permitted;
}

/* ---- judging a call in the second view ---- */

/* Whether the calls of a row connect or send to an address. */
static bool rejudge_row_connects_or_sends(const struct syscall_row *row)
{
	return row &&
	       (row->nr == SYS_connect || row->nr == SYS_sendto || row->nr == SYS_sendmsg || row->nr == SYS_sendmmsg);
}

/* What the sandbox has again after a call was judged by the second view. */
struct rejudge_saved_first_view {
	const struct policy *policy;
	struct view *view;
};

/* The policy by which the sandbox judges again. The network is judged by the first one, as if it was answered. */
static const struct policy *rejudge_find_policy(const struct asker_options *second, const struct policy *first,
						bool is_exec, bool is_net)
{
	return is_exec ? policy_get_with_asked_execs(first) : is_net ? first : second->policy;
}

/*
 * Lets the sandbox judge by the second view. An exec happens in the first one, whose names the kernel uses; so it is
 * judged there, by the policy in which it may be executed. Returns what rejudge_leave_second_view() restores.
 */
static struct rejudge_saved_first_view rejudge_enter_second_view(const struct asker_options *second,
								 struct sandbox *sandbox, int number)
{
	const struct rejudge_saved_first_view first = {sandbox->policy, sandbox->view};
	const struct syscall_row *row = table_find_row(number);
	const bool is_exec = row && row->basis == BASIS_EXEC, is_net = rejudge_row_connects_or_sends(row);

	sandbox->policy = rejudge_find_policy(second, first.policy, is_exec, is_net);
	sandbox->view = is_exec || is_net ? first.view : second->view;
	inet_judge_as_answered(sandbox->inet, is_net);
	view_set_policy(sandbox->view, sandbox->policy);
	view_note_name_change(sandbox->view); /* names of files may have changed through the first view */
	return first;
}

static void rejudge_leave_second_view(struct sandbox *sandbox, const struct rejudge_saved_first_view *first)
{
	sandbox->policy = first->policy;
	sandbox->view = first->view;
	inet_judge_as_answered(sandbox->inet, false);
	view_set_policy(sandbox->view, sandbox->policy);
	view_note_name_change(sandbox->view);
}

/* Judges the call of a notification anew, in the second view. False: its thread is dead. */
static bool rejudge_in_second_view(struct dispatch *dispatch, const struct seccomp_notif *notification,
				   struct rejudge_gate *gate, const struct call_answer *answer)
{
	struct call *call = dispatch->call;

	dispatch_begin_call(dispatch, notification, table_find_row(notification->data.nr));
	call->start_ns = gate->start_ns ? gate->start_ns : call->start_ns;
	gate->effect_check.note_copied_bytes = rejudge_gate_hash_copied_bytes;
	sha256_init(&gate->copied_hash);
	call->effect_check = &gate->effect_check;
	call->answer = answer;
	if (!dispatch_find_task(call))
		return false;
	/* where pidfd_getfd(2) is refused, the target has sent its descriptor for the first judgement */
	call->has_fetched_fd = trace_copy_fetched_fd(dispatch->tracer, call->tid, notification->data.nr,
						     notification->data.args, &call->fetched_fd);
	if (call->decision.verdict != VERDICT_DENY)
		dispatch_judge_call(call);
	dispatch_close_fetched_fd(call);
	dispatch_refuse_traced_call(call);
	return call->outcome.kind != OUTCOME_TARGET_GONE;
}

/* ---- whether a denied call is asked about ---- */

/*
 * True when a relative path failed with ENOENT, because the first view does not show the directory where it starts. An
 * answer may have given the program that directory.
 */
static bool rejudge_path_starts_outside_view(const struct call *call)
{
	for (unsigned i = 0; i < call->path_count; i++)
		if (!call->path[i].is_null_pointer && !call->path[i].error && call->path[i].len &&
		    call->path[i].text[0] != '/' && !call->resolved_place[i].mount && call->outcome.value == -ENOENT)
			return true;
	return false;
}

/*
 * Whether the first view may have refused a directory above the object, which it does not show, where a rule asks about
 * the object itself. ask.c finds out, by what the second view finds.
 */
static bool rejudge_walk_may_have_ended_early(const struct call *call)
{
	return call->path_count > 0 && !call->decision.rule && strcmp(call->decision.reason, "not_granted") == 0 &&
	       policy_asks_about_denials(call->sandbox->policy);
}

/* Whether the call names an internet endpoint. Unix sockets are not asked about. */
static bool rejudge_call_names_endpoint(const struct call *call)
{
	return rejudge_row_connects_or_sends(call->row) && call->net.host[0];
}

bool rejudge_can_question_be_asked(const struct dispatch *dispatch, enum policy_on_deny mode)
{
	const struct call *call = dispatch->call;
	const struct syscall_row *row = call->row;

	if (call->outcome.kind != OUTCOME_ERROR || !table_get_handler(row) || row->intent == INTENT_LISTEN ||
	    call->task->pidfd < 0)
		return false;
	if (row->intent == INTENT_SEND_OR_CONNECT && !rejudge_call_names_endpoint(call))
		return false;
	if (call->decision.verdict != VERDICT_DENY)
		return rejudge_path_starts_outside_view(call);
	if (row->basis == BASIS_EXEC && strcmp(call->decision.reason, "exec_denied_by_rule") != 0)
		return false; /* what no rule grants cannot be executed: the Landlock domain was made before */
	return (policy_find_on_deny(call->sandbox->policy, call->decision.rule) == mode ||
		rejudge_walk_may_have_ended_early(call)) &&
	       !probe_is_refused_call(call);
}

/*
 * Whether the call names files and nothing else. Calls on other objects are not asked about: /proc and terminals show
 * the run itself, and devices are shared with the host.
 */
static bool rejudge_call_names_files(const struct call *call)
{
	bool any = false;

	for (size_t i = 0; i < sizeof(call->resolved_place) / sizeof(call->resolved_place[0]); i++) {
		const struct mount *mount = call->resolved_place[i].mount;

		if (!mount)
			continue;
		any = true;
		if (call->resolved_place[i].is_magic_link ||
		    mount->flags & (MOUNT_PROC | MOUNT_DEV_PTS | MOUNT_TTY | MOUNT_DEVICE))
			return false;
	}
	return any && !call->net.host[0];
}

/*
 * Whether the call, judged in the second view, would be performed there. False if the second policy denies it as well
 * (secrets), or if it would fail. The program then gets the denial alone, which does not tell whether the object
 * exists.
 */
static bool rejudge_would_perform(const struct call *call, struct rejudge_gate *gate)
{
	enum outcome_kind kind = call->outcome.kind;

	if (call->decision.verdict == VERDICT_DENY ||
	    !(rejudge_call_names_files(call) || rejudge_call_names_endpoint(call)))
		return false;
	if (gate->would_have_had_effect)
		return kind == OUTCOME_ERROR;
	if (call->row->basis == BASIS_EXEC && kind != OUTCOME_EXEC)
		return false;
	if (kind == OUTCOME_EXEC || kind == OUTCOME_FD || kind == OUTCOME_OPATH_FD || kind == OUTCOME_BLOCKING_OPEN ||
	    kind == OUTCOME_VALUE)
		(void)rejudge_gate_permits_effect(&gate->effect_check, call);
	return gate->would_have_had_effect;
}

bool rejudge_without_performing(struct dispatch *dispatch, const struct asker_options *second,
				const struct seccomp_notif *notification, struct rejudge_keys *ret_keys)
{
	struct rejudge_gate gate = {
		.effect_check = {.is_without_effect = true, .permits_effect = rejudge_gate_permits_effect}};
	struct sandbox *sandbox = dispatch->sandbox;
	const struct rejudge_saved_first_view first = rejudge_enter_second_view(second, sandbox, notification->data.nr);
	bool asks = rejudge_in_second_view(dispatch, notification, &gate, NULL) &&
		    rejudge_would_perform(dispatch->call, &gate);

	if (dispatch->call->outcome.kind != OUTCOME_COPY_FIRST &&
	    (!asks || dispatch->call->outcome.kind != OUTCOME_EXEC))
		outcome_release(&dispatch->call->outcome);
	dispatch->call->effect_check = NULL;
	rejudge_leave_second_view(sandbox, &first);
	if (asks)
		*ret_keys = gate.keys;
	return asks;
}

/* ---- performing ---- */

/* Performs the call that was judged again, if the gate permits it. */
static enum rejudge_result rejudge_finish(struct dispatch *dispatch, const struct seccomp_notif *notification,
					  struct rejudge_gate *gate, bool alive)
{
	struct call *call = dispatch->call;

	if (alive && call->outcome.kind == OUTCOME_COPY_FIRST)
		return dispatch_begin_copy(dispatch, notification) ? REJUDGE_COPIES_FIRST : REJUDGE_CANNOT_COPY;
	if (alive && call->decision.verdict != VERDICT_DENY)
		/*
		 * The handler of an open for reading asks no gate, because the call has no effect until its outcome is
		 * performed. So the gate is asked here.
		 */
		(void)rejudge_gate_permits_effect(&gate->effect_check, call);
	if (gate->effect_was_permitted)
		dispatch_finish_call(dispatch, notification);
	else
		outcome_release(&call->outcome);
	return gate->effect_was_permitted ? REJUDGE_PERFORMED : alive ? REJUDGE_CALL_CHANGED : REJUDGE_THREAD_IS_DEAD;
}

enum rejudge_result rejudge_and_perform(struct dispatch *dispatch, const struct asker_options *second,
					const struct seccomp_notif *notification,
					const struct rejudge_approval *approval)
{
	struct rejudge_gate gate = {.effect_check.permits_effect = rejudge_gate_permits_effect,
				    .start_ns = approval->start_ns,
				    .approved_key = approval->key};
	struct sandbox *sandbox = dispatch->sandbox;
	const struct rejudge_saved_first_view first = rejudge_enter_second_view(second, sandbox, notification->data.nr);
	bool alive = rejudge_in_second_view(dispatch, notification, &gate, approval->answer);
	enum rejudge_result result = rejudge_finish(dispatch, notification, &gate, alive);

	dispatch->call->effect_check = NULL;
	dispatch->call->answer = NULL;
	rejudge_leave_second_view(sandbox, &first);
	return result;
}
