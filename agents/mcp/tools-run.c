/* The tools run_code and run_command. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mcp/private.h"
#include "base/cleanup.h"

/* ---- run_code ---- */

/* The forms of a result that a model gets as text, the plainest first. */
static const char *const result_texts[] = {"text", "markdown", "html", "latex", "svg", "json", "javascript"};
static const struct {
	const char *key, *mime_type;
} result_images[] = {{"png", "image/png"}, {"jpeg", "image/jpeg"}};

/* Adds a value that the code has shown to the call's result: its images or, if there are none, its plainest text. */
static void code_add_result(struct tool_call *call, const json_t *event)
{
	const size_t size = json_dumpb(event, NULL, 0, JSON_COMPACT);
	json_t *copy;
	bool has_image = false;

	if (size > MCP_RESULT_BYTES_MAX - call->result_bytes) {
		call->omitted_result_count++;
		return;
	}
	call->result_bytes += size;
	copy = json_deep_copy(event);
	(void)json_object_del(copy, "type");
	for (size_t i = 0; i < sizeof(result_images) / sizeof(result_images[0]); i++) {
		const char *data = json_string_value(json_object_get(event, result_images[i].key));

		if (!data)
			continue;
		call_add_image(call, data, result_images[i].mime_type);
		(void)json_object_del(copy, result_images[i].key); /* not twice in the response: images are large */
		has_image = true;
	}
	for (size_t i = 0; !has_image && i < sizeof(result_texts) / sizeof(result_texts[0]); i++) {
		const json_t *text = json_object_get(event, result_texts[i]);

		if (!json_is_string(text))
			continue;
		call_add_text(call, json_string_value(text), json_string_length(text));
		break;
	}
	(void)json_array_append_new(json_object_get(call->structured, "results"), copy);
}

/* Keeps an event of the code run for the tool's result. */
static void code_on_event(void *data, const json_t *event)
{
	struct tool_call *call = data;
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *text = json_object_get(event, "text");

	if (!type)
		return;
	if (strcmp(type, "stdout") == 0)
		call_keep_output(call, &call->stdout_output, json_string_value(text), json_string_length(text));
	else if (strcmp(type, "stderr") == 0)
		call_keep_output(call, &call->stderr_output, json_string_value(text), json_string_length(text));
	else if (strcmp(type, "result") == 0)
		code_add_result(call, event);
	else if (strcmp(type, "error") == 0)
		(void)json_object_set_new(call->structured, "error", json_deep_copy(event));
	else if (strcmp(type, "denials") == 0)
		(void)json_object_set_new(call->structured, "denials",
					  json_deep_copy(json_object_get(event, "denials")));
}

/* The code run has ended: finishes the tool call with its outputs, results, error and denials. */
static void code_on_end(void *data)
{
	static const char omitted[] = "[results past 16 MiB are left out]\n";
	struct tool_call *call = data;
	json_t *structured = call->structured, *error = json_object_get(structured, "error");
	const json_t *traceback = json_object_get(error, "traceback");
	json_t *denials = json_incref(json_object_get(structured, "denials"));

	call->structured = NULL;
	if (call->omitted_result_count > 0)
		call_keep_output(call, &call->stderr_output, omitted, strlen(omitted));
	call_add_output_streams(call, structured);
	if (json_is_string(traceback))
		call_add_text(call, json_string_value(traceback), json_string_length(traceback));
	(void)json_object_del(error, "type");
	(void)json_object_set_new(structured, "status", json_string(json_is_object(error) ? "error" : "ok"));
	call_add_denials(call, structured, denials);
	json_decref(denials);
	inspection_finish_call(call, structured, json_is_object(error));
}

/* Runs the code, which was looked at if it is to be. */
static void code_start(struct tool_call *call)
{
	const char *language = call_get_text(call, "language");
	struct context *context = NULL;
	const struct context_run_options options = {.code = call_get_text(call, "code"),
						    .timeout_ms = call_get_timeout_ms(call),
						    .on_event = code_on_event,
						    .on_end = code_on_end,
						    .data = call};
	int error = sandboxes_get_context(call->sandbox, language ? language : "python", &context);

	call->structured = json_pack("{s:[], s:n}", "results", "error");
	if (error == 0)
		error = context_run_code(context, &options, &call->code_run);
	if (error < 0)
		call_fail(call, "cannot run the code: %s", sandbox_describe_error(-error));
}

