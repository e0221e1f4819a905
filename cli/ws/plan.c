#include "cli/ws/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/ws/open.h"
#include "cli/ws/versions.h"
#include "workspace/conflict.h"
#include "workspace/names/moves.h"

#define PLAN_VERB "ws apply"

static void ws_plan_tell_unread(const char *path, int error)
{
	if (error == -ESTALE)
		cli_print_error(PLAN_VERB, "%s: " WS_LOST_TEXT, path);
	else
		cli_print_error(PLAN_VERB, "%s: cannot be compared: %s", *path ? path : ".", ws_explain_unread(error));
}

const char *ws_plan_get_name(const struct plan *plan, const struct workspace_change *change, char text[2 * PATH_MAX])
{
	if (!plan->dir)
		return *change->path ? change->path : ".";
	(void)snprintf(text, 2 * (size_t)PATH_MAX, "%s%s%s", plan->dir, *change->path ? "/" : "", change->path);
	return text;
}

void ws_plan_set_conflict(const struct plan *plan, const struct workspace_change *change, const char *why)
{
	const size_t at = (size_t)(change - plan->changes.item);

	plan->state[at] = PLAN_CONFLICT;
	plan->why[at] = why;
}

/* ---- what is selected ---- */

static int ws_plan_compare_path(const void *path, const void *change)
{
	return strcmp(path, ((const struct workspace_change *)change)->path);
}

const struct workspace_change *ws_plan_find(const struct plan *plan, const char *path)
{
	return bsearch(path, plan->changes.item, plan->changes.count, sizeof(*plan->changes.item),
		       ws_plan_compare_path);
}

enum plan_state ws_plan_get_state(const struct plan *plan, const struct workspace_change *change)
{
	return (enum plan_state)plan->state[change - plan->changes.item];
}

/* Calls visit for the change of each directory above a path, until it returns true. Returns that change, or NULL. */
static const struct workspace_change *ws_plan_visit_above(const struct plan *plan, const char *path,
							  bool (*visit)(const struct plan *plan,
									const struct workspace_change *change))
{
	const struct workspace_change *change;
	char above[PATH_MAX];
	char *slash;

	if (strlen(path) >= sizeof(above))
		return NULL;
	memcpy(above, path, strlen(path) + 1);
	while ((slash = strrchr(above, '/'))) {
		*slash = '\0';
		change = ws_plan_find(plan, above);
		if (change && visit(plan, change))
			return change;
	}
	return NULL;
}

static bool ws_plan_is_replaced(const struct plan *plan, const struct workspace_change *change)
{
	(void)plan;
	return change->kind == WORKSPACE_REPLACED;
}

const struct workspace_change *ws_plan_find_replaced_above(const struct plan *plan, const char *path)
{
	return ws_plan_visit_above(plan, path, ws_plan_is_replaced);
}

/* Selects a directory that is new, and goes on. */
static bool ws_plan_select_new_dir(const struct plan *plan, const struct workspace_change *change)
{
	if (change->kind == WORKSPACE_ADDED || change->kind == WORKSPACE_REPLACED)
		plan->state[change - plan->changes.item] = PLAN_APPLY;
	return false;
}

/* Selects changes, and the new directories that a new entry is in. */
static void ws_plan_select(const struct plan *plan, const struct ws_selection *selection)
{
	for (size_t i = 0; i < plan->changes.count; i++)
		if (ws_selection_has(selection, &plan->changes.item[i])) {
			plan->state[i] = PLAN_APPLY;
			if (plan->changes.item[i].upper.exists)
				(void)ws_plan_visit_above(plan, plan->changes.item[i].path, ws_plan_select_new_dir);
		}
}

/* ---- what is not applied ---- */

/* Why all of the directory runs later outside. NULL: not all does. */
static const char *ws_plan_find_reason_of_dir(const struct plan *plan)
{
	char dir[PATH_MAX];

	return io_read_fd_name(plan->layer->base_fd, dir) < 0 ? "its path cannot be read"
							      : executed_find_reason_of_dir(&plan->executed, dir);
}

const char *ws_plan_find_runs_later(const struct plan *plan, const struct workspace_change *change)
{
	return plan->dir_runs_later ? plan->dir_runs_later : executed_find_reason(&plan->executed, plan->layer, change);
}

/* Why a change is a conflict. The directory never had a new name: what has changed is the file behind it. */
static const char *ws_plan_explain_conflict(const struct workspace_change *change)
{
	return change->kind == WORKSPACE_ADDED ? "the file that it was when the run began, perhaps by another name, "
						 "was replaced or removed outside since"
					       : "it was changed outside since the run began";
}

