/* The list of tools, with descriptions, parameters and schemas; the check of a call's arguments. */
#include <string.h>

#include "agents/mcp/private.h"
#include "base/text.h"

#define SANDBOX_PARAMETER                                                                                       \
	{                                                                                                       \
		"sandbox", PARAMETER_TEXT, false,                                                               \
			"handle of an earlier result, to go on with its files and variables; without it a new " \
			"sandbox is made "                                                                      \
			"(or, after \"initialize\", that of the connection is used)",                           \
			NULL, 0, 0                                                                              \
	}
#define TIMEOUT_PARAMETER                                                                                       \
	{                                                                                                       \
		"timeout_seconds", PARAMETER_NUMBER, false, "it is ended after this time; default 60", NULL, 1, \
			MCP_TIMEOUT_S_MAX                                                                       \
	}

#define PATH_PARAMETER(what)                                                                              \
	{                                                                                                 \
		"path", PARAMETER_TEXT, true, what ", absolute or from the working directory", NULL, 0, 0 \
	}

/* JSON text for parts of the tools' output schemas. */
#define OBJECT_SCHEMA(properties, required) \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"
#define TEXT_PROPERTY(name) "\"" name "\":{\"type\":\"string\"}"
#define INTEGER_PROPERTY(name) "\"" name "\":{\"type\":\"integer\"}"
#define OBJECT_ARRAY_PROPERTY(name) "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"
#define TEXT_ARRAY_PROPERTY(name) "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define OUTPUT_STREAM_PROPERTIES                                                    \
	TEXT_PROPERTY("stdout")                                                     \
	"," TEXT_PROPERTY("stderr") ",\"stdout_truncated\":{\"type\":\"boolean\"}," \
				    "\"stderr_truncated\":{\"type\":\"boolean\"}"

#define STATUS_PROPERTY "\"status\":{\"enum\":[\"ok\",\"error\",\"refused\"]}"
#define WORKSPACE_PROPERTIES                                            \
	TEXT_PROPERTY("workspace")                                      \
	"," OBJECT_ARRAY_PROPERTY("changes") "," OBJECT_ARRAY_PROPERTY( \
		"stale_reads") ",\"truncated\":{\"type\":\"boolean\"}"
#define FLAG_PROPERTY(name) "\"" name "\":{\"type\":\"boolean\"}"
#define CHANGED_FILES                  \
	TEXT_ARRAY_PROPERTY("changed") \
	"," TEXT_ARRAY_PROPERTY("added") "," TEXT_ARRAY_PROPERTY("removed") "," FLAG_PROPERTY("changes_unknown")
#define FINDINGS OBJECT_ARRAY_PROPERTY("findings") "," INTEGER_PROPERTY("findings_unlisted")
#define DENIALS_AND_FINDINGS             \
	OBJECT_ARRAY_PROPERTY("denials") \
	"," OBJECT_ARRAY_PROPERTY("libraries") "," FINDINGS "," CHANGED_FILES

static const char *const language_values[] = {"python", "javascript", "bash", NULL};
static const char *const encoding_values[] = {"utf-8", "base64", NULL};
static const char *const access_values[] = {"read", "write", "execute", NULL};

