/*
 * Files that callgate ws apply leaves out in one directory of a workspace, whose old names are in another one: mv(1)
 * copies from one to another. Directories are applied one after the other, so that all is decided before.
 */
#ifndef CALLGATE_CLI_WS_ELSEWHERE_H
#define CALLGATE_CLI_WS_ELSEWHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/ws/plan.h"
#include "workspace/store.h"

struct elsewhere_file;

struct ws_elsewhere {
	struct elsewhere_file *item; /* owned */
	size_t count, room;
	int upper_fd[WORKSPACE_DIRS_MAX]; /* of the layers, where there are such files; from 0 to dirs; owned */
	size_t dirs;
};

/*
 * Adds the new regular files that the plan of the next directory leaves out; all: those that it would put as well.
 * plan: NULL: it has none. Zero-initialise; ws_elsewhere_release() frees. 0 or -errno.
 */
int ws_elsewhere_add(struct ws_elsewhere *elsewhere, const struct plan *plan, bool all);
void ws_elsewhere_release(struct ws_elsewhere *elsewhere);
#define _cleanup_ws_elsewhere_ __attribute__((cleanup(ws_elsewhere_release)))

/*
 * Leaves out what would delete or overwrite a file of directory `at` of which an equal one is left out in another
 * directory. What cannot be compared is left out. To be called when all directories were added. True if there are some.
 */
bool ws_elsewhere_hold(const struct ws_elsewhere *elsewhere, size_t at, const struct plan *plan);

#endif
