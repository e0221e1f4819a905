/* The tool run_command. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mcp/private.h"
#include "base/cleanup.h"

static void command_on_output(void *data, enum sandbox_stream stream, const char *bytes, size_t len)
{
	struct call *call = data;

	call_keep_output(call, stream == SANDBOX_STDOUT ? &call->out : &call->err, bytes, len);
}

/* The message of a result's "error", or NULL. */
static const char *result_get_error(const json_t *result)
{
	return json_string_value(json_object_get(json_object_get(result, "error"), "message"));
}

static void command_on_end(void *data, const json_t *result)
{
	struct call *call = data;
	const char *status = json_string_value(json_object_get(result, "status"));
	const json_int_t code = json_integer_value(json_object_get(result, "exit_code"));
	json_t *structured;

	if (!status) {
		call_fail(call, "cannot run the command: %s",
			  result_get_error(result) ? result_get_error(result) : "?");
		return;
	}
	structured = json_pack("{s:s, s:I, s:O}", "status", status, "exit_code", code, "duration_ms",
			       json_object_get(result, "duration_ms"));
	call_add_streams(call, structured);
	if (strcmp(status, "ok") != 0) {
		_cleanup_buf_ struct buf text = {0};

		buf_printf(&text, "status: %s, exit code %lld", status, (long long)code);
		call_add_text(call, text.data ? text.data : "", text.len);
	}
	call_add_denials(call, structured, json_object_get(result, "denials"));
	call_finish(call, structured, false);
}

/* Gives the program as much of its input as it takes now. */
static void command_on_room(void *data)
{
	struct call *call = data;
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

void tool_run_command(struct call *call)
{
	/* sh is everywhere; bash is what models write for. */
	static const char shell[] = "if command -v bash >/dev/null 2>&1; then exec bash -c \"$1\"; fi; eval \"$1\"";
	const char *argv[] = {"/bin/sh", "-c", shell, "sh", call_get_text(call, "command"), NULL};
	const char *input = call_get_text(call, "stdin");
	const struct sandbox_program_options options = {.argv = argv,
							.env = json_object_get(call->arguments, "env"),
							.cwd = call_get_text(call, "cwd"),
							.wall_ms = call_get_timeout_ms(call),
							.stdin_is_open = input != NULL,
							.on_output = command_on_output,
							.on_room = command_on_room,
							.on_end = command_on_end,
							.data = call};
	int error = sandbox_start_program(call->sandbox->sandbox, &options, &call->program);

	if (error == 0 && input)
		command_on_room(call);
	else if (error < 0)
		call_fail(call, "cannot run the command: %s", strerror(-error));
}

void tool_stop_command(struct call *call)
{
	sandbox_program_free(call->program);
}
