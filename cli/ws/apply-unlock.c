/* Directories that their owner may not write, in callgate ws apply. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ws/apply-private.h"

/* True for a change that makes, replaces or removes a name; else it is one of a directory's attributes. */
static bool apply_changes_name(const struct workspace_change *change)
{
	return !(change->kind == WORKSPACE_MODIFIED && S_ISDIR(change->upper.mode));
}

/* True for a change of the extended attributes of a directory that was there before. */
static bool apply_changes_attributes(const struct workspace_change *change)
{
	return !apply_changes_name(change) && change->differences & WORKSPACE_ATTRIBUTES_DIFFER;
}

/*
 * Adds the directories that a change is in, as far as rights to them are lacking. last: the directory of the previous
 * change, of which those above were added as well. 0 or -ENOMEM.
 */
static int apply_add_dirs(struct unlock *unlock, const struct workspace_change *change, const char *last)
{
	const char *parent_end = strrchr(change->path, '/');
	const size_t len = parent_end ? (size_t)(parent_end - change->path) : 0;
	char dir[PATH_MAX];
	int r = *last ? 0 : unlock_add(unlock, "", X_OK);

	for (const char *slash = strchr(change->path, '/'); r == 0 && slash; slash = strchr(slash + 1, '/')) {
		const size_t dir_len = (size_t)(slash - change->path);

		if (strncmp(change->path, last, dir_len) == 0 && (last[dir_len] == '/' || last[dir_len] == '\0'))
			continue;
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)dir_len, change->path);
		r = unlock_add(unlock, dir, X_OK);
	}
	if (r < 0 || !apply_changes_name(change))
		return r;
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)len, change->path);
	return unlock_add(unlock, dir, R_OK | W_OK | X_OK);
}

/* Adds all directories that are to be made writable, and can be reached. 0 or -ENOMEM. */
static int apply_add_all_dirs(struct apply *apply)
{
	const struct plan *plan = apply->plan;
	char last[PATH_MAX] = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];
		const char *slash = strrchr(change->path, '/');

		if (plan->state[i] != PLAN_APPLY)
			continue;
		if (apply_changes_attributes(change)) /* setxattr(2) asks for the right to write */
			r = unlock_add(&apply->unlock, change->path, W_OK);
		if (r < 0 || !*change->path)
			continue;
		r = apply_add_dirs(&apply->unlock, change, last);
		(void)snprintf(last, sizeof(last), "%.*s", slash ? (int)(slash - change->path) : 0, change->path);
	}
	return r;
}

int apply_unlock_dirs(struct apply *apply)
{
	int r;

	do { /* what is in a directory that may not be searched is found when that was opened */
		r = apply_add_all_dirs(apply);
		if (r < 0) {
			(void)cli_fail_no_memory(APPLY_VERB);
			return -1;
		}
		r = unlock_make(&apply->unlock, apply->journal_fd);
	} while (r > 0);
	return apply_check_journal(apply, r) ? 0 : -1;
}

int apply_set_dir(struct apply *apply, const struct workspace_change *change)
{
	struct workspace_change now = *change;
	mode_t mode;
	const bool is_open = unlock_is_last(&apply->unlock, change->path, &mode);
	int r;

	if (is_open)
		now.base.mode = (change->base.mode & S_IFMT) | mode;
	r = place_set_attributes(apply->plan->layer, &now);
	if (is_open && r == 0)
		unlock_forget_last(&apply->unlock);
	return r;
}

void apply_lock_dirs(struct apply *apply, const char *path, bool also)
{
	const int r = unlock_restore(&apply->unlock, path, also);

	if (r == 0)
		return;
	cli_print_error(APPLY_VERB, "a directory that was made writable cannot get its mode back: %s", strerror(-r));
	apply->failed = apply->is_unfinished = true;
}
