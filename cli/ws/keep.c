#include "cli/ws/keep.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/options.h"
#include "cli/ws/open.h"
#include "supervisor/report.h"
#include "workspace/store.h"

#define KEEP_VERB "ws keep"

struct keep_options {
	const char *label; /* NULL: none was given */
	bool undo, json;
};

/* Parses the options. CLI_OPTIONS_PARSED, or the exit status. */
static int keep_parse(int argc, char **argv, struct keep_options *options)
{
	static const struct cli_option table[] = {
		CLI_TEXT("label", "TEXT", "why, for callgate ws list; at most 200 bytes",
			 offsetof(struct keep_options, label)),
		CLI_FLAG("undo", 0, "they may be discarded again", offsetof(struct keep_options, undo)),
		CLI_FLAG("json", 0, "print one JSON object a workspace", offsetof(struct keep_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = KEEP_VERB,
		.usage = "Usage: callgate ws keep [OPTION] ID...\n\n"
			 "Marks workspaces, also of runs that go on, so that callgate ws discard does not remove them, "
			 "by name\n"
			 "or with --all, nor the run itself if it changes nothing.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}},
	};
	const int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (options->undo && options->label)
		cli_print_error(KEEP_VERB, "--undo takes the label back, too: leave out --label");
	else if (options->label && strlen(options->label) > WORKSPACE_LABEL_BYTES_MAX)
		cli_print_error(KEEP_VERB, "--label: more than %d bytes", WORKSPACE_LABEL_BYTES_MAX);
	else if (optind == argc)
		cli_print_error(KEEP_VERB, "name a workspace; callgate ws list has their ids");
	else
		return CLI_OPTIONS_PARSED;
	return cli_fail_usage(KEEP_VERB);
}

/* Marks one workspace, and tells what became of it. Returns the exit status. */
static int keep_workspace(int base_fd, const char *id, const struct keep_options *options)
{
	const char *label = options->undo ? NULL : options->label ? options->label : "";
	const int r = workspace_is_id(id) ? workspace_keep(base_fd, id, label) : -ENOENT;

	if (r < 0)
		ws_print_failure(KEEP_VERB, id, r);
	/* "kept": null is not known: it may have been so before */
	if (options->json &&
	    cli_print_json(KEEP_VERB, json_pack("{s:o, s:o, s:o, s:s?}", "id", report_make_text_json(id), "kept",
						r < 0 ? json_null() : json_boolean(!options->undo), "label",
						report_make_text_json(r < 0 || !label || !*label ? NULL : label), "why",
						ws_get_failure_word(r))) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	return r < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

int cli_main_ws_keep(int argc, char **argv)
{
	struct keep_options options = {.label = NULL};
	int status = keep_parse(argc, argv, &options);
	_cleanup_close_ int base = -1;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	cli_ignore_broken_pipes();
	base = ws_open_runs(KEEP_VERB);
	if (base < 0)
		return CLI_EXIT_ERROR;
	status = CLI_EXIT_OK;
	for (int i = optind; i < argc; i++)
		if (keep_workspace(base, argv[i], &options) != CLI_EXIT_OK)
			status = CLI_EXIT_ERROR;
	return status;
}
