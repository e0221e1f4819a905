/* Replacements of directories by files, and of files by directories, in callgate ws apply. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/ws/apply-private.h"
#include "workspace/journal.h"
#include "workspace/place.h"

/* True for a path in a directory. */
static bool apply_is_below(const char *path, const char *dir)
{
	const size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* The index behind the changes whose paths begin with that of change `at`: all that are below it are before that. */
static size_t apply_find_end(const struct plan *plan, size_t at)
{
	const char *path = plan->changes.item[at].path;
	size_t end = at + 1;

	while (end < plan->changes.count && strncmp(plan->changes.item[end].path, path, strlen(path)) == 0)
		end++;
	return end;
}

/* A change below another one, with its path below that. The path is borrowed. */
static struct workspace_change apply_make_sub(const struct workspace_change *change, const struct workspace_change *top)
{
	struct workspace_change sub = *change;

	sub.path += strlen(top->path) + 1;
	sub.old_path = NULL; /* it would be below another directory */
	return sub;
}

void apply_hold(const struct plan *plan, size_t at, enum plan_state state)
{
	const struct workspace_change *item = plan->changes.item;
	const size_t end = workspace_change_is_replacement(&item[at]) ? apply_find_end(plan, at) : at;

	plan->state[at] = (unsigned char)state;
	for (size_t i = at + 1; i < end; i++)
		if (plan->state[i] == PLAN_APPLY && apply_is_below(item[i].path, item[at].path))
			plan->state[i] = (unsigned char)state;
}

/* ---- making the new one ---- */

/* Opens the directory of a replacement, under its temporary name, and that of the layer. 0 or -errno. */
static int apply_open_new_dir(const struct apply *apply, const struct workspace_change *top,
			      struct workspace_layer *ret_layer)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(apply->plan->layer->base_fd, top->path, &name);
	char temporary[PLACE_NAME_SIZE];

	if (dir < 0)
		return dir;
	apply_format_name(apply, top, temporary);
	ret_layer->base_fd = io_open_dir(dir, temporary);
	if (ret_layer->base_fd < 0)
		return ret_layer->base_fd;
	ret_layer->upper_fd = workspace_open_entry(apply->plan->layer->upper_fd, top->path);
	return ret_layer->upper_fd < 0 ? ret_layer->upper_fd : 0;
}

/* Puts what is in the directory of a replacement. 0 or -errno, which was told of the change. */
static int apply_fill_new_dir(const struct apply *apply, size_t at, const struct workspace_layer *layer)
{
	const struct plan *plan = apply->plan;
	const struct workspace_change *item = plan->changes.item;
	const size_t end = apply_find_end(plan, at);

	for (size_t i = at + 1; i < end; i++) {
		struct workspace_change sub;
		int r;

		if (plan->state[i] != PLAN_APPLY || !item[i].upper.exists ||
		    !apply_is_below(item[i].path, item[at].path))
			continue;
		sub = apply_make_sub(&item[i], &item[at]);
		r = apply_put(apply, layer, &item[i], &sub);
		if (r < 0) {
			plan->state[i] = (unsigned char)apply_tell_failure(apply, &item[i], r);
			return r;
		}
		apply->is_done[i] = true;
	}
	return 0;
}

/* Makes the new entry of a replacement, with all that is in it. 0 or -errno; *is_told: of an entry below it. */
static int apply_make_new(struct apply *apply, size_t at, bool *is_told)
{
	const struct workspace_change *change = &apply->plan->changes.item[at];
	struct workspace_layer layer = *apply->plan->layer; /* borrows all but the two descriptors */
	int r = apply_put(apply, apply->plan->layer, change, change);

	apply->is_done[at] = r == 0;
	if (r < 0 || !S_ISDIR(change->upper.mode))
		return r;
	layer.base_fd = layer.upper_fd = -1;
	r = apply_open_new_dir(apply, change, &layer);
	if (r == 0) {
		r = apply_fill_new_dir(apply, at, &layer);
		*is_told = r < 0;
	}
	close_fd(&layer.base_fd);
	close_fd(&layer.upper_fd);
	return r;
}

