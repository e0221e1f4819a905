/*
 * The tools for sandboxes with a workspace (--cow): checkpoint, restore, and those that show, apply and discard what
 * was written. The work is done by commands of callgate's own, one after the other; call->structured is the result so
 * far.
 */
#include <string.h>

#include "agents/mcp/private.h"
#include "agents/sandbox/sandbox.h"
#include "base/cleanup-json.h"

#define WORKSPACE_CHANGES_MAX 500 /* changes in a result */
#define APPLY_EXIT_NOT_ALL 3      /* exit status of `callgate ws apply`: something was left out */

typedef void workspace_handler(struct tool_call *call);

/* Starts `callgate ARGUMENT...`, NULL-ended; on_reply is called at its end. */
static void workspace_run(struct tool_call *call, const char *const *arguments, workspace_handler *on_reply)
{
	const char *argv[10] = {call->mcp->options.callgate_path};
	int error;

	for (size_t i = 0; i + 2 < sizeof(argv) / sizeof(argv[0]) && arguments[i]; i++)
		argv[i + 1] = arguments[i];
	error = call_start_host_command(call, argv, true, on_reply);
	if (error < 0)
		call_fail(call, "the workspace cannot be reached: %s", strerror(-error));
}

#define WORKSPACE_RUN(call, on_reply, ...) workspace_run(call, (const char *const[]){__VA_ARGS__, NULL}, on_reply)

static const char *workspace_get_reply(const struct tool_call *call)
{
	return call->reply_or_content.data ? call->reply_or_content.data : "";
}

/* Finishes the call with what the command has printed, which is why it has failed. */
static void workspace_fail(struct tool_call *call)
{
	call_fail(call, "%.*s", (int)call->reply_or_content.len, workspace_get_reply(call));
}

static const char *workspace_get_text(const struct tool_call *call, const char *name)
{
	return json_string_value(json_object_get(call->structured, name));
}

static void workspace_finish(struct tool_call *call, bool is_error)
{
	call_finish(call, json_incref(call->structured), is_error);
}

/* ---- checkpoints ---- */

/* Reads what `callgate session checkpoint --json` has printed. A new reference; NULL: it has failed. */
static json_t *workspace_read_checkpoint(const struct tool_call *call)
{
	json_t *answer = json_loadb(workspace_get_reply(call), call->reply_or_content.len, 0, NULL);

	if (json_is_string(json_object_get(answer, "checkpoint")))
		return answer;
	json_decref(answer);
	return NULL;
}

static void workspace_on_checkpoint(struct tool_call *call)
{
	json_t *answer = workspace_read_checkpoint(call);

	if (!answer) {
		workspace_fail(call);
		return;
	}
	call_add_text(call, workspace_get_reply(call), call->reply_or_content.len);
	call_finish(call, answer, false);
}

/* The id of the call's session, which its workspace has, too. Begins the result. */
static const char *workspace_begin(struct tool_call *call)
{
	const char *id = sandbox_get_id(call->sandbox->sandbox);

	json_decref(call->structured);
	call->structured = json_pack("{s:s}", "workspace", id ? id : "");
	return workspace_get_text(call, "workspace");
}

void tool_make_checkpoint(struct tool_call *call)
{
	const char *id = workspace_begin(call);

	WORKSPACE_RUN(call, workspace_on_checkpoint, "session", "checkpoint", "--json", "--", id,
		      call_get_text(call, "name"));
}

void tool_restore_checkpoint(struct tool_call *call)
{
	const char *id = workspace_begin(call);

	WORKSPACE_RUN(call, workspace_on_checkpoint, "session", "restore", "--json", "--", id,
		      call_get_text(call, "checkpoint"));
}

/* ---- what was changed ---- */

/* What the lines of `callgate ws diff --json` and `callgate ws apply --json` say. */
struct workspace_lines {
	struct tool_call *call;
	json_t *changes, *stale_reads; /* owned, as far as there is room in a result */
	size_t applied;                /* changes that were applied; they are not in `changes` */
	bool is_truncated;
	bool has_error; /* a line is no JSON: the command tells of a failure */
};

/* Adds a text: "what path, why". */
static void workspace_add_text(struct tool_call *call, const char *what, const char *path, const char *why)
{
	json_t *text = json_sprintf("%s %s%s%s", what, path, why ? ", " : "", why ? why : "");

	if (text)
		call_add_text(call, json_string_value(text), json_string_length(text));
	json_decref(text);
}

