/* The files that an earlier callgate ws apply has written beside a conflict, which are no changes of their own. */
#ifndef CALLGATE_CLI_WS_VERSIONS_H
#define CALLGATE_CLI_WS_VERSIONS_H

#include "workspace/bases.h"
#include "workspace/changes.h"

/*
 * Drops these files from the changes. They are among them in a directory that the program has removed: the layer does
 * not have them, and so they look deleted. 0, or -errno, and nothing was dropped.
 */
int ws_versions_drop(const struct workspace_layer *layer, const struct workspace_bases *bases,
		     struct workspace_changes *changes);

#endif