/* Removes the new entry of a replacement, which is left out. If that fails, callgate ws recover can do it. */
static void apply_remove_new(struct apply *apply, size_t at)
{
	const struct workspace_change *change = &apply->plan->changes.item[at];
	char temporary[PLACE_NAME_SIZE];
	int r;

	apply->is_done[at] = false;
	apply_format_name(apply, change, temporary);
	r = replacement_remove_new(apply->plan->layer, change->path, temporary);
	apply->is_unfinished |= r < 0 && r != -ENOENT;
}

void apply_make_replacement(struct apply *apply, size_t at)
{
	struct plan *plan = apply->plan;
	const struct workspace_change *change = &plan->changes.item[at];
	bool is_told = false;
	int r;

	if (apply->failed || plan->state[at] != PLAN_APPLY || !workspace_change_is_replacement(change))
		return;
	if (!apply_check_journal(apply, journal_begin(apply->journal_fd, change->path, at + 1, true)))
		return;
	r = apply_make_new(apply, at, &is_told);
	if (r < 0) {
		const enum plan_state state = is_told ? PLAN_FAILED : apply_tell_failure(apply, change, r);

		if (apply->is_done[at])
			apply_remove_new(apply, at);
		apply_hold(plan, at, state);
	}
	if (!apply->is_unfinished) /* callgate ws recover removes what is left */
		(void)apply_check_journal(apply, journal_end(apply->journal_fd, r == 0));
}

/* ---- replacing the old one ---- */

/* Whether all that is in the old directory is to be deleted. 0 or -ENOTEMPTY. */
static int apply_check_old_dir(const struct plan *plan, size_t at)
{
	const struct workspace_change *item = plan->changes.item;
	const size_t end = apply_find_end(plan, at);
	int r = 0;

	for (size_t i = at + 1; i < end; i++) {
		if (item[i].kind != WORKSPACE_DELETED || !apply_is_below(item[i].path, item[at].path))
			continue;
		if (plan->state[i] == PLAN_APPLY && apply_is_held(plan, &item[i]))
			ws_plan_set_conflict(plan, &item[i], NULL);
		if (plan->state[i] != PLAN_APPLY)
			r = -ENOTEMPTY;
	}
	return r;
}

/* Whether entries of a directory can be removed, as far as its rights tell. 0 or -errno. */
static int apply_check_rights_to(const struct plan *plan, const char *dir)
{
	_cleanup_close_ int fd = workspace_open_entry(plan->layer->base_fd, dir);

	if (fd < 0)
		return fd;
	return faccessat(AT_FDCWD, io_proc_fd_path(fd).path, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/*
 * Whether all that is in the old directory can be removed, before the names are exchanged: that sets the change time,
 * so that the next apply would take it for a change outside. 0 or -errno.
 */
static int apply_check_rights(const struct plan *plan, size_t at)
{
	const struct workspace_change *item = plan->changes.item;
	const size_t end = apply_find_end(plan, at);
	char dir[PATH_MAX], last[PATH_MAX] = "";
	int r = 0;

	for (size_t i = at + 1; r == 0 && i < end; i++) {
		if (item[i].kind != WORKSPACE_DELETED || !apply_is_below(item[i].path, item[at].path))
			continue;
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(item[i].path, '/') - item[i].path),
			       item[i].path);
		if (strcmp(dir, last) == 0)
			continue;
		memcpy(last, dir, sizeof(last));
		r = apply_check_rights_to(plan, dir);
	}
	return r;
}

/*
 * Whether all that is in a directory is to be deleted: something may have been made there after the comparison. path:
 * of the directory; sub_path: that below base_fd. 0, -ENOTEMPTY or -errno.
 */
static int apply_check_listed(const struct plan *plan, const char *path, int base_fd, const char *sub_path)
{
	_cleanup_close_ int fd = workspace_open_entry(base_fd, sub_path);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd < 0 ? fd : workspace_open_content(fd));
	const struct dirent *entry;
	char name[PATH_MAX];
	int r = dir ? 0 : -errno;

	while (r == 0 && (entry = io_read_entry(dir, &r))) {
		const struct workspace_change *change;

		if (snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= (int)sizeof(name))
			return -ENOTEMPTY;
		change = ws_plan_find(plan, name);
		if (!change || change->kind != WORKSPACE_DELETED)
			return -ENOTEMPTY;
	}
	return r;
}

