/* Conflicts of callgate ws apply: their three versions are written beside the file, and told. */
#ifndef CALLGATE_CLI_WS_CONFLICT_H
#define CALLGATE_CLI_WS_CONFLICT_H

#include <jansson.h>
#include <limits.h>

#include "cli/ws/plan.h"

#define WS_CONFLICTS_BESIDE_MAX 1000 /* most conflicts of an apply whose versions are written beside their files */

/* Where the versions of a conflict are. Paths are absolute; "": there is none. */
struct ws_conflict {
	char base[2 * PATH_MAX];
	char ours[2 * PATH_MAX];   /* what the directory has: it was deleted, if there is none */
	char theirs[2 * PATH_MAX]; /* what the layer has: likewise */
	char no_base[PATH_MAX];    /* why there is no base */
	const char *not_beside;    /* why some are not beside the file, but where they were (static); NULL: all are */
};

/* Finds the versions of a conflict where they are. */
void ws_conflict_find(const struct plan *plan, const struct workspace_change *change, struct ws_conflict *ret_conflict);

/* True when the versions of a found conflict are written beside its file: it is a regular one with other content. */
bool ws_conflict_is_beside(const struct workspace_change *change, const struct ws_conflict *conflict);

/*
 * Writes the versions of a found conflict beside its file, and changes their paths to those. What runs later outside
 * has none there. The caller has begun the path in the journal. temporary: of place_format_name().
 */
void ws_conflict_write(const struct plan *plan, const struct workspace_change *change, const char *temporary,
		       struct ws_conflict *conflict);

/* A found conflict as JSON: {"base", "no_base", "ours", "theirs", "not_beside"}. Owned by the caller. */
json_t *ws_conflict_make_json(const struct ws_conflict *conflict);

/* Tells that a change is not applied because the directory was changed meanwhile. */
void ws_conflict_tell(const struct plan *plan, const struct workspace_change *change,
		      const struct ws_conflict *conflict);

#endif
