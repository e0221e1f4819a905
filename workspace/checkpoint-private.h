/* What checkpoint.c and checkpoint-copy.c share. */
#ifndef CALLGATE_WORKSPACE_CHECKPOINT_PRIVATE_H
#define CALLGATE_WORKSPACE_CHECKPOINT_PRIVATE_H

#include <limits.h>
#include <stdint.h>

#include "workspace/checkpoint.h"
#include "workspace/copies.h"
#include "workspace/dirs.h"

/* The upper layer, of which a copy is made. */
struct copier {
	const struct workspace_layer *layer;
	int to_fd;                 /* the copy */
	int previous_fd;           /* the copy of the latest checkpoint; -1: there is none */
	struct known_files before; /* of which files previous_fd has copies */
	struct known_files after;  /* of which files to_fd has copies */
	struct copies copies;      /* paths in to_fd of files with several names */
	struct dir_list dirs;      /* the directories that were found */
	uint64_t max_bytes;        /* most that the copy may take */
	/* of a layer by copying: the directory of the entries that were copied last, -1: none */
	char last_path[PATH_MAX];
	int last_to_fd, last_previous_fd;
	struct checkpoint_work *work;
};

/* Compares what was counted until now with the most that it may be. 0, or -EDQUOT. */
int copier_compare_with_max(const struct copier *copier);

/* Copies what differs in a copy of the directory, with layer_fd. 0 or -errno, with the path in copier->work. */
int copier_copy_changes(struct copier *copier, int layer_fd, const char *dir);

/* Copies the whole layer. 0 or -errno, with the path in copier->work. */
int copier_copy_layer(struct copier *copier);

#endif