/* True when a result has room for one more element of a list. */
static bool workspace_has_room(struct workspace_lines *lines, const json_t *list)
{
	const bool has_room = json_array_size(list) < WORKSPACE_CHANGES_MAX;

	lines->is_truncated |= !has_room;
	return has_room;
}

static void workspace_take_stale_read(struct workspace_lines *lines, const json_t *line)
{
	const char *path = json_string_value(json_object_get(line, "path"));
	const bool is_removed = json_is_true(json_object_get(line, "removed"));

	if (!path || !workspace_has_room(lines, lines->stale_reads))
		return;
	(void)json_array_append_new(lines->stale_reads, json_pack("{s:s, s:b}", "path", path, "removed", is_removed));
	workspace_add_text(lines->call, "warning:", path,
			   is_removed ? "which the sandbox has read, was removed outside since"
				      : "which the sandbox has read, was changed outside since");
}

static void workspace_take_change(struct workspace_lines *lines, json_t *line)
{
	const char *path = json_string_value(json_object_get(line, "path"));
	const char *change = json_string_value(json_object_get(line, "change"));
	const char *old = json_string_value(json_object_get(line, "old_path"));
	const char *result = json_string_value(json_object_get(line, "result"));
	const bool is_applied = result && strcmp(result, "applied") == 0;
	json_t *was = old ? json_sprintf("it was %s", old) : NULL;

	lines->applied += is_applied;
	if (is_applied ? lines->applied <= WORKSPACE_CHANGES_MAX : workspace_has_room(lines, lines->changes)) {
		if (!is_applied)
			(void)json_array_append(lines->changes, line);
		workspace_add_text(lines->call, change, path,
				   result && !is_applied ? json_string_value(json_object_get(line, "why"))
							 : json_string_value(was));
	}
	json_decref(was);
}

static void workspace_take_line(struct workspace_lines *lines, const char *text, size_t len)
{
	_cleanup_json_ json_t *line = json_loadb(text, len, 0, NULL);
	const char *warning = json_string_value(json_object_get(line, "warning"));

	if (warning && strcmp(warning, "stale_read") == 0)
		workspace_take_stale_read(lines, line);
	else if (json_is_string(json_object_get(line, "path")) && json_is_string(json_object_get(line, "change")))
		workspace_take_change(lines, line);
	else if (len > 0) {
		lines->has_error |= !line;
		call_add_text(lines->call, text, len);
	}
}

/* Takes what the command has printed into the result. *ret_applied: the changes that were applied. False: it failed. */
static bool workspace_take_changes(struct tool_call *call, size_t *ret_applied)
{
	struct workspace_lines lines = {.call = call, .changes = json_array(), .stale_reads = json_array()};
	const char *at = workspace_get_reply(call), *end = at + call->reply_or_content.len;

	for (const char *newline; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline && *at == '{') { /* a longer reply is cut off */
			lines.is_truncated = true;
			break;
		}
		newline = newline ? newline : end;
		workspace_take_line(&lines, at, (size_t)(newline - at));
	}
	(void)json_object_set_new(call->structured, "changes", lines.changes);
	(void)json_object_set_new(call->structured, "stale_reads", lines.stale_reads);
	(void)json_object_set_new(call->structured, "truncated", json_boolean(lines.is_truncated));
	*ret_applied = lines.applied;
	return !lines.has_error;
}

/* Finishes a call that shows what was changed. */
static void workspace_finish_diff(struct tool_call *call)
{
	static const char note[] =
		"Nothing was applied: this server lets no agent apply its own changes. When the sandbox has ended, a "
		"person looks at them and applies them: callgate ws diff, callgate ws apply, with the workspace's id.";
	static const char none[] = "no changes";

	if (json_array_size(json_object_get(call->structured, "changes")) == 0)
		call_add_text(call, none, sizeof(none) - 1);
	if (call->tool->start == tool_apply_workspace) {
		(void)json_object_set_new(call->structured, "applied", json_false());
		call_add_text(call, note, sizeof(note) - 1);
	}
	workspace_finish(call, false);
}

static void workspace_on_diff(struct tool_call *call)
{
	size_t applied;

	if (!workspace_take_changes(call, &applied))
		call_finish(call, NULL, true);
	else if (workspace_get_text(call, "checkpoint"))
		WORKSPACE_RUN(call, workspace_finish_diff, "session", "checkpoint", "--remove", "--",
			      workspace_get_text(call, "workspace"), workspace_get_text(call, "checkpoint"));
	else
		workspace_finish_diff(call);
}

