#include "cli/ws/left-out.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"

#define LEFT_OUT_VERB "ws apply"
#define LEFT_OUT_LINES_MAX 20 /* that are told of a directory; more become one */

/* ---- the directories that changes are in ---- */

enum left_out_flag {
	LEFT_OUT_HAS_ENTRIES = 1 << 0, /* changes are below it */
	LEFT_OUT_HAS_LEFT = 1 << 1,    /* one of them is left out, as it runs later */
	LEFT_OUT_IS_NEEDED = 1 << 2,   /* one of them is not */
};

static bool left_out_is_new_dir(const struct workspace_change *change)
{
	return change->kind == WORKSPACE_ADDED && S_ISDIR(change->upper.mode);
}

/* Sets flags of the new directories that a path is in. */
static void left_out_flag_above(const struct plan *plan, unsigned char *flags, const char *path, unsigned flag)
{
	const struct workspace_change *change;
	char above[PATH_MAX];
	char *slash;

	(void)snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/'))) {
		size_t at;

		*slash = '\0';
		change = ws_plan_find(plan, above);
		if (!change || !left_out_is_new_dir(change))
			return; /* it is there, and so is what it is in */
		at = (size_t)(change - plan->changes.item);
		if ((flags[at] & flag) == flag)
			return;
		flags[at] = (unsigned char)(flags[at] | flag);
	}
}

/* Finds the flags of each change. Owned; NULL: no memory. */
static unsigned char *left_out_find_flags(const struct plan *plan)
{
	unsigned char *flags = calloc(plan->changes.count + 1, 1);

	for (size_t i = 0; flags && i < plan->changes.count; i++)
		left_out_flag_above(plan, flags, plan->changes.item[i].path, LEFT_OUT_HAS_ENTRIES);
	for (size_t i = 0; flags && i < plan->changes.count; i++) {
		const struct workspace_change *change = &plan->changes.item[i];

		if (plan->state[i] == PLAN_EXECUTED)
			left_out_flag_above(plan, flags, change->path, LEFT_OUT_HAS_LEFT);
		else if (plan->state[i] != PLAN_UNSELECTED &&
			 !(left_out_is_new_dir(change) && (flags[i] & LEFT_OUT_HAS_ENTRIES)))
			left_out_flag_above(plan, flags, change->path, LEFT_OUT_IS_NEEDED);
	}
	return flags;
}

int ws_left_out_hold_dirs(const struct plan *plan)
{
	_cleanup_free_ unsigned char *flags = left_out_find_flags(plan);

	if (!flags)
		return -ENOMEM;
	for (size_t i = 0; i < plan->changes.count; i++)
		if (plan->state[i] == PLAN_APPLY && (flags[i] & LEFT_OUT_HAS_LEFT) &&
		    !(flags[i] & LEFT_OUT_IS_NEEDED)) {
			plan->state[i] = PLAN_EXECUTED;
			plan->why[i] = "nothing that is in it is applied";
		}
	return 0;
}

/* ---- what is told ---- */

/* A line: of one change, or of several below a directory. */
struct left_out_line {
	const char *path;   /* of the first change; borrowed */
	const char *reason; /* static */
	size_t dir_len;     /* of its path: the directory that is told; of one change, that of which all is left out */
	size_t count;       /* changes; 0: it is told by another line */
};

struct left_out {
	struct left_out_line *line; /* owned */
	size_t count;
};

static bool left_out_is_below(const char *path, const char *dir, size_t dir_len)
{
	return strncmp(path, dir, dir_len) == 0 && path[dir_len] == '/';
}

/* Makes a line of each change that is left out. A directory with entries is told by these. 0 or -ENOMEM. */
static int left_out_collect(const struct plan *plan, struct left_out *left)
{
	_cleanup_free_ unsigned char *flags = left_out_find_flags(plan);

	left->line = calloc(plan->changes.count + 1, sizeof(*left->line));
	if (!flags || !left->line)
		return -ENOMEM;
	for (size_t i = 0; i < plan->changes.count; i++) {
		const char *path = plan->changes.item[i].path;

		if (plan->state[i] == PLAN_EXECUTED && plan->why[i] && !(flags[i] & LEFT_OUT_HAS_ENTRIES))
			left->line[left->count++] = (struct left_out_line){
				.path = path,
				.reason = plan->why[i],
				.dir_len = executed_find_whole_dir(&plan->executed, plan->layer, path),
				.count = 1};
	}
	return 0;
}