static const struct tool tools[] = {
	{
		.name = "run_code",
		.title = "Run code",
		.needs_sandbox = true,
		.description = "Runs code in an interpreter of the sandbox that keeps its variables between calls. "
			       "Returns the "
			       "value of the last expression, output, images (matplotlib figures are shown without "
			       "asking) and, "
			       "after an exception, its traceback.",
		.parameters =
			{
				{"code", PARAMETER_TEXT, true, "the code", NULL, 0, 0},
				{"language", PARAMETER_TEXT, false, "default python", language_values, 0, 0},
				TIMEOUT_PARAMETER,
				SANDBOX_PARAMETER,
			},
		.output_schema = OBJECT_SCHEMA(
			TEXT_PROPERTY("sandbox") "," STATUS_PROPERTY "," OUTPUT_STREAM_PROPERTIES
						 "," OBJECT_ARRAY_PROPERTY(
							 "results") ",\"error\":{\"type\":[\"object\",\"null\"]}"
								    "," DENIALS_AND_FINDINGS,
			"\"status\",\"stdout\",\"stderr\",\"results\",\"denials\""),
		.start = tool_run_code,
		.stop = tool_stop_code,
	},
	{
		.name = "run_command",
		.title = "Run a command",
		.needs_sandbox = true,
		.description =
			"Runs a shell command (bash -c, or sh where there is no bash) in the sandbox and returns "
			"its output and exit code.",
		.parameters =
			{
				{"command", PARAMETER_TEXT, true, "the command line", NULL, 0, 0},
				{"cwd", PARAMETER_TEXT, false,
				 "the directory it starts in; default the working directory", NULL, 0, 0},
				{"env", PARAMETER_OBJECT_OF_TEXTS, false, "variables of its environment", NULL, 0, 0},
				{"stdin", PARAMETER_TEXT, false, "its standard input; default empty", NULL, 0, 0},
				TIMEOUT_PARAMETER,
				SANDBOX_PARAMETER,
			},
		.output_schema = OBJECT_SCHEMA(
			TEXT_PROPERTY("sandbox") "," TEXT_PROPERTY("status") "," INTEGER_PROPERTY(
				"exit_code") "," INTEGER_PROPERTY("duration_ms") "," OUTPUT_STREAM_PROPERTIES
										 "," DENIALS_AND_FINDINGS,
			"\"status\",\"exit_code\",\"stdout\",\"stderr\",\"denials\""),
		.start = tool_run_command,
		.stop = tool_stop_command,
	},
	{
		.name = "read_file",
		.title = "Read a file",
		.needs_sandbox = true,
		.is_read_only = true,
		.description = "Reads a file of the sandbox, up to 8 MiB. Images are returned as images.",
		.parameters = {PATH_PARAMETER("the file"),
			       {"encoding", PARAMETER_TEXT, false, "of the result; default utf-8", encoding_values, 0,
				0},
			       SANDBOX_PARAMETER},
		.output_schema =
			OBJECT_SCHEMA(TEXT_PROPERTY("sandbox") "," TEXT_PROPERTY("path") "," TEXT_PROPERTY(
					      "content") "," TEXT_PROPERTY("encoding") "," INTEGER_PROPERTY("size"),
				      "\"path\",\"size\""),
		.start = tool_read_file,
		.stop = tool_stop_file_operation,
	},
	{
		.name = "write_file",
		.title = "Write a file",
		.needs_sandbox = true,
		.description =
			"Writes a file of the sandbox, with the directories above it. A file of that name is replaced.",
		.parameters = {PATH_PARAMETER("the file"),
			       {"content", PARAMETER_TEXT, true, "what it contains", NULL, 0, 0},
			       {"encoding", PARAMETER_TEXT, false, "of content; default utf-8", encoding_values, 0, 0},
			       SANDBOX_PARAMETER},
		.output_schema =
			OBJECT_SCHEMA(TEXT_PROPERTY("sandbox") "," TEXT_PROPERTY("path") "," INTEGER_PROPERTY("size"),
				      "\"path\",\"size\""),
		.start = tool_write_file,
		.stop = tool_stop_file_operation,
	},
	{
		.name = "list_files",
		.title = "List files",
		.needs_sandbox = true,
		.is_read_only = true,
		.description = "Lists a directory of the sandbox.",
		.parameters = {{"path", PARAMETER_TEXT, false, "the directory; default the working directory", NULL, 0,
				0},
			       {"depth", PARAMETER_NUMBER, false, "how many levels; default 1", NULL, 1, 10},
			       SANDBOX_PARAMETER},
		.output_schema = OBJECT_SCHEMA(
			TEXT_PROPERTY("sandbox") "," TEXT_PROPERTY(
				"path") ","
					"\"truncated\":{\"type\":\"boolean\"}," OBJECT_ARRAY_PROPERTY("entries"),
			"\"path\",\"entries\""),
		.start = tool_list_files,
		.stop = tool_stop_file_operation,
	},
	{
		.name = "checkpoint",
		.title = "Make a checkpoint",
		.needs_sandbox = true,
		.needs_workspace = true,
		.description = "Keeps what the sandbox has written to its working directory, so that restore can undo "
			       "what comes after it. Returns the checkpoint's name.",
		.parameters = {{"name", PARAMETER_TEXT, false, "its name; default the next number", NULL, 0, 0},
			       SANDBOX_PARAMETER},
		.output_schema =
			OBJECT_SCHEMA(TEXT_PROPERTY("sandbox") "," TEXT_PROPERTY("checkpoint"), "\"checkpoint\""),
		.start = tool_make_checkpoint,
		.stop = call_stop_host_command,
	},
	{
		.name = "restore",
		.title = "Restore a checkpoint",
		.needs_sandbox = true,
		.needs_workspace = true,
		.is_destructive = true,
		.description =
			"Makes the working directory what it was at a checkpoint. What was written since is lost.",
		.parameters = {{"checkpoint", PARAMETER_TEXT, true, "the name of the checkpoint", NULL, 0, 0},
			       SANDBOX_PARAMETER},
		.output_schema =
			OBJECT_SCHEMA(TEXT_PROPERTY("sandbox") "," TEXT_PROPERTY("checkpoint"), "\"checkpoint\""),
		.start = tool_restore_checkpoint,
		.stop = call_stop_host_command,
	},
	{
		.name = "workspace_diff",
		.title = "Show changes",
		.needs_sandbox = true,
		.needs_workspace = true,
		.is_read_only = true,
		.description = "Shows what the sandbox has changed in its working directory, compared with the "
			       "directory outside.",
		.parameters = {{"checkpoint", PARAMETER_TEXT, false, "what it was at this checkpoint; default now",
				NULL, 0, 0},
			       SANDBOX_PARAMETER},
		.output_schema =
			OBJECT_SCHEMA(TEXT_PROPERTY("sandbox") "," WORKSPACE_PROPERTIES, "\"workspace\",\"changes\""),
		.start = tool_show_changes,
		.stop = call_stop_host_command,
	},
	{
		.name = "workspace_apply",
		.title = "Apply changes",
		.needs_sandbox = true,
		.needs_workspace = true,
		.is_destructive = true,
		.description =
			"Puts what the sandbox has changed into the directory outside, if the person who started "
			"this server permits it, and ends the sandbox; otherwise only shows it. Conflicts, and "
			"what would be executed outside of a sandbox, are left to the person.",
		.parameters = {SANDBOX_PARAMETER},
		.output_schema = OBJECT_SCHEMA(TEXT_PROPERTY("sandbox") "," WORKSPACE_PROPERTIES
									",\"applied\":{\"type\":\"boolean\"}"
									",\"applied_count\":{\"type\":\"integer\"}",
					       "\"workspace\",\"changes\",\"applied\""),
		.start = tool_apply_workspace,
		.stop = call_stop_host_command,
	},
	{
		.name = "workspace_discard",
		.title = "Discard changes",
		.needs_sandbox = true,
		.needs_workspace = true,
		.is_destructive = true,
		.description = "Ends the sandbox, and removes all that it has written to its working directory, with "
			       "its checkpoints. The directory outside stays as it is.",
		.parameters = {SANDBOX_PARAMETER},
		.output_schema = OBJECT_SCHEMA(TEXT_PROPERTY("workspace") ",\"discarded\":{\"type\":\"boolean\"}",
					       "\"workspace\",\"discarded\""),
		.start = tool_discard_workspace,
		.stop = call_stop_host_command,
	},
	{
		.name = "explain_denial",
		.title = "Explain a denial",
		.is_read_only = true,
		.description =
			"Asks the policy, without doing anything, whether an access would be allowed, by which rule, "
			"and "
			"what a person would have to add for it. Give path (and access), or host and port, or url (and "
			"method).",
		.parameters =
			{
				{"path", PARAMETER_TEXT, false, "an absolute path", NULL, 0, 0},
				{"access", PARAMETER_TEXT, false, "to the path; default read", access_values, 0, 0},
				{"host", PARAMETER_TEXT, false, "a host to connect to", NULL, 0, 0},
				{"port", PARAMETER_NUMBER, false, "its port; default 443", NULL, 1, 65535},
				{"url", PARAMETER_TEXT, false, "https://HOST/PATH", NULL, 0, 0},
				{"method", PARAMETER_TEXT, false, "of the request for the URL; default GET", NULL, 0,
				 0},
			},
		.output_schema = OBJECT_SCHEMA(
			"\"verdict\":{\"enum\":[\"allow\",\"deny\",\"redirect\",\"provide\",\"proxy\",\"ask\","
			"\"kill\"]},\"reason\":{\"type\":[\"string\",\"null\"]},"
			"\"suggest\":{\"type\":[\"string\",\"null\"]}",
			"\"verdict\""),
		.start = tool_explain_denial,
		.stop = call_stop_host_command,
	},
	{
		.name = "status",
		.title = "Status of the sandboxes",
		.is_read_only = true,
		.description =
			"Counts the sandboxes of this server and, for one whose handle is given, tells its state.",
		.parameters = {{"sandbox", PARAMETER_TEXT, false, "handle of an earlier result", NULL, 0, 0}},
		.output_schema = OBJECT_SCHEMA(
			INTEGER_PROPERTY("sandboxes") "," INTEGER_PROPERTY("sandboxes_max") "," INTEGER_PROPERTY(
				"idle_seconds_max") "," INTEGER_PROPERTY("calls") ","
										  "\"sandbox\":{\"type\":["
										  "\"object\",\"null\"]}",
			"\"sandboxes\",\"sandboxes_max\""),
		.start = tool_report_status,
	},
};

