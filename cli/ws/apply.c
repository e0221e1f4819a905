#include "cli/ws/apply.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/options.h"
#include "cli/ws/apply-private.h"
#include "cli/ws/elsewhere.h"
#include "cli/ws/left-out.h"
#include "cli/ws/open.h"
#include "cli/ws/plan.h"
#include "cli/ws/stale.h"
#include "cli/ws/times.h"
#include "supervisor/report.h"
#include "workspace/journal.h"
#include "workspace/place.h"
#include "workspace/reads.h"

/* ---- all changes of a directory ---- */

/* Removes the journal, unless callgate ws recover needs it. */
static void apply_end_journal(struct apply *apply, int journal_dir_fd)
{
	int r;

	if (syncfs(apply->plan->layer->base_fd) < 0) { /* renames first */
		cli_print_error(APPLY_VERB, "what was applied cannot be written to the disk: %s", strerror(errno));
		apply->failed = apply->is_unfinished = true;
	}
	r = apply->is_unfinished ? 0 : journal_remove(journal_dir_fd);
	if (r < 0)
		cli_print_error(APPLY_VERB, "cannot remove the journal: %s", strerror(-r));
	apply->is_unfinished |= r < 0;
	if (apply->is_unfinished)
		cli_print_error(APPLY_VERB, "%s: the apply has not ended; callgate ws recover ends it", apply->id);
}

static void apply_tell_interrupted(const char *id)
{
	cli_print_error(APPLY_VERB, "%s: an apply of it was interrupted; callgate ws recover ends that", id);
}

/* Applies the plan under a journal, which is taken, and prints the result. Returns the exit status. */
static int apply_run(struct apply *apply, struct apply_journal *journal)
{
	const int r = apply_journal_begin(journal);
	_cleanup_close_ int fd = steal_fd(&journal->fd);

	if (r == -EEXIST)
		apply_tell_interrupted(journal->id);
	else
		(void)apply_check_journal(apply, r);
	if (r < 0)
		return CLI_EXIT_ERROR;
	apply->journal_fd = fd;
	apply->id = journal->id;
	apply->unlock = journal->unlock;
	journal->unlock = (struct unlock){.base_fd = -1};
	place_format_name(apply->id, 0, apply->temporary);
	if (apply_unlock_dirs(apply) < 0)
		apply->failed = true;
	apply_make_steps(apply);
	apply_tell_conflicts(apply); /* after the times of directories were set: no program has written the versions */
	apply_end_journal(apply, journal->dir_fd);
	apply_end_interrupts();
	return apply_print(apply);
}

/* Makes the room for what is printed, and applies the plan. Returns the exit status. */
static int apply_start(struct plan *plan, struct apply_journal *journal)
{
	struct apply apply = {.plan = plan, .unlock.base_fd = -1};
	int status;

	if (plan->words.json)
		apply.conflict = calloc(plan->changes.count + 1, sizeof(json_t *));
	apply.is_done = calloc(plan->changes.count + 1, sizeof(bool));
	apply.is_replaced = calloc(plan->changes.count + 1, sizeof(bool));
	status = !apply.is_done || !apply.is_replaced || (plan->words.json && !apply.conflict) ||
				 ws_times_note(&apply.times, plan) < 0
			 ? cli_fail_no_memory(APPLY_VERB)
			 : apply_run(&apply, journal);
	ws_times_release(&apply.times);
	unlock_release(&apply.unlock);
	for (size_t i = 0; apply.conflict && i < plan->changes.count; i++)
		json_decref(apply.conflict[i]); /* those that were not printed */
	free(apply.conflict);
	free(apply.is_done);
	free(apply.is_replaced);
	return status;
}

/* ---- the verb ---- */

