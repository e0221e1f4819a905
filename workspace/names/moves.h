/*
 * Which changes may be about one file: that what the directory has at one path, the layer has at another one, perhaps
 * edited. For changes with keeps_renames_apart; ws apply reads it.
 */
#ifndef CALLGATE_WORKSPACE_NAMES_MOVES_H
#define CALLGATE_WORKSPACE_NAMES_MOVES_H

#include "workspace/bases.h"
#include "workspace/changes.h"

/*
 * Sets old_file and new_file of all changes, and changes->knows_moves, for sorted changes. Hard links of the directory
 * are of one file. In a layer by copying, inode numbers tell. In one of an overlay, the file VIEW_MOVES_NAME has the
 * renames and links of the run, and bases have the inode numbers of what it has changed.
 *
 * All files count as one where that is not known: in an overlay if one of the two is not complete, or the machine was
 * started anew since: the files may be older than the layer then. So it is where a checkpoint was restored: files have
 * new inode numbers then, and directories that the directory has can be renamed. 0 or -ENOMEM.
 */
int workspace_moves_find(const struct workspace_layer *layer, const struct workspace_bases *bases,
			 struct workspace_changes *changes);

/* True for a change of which the new entry may be a file of the directory that has another name there. */
bool workspace_change_is_new_name(const struct workspace_change *change);

/* True for a change that removes a file of the directory, or puts something else in its place, which may be such. */
bool workspace_change_is_old_name(const struct workspace_change *change);

#endif
