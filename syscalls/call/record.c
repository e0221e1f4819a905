/* Fills the audit record of a judged call, with the argument names of the syscall table. */
#include "syscalls/call/call.h"
#include "syscalls/exec/execve.h"

/*
 * How a register is written to the log; paths and texts have fields of their own. The kernel ignores the high word of
 * int arguments, so the log does too.
 */
static const struct {
	enum audit_arg_kind kind;
	enum { WORD_FULL, WORD_SIGNED, WORD_UNSIGNED } width;
} record_kinds[ARG_KIND_MAX] = {
	[ARG_DIRFD] = {AUDIT_ARG_INT, WORD_SIGNED},
	[ARG_FD] = {AUDIT_ARG_INT, WORD_SIGNED},
	[ARG_INT] = {AUDIT_ARG_INT, WORD_SIGNED},
	[ARG_PID] = {AUDIT_ARG_INT, WORD_SIGNED},
	[ARG_SIGNAL] = {AUDIT_ARG_INT, WORD_SIGNED},
	[ARG_UINT] = {AUDIT_ARG_INT, WORD_UNSIGNED},
	[ARG_SIZE] = {AUDIT_ARG_INT, WORD_FULL},
	[ARG_MODE] = {AUDIT_ARG_MODE, WORD_UNSIGNED},
	[ARG_TEXT] = {AUDIT_ARG_TEXT, WORD_FULL},
	[ARG_OPENFLAGS] = {AUDIT_ARG_HEX, WORD_UNSIGNED},
	[ARG_ATFLAGS] = {AUDIT_ARG_HEX, WORD_UNSIGNED},
	[ARG_FLAGS] = {AUDIT_ARG_HEX, WORD_FULL},
};

/* The register's value as the kernel uses it for this kind of argument: sign-extended or cut. */
static uint64_t record_convert_arg_value(enum arg_kind kind, uint64_t value)
{
	if (record_kinds[kind].width == WORD_SIGNED)
		return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
	return record_kinds[kind].width == WORD_UNSIGNED ? (uint32_t)value : value;
}

static void record_fill_args(const struct call *call, struct audit_record *record)
{
	for (unsigned i = 0; i < 6; i++) {
		enum arg_kind kind = call->row->arg[i].kind;
		struct audit_arg *arg = &record->arg[record->arg_count];

		/* execve's argv is recorded as text: exec_record_arguments() in exec/arguments.c. */
		if (kind == ARG_PTR && call->row->basis == BASIS_EXEC && call->text_arg_len &&
		    strcmp(call->row->arg[i].name, "argv") == 0)
			kind = ARG_TEXT;
		if (kind == ARG_NONE || kind == ARG_PATH || kind == ARG_PATH_OR_NULL || kind == ARG_PTR)
			continue;
		if (kind == ARG_DIRFD && call_get_int(call, i) == -100) /* AT_FDCWD */
			continue;
		arg->name = call->row->arg[i].name;
		arg->kind = record_kinds[kind].kind;
		arg->value = record_convert_arg_value(kind, call->arg[i]);
		if (kind == ARG_TEXT) {
			arg->text = call->text_arg;
			arg->text_len = call->text_arg_len;
		}
		record->arg_count++;
	}
}

static void record_get_path_argument(const struct call *call, unsigned i, const char **text, size_t *len,
				     const char **resolved, size_t *resolved_path_len)
{
	if (i >= call->path_count)
		return;
	if (!call->path[i].is_null_pointer) {
		*text = call->path[i].text;
		*len = call->path[i].len;
	}
	if (call->resolved_place[i].mount) {
		*resolved = call->resolved_place[i].virt;
		*resolved_path_len = call->resolved_place[i].virt_len;
	}
}

/* Returns the letter of the strongest right that was asked for, because a stronger right includes the weaker ones. */
static char record_get_right_letter(unsigned want)
{
	if (want & POLICY_EXEC)
		return 'x';
	return want & POLICY_WRITE ? 'w' : want & POLICY_READ ? 'r' : '\0';
}

/* Fills in the paths of the call, and what it executes. */
static void record_fill_paths(const struct call *call, struct audit_record *record)
{
	const struct place *place = &call->resolved_place[0];

	record_get_path_argument(call, 0, &record->path, &record->path_len, &record->resolved_path,
				 &record->resolved_path_len);
	record_get_path_argument(call, 1, &record->second_path, &record->second_path_len, &record->second_resolved_path,
				 &record->second_resolved_path_len);
	if (call->path_count == 0 && place->mount) {
		record->resolved_path = place->virt;
		record->resolved_path_len = place->virt_len;
	}
	if (place->mount && place->mount->flags & MOUNT_REDIRECT)
		record->host_path = place->mount->recorded_host_path;
	if (call->outcome.kind == OUTCOME_EXEC && call->outcome.exec_plan) {
		record->loader_path = call->outcome.exec_plan->loader_path;
		record->loader_resolved_path = call->outcome.exec_plan->loader_virtual_path;
	}
}

/* Fills in the verdict and its reason: those of the policy, of the judged policy (--mode observe), or of an answer. */
static void record_fill_decision(const struct call *call, struct audit_record *record)
{
	const struct policy_decision *decision = &call->decision;

	record->access_right = record_get_right_letter(decision->wanted_rights);
	record->verdict = decision->verdict;
	if (call->on_deny > ON_DENY_ERRNO)
		record->on_deny = policy_on_deny_get_name(call->on_deny);
	record->rule = decision->rule;
	record->reason = decision->reason;
	record->was_observed = call_is_observed(call);
	if (record->was_observed) {
		record->verdict = VERDICT_DENY;
		record->rule = decision->observed_denial.rule;
		record->reason = decision->observed_denial.reason;
	}
	if (call->answer) {
		record->on_deny = policy_on_deny_get_name(call->answer->mode);
		record->answer = call->answer->answer_word;
		record->answered_how = call->answer->how;
		record->answered_by_uid = call->answer->uid;
		record->question_open_ns = call->answer->question_open_ns;
		record->verdict = decision->verdict == VERDICT_DENY ? VERDICT_DENY : VERDICT_ASK;
		record->rule = call->answer->rule;
		record->reason = call->answer->reason;
	}
}

static enum audit_effect record_get_effect(const struct call *call)
{
	enum outcome_kind kind = call->outcome.kind;

	if (call->decision.verdict == VERDICT_DENY || (call->decision.verdict == VERDICT_KILL && kind == OUTCOME_ERROR))
		return AUDIT_EFFECT_REFUSED;
	return kind == OUTCOME_CONTINUE || kind == OUTCOME_EXEC ? AUDIT_EFFECT_CONTINUED : AUDIT_EFFECT_PERFORMED;
}

void call_fill_record(const struct call *call, struct audit_record *ret_record)
{
	struct audit_record *record = ret_record;

	memset(record, 0, sizeof(*record));
	record->pid = call->task->tgid;
	record->tid = call->tid;
	record->ppid = call->task->ppid;
	record->host_pid = call->task->host_pid;
	record->session_program_number = call->task->session_program_number;
	record->exe = call->task->exe;
	record->syscall = call->row->name;
	record_fill_args(call, record);
	record_fill_paths(call, record);
	record->net = call->net.host[0] ? &call->net.audit_net : NULL;
	record_fill_decision(call, record);
	record->effect = record_get_effect(call);
}