static void workspace_on_own_checkpoint(struct tool_call *call)
{
	_cleanup_json_ json_t *answer = workspace_read_checkpoint(call);

	if (!answer) {
		workspace_fail(call);
		return;
	}
	(void)json_object_set(call->structured, "checkpoint", json_object_get(answer, "checkpoint"));
	WORKSPACE_RUN(call, workspace_on_diff, "ws", "diff", "--json", "--checkpoint",
		      workspace_get_text(call, "checkpoint"), "--", workspace_get_text(call, "workspace"));
}

/* Programs of the sandbox go on, so what is compared is a checkpoint: the one that is named, or one for this call. */
void tool_show_changes(struct tool_call *call)
{
	const char *id = workspace_begin(call), *checkpoint = call_get_text(call, "checkpoint");

	if (checkpoint)
		WORKSPACE_RUN(call, workspace_on_diff, "ws", "diff", "--json", "--checkpoint", checkpoint, "--", id);
	else
		WORKSPACE_RUN(call, workspace_on_own_checkpoint, "session", "checkpoint", "--json", "--", id);
}

/* ---- the end of a workspace ---- */

/*
 * Ends the sandbox, because a workspace can be applied or discarded only when its session has ended. The call goes on
 * without it.
 */
static void workspace_end_sandbox(struct tool_call *call, workspace_handler *on_ended)
{
	const char *id = workspace_begin(call);

	sandboxes_release(call->sandbox);
	call->sandbox = NULL;
	WORKSPACE_RUN(call, on_ended, "session", "stop", "--", id);
}

/* Says what to do after an apply that was ended in the middle. */
static void workspace_add_way_out(struct tool_call *call, const char *id)
{
	json_t *text = json_sprintf(
		"It was ended in the middle. Each file outside is wholly the old or the new one, but for one that may "
		"be "
		"half-made beside its place. A person ends the apply by `callgate ws recover %s`, which removes that "
		"one "
		"and keeps what was applied; then `callgate ws diff %s` shows what is left, and `callgate ws apply %s` "
		"goes on.",
		id, id, id);

	if (text)
		call_add_text(call, json_string_value(text), json_string_length(text));
	json_decref(text);
}

/* What is left was not applied: conflicts, and what would be executed outside of any sandbox. */
static void workspace_on_applied(struct tool_call *call)
{
	static const char note[] = "These were not applied; a person decides: callgate ws apply.";
	static const char unsuccessful[] = "callgate ws apply has not ended successfully";
	const int status = call->host_command_status;
	const char *id = workspace_get_text(call, "workspace");
	size_t applied;
	const bool failed = !workspace_take_changes(call, &applied) || (status != 0 && status != APPLY_EXIT_NOT_ALL);
	const bool is_left =
		status == APPLY_EXIT_NOT_ALL || json_array_size(json_object_get(call->structured, "changes")) > 0;

	(void)json_object_set_new(call->structured, "applied", json_boolean(status == 0 || applied > 0));
	(void)json_object_set_new(call->structured, "applied_count", json_integer((json_int_t)applied));
	if (is_left)
		call_add_text(call, note, sizeof(note) - 1);
	if (failed)
		call_add_text(call, unsuccessful, sizeof(unsuccessful) - 1);
	if (status < 0)
		workspace_add_way_out(call, id);
	if (failed && !is_left && applied == 0)
		call_finish(call, NULL, true);
	else
		workspace_finish(call, failed || is_left);
}

static void workspace_on_ended_to_apply(struct tool_call *call)
{
	WORKSPACE_RUN(call, workspace_on_applied, "ws", "apply", "--json", "--", workspace_get_text(call, "workspace"));
}

void tool_apply_workspace(struct tool_call *call)
{
	if (call->mcp->options.allows_apply)
		workspace_end_sandbox(call, workspace_on_ended_to_apply);
	else
		tool_show_changes(call);
}

static void workspace_on_discarded(struct tool_call *call)
{
	static const char note[] =
		"The sandbox has ended, and what it wrote is gone. A call without \"sandbox\" makes a "
		"new one.";

	if (call->reply_or_content.len > 0) { /* it prints nothing but errors */
		workspace_fail(call);
		return;
	}
	(void)json_object_set_new(call->structured, "discarded", json_true());
	call_add_text(call, note, sizeof(note) - 1);
	workspace_finish(call, false);
}

static void workspace_on_ended_to_discard(struct tool_call *call)
{
	WORKSPACE_RUN(call, workspace_on_discarded, "ws", "discard", "--", workspace_get_text(call, "workspace"));
}

void tool_discard_workspace(struct tool_call *call)
{
	workspace_end_sandbox(call, workspace_on_ended_to_discard);
}
