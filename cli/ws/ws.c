/* callgate ws: lists, shows, applies and removes workspaces, which have what runs with --cow have written. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/ws/apply.h"
#include "cli/ws/diff.h"
#include "cli/ws/keep.h"
#include "cli/ws/open.h"
#include "cli/ws/recover.h"
#include "keeper/scratch.h"
#include "supervisor/report.h"
#include "workspace/fold.h"
#include "workspace/store.h"

#define WS_TIME_TEXT_SIZE 40 /* room for the time of ws_format_time() */

/* ---- list ---- */

/* Writes a time as RFC 3339 has it, in UTC. */
static void ws_format_time(int64_t seconds, char out[WS_TIME_TEXT_SIZE])
{
	const time_t at = seconds;
	struct tm parts;

	if (!gmtime_r(&at, &parts) || strftime(out, WS_TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		(void)snprintf(out, WS_TIME_TEXT_SIZE, "-");
}

/* Prints the end of a line about a workspace. */
static void ws_print_state(const struct workspace *workspace)
{
	(void)text_printf(stdout, "%s", workspace->is_in_use ? "  (its run has not ended)" : "");
	(void)text_printf(stdout, "%s", workspace->is_kept ? "  (kept" : "");
	(void)text_printf(stdout, "%s", *workspace->label ? ": " : "");
	(void)text_print(stdout, workspace->label, false);
	(void)text_printf(stdout, "%s\n", workspace->is_kept ? ")" : "");
}

/* Prints one line about a workspace. ctx: bool, whether as JSON. */
static int ws_print_workspace(void *ctx, const struct workspace *workspace, int workspace_fd)
{
	struct workspace one = *workspace;
	char time_text[WS_TIME_TEXT_SIZE];
	json_t *dirs = json_array();
	int r = CLI_EXIT_OK;

	ws_format_time(workspace->time, time_text);
	if (!*(const bool *)ctx)
		(void)text_printf(stdout, "%s  %s", workspace->id, time_text);
	for (size_t at = 0; at < workspace->dir_count && workspace_read_dir(workspace_fd, at, &one) == 0; at++) {
		(void)json_array_append_new(dirs, json_pack("{s:o, s:s}", "dir", report_make_text_json(one.dir), "by",
							    workspace_is_copy(workspace_fd, at) ? "copy" : "overlay"));
		if (*(const bool *)ctx)
			continue;
		(void)text_printf(stdout, "  ");
		(void)text_print(stdout, one.dir, false);
	}
	if (*(const bool *)ctx)
		r = cli_print_json("ws list",
				   json_pack("{s:s, s:o, s:O, s:s, s:b, s:b, s:o}", "id", workspace->id, "dir",
					     report_make_text_json(workspace->dir), "directories", dirs, "time",
					     time_text, "in_use", workspace->is_in_use, "kept", workspace->is_kept,
					     "label",
					     report_make_text_json(*workspace->label ? workspace->label : NULL)));
	else
		ws_print_state(workspace);
	json_decref(dirs);
	return r;
}

/* Tells where workspaces are that are not looked for: of runs that could not use the directory of all runs. */
static void ws_tell_other_base(int base_fd)
{
	_cleanup_free_ char *other = scratch_find_other_base(base_fd, WORKSPACE_DIR_NAME);
	char base[PATH_MAX];

	if (other && io_read_fd_name(base_fd, base) > 0)
		cli_note("%s/" WORKSPACE_DIR_NAME " has workspaces of runs that could not use %s; to bring one back: "
			 "mkdir -pm 700 %s/" WORKSPACE_DIR_NAME " && mv -T %s/" WORKSPACE_DIR_NAME
			 "/ID %s/" WORKSPACE_DIR_NAME "/ID",
			 other, base, base, other, base);
}

static int ws_main_list(int argc, char **argv)
{
	struct {
		bool json;
	} options = {false};
	static const struct cli_option table[] = {
		CLI_FLAG("json", 0, "print one JSON object a workspace", 0),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "ws list",
		.usage = "Usage: callgate ws list [OPTION]\n\n"
			 "Prints this user's workspaces, the oldest first: id, when it was made, and of which "
			 "directory.\n\n",
		.table = {{NULL, table, &options}},
	};
	int status = cli_parse_options(argc, argv, &syntax), r;
	_cleanup_close_ int base = -1;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind < argc) {
		cli_print_error("ws list", "%s: no argument is taken", argv[optind]);
		return cli_fail_usage("ws list");
	}
	base = ws_open_runs("ws list");
	if (base < 0)
		return CLI_EXIT_ERROR;
	r = workspace_visit(base, ws_print_workspace, &options.json);
	if (r < 0)
		cli_print_error("ws list", "cannot read the workspaces: %s", strerror(-r));
	ws_tell_other_base(base);
	return r == 0 ? cli_print_text("ws list", "") : CLI_EXIT_ERROR;
}

/* ---- discard ---- */

struct ws_discard_options {
	bool all, json;
};

/* A discard of all workspaces. */
struct ws_discarding {
	int base_fd;
	bool as_json;
	int status; /* exit status */
};

/* Tells what became of a workspace: as workspace_discard() returns. Returns the exit status. */
static int ws_tell_discarded(const char *id, int error, bool as_json)
{
	if (error < 0)
		ws_print_failure("ws discard", id, error);
	if (as_json &&
	    cli_print_json("ws discard", json_pack("{s:o, s:b, s:s?}", "id", report_make_text_json(id), "discarded",
						   error == 0, "why", ws_get_failure_word(error))) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	return error < 0 ? CLI_EXIT_ERROR : CLI_EXIT_OK;
}

static int ws_discard(int base_fd, const char *id, bool as_json)
{
	return ws_tell_discarded(id, workspace_is_id(id) ? workspace_discard(base_fd, id) : -ENOENT, as_json);
}

/* Discards a workspace unless it is kept or in use. */
static int ws_discard_unkept(void *ctx, const struct workspace *workspace, int workspace_fd)
{
	struct ws_discarding *discarding = ctx;
	int r;

	(void)workspace_fd;
	if (workspace->is_kept || workspace->is_in_use)
		return 0;
	r = workspace_discard(discarding->base_fd, workspace->id);
	if (r == WORKSPACE_IN_USE || r == WORKSPACE_KEPT || r == -ENOENT) /* has become so meanwhile, or was removed */
		return 0;
	if (ws_tell_discarded(workspace->id, r, discarding->as_json) != CLI_EXIT_OK)
		discarding->status = CLI_EXIT_ERROR;
	return 0;
}

static int ws_discard_all(int base_fd, bool as_json)
{
	struct ws_discarding discarding = {base_fd, as_json, CLI_EXIT_OK};
	int leftovers = workspace_remove_leftovers(base_fd), r;

	/* what earlier discards could not remove */
	if (leftovers < 0) {
		cli_print_error("ws discard", "of a workspace that was discarded, not all can be removed: %s",
				strerror(-leftovers));
		discarding.status = CLI_EXIT_ERROR;
	}
	r = workspace_visit(base_fd, ws_discard_unkept, &discarding);
	if (r < 0)
		cli_print_error("ws discard", "cannot read the workspaces: %s", strerror(-r));
	return r < 0 ? CLI_EXIT_ERROR : discarding.status;
}

/* Parses the options. CLI_OPTIONS_PARSED, or the exit status. */
static int ws_parse_discard(int argc, char **argv, struct ws_discard_options *options)
{
	static const struct cli_option table[] = {
		CLI_FLAG("all", 0, "all that are neither kept nor of a run that goes on",
			 offsetof(struct ws_discard_options, all)),
		CLI_FLAG("json", 0, "print one JSON object a workspace", offsetof(struct ws_discard_options, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "ws discard",
		.usage = "Usage: callgate ws discard [OPTION] ID...\n       callgate ws discard [OPTION] --all\n\n"
			 "Removes workspaces with all that is in them. The directories that the runs were started in "
			 "stay\n"
			 "as they are. What callgate ws keep has marked stays.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}},
	};
	const int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED || options->all == (optind == argc))
		return status;
	cli_print_error("ws discard", options->all ? "--all takes no ids"
						   : "name a workspace; callgate ws list has their ids; or --all");
	return cli_fail_usage("ws discard");
}

static int ws_main_discard(int argc, char **argv)
{
	struct ws_discard_options options = {false, false};
	int status = ws_parse_discard(argc, argv, &options);
	_cleanup_close_ int base = -1;

	if (status != CLI_OPTIONS_PARSED)
		return status;
	cli_ignore_broken_pipes();
	base = ws_open_runs("ws discard");
	if (base < 0)
		return CLI_EXIT_ERROR;
	status = options.all ? ws_discard_all(base, options.json) : CLI_EXIT_OK;
	for (int i = optind; i < argc; i++)
		if (ws_discard(base, argv[i], options.json) != CLI_EXIT_OK)
			status = CLI_EXIT_ERROR;
	return status;
}

int cli_main_ws(int argc, char **argv)
{
	static const struct cli_verb verbs[] = {
		{"list", ws_main_list, "list the workspaces"},
		{"diff", cli_main_ws_diff, "show what a run has changed"},
		{"apply", cli_main_ws_apply, "put what a run has changed into its directory"},
		{"recover", cli_main_ws_recover, "end an apply that was interrupted"},
		{"keep", cli_main_ws_keep, "mark workspaces that are not to be discarded"},
		{"discard", ws_main_discard, "remove workspaces"},
	};
	static const struct cli_verbs all = {.parent = "ws",
					     .usage = "Usage: callgate ws VERB [OPTION...] [ID...]\n\n"
						      "Lists, shows, applies and removes workspaces, which have what "
						      "runs with --cow have written.\n\n",
					     .epilogue = "\nEach verb has --help.\n",
					     .verbs = verbs,
					     .verb_count = CLI_VERB_COUNT(verbs)};

	return cli_run_verb(&all, argc, argv);
}
