/* Which directories those of a workspace's directory were when the run began: view/copy/dirs.h. For conflict.c. */
#ifndef CALLGATE_WORKSPACE_FIRST_DIRS_H
#define CALLGATE_WORKSPACE_FIRST_DIRS_H

#include <stddef.h>
#include <sys/stat.h>

#include "workspace/changes.h"
#include "workspace/layer.h"

struct first_dir;

struct workspace_first_dirs {
	char *text;             /* all records; owned */
	struct first_dir *item; /* sorted; owned */
	size_t count;
};

/* Reads the records of a layer. Zero-initialise; workspace_first_dirs_release() frees. 0 or -errno. */
int workspace_first_dirs_load(const struct workspace_layer *layer, struct workspace_first_dirs *dirs);
void workspace_first_dirs_release(struct workspace_first_dirs *dirs);

/* Whether the directory of a path, as it is now, is the one that it was when the run began. 1, 0; -1: not known. */
int workspace_first_dirs_compare(const struct workspace_first_dirs *dirs, const struct workspace_layer *layer,
				 const char *path, const struct stat *now);

/*
 * Leaves out of changes what the program has not changed of a directory: the layer has mode and owner that the
 * directory began with, and something outside has set others since.
 */
void workspace_first_dirs_drop_unchanged(const struct workspace_first_dirs *dirs, const struct workspace_layer *layer,
					 struct workspace_changes *changes);

#endif
