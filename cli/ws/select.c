#include "cli/ws/select.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/path.h"
#include "cli/cli.h"

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

int ws_selection_check(const char *verb, int workspace_fd, const struct workspace *workspace, char *const *patterns,
		       size_t count)
{
	struct workspace one = *workspace;
	struct arena arena = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		bool found = false;

		for (size_t at = 0; !found && at < workspace->dir_count; at++)
			found = workspace_read_dir(workspace_fd, at, &one) == 0 &&
				selection_make(&arena, &one, patterns[i]);
		r = found ? 0 : selection_refuse(verb, patterns[i], workspace);
	}
	arena_release(&arena);
	return r;
}

int ws_selection_init(struct ws_selection *selection, const char *verb, const struct workspace *workspace,
		      char *const *patterns, size_t count)
{
	selection->glob = arena_alloc(&selection->arena, (count + 1) * sizeof(*selection->glob));
	for (size_t i = 0; selection->glob && i < count; i++) {
		const char *text = selection_make(&selection->arena, workspace, patterns[i]);

		if (!text)
			continue; /* of another directory: ws_selection_check() */
		if (glob_compile(&selection->arena, text, true, &selection->glob[selection->count]) < 0)
			return selection_refuse(verb, patterns[i], workspace);
		selection->count++;
	}
	selection->is_empty = count > 0 && selection->count == 0;
	if (selection->glob)
		return 0;
	(void)cli_fail_no_memory(verb);
	return -EINVAL;
}

void ws_selection_release(struct ws_selection *selection)
{
	arena_release(&selection->arena);
}

bool ws_selection_has(const struct ws_selection *selection, const struct workspace_change *change)
{
	const char *const paths[] = {change->path, change->old_path, change->new_path};

	for (size_t i = 0; i < selection->count; i++)
		for (size_t j = 0; j < 3; j++)
			if (paths[j] && glob_matches(&selection->glob[i], paths[j], strlen(paths[j])))
				return true;
	return selection->count == 0 && !selection->is_empty;
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