/* Decides about one change that is selected. */
static enum plan_state ws_plan_judge(const struct plan *plan, const struct workspace_change *change)
{
	const struct plan_words *words = &plan->words;
	const char **why = &plan->why[change - plan->changes.item];
	const char *reason = words->allow_executed ? NULL : ws_plan_find_runs_later(plan, change);
	int conflict = words->theirs ? 0 : workspace_is_conflict(plan->layer, &plan->bases, change);

	if (conflict < 0) {
		*why = strerror(-conflict);
		if (!plan->was_told)
			ws_plan_tell_unread(change->path, conflict);
		return PLAN_FAILED;
	}
	if (conflict && words->ours)
		return PLAN_KEEP;
	*why = conflict ? ws_plan_explain_conflict(change) : reason;
	if (conflict)
		return PLAN_CONFLICT;
	return reason ? PLAN_EXECUTED : PLAN_APPLY;
}

/* Holds back what changes a lost file, as its only content may be in the directory. */
static void ws_plan_hold_lost(const struct plan *plan)
{
	for (size_t i = 0; i < plan->changes.count; i++)
		if (plan->state[i] == PLAN_APPLY && workspace_is_lost(plan->layer, plan->changes.item[i].path))
			plan->state[i] = PLAN_CONFLICT;
}

enum plan_state ws_plan_get_new_name_state(const struct plan *plan, const struct workspace_change *change)
{
	const struct workspace_change *other = change->new_path ? ws_plan_find(plan, change->new_path) : NULL;

	return other && ws_plan_get_state(plan, other) > PLAN_APPLY ? ws_plan_get_state(plan, other) : PLAN_APPLY;
}

/*
 * Holds back what belongs to what is not applied: deletions of the entries of a directory that is not replaced, and the
 * old name of a renamed file whose new name is left out.
 */
static void ws_plan_hold_deletions(const struct plan *plan)
{
	for (size_t i = 0; i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i], *other;

		if (plan->state[i] != PLAN_APPLY)
			continue;
		other = change->kind == WORKSPACE_DELETED ? ws_plan_find_replaced_above(plan, change->path) : NULL;
		if (other && ws_plan_get_state(plan, other) > PLAN_APPLY)
			plan->state[i] = (unsigned char)ws_plan_get_state(plan, other);
		else
			plan->state[i] = (unsigned char)ws_plan_get_new_name_state(plan, change);
	}
}

int ws_plan_make(struct plan *plan, struct ws_selection *selection)
{
	int r;

	plan->changes.on_unread = plan->was_told ? NULL : ws_plan_tell_unread;
	plan->changes.keeps_renames_apart = true;
	ws_selection_watch_unchanged(selection, &plan->changes);
	r = workspace_changes_find(plan->layer, &plan->changes);
	if (r == 0)
		r = workspace_bases_load(plan->layer, &plan->bases);
	if (r == 0)
		workspace_first_dirs_drop_unchanged(&plan->bases.first_dirs, plan->layer, &plan->changes);
	if (r == 0)
		r = workspace_moves_find(plan->layer, &plan->bases, &plan->changes);
	if (r == 0 && !plan->words.theirs) /* which removes them with the conflict */
		r = ws_versions_drop(plan->layer, &plan->bases, &plan->changes);
	if (r == 0)
		r = executed_init(&plan->executed);
	if (r == 0)
		plan->state = calloc(plan->changes.count + 1, 1);
	if (r == 0)
		plan->why = calloc(plan->changes.count + 1, sizeof(*plan->why));
	if (r == 0 && (!plan->state || !plan->why))
		r = -ENOMEM;
	if (r < 0)
		cli_print_error(PLAN_VERB, "cannot compare: %s", r == -E2BIG ? "too many changes" : strerror(-r));
	else if (plan->changes.is_incomplete)
		cli_print_error(PLAN_VERB, "nothing is applied, because not all could be compared");
	if (r < 0 || plan->changes.is_incomplete)
		return -1;
	ws_plan_select(plan, selection);
	executed_read_repositories(&plan->executed, plan->layer, &plan->changes);
	plan->dir_runs_later = ws_plan_find_reason_of_dir(plan);
	for (size_t i = 0; i < plan->changes.count; i++)
		if (plan->state[i] == PLAN_APPLY)
			plan->state[i] = (unsigned char)ws_plan_judge(plan, &plan->changes.item[i]);
	ws_plan_hold_lost(plan);
	ws_plan_hold_deletions(plan);
	return 0;
}

void ws_plan_release(struct plan *plan)
{
	workspace_changes_release(&plan->changes);
	workspace_bases_release(&plan->bases);
	free(plan->state);
	free((void *)plan->why);
	executed_release(&plan->executed);
}