#define TOOL_COUNT (sizeof(tools) / sizeof(tools[0]))

/* True for a tool that this server has. */
static bool tool_is_there(const struct mcp *mcp, const struct tool *tool)
{
	return mcp->options.uses_workspace || !tool->needs_workspace;
}

const struct tool *tools_find(const struct mcp *mcp, const char *name)
{
	for (size_t i = 0; i < TOOL_COUNT; i++)
		if (strcmp(tools[i].name, name) == 0 && tool_is_there(mcp, &tools[i]))
			return &tools[i];
	return NULL;
}

/* ---- schemas ---- */

/* The JSON schema of a parameter. */
static json_t *parameter_make_schema(const struct tool_parameter *parameter)
{
	json_t *schema = json_pack("{s:s}", "description", parameter->description), *values;

	switch (parameter->kind) {
	case PARAMETER_TEXT:
		(void)json_object_set_new(schema, "type", json_string("string"));
		break;
	case PARAMETER_NUMBER:
		(void)json_object_update_new(schema, json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum",
							       parameter->minimum, "maximum", parameter->maximum));
		break;
	case PARAMETER_OBJECT_OF_TEXTS:
		(void)json_object_update_new(schema, json_pack("{s:s, s:{s:s}}", "type", "object",
							       "additionalProperties", "type", "string"));
		break;
	}
	if (!parameter->allowed_values)
		return schema;
	values = json_array();
	for (const char *const *value = parameter->allowed_values; *value; value++)
		(void)json_array_append_new(values, json_string(*value));
	(void)json_object_set_new(schema, "enum", values);
	return schema;
}

