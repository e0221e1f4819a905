/* Whether the directory of a workspace was changed by others since the run began. */
#ifndef CALLGATE_WORKSPACE_CONFLICT_H
#define CALLGATE_WORKSPACE_CONFLICT_H

#include "workspace/bases.h"
#include "workspace/changes.h"

/*
 * Whether a change may not be applied, because what it replaces was changed since the overlay was mounted: its change
 * time (ctime, which no program can set) is not before that, and it has not the fingerprint of the base, or a directory
 * that it is in may have been moved there. For a name that the directory lacks: because it may have been removed from
 * it since. 1, 0, or -errno.
 */
int workspace_is_conflict(const struct workspace_layer *layer, const struct workspace_bases *bases,
			  const struct workspace_change *change);

#endif
