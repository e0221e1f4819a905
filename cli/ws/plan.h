/* What of a workspace callgate ws apply puts into the directory: decided for all of it before anything is changed. */
#ifndef CALLGATE_CLI_WS_PLAN_H
#define CALLGATE_CLI_WS_PLAN_H

#include <limits.h>

#include "cli/ws/select.h"
#include "workspace/bases.h"
#include "workspace/changes.h"
#include "workspace/executed.h"

/* What happens with a change. */
enum plan_state {
	PLAN_UNSELECTED,
	PLAN_APPLY,
	PLAN_KEEP,     /* a conflict, and --ours */
	PLAN_CONFLICT, /* a conflict, told */
	PLAN_EXECUTED, /* it runs later outside */
	PLAN_FAILED,   /* told */
};

/* How conflicts, and what runs later outside, are decided. json: they are not told, because the result has them. */
struct plan_words {
	bool theirs, ours, allow_executed, json;
};

struct plan {
	const struct workspace_layer *layer;
	const char *dir; /* the directory, which messages have paths with; NULL: they have them relative to it */
	struct plan_words words;
	struct workspace_changes changes; /* renames apart */
	struct workspace_bases bases;
	unsigned char *state;             /* enum plan_state of each change; owned */
	const char **why; /* of each change, why it is a conflict, runs later or failed; NULL: not told; array owned */
	struct executed executed;
	bool was_told;              /* it was made before: what cannot be read is not told again */
	const char *dir_runs_later; /* why all of the directory runs later outside; NULL: not all does */
};

/*
 * Decides about each change. What runs later is told by cli/ws/left-out.h; conflicts by cli/ws/conflict.h, when they
 * are written beside their files. 0, or -1 after a message. ws_plan_release() releases.
 */
int ws_plan_make(struct plan *plan, struct ws_selection *selection);
void ws_plan_release(struct plan *plan);
#define _cleanup_plan_ __attribute__((cleanup(ws_plan_release)))

/* The path of a change for messages, in `text`. */
const char *ws_plan_get_name(const struct plan *plan, const struct workspace_change *change, char text[2 * PATH_MAX]);

/* The change of a path. NULL: it has none. */
const struct workspace_change *ws_plan_find(const struct plan *plan, const char *path);

/* The change by which a directory above a path is replaced by something else or replaces it. NULL: there is none. */
const struct workspace_change *ws_plan_find_replaced_above(const struct plan *plan, const char *path);

/* What happens with a change of the plan. */
enum plan_state ws_plan_get_state(const struct plan *plan, const struct workspace_change *change);

/* That of the new name of a renamed file whose old name a change removes, if it is left out; else PLAN_APPLY. */
enum plan_state ws_plan_get_new_name_state(const struct plan *plan, const struct workspace_change *change);

/* Why a change runs later outside, whether that was allowed or not (static). NULL: it does not. */
const char *ws_plan_find_runs_later(const struct plan *plan, const struct workspace_change *change);

/* Makes a change a conflict. why: static; NULL: it is not told, as it belongs to another one. */
void ws_plan_set_conflict(const struct plan *plan, const struct workspace_change *change, const char *why);

#endif
