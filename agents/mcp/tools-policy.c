/* The tools explain_denial and status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mcp/private.h"
#include "base/cleanup.h"

#define POLICY_QUESTION_ARGUMENTS_MAX 300 /* most policy options that are passed on to `callgate why` */

/* ---- explain_denial ---- */

/* Adds the answer of `callgate why` to the tool's result, a line for each member that a model can use. */
static void explain_add_answer_text(struct tool_call *call, const json_t *answer)
{
	static const char *const shown[] = {"verdict", "op",     "path",  "host",    "port",
					    "rule",    "reason", "errno", "suggest", "suggest_reason"};
	_cleanup_buf_ struct buf text = {0};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const json_t *value = json_object_get(answer, shown[i]);

		if (json_is_string(value))
			buf_printf(&text, "%s: %s\n", shown[i], json_string_value(value));
		else if (json_is_integer(value))
			buf_printf(&text, "%s: %lld\n", shown[i], (long long)json_integer_value(value));
	}
	if (text.len > 0)
		call_add_text(call, text.data, text.len);
}

/* Finishes the tool call with the answer of `callgate why`. */
static void question_finish_call(struct tool_call *call)
{
	json_t *answer = json_loadb(call->reply_or_content.data ? call->reply_or_content.data : "",
				    call->reply_or_content.len, 0, NULL);

	if (!json_is_string(json_object_get(answer, "verdict"))) {
		json_decref(answer);
		call_fail(call, "the question cannot be judged: %.*s", (int)call->reply_or_content.len,
			  call->reply_or_content.data ? call->reply_or_content.data : "");
		return;
	}
	explain_add_answer_text(call, answer);
	call_finish(call, answer, false);
}

/* Asks the policy by `callgate why OPTION TEXT --json`. 0 or -errno. */
static int question_start(struct tool_call *call, const char *question_option, const char *question_text)
{
	const struct mcp_options *options = &call->mcp->options;
	const char *argv[POLICY_QUESTION_ARGUMENTS_MAX + 8] = {options->callgate_path, "why"};
	size_t count = 2;

	for (size_t i = 0; options->policy_arguments[i] && count < POLICY_QUESTION_ARGUMENTS_MAX; i++)
		argv[count++] = options->policy_arguments[i];
	argv[count++] = question_option;
	argv[count++] = question_text;
	argv[count++] = "--json";
	return call_start_host_command(call, argv, false, question_finish_call);
}

/*
 * Writes the question for `callgate why`. Returns the option that comes before it, such as "--open". NULL: the call
 * does not give exactly one of path, host and url.
 */
static const char *explain_format_question(const struct tool_call *call, struct buf *question_text)
{
	const char *path = call_get_text(call, "path"), *host = call_get_text(call, "host");
	const char *url = call_get_text(call, "url"), *access = call_get_text(call, "access");
	const char *method = call_get_text(call, "method");

	if (!!path + !!host + !!url != 1)
		return NULL;
	if (host) {
		buf_printf(question_text, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host,
			   (int)call_get_number(call, "port", 443));
		return "--connect";
	}
	if (url) {
		buf_printf(question_text, "%s %s", method ? method : "GET", url);
		return "--url";
	}
	buf_printf(question_text, "%s:%c", path,
		   access && strcmp(access, "write") == 0     ? 'w'
		   : access && strcmp(access, "execute") == 0 ? 'x'
							      : 'r');
	return "--open";
}

void tool_explain_denial(struct tool_call *call)
{
	_cleanup_buf_ struct buf question_text = {0};
	const char *question_option = explain_format_question(call, &question_text);
	int error =
		question_option && question_text.data ? question_start(call, question_option, question_text.data) : 0;

	if (!question_option)
		call_fail(call, "give one of \"path\", \"host\" and \"url\"");
	else if (error < 0)
		call_fail(call, "the policy cannot be asked: %s", strerror(-error));
}

/* ---- status ---- */

/* What a client may know of its sandbox: state, age and calls. */
static json_t *status_describe_sandbox(const struct mcp_sandbox *sandbox, uint64_t now_ms)
{
	return json_pack("{s:s, s:s?, s:I, s:I, s:i}", "state", sandbox->is_ready ? "ready" : "starting", "session",
			 sandbox_get_id(sandbox->sandbox), "age_seconds",
			 (json_int_t)((now_ms - sandbox->creation_time_ms) / 1000), "idle_seconds",
			 (json_int_t)(sandbox->active_call_count > 0 ? 0 : (now_ms - sandbox->last_use_ms) / 1000),
			 "calls", (int)sandbox->active_call_count);
}

/* Describes one sandbox only if the client gives its handle, or if it is the client's default. */
void tool_report_status(struct tool_call *call)
{
	const struct mcp *mcp = call->mcp;
	const char *handle = call_get_text(call, "sandbox");
	const struct mcp_sandbox *sandbox = handle ? sandboxes_find(mcp, handle) : mcp->connection_sandbox;
	json_t *structured;
	_cleanup_free_ char *text = NULL;

	if (handle && !sandbox) {
		call_fail(call, "no such sandbox: it has ended, or the handle is wrong");
		return;
	}
	structured =
		json_pack("{s:i, s:i, s:I, s:i, s:o}", "sandboxes", (int)mcp->sandbox_count, "sandboxes_max",
			  (int)mcp->options.sandboxes_max, "idle_seconds_max",
			  (json_int_t)(mcp->options.idle_timeout_ms / 1000), "calls", (int)mcp->call_count, "sandbox",
			  sandbox ? status_describe_sandbox(sandbox, loop_get_now_ms(mcp->loop)) : json_null());
	text = json_dumps(structured, JSON_INDENT(1));
	call_add_text(call, text ? text : "", text ? strlen(text) : 0);
	call_finish(call, structured, false);
}
