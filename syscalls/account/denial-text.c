#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/path.h"
#include "policy/paths/suggest.h"
#include "syscalls/account/denial-text.h"

/* The index of the refused path: the last path that was resolved, because paths are judged in order. */
static unsigned denial_find_refused_path(const struct call *call)
{
	return call->paths > 1 && call->place[1].mount ? 1 : 0;
}

/* The index of the call's first argument of this kind; -1: the call has none. */
static int denial_find_arg(const struct call *call, enum arg_kind kind)
{
	for (int i = 0; i < 6; i++)
		if (call->row->arg[i].kind == kind)
			return i;
	return -1;
}

static int denial_read_open_flags(const struct call *call)
{
	int arg = denial_find_arg(call, ARG_OPENFLAGS);

	return arg < 0 ? 0 : call_get_int(call, (unsigned)arg);
}

struct policy_decision denial_get_decision(const struct call *call)
{
	const struct policy_observed *observed = &call->decision.observed;

	if (!call_is_observed(call))
		return call->decision;
	return (struct policy_decision){.verdict = VERDICT_DENY, .error = observed->error, .rule = observed->rule,
					.reason = observed->reason};
}

static bool denial_wants_write(const struct call *call)
{
	int flags = denial_read_open_flags(call);

	if (denial_get_decision(call).error == EROFS)
		return true;
	if (denial_find_arg(call, ARG_OPENFLAGS) >= 0)
		return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
	return call->row->intent != INTENT_LOOK;
}

const char *denial_get_operation(const struct call *call)
{
	enum row_intent intent = call->row->intent;

	if (call->row->basis == BASIS_EXEC)
		return "exec";
	if (call->paths > 0 || call->place[0].mount)
		return denial_wants_write(call) ? "write" : "read";
	if (intent == INTENT_NET || intent == INTENT_SERVE)
		return "net";
	if (denial_find_arg(call, ARG_SIGNAL) >= 0)
		return "signal";
	return denial_find_arg(call, ARG_PID) >= 0 || intent == INTENT_PROCESS ? "process" : "other";
}

const char *denial_get_resolved(const struct call *call)
{
	const struct place *place = &call->place[denial_find_refused_path(call)];

	return place->mount && place->virt_len > 0 ? place->virt : NULL;
}

/* Writes the registers of a call without a path, as the log does: "tgid=1 sig=9". */
static void denial_write_registers(const struct call *call, char text[DENIAL_TARGET_MAX])
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
			n = snprintf(text + len, DENIAL_TARGET_MAX - len, "%s%s=0x%llx", space, call->row->arg[i].name,
				     (unsigned long long)call->arg[i]);
		else
			n = snprintf(text + len, DENIAL_TARGET_MAX - len, "%s%s=%d", space, call->row->arg[i].name,
				     call_get_int(call, i));
		if (n < 0 || (size_t)n >= DENIAL_TARGET_MAX - len)
			return;
		len += (size_t)n;
	}
}

struct denial_key denial_key(const struct call *call, char text[DENIAL_TARGET_MAX])
{
	const struct call_path *path = &call->path[denial_find_refused_path(call)];
	struct denial_key key = {.syscall = call->row->name, .exe = call->task->exe, .target = text};

	key.error = call_is_observed(call)               ? call->decision.observed.error
		    : call->outcome.kind == OUTCOME_ERROR ? (int)-call->outcome.value : call->decision.error;
	if (call->net.host[0])
		(void)snprintf(text, DENIAL_TARGET_MAX, "%s:%u", call->net.host, call->net.record.port);
	else if (call->paths > 0 && !path->null && path->len > 0)
		key.target = path->text;
	else if (denial_get_resolved(call))
		key.target = denial_get_resolved(call);
	else
		denial_write_registers(call, text);
	return key;
}

/* The length of the path to grant: the whole path, or the directory in which a name is made or removed. */
static size_t denial_get_grant_len(const struct call *call, const char *path, bool write)
{
	const char *slash = strrchr(path, '/');

	if (!write || !slash || !(call->row->intent == INTENT_NAME || denial_read_open_flags(call) & O_CREAT))
		return strlen(path);
	return slash == path ? 1 : (size_t)(slash - path);
}

/* Suggests an option of `callgate run`. NULL: no rule names the endpoint, but another reason refused it. */
static char *denial_suggest_endpoint(const struct call *call)
{
	const struct policy_decision decision = denial_get_decision(call);
	const char *reason = decision.reason ? decision.reason : "";
	_cleanup_buf_ struct buf buf = {0};

	if (strcmp(reason, "no_rule") != 0 && strcmp(reason, "port_not_granted") != 0)
		return NULL;
	if (call->row->intent == INTENT_SERVE) {
		/* bind(2) judges a port that the program names, so the kernel chose the port of listen(2). */
		buf_printf(&buf, "--listen %u", strcmp(call->row->name, "listen") == 0 ? 0 : call->net.record.port);
		return buf_take_text(&buf);
	}
	buf_printf(&buf, strchr(call->net.host, ':') ? "--allow-host [%s]:%u" : "--allow-host %s:%u", call->net.host,
		   call->net.record.port);
	return buf_take_text(&buf);
}

