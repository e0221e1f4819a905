/* What fold.c and fold-layer.c share. */
#ifndef CALLGATE_WORKSPACE_FOLD_PRIVATE_H
#define CALLGATE_WORKSPACE_FOLD_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "view/copy/fill.h"
#include "workspace/copies.h"
#include "workspace/dirs.h"
#include "workspace/fold.h"
#include "workspace/records.h"

struct fold {
	int copy_fd, base_fd;
	int new_fd;                       /* the layer; -1: it is only looked whether it would have anything */
	const struct fold_target *target; /* NULL: the layer is made of links */
	bool is_changed;
	struct workspace_records records;
	struct fills *fills;        /* files of the copy without content; owned; NULL: all have theirs */
	struct copies lost;         /* paths that files were copied from that cannot be filled, by inode of the copy */
	struct name_list lost_path; /* of what the layer cannot have because of them */
	struct name_list pending;   /* directories of the copy that are yet to be read */
	struct name_list made;      /* directories of the layer, those above first */
	char last_made[PATH_MAX];   /* the directory that was needed last */
	struct timespec begun;      /* when the copy was */
	struct copies copies;       /* paths in the layer of what could not be linked, by inode of the copy */
	bool keeps_copy;            /* for what the layer cannot have */
	bool is_stale;              /* some of what is lost may be in the directory later */
	struct closed *closed;      /* modes of directories of the copy that were made readable; owned, or NULL */
};

#define FOLD_NONE                                          \
	(struct fold)                                      \
	{                                                  \
		.copy_fd = -1, .base_fd = -1, .new_fd = -1 \
	}

/* ---- the walk: fold.c ---- */

/*
 * Opens what is to be folded. makes_layer: also if the program has closed the copy, or directories in it, to its own
 * user. 0 or -errno.
 */
int fold_open(struct fold *fold, int layer_fd, const char *dir, bool makes_layer);
void fold_release(struct fold *fold);

/* Finds all changes, and puts them into the layer, if one is made. 0 or -errno. */
int fold_find_changes(struct fold *fold);

/* Gives the directories of the layer the attributes that they have in the copy. 0 or -errno. */
int fold_set_attributes(const struct fold *fold);

/* ---- entries: fold-layer.c ---- */

/* Makes a directory of the layer, with those above it. Their attributes are set in the end. 0 or -errno. */
int fold_make_dir(struct fold *fold, const char *path);

/* Puts an entry, which is no directory, into the layer. 0 or -errno. */
int fold_put(struct fold *fold, int copy_dir_fd, const char *name, const char *path, const struct stat *st);

/* Notes in the layer that a name was removed. 0 or -errno. */
int fold_put_whiteout(struct fold *fold, const char *path);

/* Whether a file of the copy has not its content. */
struct fill_file *fold_find_placeholder(const struct fold *fold, int copy_dir_fd, const char *name,
					const struct stat *st);

/*
 * Gives a file that is to be in the layer its content. 1: that is lost, or a crash of the machine has left it in doubt,
 * which is noted; 0, with the new *st; or -errno.
 */
int fold_fill(struct fold *fold, int copy_dir_fd, const char *name, const char *path, struct stat *st);

/* Whether this record is of a file that is lost: the directory may have its content, by that name. */
bool fold_is_of_lost(const struct fold *fold, const struct workspace_record *record);

/* Writes the sorted list of what is lost: the names that files have now, and those that they had. 0 or -errno. */
int fold_write_lost(struct fold *fold, int layer_fd);

#endif
