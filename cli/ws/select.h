/* Which changes of a workspace a command line means. */
#ifndef CALLGATE_CLI_WS_SELECT_H
#define CALLGATE_CLI_WS_SELECT_H

#include <stdbool.h>

#include "policy/paths/glob.h"
#include "workspace/changes.h"
#include "workspace/store.h"

/* Patterns of paths; without any, all changes are meant. */
struct ws_selection {
	struct arena arena;
	struct glob *glob;
	size_t count;
	bool is_empty; /* all patterns are of other directories: nothing is meant */
};

/* Checks that each pattern is of a directory of the workspace. 0, or -EINVAL after a message. */
int ws_selection_check(const char *verb, int workspace_fd, const struct workspace *workspace, char *const *patterns,
		       size_t count);

/*
 * Compiles the patterns of the directory workspace->dir: globs as in a policy, relative to it or below it, and with
 * several directories absolute; all below a match matches too. 0, or -EINVAL after a message. ws_selection_release()
 * releases.
 */
int ws_selection_init(struct ws_selection *selection, const char *verb, const struct workspace *workspace,
		      char *const *patterns, size_t count);
void ws_selection_release(struct ws_selection *selection);
#define _cleanup_ws_selection_ __attribute__((cleanup(ws_selection_release)))

/* True when a change is meant: by its path, or the one that it had before or has now. */
bool ws_selection_has(const struct ws_selection *selection, const struct workspace_change *change);

/* Removes the changes that are not meant. */
void ws_selection_drop_others(const struct ws_selection *selection, struct workspace_changes *changes);

#endif
