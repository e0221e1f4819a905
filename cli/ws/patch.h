/*
 * Prints changes of a workspace as a patch in git's format, which git-apply(1) and patch(1) take, and as numbers of
 * lines. Only regular files, links, and the bit for execution have a form in it.
 */
#ifndef CALLGATE_CLI_WS_PATCH_H
#define CALLGATE_CLI_WS_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "workspace/changes.h"

/* How a patch is printed, and what it cannot say. */
struct ws_patch {
	const struct workspace_layer *layer;
	const char *dir;         /* the directory, which names begin with; NULL: they are relative to it */
	bool to_terminal;        /* escape what could move or hide text: the patch is for eyes */
	size_t left_out;         /* changes that the patch does not have, or not wholly */
	size_t unread;           /* changes with a file whose content cannot be read */
	uint64_t added, removed; /* lines, by patch_print_stat() */
};

/* The parts of a patch, in the order in which patch(1) can apply them. */
enum ws_patch_part {
	WS_PATCH_DELETIONS, /* also of what is replaced by another type */
	WS_PATCH_RENAMES,
	WS_PATCH_REST,
	WS_PATCH_PART_MAX,
};

/* Prints what a part of the patch has of a change, if it has any. 0; -ENOENT: there is no diff(1); or -errno. */
int patch_print_change(struct ws_patch *patch, const struct workspace_change *change, enum ws_patch_part part);

/* Prints how many lines of a change were added and removed. path_width: columns of its path. Returns as above. */
int patch_print_stat(struct ws_patch *patch, const struct workspace_change *change, int path_width);

#endif
