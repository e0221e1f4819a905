/* What the files share that make a view: view_create() (build.c) and its parts. */
#ifndef CALLGATE_VIEW_BUILD_H
#define CALLGATE_VIEW_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "view/overlay.h"
#include "view/private.h"

/* The building of a view from a policy. */
struct build_state {
	struct view *view;
	const struct view_options *options;
	struct policy_error *error;
	struct overlays overlays;          /* of grants whose writes go to the scratch directory */
	const struct policy_mount **split; /* grants that have mounts below them: each part gets its own overlay */
	size_t splits, split_room;
	uint64_t workspace_dirs_mounted; /* with --cow: bits of the directories that are mounted */
};

/* With --cow: the number of the directory that stays as it is and has this host path in it. -ENOENT: none has. */
int build_find_workspace_dir(const struct build_state *build, const char *host);

/*
 * With --cow, before a writable grant in directory `at` is mounted: 0, or -EOPNOTSUPP with its message. One layer has
 * to get all changes, so the only such grant can be the directory itself.
 */
int build_check_workspace_grant(const struct build_state *build, const struct policy_mount *grant, int at);

/*
 * With --cow, when no overlay is mounted over directory `at`: copies it into the workspace. *ret_host: host path of the
 * copy, owned by the caller. 0, -EOPNOTSUPP with its message, or -ENOMEM.
 */
int build_find_workspace_copy(struct build_state *build, const struct policy_mount *grant, int at, char **ret_host);

/*
 * With --cow, when the overlay or copy of directory `at` is the last mount: opens its layer, for what is kept of the
 * run. 0, or -EOPNOTSUPP with its message, or -ENOMEM.
 */
int build_add_workspace_layer(const struct build_state *build, const struct policy_mount *grant, int at);

/*
 * With --cow: refuses a grant by which the program could write to a directory past its layer. A writable grant of a
 * directory above it shows it in its own mount. 0, or -EOPNOTSUPP with its message.
 */
int build_refuse_grant_above_workspace(const struct build_state *build, const struct policy_mount *grant);

/* With --cow, when all grants are mounted: 0, or -EOPNOTSUPP with its message when a directory is not among them. */
int build_check_workspace(const struct build_state *build);

#endif
