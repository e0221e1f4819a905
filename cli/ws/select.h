/* Which changes of a workspace a command line means. */
#ifndef CALLGATE_CLI_WS_SELECT_H
#define CALLGATE_CLI_WS_SELECT_H

#include <stdbool.h>

#include "policy/paths/glob.h"
#include "workspace/changes.h"
#include "workspace/store.h"

/* The paths and patterns of a command line; without any, all changes are meant. */
struct ws_patterns {
	char *const *text; /* borrowed */
	size_t count;
	bool *has_matched; /* of each: it is of something that the run has changed; owned */
};

/*
 * Takes the patterns of a command line, and checks that each is of a directory of the workspace. 0, or -EINVAL after a
 * message. ws_patterns_release() releases, also then.
 */
int ws_patterns_init(struct ws_patterns *patterns, const char *verb, int workspace_fd,
		     const struct workspace *workspace, char *const *text, size_t count);
void ws_patterns_release(struct ws_patterns *patterns);
#define _cleanup_ws_patterns_ __attribute__((cleanup(ws_patterns_release)))

/*
 * Tells which patterns have matched nothing in any selection: on standard error, and as_json also by lines of JSON on
 * standard output. True if there are such.
 */
bool ws_patterns_tell_unmatched(const struct ws_patterns *patterns, const char *verb, bool as_json);

/* The patterns that are of one directory of a workspace. */
struct ws_selection {
	struct arena arena;
	struct glob *glob;
	size_t *at; /* of each glob, which of the patterns it is */
	size_t count;
	const struct ws_patterns *patterns; /* borrowed; marked when a glob matches */
	bool is_empty;                      /* all patterns are of other directories: nothing is meant */
};

/*
 * Compiles the patterns of the directory workspace->dir: globs as in a policy, relative to it or below it, and with
 * several directories absolute; all below a match matches too. 0, or -EINVAL after a message. ws_selection_release()
 * releases.
 */
int ws_selection_init(struct ws_selection *selection, const char *verb, const struct workspace *workspace,
		      const struct ws_patterns *patterns);
void ws_selection_release(struct ws_selection *selection);
#define _cleanup_ws_selection_ __attribute__((cleanup(ws_selection_release)))

/* True when a change is meant: by its path, or the one that it had before or has now. */
bool ws_selection_has(const struct ws_selection *selection, const struct workspace_change *change);

/*
 * Has workspace_changes_find() mark the patterns that are of what the run has changed as the directory was changed
 * since, such as by an earlier apply. They match no change, and yet something.
 */
void ws_selection_watch_unchanged(struct ws_selection *selection, struct workspace_changes *changes);

/* Removes the changes that are not meant. */
void ws_selection_drop_others(const struct ws_selection *selection, struct workspace_changes *changes);

#endif
