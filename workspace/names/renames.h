/* Finds which added files of a workspace are deleted ones under another name. For changes.c. */
#ifndef CALLGATE_WORKSPACE_NAMES_RENAMES_H
#define CALLGATE_WORKSPACE_NAMES_RENAMES_H

#include "workspace/layer.h"

struct workspace_changes;

#define RENAMES_HASHED_BYTES_MAX (1u << 30) /* most bytes of files that are hashed: what is left stays two changes */

/*
 * Makes one change WORKSPACE_RENAMED of a regular file that was deleted and one with the same size and SHA-256 that was
 * added, or lets the two name each other: then also of those that took the place of something else, or that something
 * else took the place of. 0 or -ENOMEM.
 */
int workspace_renames_find(const struct workspace_layer *layer, struct workspace_changes *changes);

#endif
