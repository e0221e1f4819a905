/*
 * What the directories that a path is in say about it: their names, what they contain (marks.h), and the
 * configuration of the git repositories that they are of (git-paths.h).
 */
#ifndef CALLGATE_WORKSPACE_EXECUTED_DIRS_H
#define CALLGATE_WORKSPACE_EXECUTED_DIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"
#include "workspace/executed/names.h"
#include "workspace/layer.h"

struct executed_dirs;

/* Remembers what the directories of the latest path are. names: borrowed. NULL: out of memory. */
struct executed_dirs *executed_dirs_create(struct arena *arena, const struct executed_names *names);

/*
 * Why a path below the directory of the layer, which is that of no directory, is one that a tool runs or obeys by
 * itself (static). NULL: it is none.
 */
const char *executed_dirs_find(struct executed_dirs *dirs, const struct workspace_layer *layer, const char *path,
			       bool is_link);

/*
 * Why all that is in a directory is (static). *ret_len, unless NULL: how much of the path is of the topmost directory
 * that this is true of. NULL: not all is; *ret_len is unchanged.
 */
const char *executed_dirs_find_dir(struct executed_dirs *dirs, const struct workspace_layer *layer, const char *path,
				   size_t *ret_len);

/* Reads the configuration of the git repositories that a path is in: what they name counts from then on. */
void executed_dirs_read_repositories(struct executed_dirs *dirs, const struct workspace_layer *layer, const char *path);

/* Forgets what the directories of the latest path are, but not what repositories name. */
void executed_dirs_forget(struct executed_dirs *dirs);

#endif
