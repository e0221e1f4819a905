#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "policy/paths/suggest.h"
#include "syscalls/account/result/denial-text.h"

/* The index of the refused path: the last path that was resolved, because paths are judged in order. */
static unsigned denial_find_refused_path(const struct call *call)
{
	return call->path_count > 1 && call->resolved_place[1].mount ? 1 : 0;
}

/* The index of the call's first argument of this kind; -1: the call has none. */
static int denial_find_arg(const struct call *call, enum arg_kind kind)
{
	for (int i = 0; i < 6; i++)
		if (call->row->arg[i].kind == kind)
			return i;
	return -1;
}

/* The O_* flags of the call's arguments; 0: it has none. */
static int denial_read_open_flags(const struct call *call)
{
	int arg = denial_find_arg(call, ARG_OPENFLAGS);

	return arg < 0 ? 0 : call_get_int(call, (unsigned)arg);
}

struct policy_decision denial_get_decision(const struct call *call)
{
	const struct policy_observed_denial *observed = &call->decision.observed_denial;

	if (!call_is_observed(call))
		return call->decision;
	return (struct policy_decision){
		.verdict = VERDICT_DENY, .error = observed->error, .rule = observed->rule, .reason = observed->reason};
}

/* Whether the denied call was about to write or change its path. */
static bool denial_wants_write(const struct call *call)
{
	int flags = denial_read_open_flags(call);

	if (denial_get_decision(call).error == EROFS)
		return true;
	if (denial_find_arg(call, ARG_OPENFLAGS) >= 0)
		return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
	return call->row->intent != INTENT_READ_PATH;
}

/* Which kind of operation the call is, as in struct denial: "read", "write", "exec", "net" … */
const char *denial_get_operation(const struct call *call)
{
	enum row_intent intent = call->row->intent;

	if (call->row->basis == BASIS_EXEC)
		return "exec";
	if (call->path_count > 0 || call->resolved_place[0].mount)
		return denial_wants_write(call) ? "write" : "read";
	if (intent == INTENT_SEND_OR_CONNECT || intent == INTENT_LISTEN)
		return "net";
	if (denial_find_arg(call, ARG_SIGNAL) >= 0)
		return "signal";
	return denial_find_arg(call, ARG_PID) >= 0 || intent == INTENT_AFFECT_PROCESS ? "process" : "other";
}

const char *denial_get_resolved_path(const struct call *call)
{
	const struct place *place = &call->resolved_place[denial_find_refused_path(call)];

	return place->mount && place->virt_len > 0 ? place->virt : NULL;
}

/* Writes the registers of a call without a path, as the log does: "tgid=1 sig=9". */
static void denial_write_argument_values(const struct call *call, char text[DENIAL_TARGET_BYTES_MAX])
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < 6 && call->row->arg[i].kind != ARG_NONE; i++) {
		enum arg_kind kind = call->row->arg[i].kind;
		const char *space = len > 0 ? " " : "";
		int n;

		if (kind == ARG_PTR || kind == ARG_TEXT)
			continue;
		if (kind == ARG_FLAGS || kind == ARG_ATFLAGS || kind == ARG_OPENFLAGS || kind == ARG_SIZE)
			n = snprintf(text + len, DENIAL_TARGET_BYTES_MAX - len, "%s%s=0x%llx", space,
				     call->row->arg[i].name, (unsigned long long)call->arg[i]);
		else
			n = snprintf(text + len, DENIAL_TARGET_BYTES_MAX - len, "%s%s=%d", space,
				     call->row->arg[i].name, call_get_int(call, i));
		if (n < 0 || (size_t)n >= DENIAL_TARGET_BYTES_MAX - len)
			return;
		len += (size_t)n;
	}
}

struct denial_key denial_make_key(const struct call *call, char text[DENIAL_TARGET_BYTES_MAX])
{
	const struct call_path *path = &call->path[denial_find_refused_path(call)];
	struct denial_key key = {.syscall_name = call->row->name, .exe = call->task->exe, .target = text};

	key.error = call_is_observed(call)                ? call->decision.observed_denial.error
		    : call->outcome.kind == OUTCOME_ERROR ? (int)-call->outcome.value
							  : call->decision.error;
	if (call->net.host[0])
		(void)snprintf(text, DENIAL_TARGET_BYTES_MAX, "%s:%u", call->net.host, call->net.audit_net.port);
	else if (call->path_count > 0 && !path->is_null_pointer && path->len > 0)
		key.target = path->text;
	else if (denial_get_resolved_path(call))
		key.target = denial_get_resolved_path(call);
	else
		denial_write_argument_values(call, text);
	return key;
}

/* The S_IFMT type of a file of the host, to suggest a fitting grant. 0: there is no such file. */
static mode_t denial_get_host_file_type(void *ctx, const char *path)
{
	const struct view *view = ctx;
	struct stat st = {.st_mode = S_IFREG};

	return view && view_stat_host_path(view, path, 0, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

/*
 * Adds the refused path. A redirect to a place of the run's own gives all rights but exec, which can only be granted
 * for the whole redirect. A redirect to a host path gives the rights of that host path, and its path in the view cannot
 * be granted.
 */
static void denial_describe_path(const struct call *call, struct suggest_denial *denial)
{
	unsigned at = denial_find_refused_path(call);
	const struct mount *mount = call->resolved_place[at].mount;
	const struct call_path *asked = &call->path[at];
	bool exec = call->row->basis == BASIS_EXEC, write = !exec && denial_wants_write(call);

	denial->wanted_right = exec ? POLICY_EXEC : write ? POLICY_WRITE : POLICY_READ;
	denial->resolved_path = denial_get_resolved_path(call);
	denial->path_as_written = !asked->is_null_pointer && asked->len > 0 ? asked->text : NULL;
	denial->changes_names = call->row->intent == INTENT_CHANGE_NAME || denial_read_open_flags(call) & O_CREAT;
	if (mount->flags & MOUNT_REDIRECT) {
		denial->is_granted_by_run = true;
		denial->resolved_path = exec && mount->flags & MOUNT_PRIVATE ? mount->virt : NULL;
	}
}

char *denial_suggest_grant(const struct call *call, const char **ret_why)
{
	const struct policy *policy = call->sandbox->policy;
	const struct suggest_host host = {.home = policy ? policy_get_settings(policy)->home : NULL,
					  .type = denial_get_host_file_type,
					  .ctx = call->sandbox->view};
	const struct mount *mount = call->resolved_place[denial_find_refused_path(call)].mount;
	const struct policy_decision decision = denial_get_decision(call);
	struct suggest_denial denial = {.reason = decision.reason, .rule = decision.rule};

	if (call->net.host[0]) {
		denial.host = call->net.host;
		denial.accepts_connections = call->row->intent == INTENT_LISTEN;
		/*
		 * A port that the program names is judged by bind(2). So the port of a refused listen(2) was chosen by
		 * the kernel, and the suggestion is for any port.
		 */
		denial.port = strcmp(call->row->name, "listen") == 0 ? 0 : call->net.audit_net.port;
	} else if (!mount || !denial_get_resolved_path(call) ||
		   mount->flags & (MOUNT_PROC | MOUNT_DEVICE | MOUNT_PROVIDED)) {
		denial.rule = NULL;
	} else {
		denial_describe_path(call, &denial);
	}
	return suggest_make_grant(&host, &denial, ret_why);
}
