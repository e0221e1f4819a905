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
#include "cli/ws/conflict.h"
#include "cli/ws/open.h"
#include "cli/ws/plan.h"
#include "cli/ws/show.h"
#include "cli/ws/stale.h"
#include "cli/ws/times.h"
#include "supervisor/report.h"
#include "workspace/journal.h"
#include "workspace/place.h"

/* ---- one change ---- */

/*
 * The steps of an apply, in their order. What is deleted goes last: when there is no room for new files, nothing is
 * lost. So does a file that becomes a link or the like: its content may have another name now.
 */
enum apply_step { APPLY_PUT, APPLY_PUT_INSTEAD, APPLY_REMOVE, APPLY_ATTRIBUTES };

/* True for a change that puts an entry of another type in the place of a regular file. */
static bool apply_is_instead(const struct workspace_change *change)
{
	return change->kind == WORKSPACE_REPLACED && S_ISREG(change->base.mode);
}

/* Whether a step has to do with a change. Those of replacements are made otherwise. */
static bool apply_has_step(const struct plan *plan, const struct workspace_change *change, enum apply_step step)
{
	const bool upper_dir = change->upper.exists && S_ISDIR(change->upper.mode);

	switch (step) {
	case APPLY_PUT:
	case APPLY_PUT_INSTEAD:
		return change->upper.exists && !(upper_dir && change->kind == WORKSPACE_MODIFIED) &&
		       apply_is_instead(change) == (step == APPLY_PUT_INSTEAD) && !apply_find_replacement(plan, change);
	case APPLY_REMOVE:
		return change->kind == WORKSPACE_DELETED && !apply_find_replacement(plan, change);
	case APPLY_ATTRIBUTES:
		return upper_dir;
	}
	return false;
}

static int apply_do_step(const struct apply *apply, const struct workspace_change *change, enum apply_step step)
{
	if (step == APPLY_REMOVE)
		return place_remove(apply->plan->layer, change);
	if (step == APPLY_PUT || step == APPLY_PUT_INSTEAD)
		return apply_put(apply, apply->plan->layer, change, change);
	return place_set_attributes(apply->plan->layer, change);
}

/* Makes one step of a change, if it has that step. */
static void apply_change(struct apply *apply, size_t at, enum apply_step step)
{
	const struct workspace_change *change = &apply->plan->changes.item[at];
	/* Of a removal nothing is half-made. Thousands of them would wait for the disk one by one. */
	const bool on_disk = step != APPLY_REMOVE;
	int r;

	if (apply->failed || apply->plan->state[at] != PLAN_APPLY || !apply_has_step(apply->plan, change, step))
		return;
	if (step == APPLY_REMOVE && apply->is_done[at]) /* with a replacement, which has failed then */
		return;
	if (apply_is_held(apply->plan, change)) {
		apply->plan->state[at] = (unsigned char)ws_plan_get_new_name_state(apply->plan, change);
		return;
	}
	if (!apply_check_journal(apply, journal_begin(apply->journal_fd, change->path, 0, on_disk)))
		return;
	r = apply_do_step(apply, change, step);
	if (r < 0)
		apply->plan->state[at] = (unsigned char)apply_tell_failure(apply, change, r);
	else if (step == APPLY_PUT || step == APPLY_PUT_INSTEAD)
		apply->is_done[at] = true;
	(void)apply_check_journal(apply, journal_end(apply->journal_fd, r == 0));
}

/* ---- all changes ---- */

/*
 * True for a file that was left out, and may be an old one with another name, which the program has edited since. A
 * content that the directory has is not missed, nor is one of which the old name is known: that is held by itself.
 */
static bool apply_misses_renamed(const struct plan *plan, const struct workspace_change *change)
{
	_cleanup_close_ int fd = -1;

	if (ws_plan_get_state(plan, change) <= PLAN_APPLY || !S_ISREG(change->upper.mode) || change->old_path)
		return false;
	if (change->kind == WORKSPACE_MODIFIED && !(change->differences & WORKSPACE_CONTENT_DIFFERS))
		return false;
	fd = workspace_open_entry(plan->layer->upper_fd, change->path);
	return fd < 0 || workspace_may_be_renamed(plan->layer, change->path, fd);
}

/* True for a change that deletes something, or replaces a directory or a file by something else. */
static bool apply_deletes(const struct plan *plan, const struct workspace_change *change)
{
	return apply_has_step(plan, change, APPLY_REMOVE) || workspace_change_is_replacement(change) ||
	       apply_is_instead(change);
}

/*
 * True for a change that deletes a regular file, which may be one that apply_misses_renamed() is true of. Of a file
 * with several names, overlayfs does not note that it has copied it.
 */
