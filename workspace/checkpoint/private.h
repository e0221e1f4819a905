/* What checkpoint.c and copy.c share, and what restore.c and restore-compare.c do. */
#ifndef CALLGATE_WORKSPACE_CHECKPOINT_PRIVATE_H
#define CALLGATE_WORKSPACE_CHECKPOINT_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "workspace/checkpoint/checkpoint.h"
#include "workspace/copies.h"
#include "workspace/dirs.h"
#include "workspace/records.h"

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

/* ---- restoring ---- */

#define RESTORE_TEMPORARY_SIZE sizeof(".callgate-restore-0123456789abcdef")

struct restore {
	const struct workspace_layer *layer;
	int then_fd;              /* upper layer of the checkpoint */
	int view_fd;              /* the directory as the programs see it */
	int known_fd;             /* upper layer of the checkpoint that `known` is about; -1: there is none */
	struct known_files known; /* of which files of the layer known_fd has copies */
	struct known_files after; /* of which files of the layer then_fd has copies when it is restored */
	/* paths in view_fd of what was restored: of the checkpoint, and of the directory */
	struct copies copies, base_copies;
	struct dir_list dirs;                   /* the directories that are to be compared */
	char temporary[RESTORE_TEMPORARY_SIZE]; /* name of an entry that is being made */
	struct checkpoint_work *work;
};

/* One directory in each of the trees. -1: it is not there, or hidden. */
struct restore_dirs {
	const char *path;
	int base_fd, now_fd, then_fd, view_fd, known_fd;
	/* names of the directory (base) are seen through the layer */
	bool shows_base_now, shows_base_then;
};

/* One name in each of the trees. */
struct restore_entry {
	const char *name, *path;
	int source_fd;                         /* what is to be there, open with O_PATH; -1: nothing */
	bool is_of_base;                       /* source_fd is of the directory, not of the checkpoint */
	const struct workspace_record *record; /* of a workspace by copying: how it was copied; NULL: it was not */
	bool is_kept;                          /* it is as it was copied, and was so then */
	struct stat source;                    /* of source_fd */
	bool is_now, is_shown;                 /* the name is in the layer of now; the programs see it */
	struct stat now, shown;
};

/* Finds what is to be at a name, and what is there. 0 or -errno. Closes nothing: entry->source_fd is the caller's. */
int restore_find(const struct restore *restore, const struct restore_dirs *dirs, struct restore_entry *entry);

/* Whether a name that is to have something other than a directory has that. */
bool restore_is_same(const struct restore *restore, const struct restore_dirs *dirs, const struct restore_entry *entry);

#endif