/* Removes an entry of the old directory, or only checks whether that can be done. 0 or -errno. */
static int apply_remove_old(const struct plan *plan, const struct workspace_layer *layer,
			    const struct workspace_change *change, const struct workspace_change *sub, bool removes)
{
	int r;

	if (removes)
		return place_remove(layer, sub);
	r = place_check(layer, sub);
	return r < 0 || !S_ISDIR(sub->base.mode) ? r
						 : apply_check_listed(plan, change->path, layer->base_fd, sub->path);
}

/* Removes what is in the old directory, from below; or only checks whether that can be done. 0 or -errno. */
static int apply_empty_old_dir(const struct apply *apply, size_t at, const struct replacement *replacement,
			       bool removes)
{
	const struct plan *plan = apply->plan;
	const struct workspace_change *item = plan->changes.item;
	struct workspace_layer layer = *plan->layer; /* borrows all */

	layer.base_fd = replacement->old_fd;
	for (size_t i = apply_find_end(plan, at) - 1; i > at; i--) {
		struct workspace_change sub;
		int r;

		if (item[i].kind != WORKSPACE_DELETED || !apply_is_below(item[i].path, item[at].path))
			continue;
		sub = apply_make_sub(&item[i], &item[at]);
		r = apply_remove_old(plan, &layer, &item[i], &sub, removes);
		if (r < 0) {
			plan->state[i] = (unsigned char)apply_tell_failure(apply, &item[i], r);
			return plan->state[i] == PLAN_FAILED ? r : -ENOTEMPTY;
		}
		apply->is_done[i] = removes;
	}
	return 0;
}

/* Checks all that is in the old directory, and removes it. 0 or -errno. */
static int apply_replace_old_dir(const struct apply *apply, size_t at, const struct replacement *replacement)
{
	int r = apply_check_listed(apply->plan, apply->plan->changes.item[at].path, replacement->old_fd, "");

	if (r == 0)
		r = apply_empty_old_dir(apply, at, replacement, false);
	return r < 0 ? r : apply_empty_old_dir(apply, at, replacement, true);
}

/* Puts the new entry in the place of the old one. 0 or -errno. */
static int apply_do_replace(struct apply *apply, size_t at)
{
	const struct workspace_change *change = &apply->plan->changes.item[at];
	_cleanup_replacement_ struct replacement replacement = REPLACEMENT_INIT;
	char temporary[PLACE_NAME_SIZE];
	int r = apply_check_old_dir(apply->plan, at);

	if (r == 0)
		r = apply_check_rights(apply->plan, at);
	apply_format_name(apply, change, temporary);
	if (r == 0)
		r = replacement_begin(apply->plan->layer, change, temporary, &replacement);
	if (r == 0 && S_ISDIR(change->base.mode))
		r = apply_replace_old_dir(apply, at, &replacement);
	if (r == 0)
		r = replacement_end(&replacement, change);
	if (r < 0)
		replacement_take_back(&replacement);
	apply->is_unfinished |= replacement.is_unfinished;
	if (r < 0 && !replacement.is_unfinished)
		apply_remove_new(apply, at);
	return r;
}

/* Leaves out what belongs to a replacement that failed, but what was removed. */
static void apply_hold_rest(const struct apply *apply, size_t at, enum plan_state state)
{
	const struct plan *plan = apply->plan;
	const struct workspace_change *item = plan->changes.item;
	const size_t end = apply_find_end(plan, at);

	for (size_t i = at + 1; i < end; i++)
		if (plan->state[i] == PLAN_APPLY && apply_is_below(item[i].path, item[at].path) &&
		    !(item[i].kind == WORKSPACE_DELETED && apply->is_done[i]))
			plan->state[i] = (unsigned char)state;
}

void apply_replace(struct apply *apply, size_t at)
{
	struct plan *plan = apply->plan;
	const struct workspace_change *change = &plan->changes.item[at];
	int r;

	if (!apply->is_done[at] || !workspace_change_is_replacement(change))
		return;
	if (apply->failed || plan->state[at] != PLAN_APPLY) {
		apply_remove_new(apply, at);
		return;
	}
	r = apply_do_replace(apply, at);
	if (r < 0) {
		const enum plan_state state = apply_tell_failure(apply, change, r);

		plan->state[at] = (unsigned char)state;
		apply_hold_rest(apply, at, state);
	}
}