static json_t *tool_make_input_schema(const struct tool *tool)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct tool_parameter *parameter = tool->parameters; parameter->name; parameter++) {
		(void)json_object_set_new(properties, parameter->name, parameter_make_schema(parameter));
		if (parameter->is_required)
			(void)json_array_append_new(required, json_string(parameter->name));
	}
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required", required,
			 "additionalProperties", 0);
}

json_t *tools_make_list(const struct mcp *mcp)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TOOL_COUNT; i++) {
		const struct tool *tool = &tools[i];
		json_t *hints;

		if (!tool_is_there(mcp, tool))
			continue;
		hints = json_pack("{s:b, s:b}", "readOnlyHint", tool->is_read_only, "openWorldHint", 0);
		if (tool->needs_workspace)
			(void)json_object_set_new(hints, "destructiveHint", json_boolean(tool->is_destructive));
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "name", tool->name, "title", tool->title,
					"description", tool->description, "inputSchema", tool_make_input_schema(tool),
					"outputSchema", json_loads(tool->output_schema, 0, NULL), "annotations",
					hints));
	}
	return list;
}

/* ---- arguments ---- */

/* Whether the value is an object of texts whose names are not empty and have no "=", as those of variables. */
static bool value_is_object_of_texts(const json_t *value)
{
	const json_t *text;
	const char *name;

	if (!json_is_object(value))
		return false;
	json_object_foreach((json_t *)(uintptr_t)value, name, text)
	{
		if (!json_is_string(text) || !*name || strchr(name, '='))
			return false;
	}
	return true;
}

