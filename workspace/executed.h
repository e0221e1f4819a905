/*
 * Which changes make something run later, outside of any sandbox, because a tool runs or obeys such files by itself. It
 * is a list of what is usual, to be looked at first; it is no boundary.
 */
#ifndef CALLGATE_WORKSPACE_EXECUTED_H
#define CALLGATE_WORKSPACE_EXECUTED_H

#include "policy/arena.h"
#include "workspace/changes.h"
#include "workspace/executed/dirs.h"
#include "workspace/executed/names.h"

struct executed {
	struct arena arena;
	struct executed_names names;
	struct executed_dirs *dirs; /* of the arena; changes with each question */
};

/* Compiles the patterns. 0 or -ENOMEM. executed_release() releases. */
int executed_init(struct executed *executed);
void executed_release(struct executed *executed);
#define _cleanup_executed_ __attribute__((cleanup(executed_release)))

/*
 * Reads the configuration of the git repositories that changes are in, which may name what other changes are of. To be
 * called first.
 */
void executed_read_repositories(const struct executed *executed, const struct workspace_layer *layer,
				const struct workspace_changes *changes);

/*
 * Why a change makes something run later: "git runs or obeys it" (static). NULL: it does not, as far as is known. A
 * change that cannot be read is told as one that does. So is a new directory of which nothing is applied. One executed
 * is for one layer. Fast for paths that are sorted.
 */
const char *executed_find_reason(const struct executed *executed, const struct workspace_layer *layer,
				 const struct workspace_change *change);

/*
 * The length of the path of the topmost directory that a path is in, and all of which runs later, such as
 * node_modules. 0: there is none.
 */
size_t executed_find_whole_dir(const struct executed *executed, const struct workspace_layer *layer, const char *path);

/*
 * Why all changes of a workspace of this directory, a canonical path, make something run later (static): the system
 * runs or obeys what is there, or one of the patterns is of it. NULL: not all do.
 */
const char *executed_find_reason_of_dir(const struct executed *executed, const char *dir);

#endif
