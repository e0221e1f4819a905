/* The steps of callgate ws apply: what is new, replacements, deletions, attributes of directories. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/ws/apply-private.h"
#include "workspace/journal.h"
#include "workspace/names/moves.h"
#include "workspace/place.h"

/* ---- one change ---- */

/*
 * The steps of an apply, in their order. What is deleted goes last: when there is no room for new files, nothing is
 * lost. So does a file that becomes a link or the like, or another file: its content may have another name now.
 */
enum apply_step { APPLY_PUT, APPLY_PUT_INSTEAD, APPLY_REMOVE, APPLY_ATTRIBUTES };

/*
 * True for a change that puts an entry of another type in the place of a regular file, or another file in the place of
 * one that may have a new name.
 */
static bool apply_is_instead(const struct workspace_change *change)
{
	return (change->kind == WORKSPACE_REPLACED && S_ISREG(change->base.mode)) ||
	       (change->kind == WORKSPACE_MODIFIED && workspace_change_is_old_name(change));
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

static int apply_do_step(struct apply *apply, const struct workspace_change *change, enum apply_step step)
{
	if (step == APPLY_REMOVE)
		return place_remove(apply->plan->layer, change);
	if (step == APPLY_PUT || step == APPLY_PUT_INSTEAD)
		return apply_put(apply, apply->plan->layer, change, change);
	return apply_set_dir(apply, change);
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

/* True for a change that deletes something, or replaces a directory or a file by something else. */
static bool apply_deletes(const struct plan *plan, const struct workspace_change *change)
{
	return apply_has_step(plan, change, APPLY_REMOVE) || workspace_change_is_replacement(change) ||
	       apply_is_instead(change);
}

/* True when a new entry could not be made. */
static bool apply_has_failed(const struct plan *plan)
{
	return memchr(plan->state, PLAN_FAILED, plan->changes.count) != NULL;
}

/* Tells once that something is held. has_failed: since a new entry could not be made. */
static void apply_tell_held(struct apply *apply, bool has_failed)
{
	if (!apply->plan->words.json && !apply->is_hold_told)
		cli_print_error(APPLY_VERB, "%s%s",
				has_failed ? "nothing is deleted, and no directory becomes a file or a file a "
					     "directory, because not all that is new was put"
					   : "nothing is deleted or overwritten that may be the old name of a file "
					     "that is left out; to change it nevertheless, name its path alone",
				has_failed || apply->plan->changes.knows_moves
					? ""
					: ". Which files the run has renamed is not known: it may be any");
	apply->is_hold_told = true;
}

/* True when a deletion is still to be made. */
static bool apply_has_deletions(const struct apply *apply)
{
	const struct plan *plan = apply->plan;

	for (size_t i = 0; i < plan->changes.count; i++)
		if (plan->state[i] == PLAN_APPLY && !apply_is_over(apply, i) &&
		    apply_deletes(plan, &plan->changes.item[i]))
			return true;
	return false;
}

/* Leaves out all deletions that are not made yet. True if there are some. */
static bool apply_hold_all_deletions(const struct apply *apply)
{
	const struct plan *plan = apply->plan;
	bool held = false;

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];

		if (plan->state[i] != PLAN_APPLY || apply_is_over(apply, i) || !apply_deletes(plan, change))
			continue;
		apply_hold(plan, i, PLAN_FAILED);
		apply_hold_dirs_above(plan, change->path, PLAN_FAILED);
		held = true;
	}
	return held;
}

/*
 * Leaves out all deletions that are not made yet when a new entry could not be made. When one is left out that may be
 * an old one, those are left out that may be of the same file.
 */
static void apply_hold_some_deletions(struct apply *apply)
{
	const bool has_failed = apply_has_failed(apply->plan);

	if (apply_has_deletions(apply) && (has_failed ? apply_hold_all_deletions(apply) : apply_hold_old_names(apply)))
		apply_tell_held(apply, has_failed);
}

/*
 * The same, with the directories that cannot be replaced then, or for another reason: what was to take the place of one
 * may be an old entry as well. So it is before any is replaced.
 */
static void apply_hold_deletions(struct apply *apply)
{
	do
		apply_hold_some_deletions(apply);
	while (apply_hold_dirs_with_entries(apply));
}

/*
 * Forces to the disk what was put, before old names of it are removed: their removals do not wait for the disk. So does
 * the journal: which new entries are complete must be known once an old one is not.
 */
static void apply_sync_puts(struct apply *apply)
{
	if (!apply_has_deletions(apply) || apply->failed ||
	    (fdatasync(apply->journal_fd) == 0 && syncfs(apply->plan->layer->base_fd) == 0))
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

/* Gives directories what they have in the layer, from below: those above may not be searched then. */
static void apply_set_attributes(struct apply *apply)
{
	for (size_t i = apply->plan->changes.count; i > 0; i--) {
		apply_lock_dirs(apply, apply->plan->changes.item[i - 1].path, false);
		apply_change(apply, i - 1, APPLY_ATTRIBUTES);
	}
	apply_lock_dirs(apply, "", true);
}

void apply_make_steps(struct apply *apply)
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
	for (size_t i = 0; i < count; i++) {
		const bool is_left_out = apply->plan->state[i] != PLAN_APPLY;

		apply_change(apply, i, APPLY_PUT_INSTEAD);
		if (!is_left_out && apply->plan->state[i] != PLAN_APPLY)
			apply_hold_deletions(apply);
	}
	apply_hold_deletions(apply);
	for (size_t i = count; i > 0; i--)
		apply_change(apply, i - 1, APPLY_REMOVE);
	ws_times_set(&apply->times, apply->plan->layer); /* while all directories can be searched */
	apply_set_attributes(apply);
}
