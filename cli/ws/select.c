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

int ws_selection_init(struct ws_selection *selection, const char *verb, const char *dir, char *const *patterns,
		      size_t count)
{
	selection->glob = arena_alloc(&selection->arena, (count + 1) * sizeof(*selection->glob));
	for (size_t i = 0; selection->glob && i < count; i++) {
		const char *text = selection_make_relative(&selection->arena, dir, patterns[i]);

		if (!text || glob_compile(&selection->arena, text, true, &selection->glob[i]) < 0) {
			cli_print_error(verb,
					"%s: not a path or pattern below %s: * stands for text within a name, ** for "
					"any directories",
					patterns[i], dir);
			return -EINVAL;
		}
	}
	selection->count = count;
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
	return selection->count == 0;
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
