/* Code and commands are looked at before they run in a sandbox, and the files that they run once more afterwards. */
#include <errno.h>
#include <string.h>

#include "agents/mcp/private.h"
#include "keeper/session-client.h"

#define INSPECTION_FINDINGS_MAX 50 /* in a result */

/* "- FILE: line 2: KIND: WHAT", below a heading: one line, also if a name has others in it. */
static void inspection_describe(struct buf *text, const json_t *finding)
{
	const char *kind = json_string_value(json_object_get(finding, "kind"));
	const char *what = json_string_value(json_object_get(finding, "what"));
	const char *file = json_string_value(json_object_get(finding, "file"));
	const json_int_t line = json_integer_value(json_object_get(finding, "line"));

	if (text->len == 0)
		buf_puts(text, "Before it ran, this was found in it:\n");
	buf_puts(text, "- ");
	if (file && strcmp(file, "code") != 0 && strcmp(file, "command line") != 0) {
		buf_put_escaped(text, file);
		buf_puts(text, ": ");
	}
	if (line > 0)
		buf_printf(text, "line %lld: ", (long long)line);
	buf_printf(text, "%s: ", kind ? kind : "?");
	buf_put_escaped(text, what);
	buf_puts(text, "\n");
}

/* How many findings are not in the result. */
static json_int_t inspection_count_unlisted(const json_t *looked)
{
	const size_t count = json_array_size(json_object_get(looked, "findings"));
	const size_t more = count > INSPECTION_FINDINGS_MAX ? count - INSPECTION_FINDINGS_MAX : 0;

	return json_integer_value(json_object_get(looked, "unlisted")) + (json_int_t)more;
}

/* Adds what was found to the result. */
static void inspection_add_findings(struct tool_call *call, json_t *structured)
{
	json_t *findings = json_array(), *finding;
	size_t i;

	json_array_foreach(json_object_get(call->looked, "findings"), i, finding)
	{
		if (i < INSPECTION_FINDINGS_MAX)
			(void)json_array_append(findings, finding);
	}
	if (call->looked) {
		(void)json_object_set(structured, "findings", findings);
		(void)json_object_set_new(structured, "findings_unlisted",
					  json_integer(inspection_count_unlisted(call->looked)));
	}
	json_decref(findings);
}

/* Adds it as text. */
static void inspection_add_text(struct tool_call *call)
{
	const json_int_t unlisted = inspection_count_unlisted(call->looked);
	_cleanup_buf_ struct buf text = {0};
	const json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(call->looked, "findings"), i, finding)
	{
		if (i < INSPECTION_FINDINGS_MAX)
			inspection_describe(&text, finding);
	}
	if (unlisted > 0)
		buf_printf(&text, "- and %lld more\n", (long long)unlisted);
	if (text.len > 0 && !text.failed)
		call_add_text(call, text.data, text.len);
}

/* Puts it on record that nothing is run. The result says so when that fails. */
static void inspection_record_refusal(struct tool_call *call, const char *why)
{
	static const char note[] = "This refusal is not in the audit log of the sandbox.";

	if (sandbox_record_refusal(call->sandbox->sandbox, call->tool->name, why) < 0)
		call_add_text(call, note, sizeof(note) - 1);
}

/* The result of a call that is refused: nothing was run. */
static void inspection_refuse(struct tool_call *call)
{
	static const char note[] = "status: refused. Nothing was run. Trying again does not help.";
	json_t *structured = json_pack("{s:s, s:i, s:[]}", "status", "refused", "exit_code", 126, "results");
	const char *why = json_string_value(json_object_get(call->looked, "why"));

	inspection_record_refusal(call, why ? why : "?");
	call_add_output_streams(call, structured);
	call_add_denials(call, structured, NULL);
	inspection_add_findings(call, structured);
	call_add_text(call, note, sizeof(note) - 1);
	call_finish(call, structured, true);
}

static void inspection_on_looked(void *data, const json_t *answer, const char *why)
{
	struct tool_call *call = data;

	call->look = NULL;
	call->looked = json_incref((json_t *)(uintptr_t)answer);
	if (!answer) {
		inspection_record_refusal(call, why);
		call_fail(call, "the code cannot be looked at, so it was not run: %s", why);
		return;
	}
	inspection_add_text(call);
	if (json_is_false(json_object_get(answer, "refused")))
		call->on_inspected(call);
	else
		inspection_refuse(call);
}

