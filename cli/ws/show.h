/* Prints changes of a workspace: as lines, as JSON, as a patch, as numbers of lines. */
#ifndef CALLGATE_CLI_WS_SHOW_H
#define CALLGATE_CLI_WS_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "workspace/changes.h"

/* dir: the directory, which paths are shown with; NULL: they are shown relative to it. */

/* One line: "M  path  content, mode 0644 -> 0755". Returns 0 or -errno. */
int show_line(const char *dir, const struct workspace_change *change);
/* What a line of JSON says of a conflict. */
struct show_conflict {
	const char *base;    /* path of the base; NULL: there is none */
	const char *no_base; /* why not */
};

/*
 * One line of JSON: {"path", "change", …}, with "dir" if that is given. conflict: NULL: it is none. Returns 0 or
 * -errno.
 */
int show_json(const char *dir, const struct workspace_change *change, const struct show_conflict *conflict);

/*
 * The path of a change as people see it: escaped, behind "OLD -> " if it was renamed, with a slash behind a directory.
 * Owned by the caller; NULL: no memory.
 */
char *show_make_path(const char *dir, const struct workspace_change *change);

#endif
