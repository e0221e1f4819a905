/* Old names in callgate ws apply: they stay when the new name of their file is left out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/ws/apply-private.h"
#include "workspace/names/moves.h"

bool apply_is_over(const struct apply *apply, size_t at)
{
	return workspace_change_is_replacement(&apply->plan->changes.item[at]) ? apply->is_replaced[at]
									       : apply->is_done[at];
}

/* True for a change that removes a directory, or puts something else in its place. */
static bool apply_removes_dir(const struct workspace_change *change)
{
	return change->kind == WORKSPACE_DELETED ||
	       (workspace_change_is_replacement(change) && S_ISDIR(change->base.mode));
}

void apply_hold_dirs_above(const struct plan *plan, const char *path, enum plan_state state)
{
	const struct workspace_change *change;
	char dir[PATH_MAX];
	char *slash;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	while ((slash = strrchr(dir, '/'))) {
		*slash = '\0';
		change = ws_plan_find(plan, dir);
		if (change && apply_removes_dir(change) && ws_plan_get_state(plan, change) == PLAN_APPLY)
			apply_hold(plan, (size_t)(change - plan->changes.item), state);
	}
}

bool apply_hold_dirs_with_entries(const struct apply *apply)
{
	const struct plan *plan = apply->plan;
	bool has_held = false;

	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i], *dir;
		size_t at;

		if (change->kind != WORKSPACE_DELETED || plan->state[i] == PLAN_APPLY)
			continue;
		dir = ws_plan_find_replaced_above(plan, change->path);
		at = dir ? (size_t)(dir - plan->changes.item) : 0;
		if (!dir || !apply_removes_dir(dir) || plan->state[at] != PLAN_APPLY || apply_is_over(apply, at))
			continue;
		apply_hold(plan, at, apply_tell_failure(apply, dir, -ENOTEMPTY));
		has_held = true;
	}
	return has_held;
}

/* The changes by their old files, and the files of which a new name is left out. */
struct hold {
	const struct apply *apply;
	const struct workspace_change **old; /* those of old names, sorted by old_file; owned */
	size_t old_count;
	bool *is_seen;  /* of each change: its new file was looked at; owned */
	uint64_t *file; /* files whose old names are to be held; owned */
	size_t file_count;
	bool has_held;
};

static int hold_compare(const void *left, const void *right)
{
	const struct workspace_change *a = *(const struct workspace_change *const *)left,
				      *b = *(const struct workspace_change *const *)right;

	return (a->old_file > b->old_file) - (a->old_file < b->old_file);
}

static int hold_compare_with_file(const void *file, const void *change)
{
	const uint64_t a = *(const uint64_t *)file, b = (*(const struct workspace_change *const *)change)->old_file;

	return (a > b) - (a < b);
}

/* Adds the files of new names that are left out, and were not before. True if there are some. */
static bool hold_find_files(struct hold *hold)
{
	const struct plan *plan = hold->apply->plan;
	const size_t before = hold->file_count;

	for (size_t i = 0; i < plan->changes.count; i++) {
		if (hold->is_seen[i] || plan->state[i] <= PLAN_APPLY ||
		    !workspace_change_is_new_name(&plan->changes.item[i]))
			continue;
		hold->is_seen[i] = true;
		hold->file[hold->file_count++] = plan->changes.item[i].new_file;
	}
	return hold->file_count > before;
}

/* Leaves out the changes of a file's old names. */
static void hold_old_names(struct hold *hold, uint64_t file)
{
	const struct plan *plan = hold->apply->plan;
	const struct workspace_change **end = hold->old + hold->old_count;
	const struct workspace_change **at = hold->old_count > 0 ? bsearch(&file, hold->old, hold->old_count,
									   sizeof(*hold->old), hold_compare_with_file)
								 : NULL;

	while (at && at > hold->old && at[-1]->old_file == file)
		at--;
	for (; at && at < end && (*at)->old_file == file; at++) {
		const size_t i = (size_t)(*at - plan->changes.item);

		if (plan->state[i] != PLAN_APPLY || apply_is_over(hold->apply, i))
			continue;
		apply_hold(plan, i, PLAN_CONFLICT);
		apply_hold_dirs_above(plan, (*at)->path, PLAN_CONFLICT);
		hold->has_held = true;
	}
}

/* Leaves out all that is to be. What is left out may have the new name of another file. */
static void hold_all(struct hold *hold)
{
	const struct plan *plan = hold->apply->plan;
	size_t done = 0;

	for (size_t i = 0; i < plan->changes.count; i++)
		if (workspace_change_is_old_name(&plan->changes.item[i]))
			hold->old[hold->old_count++] = &plan->changes.item[i];
	if (hold->old_count == 0)
		return;
	qsort(hold->old, hold->old_count, sizeof(*hold->old), hold_compare);
	while (hold_find_files(hold))
		while (done < hold->file_count)
			hold_old_names(hold, hold->file[done++]);
}

bool apply_hold_old_names(struct apply *apply)
{
	const size_t count = apply->plan->changes.count;
	struct hold hold = {.apply = apply,
			    .old = calloc(count + 1, sizeof(*hold.old)),
			    .is_seen = calloc(count + 1, sizeof(*hold.is_seen)),
			    .file = calloc(count + 1, sizeof(*hold.file))};

	if (hold.old && hold.is_seen && hold.file)
		hold_all(&hold);
	else
		apply->failed = cli_fail_no_memory(APPLY_VERB) != CLI_EXIT_OK;
	free((void *)hold.old);
	free(hold.is_seen);
	free(hold.file);
	return hold.has_held;
}
