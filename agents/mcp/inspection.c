/* Code is looked at before it runs in a sandbox: by `callgate inspect`, as callgate run --inspect does. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/mcp/private.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "policy/findings.h"

#define INSPECTION_FINDINGS_MAX 50 /* in a result */
#define INSPECTION_ARGUMENTS_MAX (MCP_INSPECT_ARGUMENTS_MAX + 16)

static const char *const type_of_language[][2] = {{"javascript", "javascript"}, {"bash", "shell"}};

/* The bit of a finding's kind. 0: a kind that is not known here. */
static uint32_t finding_get_bit(const json_t *finding)
{
	const json_t *name = json_object_get(finding, "kind");
	enum inspect_kind kind;

	return json_is_string(name) && inspect_kind_find(json_string_value(name), json_string_length(name), &kind)
		       ? INSPECT_BIT(kind)
		       : 0;
}

/* "- line 2: KIND: WHAT", below a heading. */
static void inspection_describe(struct buf *text, const json_t *finding)
{
	const char *kind = json_string_value(json_object_get(finding, "kind"));
	const char *what = json_string_value(json_object_get(finding, "what"));

	if (text->len == 0)
		buf_puts(text, "Before it ran, this was found in it:\n");
	buf_printf(text, "- line %lld: %s: %s\n", (long long)json_integer_value(json_object_get(finding, "line")),
		   kind ? kind : "?", what ? what : "?");
}

/* Keeps what is to be told, for the result, and as text. True: something of it refuses the call. */
static bool inspection_take_findings(struct tool_call *call, const json_t *list)
{
	const struct mcp_options *options = &call->mcp->options;
	_cleanup_buf_ struct buf text = {0};
	const json_t *finding;
	bool refuses = false;
	size_t i;

	call->findings = json_array();
	json_array_foreach(list, i, finding)
	{
		const uint32_t bit = finding_get_bit(finding);

		if (!(bit & (options->refused_findings | options->warned_findings)) ||
		    json_array_size(call->findings) >= INSPECTION_FINDINGS_MAX)
			continue;
		refuses = refuses || bit & options->refused_findings;
		(void)json_array_append_new(call->findings, json_deep_copy(finding));
		inspection_describe(&text, finding);
	}
	if (text.len > 0 && !text.failed)
		call_add_text(call, text.data, text.len);
	return refuses;
}

/* The result of a call that is refused: nothing was run. */
static void inspection_refuse(struct tool_call *call)
{
	static const char note[] = "status: refused. Nothing was run. Trying again does not help.";
	json_t *structured = json_pack("{s:s, s:i, s:[]}", "status", "refused", "exit_code", 126, "results");

	call_add_output_streams(call, structured);
	call_add_denials(call, structured, NULL);
	call_add_findings(call, structured);
	call_add_text(call, note, sizeof(note) - 1);
	call_finish(call, structured, true);
}

static void inspection_on_reply(struct tool_call *call)
{
	_cleanup_json_ json_t *reply = json_loadb(call->reply_or_content.data ? call->reply_or_content.data : "",
						  call->reply_or_content.len, 0, NULL);
	const json_t *file = json_array_get(json_object_get(reply, "files"), 0);

	if (!json_is_array(json_object_get(file, "findings"))) {
		call_fail(call, "the code cannot be looked at, so it was not run: %.*s",
			  (int)call->reply_or_content.len,
			  call->reply_or_content.data ? call->reply_or_content.data : "");
		return;
	}
	if (inspection_take_findings(call, json_object_get(file, "findings")))
		inspection_refuse(call);
	else
		call->on_inspected(call);
}

bool inspection_is_wanted(const struct mcp *mcp)
{
	return mcp->options.refused_findings || mcp->options.warned_findings;
}

/* Starts `callgate inspect` with the code as its standard input. 0 or -errno. */
static int inspection_spawn(struct tool_call *call, const char *code, const char *type)
{
	_cleanup_close_ int fd = memfd_create("callgate-code", MFD_CLOEXEC);
	const struct mcp_options *options = &call->mcp->options;
	const char *argv[INSPECTION_ARGUMENTS_MAX] = {
		options->callgate_path, "inspect", "--json", "--fail-on", "none", "--type", type};
	size_t count = 7;

	if (fd < 0 || io_write_all(fd, code, strlen(code)) < 0)
		return -ENOMEM;
	for (const char *const *module = options->inspect_modules; *module; module++)
		if (count + 4 < INSPECTION_ARGUMENTS_MAX) {
			argv[count++] = "--allow-module";
			argv[count++] = *module;
		}
	argv[count++] = "/proc/self/fd/0";
	return host_command_start(call, argv, fd, inspection_on_reply);
}

void inspection_start(struct tool_call *call, const char *code, const char *language,
		      void (*on_inspected)(struct tool_call *call))
{
	const char *type = "python";
	int error;

	for (size_t i = 0; i < sizeof(type_of_language) / sizeof(type_of_language[0]); i++)
		if (strcmp(type_of_language[i][0], language) == 0)
			type = type_of_language[i][1];
	call->on_inspected = on_inspected;
	error = inspection_spawn(call, code, type);
	if (error < 0)
		call_fail(call, "the code cannot be looked at, so it was not run: %s", strerror(-error));
}

void call_add_findings(struct tool_call *call, json_t *structured)
{
	if (call->findings)
		(void)json_object_set(structured, "findings", call->findings);
}