static bool apply_deletes_file(const struct plan *plan, const struct workspace_change *change)
{
	if (change->kind != WORKSPACE_DELETED && !apply_is_instead(change))
		return false;
	return S_ISREG(change->base.mode) && (change->base.nlink == 1 || plan->layer->records);
}

/* Leaves out the deletions of the directories that an entry is in, which stays. */
static void apply_hold_dirs_above(const struct plan *plan, const char *path, enum plan_state state)
{
	const struct workspace_change *change;
	char dir[PATH_MAX];
	char *slash;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	while ((slash = strrchr(dir, '/'))) {
		*slash = '\0';
		change = ws_plan_find(plan, dir);
		if (change && change->kind == WORKSPACE_DELETED && ws_plan_get_state(plan, change) == PLAN_APPLY)
			apply_hold(plan, (size_t)(change - plan->changes.item), state);
	}
}

/* Whether deletions are to be left out: PLAN_APPLY: no; PLAN_FAILED: all; PLAN_CONFLICT: those of files. */
static enum plan_state apply_find_hold(const struct plan *plan)
{
	enum plan_state state = PLAN_APPLY;

	for (size_t i = 0; i < plan->changes.count; i++)
		if (plan->state[i] == PLAN_FAILED)
			return PLAN_FAILED;
		else if (state == PLAN_APPLY && apply_misses_renamed(plan, &plan->changes.item[i]))
			state = PLAN_CONFLICT;
	return state;
}

static void apply_tell_held(const struct apply *apply, enum plan_state state)
{
	if (apply->plan->words.json)
		return;
	cli_print_error(APPLY_VERB, "%s",
			state == PLAN_FAILED
				? "nothing is deleted, and no directory becomes a file or a file a directory, because "
				  "not all that is new was put"
				: "nothing is deleted that may be the old name of a file that is left out; to delete "
				  "it, name its path alone");
}

/* True when the deletion that a change is, or has, is made. */
static bool apply_is_over(const struct apply *apply, size_t at)
{
	return workspace_change_is_replacement(&apply->plan->changes.item[at]) ? apply->is_replaced[at]
									       : apply->is_done[at];
}

/*
 * Leaves out all deletions that are not made yet when a new entry could not be made. When one is left out that may be
 * an old one, nothing tells which: then no file is deleted.
 */
static void apply_hold_deletions(struct apply *apply)
{
	const struct plan *plan = apply->plan;
	const enum plan_state state = apply_find_hold(plan);
	bool held = false;

	for (size_t i = 0; state != PLAN_APPLY && i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];

		if (plan->state[i] != PLAN_APPLY || apply_is_over(apply, i) ||
		    !(state == PLAN_FAILED ? apply_deletes(plan, change) : apply_deletes_file(plan, change)))
			continue;
		apply_hold(plan, i, state);
		apply_hold_dirs_above(plan, change->path, state);
		held = true;
	}
	if (held && !apply->is_hold_told)
		apply_tell_held(apply, state);
	apply->is_hold_told |= held;
}

/*
 * Forces to the disk what was put, before old names of it are removed: their removals do not wait for the disk. So does
 * the journal: which new entries are complete must be known once an old one is not.
 */
static void apply_sync_puts(struct apply *apply)
{
	const struct plan *plan = apply->plan;
	bool removes = false;

	for (size_t i = 0; !removes && i < plan->changes.count; i++)
		removes = plan->state[i] == PLAN_APPLY && apply_deletes(plan, &plan->changes.item[i]);
	if (!removes || apply->failed || (fdatasync(apply->journal_fd) == 0 && syncfs(plan->layer->base_fd) == 0))
		return;
	cli_print_error(APPLY_VERB, "nothing is deleted: what was put cannot be written to the disk: %s",
			strerror(errno));
	apply->failed = true;
}

/*
 * Puts what was made beside directories, or beside anything else, in its place. Each that fails leaves out the
 * deletions that are not made yet.
 */
static void apply_replace_all(struct apply *apply, bool of_dirs)
{
	const struct plan *plan = apply->plan;

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];

		if (!workspace_change_is_replacement(change) || S_ISDIR(change->base.mode) != of_dirs)
			continue;
		if (plan->state[i] == PLAN_APPLY && apply_is_held(plan, change))
			apply_hold(plan, i, ws_plan_get_new_name_state(plan, change));
		if (plan->state[i] != PLAN_APPLY) {
			apply_replace(apply, i); /* removes what was made */
			continue;
		}
		apply_replace(apply, i);
		apply->is_replaced[i] = true;
		if (plan->state[i] != PLAN_APPLY)
			apply_hold_deletions(apply);
	}
}

