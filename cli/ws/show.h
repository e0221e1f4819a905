/* Prints changes of a workspace: as lines, as JSON, as a patch, as numbers of lines. */
#ifndef CALLGATE_CLI_WS_SHOW_H
#define CALLGATE_CLI_WS_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/ws/fingerprint.h"
#include "workspace/changes.h"

/* dir: the directory, which paths are shown with; NULL: they are shown relative to it. */

/* One line: "M  path  content, mode 0644 -> 0755". is_conflict: says so at its end. Returns 0 or -errno. */
int show_line(const char *dir, const struct workspace_change *change, bool is_conflict);
/* What a line of JSON says of what an apply did with a change. */
struct show_result {
	const char *word; /* "applied", "conflict", … */
	const char *why;  /* NULL: there is no reason */
};

/*
 * One line of JSON: {"path", "change", …}, with "dir" if that is given. conflict: the object that describes it, taken;
 * NULL: it is none. fingerprints, result: NULL: they are not told. Returns 0 or -errno.
 */
int show_json(const char *dir, const struct workspace_change *change, json_t *conflict,
	      const struct ws_fingerprints *fingerprints, const struct show_result *result);

/*
 * The path of a change as people see it: escaped, behind "OLD -> " if it was renamed, with a slash behind a directory.
 * Owned by the caller; NULL: no memory.
 */
char *show_make_path(const char *dir, const struct workspace_change *change);

#endif
