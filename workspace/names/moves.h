/*
 * Which changes may be about one file: that what the directory has at one path, the layer has at another one, perhaps
 * edited. For changes.c; ws apply reads it.
 */
#ifndef CALLGATE_WORKSPACE_NAMES_MOVES_H
#define CALLGATE_WORKSPACE_NAMES_MOVES_H

#include "workspace/changes.h"

/*
 * Sets old_file and new_file of all changes, and changes->knows_moves, for sorted changes. By inode numbers in a layer
 * by copying; by the file VIEW_MOVES_NAME in one of an overlay. There it is unknown if that is not complete, or the
 * machine was started anew since: the file may be older than the layer then. So it is where a checkpoint was restored:
 * files have new inode numbers then, and directories that the directory has can be renamed. 0 or -ENOMEM.
 */
int workspace_moves_find(const struct workspace_layer *layer, struct workspace_changes *changes);

/* True for a change of which the new entry may be a file of the directory that has another name there. */
bool workspace_change_is_new_name(const struct workspace_change *change);

/* True for a change that removes a file of the directory, or puts something else in its place, which may be such. */
bool workspace_change_is_old_name(const struct workspace_change *change);

#endif
