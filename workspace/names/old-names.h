/* Which new entries of a workspace are files that its directory has by another name. For moves.c. */
#ifndef CALLGATE_WORKSPACE_NAMES_OLD_NAMES_H
#define CALLGATE_WORKSPACE_NAMES_OLD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workspace/changes.h"

/* The files, as numbers of struct workspace_change, of new entries where the directory has nothing. */
struct old_names {
	const struct workspace_layer *layer;
	uint64_t *file; /* sorted, each once; owned */
	bool *is_there; /* of each: the directory has it; owned */
	size_t count;
};

/* Lists the files. old_names_release() frees. 0 or -ENOMEM. */
int old_names_init(struct old_names *names, const struct workspace_layer *layer,
		   const struct workspace_changes *changes);
void old_names_release(struct old_names *names);
#define _cleanup_old_names_ __attribute__((cleanup(old_names_release)))

/* To be called with each name that a file may have in the directory: looks for it, if it is of one of these. */
void old_names_look(struct old_names *names, uint64_t file, const char *path);

/* Sets has_old_name of all changes. */
void old_names_set(const struct old_names *names, struct workspace_changes *changes);

#endif