void tool_run_code(struct tool_call *call)
{
	const char *language = call_get_text(call, "language");

	inspection_start_code(call, language ? language : "python", code_start);
}

/* The tool's `stop`: ends the code run of a call. */
void tool_stop_code(struct tool_call *call)
{
	inspection_stop(call);
	context_run_free(call->code_run);
}

/* ---- run_command ---- */

/* Keeps output of the command for the tool's result. */
static void command_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct tool_call *call = data;

	call_keep_output(call, stream == SANDBOX_STDOUT ? &call->stdout_output : &call->stderr_output, bytes, len);
}

/* Returns the message of a result's "error", or NULL. */
static const char *result_get_error_message(const json_t *result)
{
	return json_string_value(json_object_get(json_object_get(result, "error"), "message"));
}

/* The command has ended: finishes the tool call with its status, outputs and denials. */
static void command_on_end(void *data, const json_t *result)
{
	struct tool_call *call = data;
	const char *status = json_string_value(json_object_get(result, "status"));
	const json_int_t code = json_integer_value(json_object_get(result, "exit_code"));
	json_t *structured;

	if (!status) {
		call_fail(call, "cannot run the command: %s",
			  result_get_error_message(result) ? result_get_error_message(result) : "?");
		return;
	}
	structured = json_pack("{s:s, s:I, s:O}", "status", status, "exit_code", code, "duration_ms",
			       json_object_get(result, "duration_ms"));
	call_add_output_streams(call, structured);
	if (strcmp(status, "ok") != 0) {
		_cleanup_buf_ struct buf text = {0};

		buf_printf(&text, "status: %s, exit code %lld", status, (long long)code);
		call_add_text(call, text.data ? text.data : "", text.len);
	}
	call_add_denials(call, structured, json_object_get(result, "denials"));
	inspection_finish_call(call, structured, false);
}

/* Writes the program's input as far as there is room, and then closes stdin. Called again when there is more room. */
static void command_on_room(void *data)
{
	struct tool_call *call = data;
	const char *input = call_get_text(call, "stdin");
	const size_t len = strlen(input);
	ssize_t taken;

	do {
		taken = sandbox_program_write(call->program, input + call->written_bytes, len - call->written_bytes);
		call->written_bytes += taken > 0 ? (size_t)taken : 0;
	} while (taken > 0 && call->written_bytes < len);
	if (taken < 0 || call->written_bytes == len)
		sandbox_program_close_stdin(call->program);
}

/* Runs the command, which was looked at if it is to be. */
static void command_start(struct tool_call *call)
{
	/* Executes bash, for which models write commands; uses sh where there is no bash. */
	static const char shell[] = "if command -v bash >/dev/null 2>&1; then exec bash -c \"$1\"; fi; eval \"$1\"";
	const char *argv[] = {"/bin/sh", "-c", shell, "sh", call_get_text(call, "command"), NULL};
	const char *input = call_get_text(call, "stdin");
	const struct sandbox_program_options options = {.argv = argv,
							.env = json_object_get(call->arguments, "env"),
							.cwd = call_get_text(call, "cwd"),
							.time_limit_ms = call_get_timeout_ms(call),
							.stdin_is_open = input != NULL,
							.on_output = command_on_output,
							.on_room = command_on_room,
							.on_end = command_on_end,
							.data = call};
	int error = sandbox_start_program(call->sandbox->sandbox, &options, &call->program);

	if (error == 0 && input)
		command_on_room(call);
	else if (error < 0)
		call_fail(call, "cannot run the command: %s", sandbox_describe_error(-error));
}

void tool_run_command(struct tool_call *call)
{
	inspection_start_command(call, command_start);
}

/* The tool's `stop`: ends the command of a call. */
void tool_stop_command(struct tool_call *call)
{
	inspection_stop(call);
	sandbox_program_free(call->program);
}