/* Looks, if that is wanted, and then starts. */
static void inspection_start(struct tool_call *call, struct sandbox_look_options *options,
			     void (*start)(struct tool_call *call))
{
	int error;

	if (!call->mcp->options.inspects && !sandbox_wants_looks(call->sandbox->sandbox)) {
		start(call);
		return;
	}
	options->callgate_path = call->mcp->options.callgate_path;
	options->on_end = inspection_on_looked;
	options->data = call;
	call->on_inspected = start;
	error = sandbox_look_start(call->sandbox->sandbox, options, &call->look);
	if (error < 0)
		call_fail(call, "the code cannot be looked at, so it was not run: %s", sandbox_describe_error(-error));
}

void inspection_start_code(struct tool_call *call, const char *language, void (*start)(struct tool_call *call))
{
	struct sandbox_look_options options = {.code = call_get_text(call, "code"), .language = language};

	inspection_start(call, &options, start);
}

void inspection_start_command(struct tool_call *call, void (*start)(struct tool_call *call))
{
	const char *const argv[] = {"bash", "-c", call_get_text(call, "command"), NULL};
	struct sandbox_look_options options = {.argv = argv,
					       .env = json_object_get(call->arguments, "env"),
					       .cwd = call_get_text(call, "cwd"),
					       .reads_stdin = call_get_text(call, "stdin") != NULL};

	inspection_start(call, &options, start);
}

void inspection_stop(struct tool_call *call)
{
	sandbox_look_free(call->look);
	call->look = NULL;
}

/* ---- afterwards ---- */

/* Finishes the call, whose result is call->structured. */
static void inspection_finish(struct tool_call *call)
{
	json_t *structured = call->structured;

	call->structured = NULL;
	inspection_add_findings(call, structured);
	call_finish(call, structured, call->is_error);
}

/* Adds the files of an answer to the result, and to its text. */
static void inspection_add_changes_of(struct tool_call *call, const json_t *answer, struct buf *text)
{
	for (enum session_change change = 0; change < SESSION_CHANGE_MAX; change++) {
		const char *key = session_change_get_key(change); /* in the answer, and in the result */
		json_t *name, *names = json_object_get(answer, key);
		size_t i;

		json_array_foreach(names, i, name)
		{
			buf_put_escaped(text, json_string_value(name));
			buf_printf(text, ": %s\n", session_change_get_text(change));
		}
		if (json_array_size(names) > 0)
			(void)json_object_set(call->structured, key, names);
	}
}

/* Adds which files were changed to the result. answer NULL: it is not known, and `why` says why. */
static void inspection_add_changes(struct tool_call *call, const json_t *answer, const char *why)
{
	_cleanup_buf_ struct buf text = {0};

	inspection_add_changes_of(call, answer, &text);
	if (!answer)
		buf_printf(&text, "It is not known whether a file was changed after it was looked at: %s\n", why);
	if (text.len > 0 && !text.failed)
		call_add_text(call, text.data, text.len);
	if (!answer)
		(void)json_object_set_new(call->structured, "changes_unknown", json_true());
	(void)sandbox_record_changes(call->sandbox->sandbox, call->tool->name, answer, why); /* the result has it */
}

static void inspection_on_looked_again(void *data, const json_t *answer, const char *why)
{
	struct tool_call *call = data;

	call->look = NULL;
	inspection_add_changes(call, answer, why);
	inspection_finish(call);
}

void inspection_finish_call(struct tool_call *call, json_t *structured, bool is_error)
{
	const struct sandbox_look_options options = {.callgate_path = call->mcp->options.callgate_path,
						     .cwd = call_get_text(call, "cwd"),
						     .on_end = inspection_on_looked_again,
						     .data = call};
	int error;

	call->structured = structured;
	call->is_error = is_error;
	if (json_array_size(json_object_get(call->looked, "seen")) == 0) {
		inspection_finish(call);
		return;
	}
	error = sandbox_look_for_changes(call->sandbox->sandbox, &options, call->looked, &call->look);
	if (error < 0) {
		inspection_add_changes(call, NULL, sandbox_describe_error(-error));
		inspection_finish(call);
	}
}
