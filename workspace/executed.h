/*
 * Which changes make something run later, outside of any sandbox, because a tool runs or obeys such files by itself. It
 * is a list of what is usual, to be looked at first; it is no boundary.
 */
#ifndef CALLGATE_WORKSPACE_EXECUTED_H
#define CALLGATE_WORKSPACE_EXECUTED_H

#include "policy/arena.h"
#include "workspace/changes.h"

struct executed_name;

struct executed {
	struct arena arena;
	struct executed_name *name;
	size_t count;
};

/* Compiles the patterns. 0 or -ENOMEM. executed_release() releases. */
int executed_init(struct executed *executed);
void executed_release(struct executed *executed);
#define _cleanup_executed_ __attribute__((cleanup(executed_release)))

/*
 * Why a change makes something run later: "git runs or obeys it" (static). NULL: it does not, as far as is known. A
 * change that cannot be read is told as one that does.
 */
const char *executed_find_reason(const struct executed *executed, const struct workspace_layer *layer,
				 const struct workspace_change *change);

/*
 * Why all changes of a workspace of this directory, a canonical path, make something run later (static): the system
 * runs or obeys what is there, or one of the patterns is of it. NULL: not all do.
 */
const char *executed_find_reason_of_dir(const struct executed *executed, const char *dir);

#endif