/* Applies what the plan says: removals and attributes of directories from below, new entries from above. */
static void apply_plan(struct apply *apply)
{
	const size_t count = apply->plan->changes.count;

	for (size_t i = 0; i < count; i++)
		apply_change(apply, i, APPLY_PUT);
	for (size_t i = 0; i < count; i++)
		apply_make_replacement(apply, i);
	apply_hold_deletions(apply);
	apply_sync_puts(apply);
	apply_replace_all(apply, false); /* nothing but the file itself is deleted by that */
	apply_replace_all(apply, true);
	for (size_t i = 0; i < count; i++)
		apply_change(apply, i, APPLY_PUT_INSTEAD);
	apply_hold_deletions(apply);
	for (size_t i = count; i > 0; i--)
		apply_change(apply, i - 1, APPLY_REMOVE);
	for (size_t i = count; i > 0; i--)
		apply_change(apply, i - 1, APPLY_ATTRIBUTES);
}

/*
 * Writes the versions of a conflict beside its file. With --theirs, a conflict is what was changed outside during the
 * apply, which must not be overwritten unseen.
 */
static void apply_write_conflict(struct apply *apply, const struct workspace_change *change,
				 struct ws_conflict *conflict)
{
	if (apply->plan->words.theirs) {
		conflict->not_beside = "--theirs writes none, another ws apply takes it";
		return;
	}
	if (!apply_check_journal(apply, journal_begin(apply->journal_fd, change->path, 0, true)))
		return;
	ws_conflict_write(apply->plan, change, apply->temporary, conflict);
	(void)apply_check_journal(apply, journal_end(apply->journal_fd, true));
}

/* Tells of all conflicts, whose versions are written beside their files: last, when no name is needed any more. */
static void apply_tell_conflicts(struct apply *apply)
{
	const struct plan *plan = apply->plan;
	size_t written = 0;

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];
		struct ws_conflict conflict;

		if (plan->state[i] != PLAN_CONFLICT || !plan->why[i])
			continue;
		ws_conflict_find(plan, change, &conflict);
		if (!apply->failed && ws_conflict_is_beside(plan, change, &conflict)) {
			if (++written <= WS_CONFLICTS_BESIDE_MAX)
				apply_write_conflict(apply, change, &conflict);
			else
				conflict.not_beside = "there are more than 1,000 conflicts";
		}
		if (apply->conflict)
			apply->conflict[i] = ws_conflict_make_json(&conflict);
		else
			ws_conflict_tell(plan, change, &conflict);
	}
}

/* Prints what became of a change as JSON. 0 or -errno. */
static int apply_print_json(const struct apply *apply, size_t at)
{
	static const char *const words[] = {
		[PLAN_APPLY] = "applied",       [PLAN_KEEP] = "kept",     [PLAN_CONFLICT] = "conflict",
		[PLAN_EXECUTED] = "runs_later", [PLAN_FAILED] = "failed",
	};
	const struct plan *plan = apply->plan;
	const unsigned char state = plan->state[at];
	const bool is_held = state >= PLAN_CONFLICT && !plan->why[at];
	struct show_result result = {
		.word = state == PLAN_APPLY && apply->failed ? "unknown" : words[state],
		.why = is_held               ? "what it belongs to was not applied"
		       : state == PLAN_APPLY ? NULL
					     : plan->why[at],
	};
	json_t *conflict = apply->conflict[at];

	apply->conflict[at] = NULL;
	return show_json(plan->dir, &plan->changes.item[at], conflict, NULL, &result);
}

/* Prints what became of a change, if it is selected; as a line, only what was applied. 0 or -errno. */
static int apply_print_change(const struct apply *apply, size_t at)
{
	const unsigned char state = apply->plan->state[at];

	if (apply->conflict)
		return state == PLAN_UNSELECTED ? 0 : apply_print_json(apply, at);
	return state == PLAN_APPLY && !apply->failed ? show_line(apply->plan->dir, &apply->plan->changes.item[at]) : 0;
}

/* Prints what was applied. Returns the exit status. */
static int apply_print(const struct apply *apply)
{
	bool not_all = apply->plan->changes.has_lost, failed = apply->failed || apply->is_unfinished;

	for (size_t i = 0; i < apply->plan->changes.count; i++) {
		const unsigned char state = apply->plan->state[i];

		if (apply_print_change(apply, i) < 0)
			return cli_fail_no_memory(APPLY_VERB);
		not_all |= state == PLAN_CONFLICT || state == PLAN_EXECUTED;
		failed |= state == PLAN_FAILED;
	}
	if (cli_print_text(APPLY_VERB, "") != CLI_EXIT_OK || failed)
		return CLI_EXIT_ERROR;
	return not_all ? WS_EXIT_NOT_ALL : CLI_EXIT_OK;
}

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

