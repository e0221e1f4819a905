#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/ws/apply-private.h"
#include "workspace/place.h"

static void apply_print_failure(const struct apply *apply, const struct workspace_change *change, int error)
{
	char text[2 * PATH_MAX], temporary[PLACE_NAME_SIZE];
	const char *name = ws_plan_get_name(apply->plan, change, text);

	place_format_name(apply->id, 0, temporary);
	if (workspace_change_is_replacement(change))
		apply_format_name(apply, change, temporary);
	if (error == -EBUSY)
		cli_print_error(APPLY_VERB,
				"%s: not applied: an entry beside it has the name of ours, %s: move it away", name,
				temporary);
	else
		cli_print_error(APPLY_VERB, "%s: not applied: %s", name,
				apply_explain(apply->plan->layer, change, error));
}

enum plan_state apply_tell_failure(const struct apply *apply, const struct workspace_change *change, int error)
{
	const char *why = NULL;

	if (error == -ESTALE || error == -EEXIST)
		why = "it was changed outside just now";
	else if (error == -ENOTEMPTY)
		why = "entries of it stay";
	else if (place_is_without_dir(error))
		why = "the directory that it belongs in is not there";
	if (why && apply->plan->words.ours)
		return PLAN_KEEP;
	if (why) {
		ws_plan_set_conflict(apply->plan, change, why);
		return PLAN_CONFLICT;
	}
	apply->plan->why[change - apply->plan->changes.item] = apply_explain(apply->plan->layer, change, error);
	apply_print_failure(apply, change, error);
	return PLAN_FAILED;
}

bool apply_check_journal(struct apply *apply, int error)
{
	if (error == 0)
		return true;
	cli_print_error(APPLY_VERB,
			"cannot write the journal: %s; not all was applied: free some room in the file system of "
			"TMPDIR, such as by callgate ws discard of another workspace, or move this one to a larger one "
			"(doc/workspaces.md), and apply again",
			strerror(-error));
	apply->failed = true;
	return false;
}

bool apply_is_held(const struct plan *plan, const struct workspace_change *change)
{
	return ws_plan_get_new_name_state(plan, change) != PLAN_APPLY;
}

const struct workspace_change *apply_find_replacement(const struct plan *plan, const struct workspace_change *change)
{
	const struct workspace_change *found =
		workspace_change_is_replacement(change) ? change : ws_plan_find_replaced_above(plan, change->path);

	return found && ws_plan_get_state(plan, found) == PLAN_APPLY ? found : NULL;
}

void apply_format_name(const struct apply *apply, const struct workspace_change *replacement,
		       char ret_name[PLACE_NAME_SIZE])
{
	place_format_name(apply->id, (size_t)(replacement - apply->plan->changes.item) + 1, ret_name);
}

/*
 * Sets where the new entry of a change is: in a replacement that has not its place yet, below its temporary name. 0 or
 * -ENAMETOOLONG.
 */
static int apply_get_path(const struct apply *apply, const struct workspace_change *change, char ret_path[PATH_MAX])
{
	const struct workspace_change *top = apply_find_replacement(apply->plan, change);
	char name[PLACE_NAME_SIZE];
	const char *slash;
	int len;

	if (!top || apply->is_replaced[top - apply->plan->changes.item]) {
		len = snprintf(ret_path, PATH_MAX, "%s", change->path);
		return len < PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	slash = strrchr(top->path, '/');
	apply_format_name(apply, top, name);
	len = snprintf(ret_path, PATH_MAX, "%.*s%s%s", slash ? (int)(slash - top->path) + 1 : 0, top->path, name,
		       change->path + strlen(top->path));
	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Gives a file that was put, or is unchanged, another name that it has in the layer. -ENOENT: there is none. */
static int apply_link(const struct apply *apply, const struct workspace_layer *layer,
		      const struct workspace_change *change, const struct workspace_change *sub)
{
	const struct plan *plan = apply->plan;
	size_t count;
	const struct workspace_link *link = workspace_links_find(&plan->changes.links, change->upper.ino, &count);
	char name[PLACE_NAME_SIZE], path[PATH_MAX];

	for (size_t i = 0; link && i < count; i++) {
		const struct workspace_change *other = ws_plan_find(plan, link[i].path);

		if (other && (!apply->is_done[other - plan->changes.item] || apply_get_path(apply, other, path) < 0))
			continue;
		if (!other)
			(void)snprintf(path, sizeof(path), "%s", link[i].path);
		if (!workspace_change_is_replacement(change))
			return place_link(layer, sub, plan->layer->base_fd, path, apply->temporary);
		apply_format_name(apply, change, name);
		return place_make_link(layer, sub, plan->layer->base_fd, path, name);
	}
	return -ENOENT;
}

int apply_put(const struct apply *apply, const struct workspace_layer *layer, const struct workspace_change *change,
	      const struct workspace_change *sub)
{
	char name[PLACE_NAME_SIZE];

	/* Where no link can be made, the file is copied. */
	if (S_ISREG(change->upper.mode) && apply_link(apply, layer, change, sub) == 0)
		return 0;
	if (!workspace_change_is_replacement(change))
		return place_put(layer, sub, apply->temporary);
	apply_format_name(apply, change, name);
	return place_make_new(layer, sub, name);
}