/* Whether the text is an entry of the NULL-terminated list. */
static bool text_is_one_of(const char *text, const char *const *values)
{
	for (; *values; values++)
		if (strcmp(text, *values) == 0)
			return true;
	return false;
}

/* Checks the value of a parameter. If it is invalid, adds to `why` what it must be. */
static void parameter_check_value(const struct tool_parameter *parameter, const json_t *value, struct buf *why)
{
	const json_int_t number = json_integer_value(value);

	switch (parameter->kind) {
	case PARAMETER_TEXT:
		if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
			buf_printf(why, "\"%s\" must be a string without NUL. ", parameter->name);
		else if (parameter->allowed_values &&
			 !text_is_one_of(json_string_value(value), parameter->allowed_values))
			buf_printf(why, "\"%s\" must be one of those that the schema lists. ", parameter->name);
		break;
	case PARAMETER_NUMBER:
		if (!json_is_integer(value) || number < parameter->minimum || number > parameter->maximum)
			buf_printf(why, "\"%s\" must be an integer from %d to %d. ", parameter->name,
				   parameter->minimum, parameter->maximum);
		break;
	case PARAMETER_OBJECT_OF_TEXTS:
		if (!value_is_object_of_texts(value))
			buf_printf(why, "\"%s\" must be an object of strings. ", parameter->name);
		break;
	}
}

static const struct tool_parameter *tool_find_parameter(const struct tool *tool, const char *name)
{
	const struct tool_parameter *parameter = tool->parameters;

	while (parameter->name && strcmp(parameter->name, name) != 0)
		parameter++;
	return parameter->name ? parameter : NULL;
}

bool tools_check_arguments(const struct tool *tool, const json_t *arguments, struct buf *why)
{
	const char *name;
	const json_t *value;

	if (arguments && !json_is_object(arguments))
		buf_puts(why, "\"arguments\" must be an object. ");
	json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
	{
		const struct tool_parameter *parameter = tool_find_parameter(tool, name);

		if (parameter)
			parameter_check_value(parameter, value, why);
		else
			buf_printf(why, "%s has no parameter \"%.100s\". ", tool->name, name);
	}
	for (const struct tool_parameter *parameter = tool->parameters; parameter->name; parameter++)
		if (parameter->is_required && !json_object_get(arguments, parameter->name))
			buf_printf(why, "\"%s\" is missing. ", parameter->name);
	return why->len == 0 && !why->failed;
}
