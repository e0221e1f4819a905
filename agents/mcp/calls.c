/* Tool calls in progress: their start, end, cancellation and progress, and the parts that all results have. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mcp/private.h"
#include "agents/slist.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "keeper/libraries.h"
#include "keeper/utf8.h"

#define CALL_ERROR_MESSAGE_SIZE 2048
#define PROGRESS_INTERVAL_MS 250
#define PROGRESS_TEXT_BYTES_MAX 200 /* bytes of the latest output in a progress notification */

/* ---- arguments ---- */

const char *call_get_text(const struct tool_call *call, const char *name)
{
	return json_string_value(json_object_get(call->arguments, name));
}

json_int_t call_get_number(const struct tool_call *call, const char *name, json_int_t otherwise)
{
	const json_t *value = json_object_get(call->arguments, name);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

uint64_t call_get_timeout_ms(const struct tool_call *call)
{
	return (uint64_t)call_get_number(call, "timeout_seconds", MCP_TIMEOUT_S_DEFAULT) * 1000;
}

/* ---- end of a call ---- */

/* Stops what the call does, with all that it has started in its sandbox. */
static void call_stop(struct tool_call *call)
{
	struct mcp_sandbox *sandbox = call->sandbox;

	if (call->has_started && call->tool->stop)
		call->tool->stop(call);
	call->has_started = false;
	call->sandbox = NULL;
	if (sandbox)
		sandboxes_release(sandbox);
}

static void call_free(struct tool_call *call)
{
	slist_remove(call->mcp->calls, call, next);
	call->mcp->call_count--;
	approvals_forget_call(call->mcp, call);
	call_stop(call);
	call_stop_host_command(call);
	loop_cancel_timer(call->retry_timer);
	json_decref(call->kept_result);
	json_decref(call->looked);
	json_decref(call->structured);
	json_decref(call->id);
	json_decref(call->arguments);
	json_decref(call->progress_token);
	json_decref(call->content);
	buf_release(&call->stdout_output.kept_output);
	buf_release(&call->stderr_output.kept_output);
	buf_release(&call->reply_or_content);
	free(call);
}

/* No retry has come. */
static void call_on_retry_timer(void *data)
{
	struct tool_call *call = data;

	call->retry_timer = NULL;
	call_free(call);
}

/* Keeps the result of a call for its retry, and nothing else. */
static void call_keep_result(struct tool_call *call, json_t *result)
{
	struct mcp_sandbox *sandbox = call->sandbox;

	call->kept_result = result;
	call_stop(call);
	if (sandbox)
		approvals_put(sandbox); /* what was to be put at the retry */
	call->retry_timer = loop_add_timer(call->mcp->loop, MCP_RETRY_WAIT_MS, call_on_retry_timer, call);
	if (!call->retry_timer)
		call_free(call);
}

void call_finish(struct tool_call *call, json_t *structured, bool is_error)
{
	json_t *result = json_pack("{s:O, s:b}", "content", call->content, "isError", is_error);

	if (call->sandbox && structured)
		(void)json_object_set_new(structured, "sandbox", json_string(call->sandbox->handle));
	if (structured)
		(void)json_object_set_new(result, "structuredContent", structured);
	if (call->sandbox && !call->sandbox->end_reason && call->is_of_revision_2026) {
		char note[MCP_HANDLE_SIZE + 16];

		(void)snprintf(note, sizeof(note), "sandbox: %s", call->sandbox->handle);
		call_add_text(call, note, strlen(note));
	}
	if (!call->id) {
		call_keep_result(call, result);
		return;
	}
	respond_with_result(call->mcp->rpc, call->id, call->is_of_revision_2026, result);
	call_free(call);
}

/* Leaves structuredContent out: an error need not match the output schema (revision 2025-11-25, server/tools). */
void call_fail(struct tool_call *call, const char *format, ...)
{
	char text[CALL_ERROR_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	call_add_text(call, text, strlen(text));
	call_finish(call, NULL, true);
}

/* ---- interim results ---- */

void call_suspend(struct tool_call *call, json_t *requests)
{
	if (sandboxes_make_handle("st-", call->state) < 0)
		call->state[0] = '\0'; /* no retry can name it: what it asks is not answered */
	respond_with_result(call->mcp->rpc, call->id, true,
			    json_pack("{s:s, s:o, s:s}", "resultType", "input_required", "inputRequests", requests,
				      "requestState", call->state));
	json_decref(call->id);
	call->id = NULL;
}

static struct tool_call *calls_find_by_state(const struct mcp *mcp, const char *state)
{
	struct tool_call *call = mcp->calls;

	while (call && (call->id || !call->state[0] || strcmp(call->state, state) != 0))
		call = call->next;
	return call;
}

bool calls_resume(struct mcp *mcp, const struct tool *tool, const json_t *id, const json_t *params)
{
	const char *state = json_string_value(json_object_get(params, "requestState"));
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	struct tool_call *call = state ? calls_find_by_state(mcp, state) : NULL;

	if (!call || call->tool != tool || !json_equal(call->arguments, json_object_get(params, "arguments")))
		return false;
	call->state[0] = '\0';
	call->id = json_deep_copy(id);
	json_decref(call->progress_token);
	call->progress_token = json_is_string(token) || json_is_integer(token) ? json_incref(token) : NULL;
	approvals_take_responses_of_retry(call, json_object_get(params, "inputResponses"));
	if (call->kept_result) {
		respond_with_result(mcp->rpc, call->id, true, call->kept_result);
		call->kept_result = NULL;
		call_free(call);
	} else if (call->sandbox) {
		approvals_put(call->sandbox);
	}
	return true;
}

void calls_cancel(struct mcp *mcp, const json_t *id)
{
	for (struct tool_call *call = mcp->calls; call; call = call->next) {
		if (json_equal(call->id, id)) {
			call_free(call);
			return;
		}
	}
}

void calls_free_all(struct mcp *mcp)
{
	while (mcp->calls)
		call_free(mcp->calls);
}

/* ---- start of a call ---- */

static void call_start_tool(struct tool_call *call)
{
	call->has_started = true;
	call->start_time_ms = loop_get_now_ms(call->mcp->loop);
	call->tool->start(call);
}

/* Finds or makes the call's sandbox, and starts the tool once the sandbox is ready. */
static void call_assign_sandbox(struct tool_call *call)
{
	struct mcp *mcp = call->mcp;
	int error = sandboxes_acquire(mcp, call_get_text(call, "sandbox"), call->is_of_revision_2026, &call->sandbox);

	if (error == -ENOENT)
		call_fail(call,
			  "no such sandbox: it has ended, or the handle is wrong; call without \"sandbox\" for a new "
			  "one");
	else if (error == -EUSERS)
		call_fail(call,
			  "%u sandboxes exist, the most that this server allows; pass the \"sandbox\" handle of an "
			  "earlier result, or wait until one has been idle",
			  mcp->options.sandboxes_max);
	else if (error < 0)
		call_fail(call, "cannot make a sandbox: %s", sandbox_describe_error(-error));
	else if (call->sandbox->is_ready)
		call_start_tool(call);
}

/* Makes room for a call. If there are as many as there may be, the oldest result that waits for a retry is dropped. */
static bool calls_make_room(struct mcp *mcp)
{
	struct tool_call *oldest = NULL;

	if (mcp->call_count < MCP_CALLS_MAX)
		return true;
	for (struct tool_call *call = mcp->calls; call; call = call->next)
		if (call->kept_result)
			oldest = call; /* the list begins with the newest */
	if (oldest)
		call_free(oldest);
	return oldest != NULL;
}

struct tool_call *calls_add(struct mcp *mcp, const struct tool *tool, const json_t *id, const json_t *params,
			    bool is_of_revision_2026)
{
	const json_t *arguments = json_object_get(params, "arguments"), *meta = json_object_get(params, "_meta");
	json_t *token = json_object_get(meta, "progressToken");
	struct tool_call *call = calls_make_room(mcp) ? calloc(1, sizeof(*call)) : NULL;

	if (!call)
		return NULL;
	*call = (struct tool_call){
		.mcp = mcp,
		.tool = tool,
		.is_of_revision_2026 = is_of_revision_2026,
		.client_takes_forms =
			approvals_client_takes_forms(json_object_get(meta, MCP_META_KEY_CLIENT_CAPABILITIES)),
		.next = mcp->calls,
		.id = json_deep_copy(id),
		.content = json_array(),
		.progress_token = json_is_string(token) || json_is_integer(token) ? json_incref(token) : NULL,
		.arguments = json_is_object(arguments) ? json_deep_copy(arguments) : json_object()};
	mcp->calls = call;
	mcp->call_count++;
	return call;
}

void call_start(struct tool_call *call)
{
	if (call->tool->needs_sandbox)
		call_assign_sandbox(call);
	else
		call_start_tool(call);
}

/*
 * Finds a call that waits for the sandbox: it has to be started now or, if the sandbox has ended, to fail. NULL: none.
 * Each search begins at the first call, because starting or failing a call changes the list.
 */
static struct tool_call *calls_find_one_waiting_for_sandbox(const struct mcp_sandbox *sandbox)
{
	for (struct tool_call *call = sandbox->mcp->calls; call; call = call->next)
		if (call->sandbox == sandbox && (sandbox->end_reason || !call->has_started))
			return call;
	return NULL;
}

void calls_continue_with_sandbox(struct mcp_sandbox *sandbox)
{
	struct tool_call *call;

	while ((call = calls_find_one_waiting_for_sandbox(sandbox))) {
		if (sandbox->end_reason)
			call_fail(call, "%s", sandbox->end_reason);
		else
			call_start_tool(call);
	}
}

/* ---- parts of a result ---- */

void call_add_text(struct tool_call *call, const char *text, size_t len)
{
	bool changed;
	size_t repaired_len = 0;
	_cleanup_free_ char *repaired = len > 0 ? utf8_copy_repaired(text, len, &repaired_len, &changed) : NULL;

	if (repaired)
		(void)json_array_append_new(call->content,
					    json_pack("{s:s, s:s%}", "type", "text", "text", repaired, repaired_len));
}

/* Adds an image to the tool's result. */
void call_add_image(struct tool_call *call, const char *base64, const char *mime_type)
{
	(void)json_array_append_new(call->content, json_pack("{s:s, s:s, s:s}", "type", "image", "data", base64,
							     "mimeType", mime_type));
}

static const char *json_get_text_or_default(const json_t *object, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : otherwise;
}

/* Describes a denial: what was denied, why, and what a person would have to add to the policy. */
static void denial_describe(struct buf *text, const json_t *denial)
{
	const json_int_t count = json_integer_value(json_object_get(denial, "count"));
	const char *suggest = json_get_text_or_default(denial, "suggest", NULL),
		   *reason = json_get_text_or_default(denial, "suggest_reason", NULL),
		   *answer = json_get_text_or_default(denial, "answer", NULL);

	buf_printf(text, "- %s %s: %s (%s, %s)", json_get_text_or_default(denial, "op", "call"),
		   json_get_text_or_default(denial, "target", json_get_text_or_default(denial, "syscall", "?")),
		   json_get_text_or_default(denial, "errno", "?"), json_get_text_or_default(denial, "reason", "denied"),
		   json_get_text_or_default(denial, "syscall", "?"));
	if (count > 1)
		buf_printf(text, ", %lld times", (long long)count);
	if (answer)
		buf_printf(text, ", answer: %s", answer);
	if (suggest)
		buf_printf(text, "\n  to allow it, a person adds: %s", suggest);
	else if (reason)
		buf_printf(text, "\n  nothing is suggested: %s", reason);
	buf_puts(text, "\n");
}

/* Sums up which packages were missing, beside the denials, which have each of them several times. */
static void call_add_missing_libraries(json_t *structured, struct buf *text, const json_t *denials)
{
	json_t *libraries = libraries_make_missing(denials), *entry, *name;
	size_t i, k;

	json_array_foreach(libraries, i, entry)
	{
		buf_printf(text, "Packages of %s that the policy does not show:",
			   json_get_text_or_default(entry, "language", "?"));
		json_array_foreach(json_object_get(entry, "missing"), k, name)
		{
			buf_printf(text, "%s %s", k > 0 ? "," : "", json_string_value(name));
		}
		buf_printf(text, "\n  to allow it, a person adds: %s\n",
			   json_get_text_or_default(entry, "suggest", "?"));
	}
	(void)json_object_set_new(structured, "libraries", libraries);
}

void call_add_denials(struct tool_call *call, json_t *structured, const json_t *denials)
{
	_cleanup_buf_ struct buf text = {0};
	const json_t *denial;
	size_t i;

	(void)json_object_set_new(structured, "denials",
				  json_is_array(denials) ? json_deep_copy(denials) : json_array());
	if (json_array_size(denials) == 0)
		return;
	buf_puts(&text, "The policy of the sandbox refused the following. Trying again does not help.\n");
	json_array_foreach(denials, i, denial)
	{
		denial_describe(&text, denial);
	}
	call_add_missing_libraries(structured, &text, denials);
	if (!text.failed)
		call_add_text(call, text.data, text.len);
}

/* ---- output ---- */

/* Sends a progress notification if the client wants them: a counter, and the end of the latest output. */
static void call_report_progress(struct tool_call *call, const char *bytes, size_t len)
{
	const uint64_t now_ms = loop_get_now_ms(call->mcp->loop);
	_cleanup_free_ char *text = NULL;
	bool changed;
	size_t text_len = 0;

	if (!call->progress_token || now_ms - call->last_progress_ms < PROGRESS_INTERVAL_MS ||
	    rpc_is_congested(call->mcp->rpc))
		return;
	call->last_progress_ms = now_ms;
	if (len > PROGRESS_TEXT_BYTES_MAX) {
		bytes += len - PROGRESS_TEXT_BYTES_MAX;
		len = PROGRESS_TEXT_BYTES_MAX;
	}
	text = utf8_copy_repaired(bytes, len, &text_len, &changed);
	if (text)
		rpc_send_notification(call->mcp->rpc, "notifications/progress",
				      json_pack("{s:O, s:i, s:s%}", "progressToken", call->progress_token, "progress",
						(int)++call->progress_notification_count, "message", text, text_len));
}

void call_keep_output(struct tool_call *call, struct captured_output *stream, const char *bytes, size_t len)
{
	const size_t room = MCP_OUTPUT_BYTES_MAX - stream->kept_output.len;

	stream->total_bytes += len;
	buf_add(&stream->kept_output, bytes, len < room ? len : room);
	call_report_progress(call, bytes, len);
}

/* Adds what was kept of an output stream to the tool's result, and whether it was cut. */
static void call_add_output_stream(struct tool_call *call, json_t *structured, const char *name,
				   const struct captured_output *stream)
{
	const bool is_truncated = stream->total_bytes > stream->kept_output.len;
	const char *kept = stream->kept_output.data ? stream->kept_output.data : "";
	_cleanup_free_ char *text = NULL;
	_cleanup_buf_ struct buf note = {0};
	char key[32];
	bool changed;
	size_t text_len = 0;

	text = utf8_copy_repaired(kept, stream->kept_output.len, &text_len, &changed);
	(void)json_object_set_new(structured, name, text ? json_stringn(text, text_len) : json_string(""));
	(void)snprintf(key, sizeof(key), "%s_truncated", name);
	(void)json_object_set_new(structured, key, json_boolean(is_truncated));
	call_add_text(call, kept, stream->kept_output.len);
	if (is_truncated)
		buf_printf(&note, "[%s: %zu of %llu bytes are shown]", name, stream->kept_output.len,
			   (unsigned long long)stream->total_bytes);
	call_add_text(call, note.data, note.len);
}

void call_add_output_streams(struct tool_call *call, json_t *structured)
{
	call_add_output_stream(call, structured, "stdout", &call->stdout_output);
	call_add_output_stream(call, structured, "stderr", &call->stderr_output);
}
