/*
 * Which names may be of one file since a directory was moved by copying it: an overlay cannot rename one of its lower
 * layer (EXDEV), and mv(1) copies and removes it then. The files in it keep their names. For moves.c.
 */
#ifndef CALLGATE_WORKSPACE_NAMES_SAME_NAMES_H
#define CALLGATE_WORKSPACE_NAMES_SAME_NAMES_H

#include "workspace/bases.h"
#include "workspace/changes.h"
#include "workspace/names/joined.h"

/*
 * Adds pairs of a file that is new and one that was in a directory which the program has removed, if their last parts
 * are the same. Those of pairs count as well. The paths of the changes are borrowed. 0 or -ENOMEM.
 */
int same_names_join(const struct workspace_layer *layer, const struct workspace_bases *bases,
		    const struct workspace_changes *changes, struct joined *joined);

#endif