/* Parses the options. CLI_OPTIONS_PARSED, or the exit status. */
static int apply_parse(int argc, char **argv, struct plan_words *words)
{
	static const struct cli_option table[] = {
		CLI_FLAG("theirs", 0, "conflicts: take what the run has made", offsetof(struct plan_words, theirs)),
		CLI_FLAG("ours", 0, "conflicts: keep what the directory has, silently",
			 offsetof(struct plan_words, ours)),
		CLI_FLAG("allow-executed", 0, "also apply what runs later, outside of any sandbox",
			 offsetof(struct plan_words, allow_executed)),
		CLI_FLAG("json", 0, "one JSON object a change, with what became of it",
			 offsetof(struct plan_words, json)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = APPLY_VERB,
		.usage = "Usage: callgate ws apply [OPTION] ID [PATH|GLOB...]\n\n"
			 "Puts what a run with --cow has changed into its directory: all of it, or what is at or below "
			 "one of\n"
			 "the paths. What was changed outside since the run began is a conflict, and is not touched. "
			 "The exit\n"
			 "status is 3 if something was left out, or the run has changed nothing at one of the paths. "
			 "The\n"
			 "workspace stays.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, words}},
	};
	const int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (words->theirs && words->ours)
		cli_print_error(APPLY_VERB, "--theirs and --ours are opposites: name one");
	else if (optind == argc)
		cli_print_error(APPLY_VERB, "name a workspace; callgate ws list has their ids");
	else
		return CLI_OPTIONS_PARSED;
	return cli_fail_usage(APPLY_VERB);
}

/* Says that it is not; as_json: also with a line. */
static void apply_tell_other_dir(const struct workspace *workspace, bool as_json)
{
	if (as_json)
		(void)cli_print_json(APPLY_VERB, json_pack("{s:s, s:o}", "warning", "another_directory", "dir",
							   report_make_text_json(workspace->dir)));
	cli_print_error(APPLY_VERB,
			"%s: another directory than that of the run: it was moved there since; --theirs applies to it",
			workspace->dir);
}

/* Lets the comparison open directories of the caller's own that may not be read. */
static void apply_prepare(struct plan *plan, struct apply_journal *journal)
{
	journal->unlock.base_fd = plan->layer->base_fd;
	plan->changes.on_closed_dir = apply_journal_open_dir;
	plan->changes.on_closed_dir_ctx = journal;
}

/* Finds what is left out in directory `at`. 0, or -1 after a message: nothing is applied then. */
static int apply_look_at_dir(const struct plan_words *words, int fd, size_t at, struct workspace *workspace,
			     const struct ws_patterns *patterns, struct ws_elsewhere *elsewhere)
{
	_cleanup_workspace_layer_ struct workspace_layer layer = WORKSPACE_LAYER_INIT;
	_cleanup_ws_selection_ struct ws_selection selection = {0};
	_cleanup_plan_ struct plan plan = {.layer = &layer, .words = *words};
	_cleanup_close_ int journal_dir = workspace_open_journal_dir(fd, at);
	const int is_missing = ws_open_layer(APPLY_VERB, fd, fd, at, workspace, &layer);
	const bool is_other = is_missing == 0 && !words->theirs && !dir_id_is_of(&workspace->dir_id, layer.base_fd);
	_cleanup_apply_journal_ struct apply_journal journal = {journal_dir, -1, workspace->id, {.base_fd = -1}};
	int r;

	if (journal_dir >= 0 && journal_exists(journal_dir)) {
		apply_tell_interrupted(workspace->id);
		return -1;
	}
	if (is_missing < 0 || (!is_missing && ws_selection_init(&selection, APPLY_VERB, workspace, patterns) < 0))
		return -1;
	if (!is_missing && !is_other) /* which is not changed */
		apply_prepare(&plan, &journal);
	if (!is_missing && ws_lock_directory(APPLY_VERB, workspace, &layer) < 0)
		return -1;
	if (!is_missing && !selection.is_empty && ws_plan_make(&plan, &selection) < 0)
		return -1;
	r = ws_elsewhere_add(elsewhere, is_missing || selection.is_empty ? NULL : &plan, is_other);
	if (r < 0)
		cli_print_error(APPLY_VERB, "%s: cannot compare: %s", workspace->dir, strerror(-r));
	return r < 0 ? -1 : 0;
}

/* Leaves out old names of what is left out in other directories. */
static void apply_hold_moved_elsewhere(const struct ws_elsewhere *elsewhere, size_t at, const struct plan *plan)
{
	if (ws_elsewhere_hold(elsewhere, at, plan) && !plan->words.json)
		cli_print_error(APPLY_VERB,
				"%s: nothing is deleted or overwritten that is equal to a file which is left out in "
				"another directory of the workspace; to change it nevertheless, name its path alone",
				plan->dir);
}

/* Applies the changes of directory `at`. Returns the exit status. */
static int apply_dir(const struct plan_words *words, int fd, size_t at, struct workspace *workspace,
		     const struct ws_patterns *patterns, const struct ws_elsewhere *elsewhere)
{
	_cleanup_workspace_layer_ struct workspace_layer layer = WORKSPACE_LAYER_INIT;
	_cleanup_ws_selection_ struct ws_selection selection = {0};
	_cleanup_plan_ struct plan plan = {.layer = &layer, .words = *words, .was_told = workspace->dir_count > 1};
	_cleanup_workspace_reads_ struct workspace_reads reads = {.text = NULL};
	_cleanup_close_ int journal_dir = workspace_open_journal_dir(fd, at);
	_cleanup_apply_journal_ struct apply_journal journal = {journal_dir, -1, workspace->id, {.base_fd = -1}};
	int status, r = ws_open_layer(APPLY_VERB, fd, fd, at, workspace, &layer);

	if (r == 1)
		return CLI_EXIT_OK;
	if (r < 0 || ws_selection_init(&selection, APPLY_VERB, workspace, patterns) < 0)
		return CLI_EXIT_ERROR;
	if (selection.is_empty)
		return CLI_EXIT_OK;
	if (!words->theirs && !dir_id_is_of(&workspace->dir_id, layer.base_fd)) {
		apply_tell_other_dir(workspace, words->json);
		return WS_EXIT_NOT_ALL;
	}
	if (journal_dir >= 0 && journal_exists(journal_dir)) {
		apply_tell_interrupted(workspace->id);
		return CLI_EXIT_ERROR;
	}
	plan.dir = workspace->dir_count > 1 ? workspace->dir : NULL;
	apply_prepare(&plan, &journal);
	if (ws_lock_directory(APPLY_VERB, workspace, &layer) < 0 || ws_plan_make(&plan, &selection) < 0)
		return CLI_EXIT_ERROR;
	apply_hold_moved_elsewhere(elsewhere, at, &plan);
	if ((!words->json && ws_left_out_tell(&plan) < 0) || ws_left_out_hold_dirs(&plan) < 0)
		return cli_fail_no_memory(APPLY_VERB);
	if (!words->json)
		ws_tell_stale_reads(APPLY_VERB, plan.dir, &layer, layer.dir_fd, false);
	r = workspace_reads_keep(&layer, &reads);
	status = apply_start(&plan, &journal);
	if (r == 0) /* else ws_tell_stale_reads() tells, or too many warnings are given */
		(void)workspace_reads_refresh(&layer, &reads);
	if (words->json) /* all output comes at the end: a reader that stops does not interrupt the apply */
		ws_tell_stale_reads(APPLY_VERB, plan.dir, &layer, layer.dir_fd, true);
	return status;
}

/* Applies the changes of all directories. Returns the exit status. */
static int apply_all(const struct plan_words *words, int fd, struct workspace *workspace,
		     const struct ws_patterns *patterns)
{
	_cleanup_ws_elsewhere_ struct ws_elsewhere elsewhere = {.count = 0};
	int worst = CLI_EXIT_OK;

	for (size_t at = 0; workspace->dir_count > 1 && at < workspace->dir_count; at++)
		if (apply_look_at_dir(words, fd, at, workspace, patterns, &elsewhere) < 0)
			return CLI_EXIT_ERROR;
	for (size_t at = 0; worst != CLI_EXIT_ERROR && at < workspace->dir_count; at++) {
		const int status = apply_dir(words, fd, at, workspace, patterns, &elsewhere);

		worst = status > worst ? status : worst;
	}
	if (worst != CLI_EXIT_ERROR && ws_patterns_tell_unmatched(patterns, APPLY_VERB, words->json))
		worst = WS_EXIT_NOT_ALL;
	return worst;
}

int cli_main_ws_apply(int argc, char **argv)
{
	struct plan_words words = {false};
	_cleanup_close_ int fd = -1; /* holds the lock */
	_cleanup_ws_patterns_ struct ws_patterns patterns = {.text = NULL};
	struct workspace workspace;
	int status = apply_parse(argc, argv, &words);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	cli_ignore_broken_pipes();
	fd = ws_open_workspace(APPLY_VERB, argv[optind], &workspace);
	if (fd < 0 || ws_lock_workspace(APPLY_VERB, argv[optind], fd) < 0 ||
	    ws_patterns_init(&patterns, APPLY_VERB, fd, &workspace, argv + optind + 1, (size_t)(argc - optind - 1)) < 0)
		return CLI_EXIT_ERROR;
	return apply_all(&words, fd, &workspace, &patterns);
}
