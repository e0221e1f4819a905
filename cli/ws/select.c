#include "cli/ws/select.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/cli.h"
#include "supervisor/report.h"

/* The part of a pattern that is below the directory, without "." and "..". NULL: no memory, or none. */
static char *selection_make_relative(struct arena *arena, const char *dir, const char *pattern)
{
	char path[PATH_MAX];
	const char *below;
	bool lexical;

	if (path_join(dir, pattern, path, sizeof(path), &lexical) < 0 || !lexical)
		return NULL;
	below = path_get_rest_below(path, dir);
	return below ? arena_dup(arena, *below ? below : "**") : NULL;
}

/* Refuses a pattern that is in none of the directories. */
static int selection_refuse(const char *verb, const char *pattern, const struct workspace *workspace)
{
	if (workspace->dir_count > 1)
		cli_print_error(verb,
				"%s: not an absolute path or pattern below a directory of the workspace: * stands for "
				"text within a name, ** for any directories",
				pattern);
	else
		cli_print_error(verb,
				"%s: not a path or pattern below %s: * stands for text within a name, ** for any "
				"directories",
				pattern, workspace->dir);
	return -EINVAL;
}

/* A pattern relative to the directory. With several directories it must be absolute. NULL: it is not below it. */
static char *selection_make(struct arena *arena, const struct workspace *workspace, const char *pattern)
{
	return workspace->dir_count > 1 && pattern[0] != '/' ? NULL
							     : selection_make_relative(arena, workspace->dir, pattern);
}

/* ---- the command line ---- */

/* True when a pattern is of one of the directories. one: a copy of the workspace, which changes. */
static bool patterns_is_below_any(struct arena *arena, int workspace_fd, struct workspace *one, const char *text)
{
	bool found = false;

	for (size_t at = 0; !found && at < one->dir_count; at++)
		found = workspace_read_dir(workspace_fd, at, one) == 0 && selection_make(arena, one, text);
	return found;
}

int ws_patterns_init(struct ws_patterns *patterns, const char *verb, int workspace_fd,
		     const struct workspace *workspace, char *const *text, size_t count)
{
	struct workspace one = *workspace;
	struct arena arena = {0};
	int r = 0;

	*patterns = (struct ws_patterns){text, count, calloc(count + 1, sizeof(bool))};
	if (!patterns->has_matched) {
		(void)cli_fail_no_memory(verb);
		return -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		if (!patterns_is_below_any(&arena, workspace_fd, &one, text[i]))
			r = selection_refuse(verb, text[i], workspace);
	arena_release(&arena);
	return r;
}

void ws_patterns_release(struct ws_patterns *patterns)
{
	free(patterns->has_matched);
	*patterns = (struct ws_patterns){.text = NULL};
}

bool ws_patterns_tell_unmatched(const struct ws_patterns *patterns, const char *verb, bool as_json)
{
	bool found = false;

	for (size_t i = 0; i < patterns->count; i++) {
		if (patterns->has_matched[i])
			continue;
		found = true;
		cli_print_error(verb, "%s: the run has changed nothing there", patterns->text[i]);
		if (as_json)
			(void)cli_print_json(verb, json_pack("{s:s, s:o}", "warning", "no_match", "pattern",
							     report_make_text_json(patterns->text[i])));
	}
	return found;
}

/* ---- one directory ---- */

int ws_selection_init(struct ws_selection *selection, const char *verb, const struct workspace *workspace,
		      const struct ws_patterns *patterns)
{
	const size_t count = patterns->count;

	selection->patterns = patterns;
	selection->glob = arena_alloc(&selection->arena, (count + 1) * sizeof(*selection->glob));
	selection->at = arena_alloc(&selection->arena, (count + 1) * sizeof(*selection->at));
	for (size_t i = 0; selection->glob && selection->at && i < count; i++) {
		const char *text = selection_make(&selection->arena, workspace, patterns->text[i]);

		if (!text)
			continue; /* of another directory: ws_patterns_init() */
		if (glob_compile(&selection->arena, text, true, &selection->glob[selection->count]) < 0)
			return selection_refuse(verb, patterns->text[i], workspace);
		selection->at[selection->count++] = i;
	}
	selection->is_empty = count > 0 && selection->count == 0;
	if (selection->glob && selection->at)
		return 0;
	(void)cli_fail_no_memory(verb);
	return -EINVAL;
}

void ws_selection_release(struct ws_selection *selection)
{
	arena_release(&selection->arena);
}

/* True when a path matches. Marks all patterns that it matches. */
static bool selection_has_path(const struct ws_selection *selection, const char *path)
{
	bool found = false;

	for (size_t i = 0; i < selection->count; i++)
		if (glob_matches(&selection->glob[i], path, strlen(path)))
			found = selection->patterns->has_matched[selection->at[i]] = true;
	return found;
}

bool ws_selection_has(const struct ws_selection *selection, const struct workspace_change *change)
{
	const char *const paths[] = {change->path, change->old_path, change->new_path};
	bool found = false;

	for (size_t i = 0; i < 3; i++)
		if (paths[i] && selection_has_path(selection, paths[i]))
			found = true;
	return found || (selection->count == 0 && !selection->is_empty);
}

static void selection_on_unchanged(void *ctx, const char *path)
{
	(void)selection_has_path(ctx, path);
}

void ws_selection_watch_unchanged(struct ws_selection *selection, struct workspace_changes *changes)
{
	changes->on_unchanged = selection->count > 0 ? selection_on_unchanged : NULL;
	changes->on_unchanged_ctx = selection;
}

void ws_selection_drop_others(const struct ws_selection *selection, struct workspace_changes *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++)
		if (ws_selection_has(selection, &changes->item[i]))
			changes->item[count++] = changes->item[i];
		else
			workspace_change_release(&changes->item[i]);
	changes->count = count;
}
