/*
 * Paths that git runs or obeys because a repository's configuration names them, as core.hooksPath does. The
 * configuration is what the directory and the host have: callgate ws apply leaves out what a run has made of it.
 */
#ifndef CALLGATE_WORKSPACE_EXECUTED_GIT_PATHS_H
#define CALLGATE_WORKSPACE_EXECUTED_GIT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/arena.h"

struct git_path {
	const char *path; /* absolute */
	bool has_below;   /* all that is below is meant as well */
};

struct git_repository {
	const char *git_dir, *worktree; /* absolute */
};

/* Zero-initialise, except what the caller sets. All memory is of the arena. */
struct git_paths {
	struct arena *arena; /* set by the caller */
	const char *root;    /* set by the caller: only paths below this one, or above it, are kept; borrowed */
	struct git_path *path;
	size_t count;
	struct git_repository *repository; /* those that were read */
	size_t repository_count;
	bool has_no_memory; /* then every path is one that git obeys */
};

/*
 * Reads the configuration of the repository that a directory is the worktree of, and of the one that it is itself:
 * an absolute path. Nothing happens if it is neither, or has no configuration.
 */
void git_paths_read_repository(struct git_paths *paths, const char *dir, bool is_git_dir);

/* What an absolute path is of. A link may also take the place of a directory that a path is in. */
enum git_paths_kind { GIT_PATHS_FILE, GIT_PATHS_LINK, GIT_PATHS_DIR };

/* True if git runs or obeys what has this path; of a directory, all that is below. */
bool git_paths_has(const struct git_paths *paths, const char *path, enum git_paths_kind kind);

#endif