/* How much of two paths is the same directory, of at most `len` bytes. */
static size_t left_out_find_common(const char *left, const char *right, size_t len)
{
	size_t common = 0;

	for (size_t i = 0; i <= len && left[i] == right[i] && left[i]; i++)
		if (left[i] == '/')
			common = i;
	return common;
}

/*
 * Makes the line `first` that of all later ones with its reason whose directory, or an upper one, is the first dir_len
 * bytes of its path, if there are too many; 0: of those that are in none.
 */
static void left_out_merge(struct left_out *left, size_t first, size_t dir_len)
{
	struct left_out_line *line = &left->line[first];
	const char *slash = strrchr(line->path, '/');
	size_t common = slash ? (size_t)(slash - line->path) : 0, lines = 0, count = 0;

	for (int turn = 0; turn < 2 && (turn == 0 || lines > LEFT_OUT_LINES_MAX); turn++)
		for (size_t i = first; i < left->count; i++) {
			struct left_out_line *other = &left->line[i];

			if (dir_len > 0 ? !left_out_is_below(other->path, line->path, dir_len)
					: strchr(other->path, '/') != NULL) {
				if (dir_len > 0 && strncmp(other->path, line->path, dir_len) != 0)
					break; /* sorted */
				continue;
			}
			if (other->count == 0 || strcmp(other->reason, line->reason) != 0)
				continue;
			if (turn == 0) {
				lines++;
				count += other->count;
				common = left_out_find_common(line->path, other->path, common);
			} else if (i != first) {
				other->count = 0;
			}
		}
	if (lines <= LEFT_OUT_LINES_MAX)
		return;
	line->count = count;
	line->dir_len = line->dir_len > 0 && dir_len == line->dir_len ? dir_len : common;
}

/* Tells one line. */
static void left_out_print(const struct plan *plan, const struct left_out_line *line)
{
	char text[PATH_MAX], name[2 * PATH_MAX];
	struct workspace_change change = {.path = text};

	(void)snprintf(text, sizeof(text), "%.*s", line->count > 1 ? (int)line->dir_len : PATH_MAX, line->path);
	if (line->count > 1)
		cli_print_error(LEFT_OUT_VERB, "%s: %zu changes not applied: %s; --allow-executed applies them",
				ws_plan_get_name(plan, &change, name), line->count, line->reason);
	else
		cli_print_error(LEFT_OUT_VERB, "%s: not applied: %s; --allow-executed applies it",
				ws_plan_get_name(plan, &change, name), line->reason);
}

/* Tells once why all changes of the directory are left out. */
static void left_out_tell_all(const struct plan *plan)
{
	char dir[PATH_MAX] = "the directory";
	size_t count = 0;

	for (size_t i = 0; i < plan->changes.count; i++)
		count += plan->state[i] == PLAN_EXECUTED;
	(void)io_read_fd_name(plan->layer->base_fd, dir); /* without the name, the message is still right */
	if (count > 0)
		cli_print_error(LEFT_OUT_VERB, "%s: %zu changes not applied: %s; --allow-executed applies them", dir,
				count, plan->dir_runs_later);
}

int ws_left_out_tell(const struct plan *plan)
{
	struct left_out left = {NULL, 0};
	int r = 0;

	if (plan->words.allow_executed)
		return 0;
	if (plan->dir_runs_later) {
		left_out_tell_all(plan);
		return 0;
	}
	r = left_out_collect(plan, &left);
	for (size_t i = 0; r == 0 && i < left.count; i++) /* all of a directory such as node_modules */
		if (left.line[i].count > 0 && left.line[i].dir_len > 0)
			left_out_merge(&left, i, left.line[i].dir_len);
	for (size_t i = 0; r == 0 && i < left.count; i++) { /* many of any other one */
		const char *slash = strchr(left.line[i].path, '/');

		if (left.line[i].count > 0)
			left_out_merge(&left, i, slash ? (size_t)(slash - left.line[i].path) : 0);
	}
	for (size_t i = 0; r == 0 && i < left.count; i++)
		if (left.line[i].count > 0)
			left_out_print(plan, &left.line[i]);
	free(left.line);
	return r;
}
