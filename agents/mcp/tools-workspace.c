/* The tools checkpoint and restore, for sandboxes with a workspace (--cow). */
#include <string.h>

#include "agents/mcp/private.h"
#include "agents/sandbox/sandbox.h"

/* Finishes the call with what the command has printed: a JSON object, or why it has failed. */
static void workspace_on_reply(struct tool_call *call)
{
	const char *text = call->reply_or_content.data ? call->reply_or_content.data : "";
	json_t *answer = json_loadb(text, call->reply_or_content.len, 0, NULL);

	if (!json_is_string(json_object_get(answer, "checkpoint"))) {
		json_decref(answer);
		call_fail(call, "%.*s", (int)call->reply_or_content.len, text);
		return;
	}
	call_add_text(call, text, call->reply_or_content.len);
	call_finish(call, answer, false);
}

/* Starts `callgate session VERB --json -- ID [NAME]`. */
static void workspace_start(struct tool_call *call, const char *verb, const char *name)
{
	const char *id = sandbox_get_id(call->sandbox->sandbox);
	const char *argv[] = {
		call->mcp->options.callgate_path, "session", verb, "--json", "--", id ? id : "", name, NULL};
	int error = host_command_start(call, argv, -1, workspace_on_reply);

	if (error < 0)
		call_fail(call, "the workspace cannot be reached: %s", strerror(-error));
}

void tool_make_checkpoint(struct tool_call *call)
{
	workspace_start(call, "checkpoint", call_get_text(call, "name"));
}

void tool_restore_checkpoint(struct tool_call *call)
{
	workspace_start(call, "restore", call_get_text(call, "checkpoint"));
}
