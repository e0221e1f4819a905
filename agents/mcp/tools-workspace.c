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

typedef void workspace_handler(struct tool_call *call);

/* Starts `callgate ARGUMENT...`, NULL-ended; on_reply is called at its end. */
static void workspace_run(struct tool_call *call, const char *const *arguments, workspace_handler *on_reply)
{
	const char *argv[10] = {call->mcp->options.callgate_path};
	int error;

	for (size_t i = 0; i + 2 < sizeof(argv) / sizeof(argv[0]) && arguments[i]; i++)
		argv[i + 1] = arguments[i];
	error = host_command_start(call, argv, -1, on_reply);
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

static void workspace_describe_change(struct tool_call *call, const json_t *change)
{
	const char *old = json_string_value(json_object_get(change, "old_path"));
	json_t *text = json_sprintf("%s %s%s%s", json_string_value(json_object_get(change, "change")),
				    json_string_value(json_object_get(change, "path")), old ? ", it was " : "",
				    old ? old : "");

	if (text)
		call_add_text(call, json_string_value(text), json_string_length(text));
	json_decref(text);
}

/* Takes the changes that `callgate ws diff --json` has printed, one a line. False: it has failed. */
static bool workspace_take_changes(struct tool_call *call)
{
	json_t *changes = json_array();
	const char *at = workspace_get_reply(call), *end = at + call->reply_or_content.len;
	bool is_truncated = false;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const size_t len = (size_t)((newline ? newline : end) - at);
		_cleanup_json_ json_t *change = json_loadb(at, len, 0, NULL);

		at += len + 1;
		if (json_is_string(json_object_get(change, "warning")))
			continue; /* of what was read, which is for the person who applies */
		if (!json_is_string(json_object_get(change, "path")) ||
		    !json_is_string(json_object_get(change, "change"))) {
			json_decref(changes);
			return false;
		}
		is_truncated = json_array_size(changes) >= WORKSPACE_CHANGES_MAX;
		if (!is_truncated) {
			(void)json_array_append(changes, change);
			workspace_describe_change(call, change);
		}
	}
	(void)json_object_set_new(call->structured, "changes", changes);
	(void)json_object_set_new(call->structured, "truncated", json_boolean(is_truncated));
	return true;
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
	if (!workspace_take_changes(call))
		workspace_fail(call);
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

/* What is left was not applied: conflicts, and what would be executed outside of any sandbox. */
static void workspace_on_left(struct tool_call *call)
{
	static const char note[] = "These were not applied; a person decides: callgate ws apply.";
	const bool failed = !workspace_take_changes(call);

	if (failed) {
		workspace_fail(call);
	} else if (json_array_size(json_object_get(call->structured, "changes")) > 0) {
		call_add_text(call, note, sizeof(note) - 1);
		workspace_finish(call, true);
	} else {
		workspace_finish(call, false);
	}
}

static void workspace_on_applied(struct tool_call *call)
{
	call_add_text(call, workspace_get_reply(call), call->reply_or_content.len);
	(void)json_object_set_new(call->structured, "applied", json_true());
	WORKSPACE_RUN(call, workspace_on_left, "ws", "diff", "--json", "--", workspace_get_text(call, "workspace"));
}

static void workspace_on_ended_to_apply(struct tool_call *call)
{
	WORKSPACE_RUN(call, workspace_on_applied, "ws", "apply", "--", workspace_get_text(call, "workspace"));
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