/* Applies the plan under a journal, and prints the result. Returns the exit status. */
static int apply_run(struct apply *apply, int journal_dir_fd, const char *id)
{
	struct stat st;
	_cleanup_close_ int journal =
		fstat(apply->plan->layer->base_fd, &st) < 0 ? -errno : journal_create(journal_dir_fd, st.st_ino);

	if (journal == -EEXIST)
		cli_print_error(APPLY_VERB, "%s: an apply of it was interrupted; callgate ws recover ends that", id);
	else
		(void)apply_check_journal(apply, journal < 0 ? journal : 0);
	if (journal < 0)
		return CLI_EXIT_ERROR;
	apply->journal_fd = journal;
	apply->id = id;
	place_format_name(id, 0, apply->temporary);
	apply_plan(apply);
	ws_times_set(&apply->times,
		     apply->plan->layer); /* before versions of conflicts, which no program has written */
	apply_tell_conflicts(apply);
	apply_end_journal(apply, journal_dir_fd);
	return apply_print(apply);
}

/* Makes the room for what is printed, and applies the plan. Returns the exit status. */
static int apply_start(struct plan *plan, int journal_dir_fd, const char *id)
{
	struct apply apply = {.plan = plan};
	int status;

	if (plan->words.json)
		apply.conflict = calloc(plan->changes.count + 1, sizeof(json_t *));
	apply.is_done = calloc(plan->changes.count + 1, sizeof(bool));
	apply.is_replaced = calloc(plan->changes.count + 1, sizeof(bool));
	status = !apply.is_done || !apply.is_replaced || (plan->words.json && !apply.conflict) ||
				 ws_times_note(&apply.times, plan) < 0
			 ? cli_fail_no_memory(APPLY_VERB)
			 : apply_run(&apply, journal_dir_fd, id);
	ws_times_release(&apply.times);
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

/* Whether the directory is the one that the run was started in. A message says that it is not, and as_json a line. */
static bool apply_is_same_dir(const struct workspace *workspace, const struct workspace_layer *layer, bool as_json)
{
	struct stat st;

	if (workspace->inode == 0 || (fstat(layer->base_fd, &st) == 0 && st.st_ino == workspace->inode))
		return true;
	if (as_json)
		(void)cli_print_json(APPLY_VERB, json_pack("{s:s, s:o}", "warning", "another_directory", "dir",
							   report_make_text_json(workspace->dir)));
	cli_print_error(APPLY_VERB,
			"%s: another directory than that of the run: it was moved there since; --theirs applies to it",
			workspace->dir);
	return false;
}

/* Applies the changes of directory `at`. Returns the exit status. */
static int apply_dir(const struct plan_words *words, int fd, size_t at, struct workspace *workspace,
		     const struct ws_patterns *patterns)
{
	_cleanup_workspace_layer_ struct workspace_layer layer = WORKSPACE_LAYER_INIT;
	_cleanup_ws_selection_ struct ws_selection selection = {0};
	_cleanup_plan_ struct plan plan = {.layer = &layer, .words = *words};
	_cleanup_close_ int journal_dir = workspace_open_journal_dir(fd, at);
	int status, r = ws_open_layer(APPLY_VERB, fd, fd, at, workspace, &layer);

	if (r == 1)
		return CLI_EXIT_OK;
	if (r < 0 || ws_selection_init(&selection, APPLY_VERB, workspace, patterns) < 0)
		return CLI_EXIT_ERROR;
	if (selection.is_empty)
		return CLI_EXIT_OK;
	if (!words->theirs && !apply_is_same_dir(workspace, &layer, words->json))
		return WS_EXIT_NOT_ALL;
	plan.dir = workspace->dir_count > 1 ? workspace->dir : NULL;
	if (ws_plan_make(&plan, &selection) < 0)
		return CLI_EXIT_ERROR;
	if (!words->json)
		ws_tell_stale_reads(APPLY_VERB, plan.dir, &layer, layer.dir_fd, false);
	status = apply_start(&plan, journal_dir, workspace->id);
	if (words->json) /* all output comes at the end: a reader that stops does not interrupt the apply */
		ws_tell_stale_reads(APPLY_VERB, plan.dir, &layer, layer.dir_fd, true);
	return status;
}

/* Applies the changes of all directories. Returns the exit status. */
static int apply_all(const struct plan_words *words, int fd, struct workspace *workspace,
		     const struct ws_patterns *patterns)
{
	int worst = CLI_EXIT_OK;

	for (size_t at = 0; worst != CLI_EXIT_ERROR && at < workspace->dir_count; at++) {
		const int status = apply_dir(words, fd, at, workspace, patterns);

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