/* Suggests what to do instead of a call that no grant would allow. NULL: nothing. */
static const char *denial_suggest_tracing(const char *reason)
{
	if (strcmp(reason, "exec_of_traced") == 0)
		return "start the program untraced and attach to it (gdb -p, strace -p): no program can be started "
		       "under a tracer, because callgate verifies each exec by tracing it";
	if (strcmp(reason, "traced") == 0)
		return "detach the debugger first: callgate has to trace the thread for this call";
	if (strcmp(reason, "trace_not_bounded") == 0)
		return "run with a pid namespace or Landlock, without which a tracer might leave the run; of "
		       "sanitizers: -e ASAN_OPTIONS=detect_leaks=0";
	return NULL;
}

static mode_t host_type(void *ctx, const char *path)
{
	const struct view *view = ctx;
	struct stat st = {.st_mode = S_IFREG};

	return view && view_stat_host_path(view, path, 0, &st) < 0 ? 0 : st.st_mode & S_IFMT;
}

/*
 * Extends `path`, the refused path as far as it was resolved, to the path that the program named: beyond the view only
 * the first name is known. Paths with ".." and paths relative to a directory are left as they are.
 */
static void denial_extend_path(const struct call *call, const char *resolved, char path[PATH_MAX])
{
	const struct call_path *asked = &call->path[denial_find_refused_path(call)];
	char full[PATH_MAX];
	bool lexical;

	(void)snprintf(path, PATH_MAX, "%s", resolved);
	if (asked->null || asked->len == 0 || asked->text[0] != '/' ||
	    path_join("/", asked->text, full, sizeof(full), &lexical) < 0 || !lexical || !path_is_below(full, resolved))
		return;
	(void)snprintf(path, PATH_MAX, "%s", full);
}

char *denial_suggest_grant(const struct call *call, const char **ret_why)
{
	const struct policy *policy = call->sandbox->policy;
	const struct suggest_host host = {.home = policy ? policy_get_settings(policy)->home : NULL,
					  .type = host_type,
					  .ctx = call->sandbox->view};
	char full[PATH_MAX];
	const struct mount *mount = call->place[denial_find_refused_path(call)].mount;
	bool exec = call->row->basis == BASIS_EXEC, write = !exec && denial_wants_write(call);
	const struct policy_decision decision = denial_get_decision(call);
	const char *path = denial_get_resolved(call), *reason = decision.reason;
	_cleanup_buf_ struct buf buf = {0};

	if (reason && denial_suggest_tracing(reason))
		return strdup(denial_suggest_tracing(reason));
	if (call->net.host[0])
		return denial_suggest_endpoint(call);
	if (!path || !mount || !reason || mount->flags & (MOUNT_PROC | MOUNT_DEVICE | MOUNT_PROVIDED))
		return NULL;
	if (strcmp(reason, "not_observed") == 0)
		return strdup("--allow-risky");
	if (strcmp(reason, "denied_by_rule") == 0 && decision.rule) {
		buf_printf(&buf, "drop or narrow the rule \"%s\"", decision.rule);
		return buf_take_text(&buf);
	}
	if (strcmp(reason, "not_granted") != 0 && strcmp(reason, "read_only") != 0 &&
	    strcmp(reason, "not_executable") != 0 && strcmp(reason, "not_public") != 0)
		return NULL;
	/*
	 * A path below a redirect. The run's own places have all rights but exec, which is granted for the whole
	 * redirect. A host place has the rights of the host's path, and its path in the view cannot be granted.
	 */
	if (mount->flags & MOUNT_REDIRECT)
		path = exec && mount->flags & MOUNT_PRIVATE ? mount->virt : NULL;
	if (!path)
		return NULL;
	if (mount->flags & MOUNT_REDIRECT)
		(void)snprintf(full, sizeof(full), "%s", path);
	else
		denial_extend_path(call, path, full);
	full[denial_get_grant_len(call, full, write)] = '\0';
	if (!(mount->flags & MOUNT_REDIRECT))
		*ret_why = suggest_shorten_path(&host, full, exec ? POLICY_EXEC : write ? POLICY_WRITE : POLICY_READ);
	if (*ret_why)
		return NULL;
	buf_puts(&buf, exec ? "-x " : write ? "-W " : "-r ");
	suggest_put_word(&buf, full);
	return buf_take_text(&buf);
}
