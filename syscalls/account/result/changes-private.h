/* Shared by changes.c and its parts, which record touched paths, and changes-report.c, which compares them. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_RESULT_CHANGES_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_RESULT_CHANGES_PRIVATE_H

#include "syscalls/account/result/changes.h"

enum touched_state { TOUCHED_ABSENT, TOUCHED_PRESENT, TOUCHED_UNKNOWN };

/* A touched path, and the state of its file before the first touch. */
struct touched_file {
	const struct mount *mount;
	/* where the path below the mount begins in `path`; SIZE_MAX: the path is the mount's own root */
	size_t below_mount_offset;
	enum touched_state state;
	dev_t dev;
	ino_t ino;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t size; /* size before the first touch */
	struct timespec mtime, ctime;
	size_t path_len; /* length of path */
	char path[];
};

/* A path that a renamed directory has or had. It is never the root of a mount, because mounts cannot be renamed. */
struct moved_path {
	const struct mount *mount;
	size_t below_mount_offset; /* where the path below the mount begins in `path` */
	size_t len;
	char path[];
};

/* A renamed directory. */
struct directory_rename {
	struct moved_path *first_path; /* the directory's path when the run began; NULL: the run made the directory */
	/* the directory's present path; NULL: the directory was removed, and another directory has that path now */
	struct moved_path *present_path;
};

/* The files that the run has changed, for the result. */
struct changes {
	void *tree;                /* a tsearch(3) tree of struct touched_file by their paths; owned */
	size_t touched_count;      /* files in `tree` */
	size_t paths_bytes;        /* length of all paths in `tree` */
	uint64_t unlisted_count;   /* changed files for which there was no room */
	uint64_t listing_spent_ns; /* time spent on listing renamed directories */
	/* renamed directories, owned; a later entry takes precedence over an earlier one */
	struct directory_rename *directory_rename;
	size_t moves, move_room;
};

/* ---- changes-moved.c ---- */

/* Makes a path of head and tail in a mount. NULL: no memory. */
struct moved_path *moved_path_make(const struct mount *mount, size_t below_mount_offset, const char *head,
				   size_t head_len, const char *tail);

/* Makes the path of a place. NULL: no memory. */
struct moved_path *moved_path_make_of_place(const struct place *place);

/* Whether the moved path is that of `place`, or a path below it. */
bool moved_path_is_below(const struct moved_path *moved, const struct place *place);

/* Fills the place that is `tail` ("" or "/…") below a moved path. False: the path would be too long. */
bool moved_path_fill_place_below(const struct moved_path *moved, const char *tail, struct place *ret_place);

/*
 * Finds the renamed directory that contains `path`; of several, the one with the longest path. by_present_path: the
 * present paths of the directories are compared with `path`, else their paths when the run began. NULL: none contains
 * it.
 */
struct directory_rename *changes_find_directory_rename(const struct changes *changes, const char *path,
						       bool by_present_path);

/*
 * Finds the path that the object at `path` had when the run began. False: the path is the same, or the run made the
 * object.
 */
bool changes_find_place_at_run_start(const struct changes *changes, const char *path, struct place *ret_place);

/*
 * Finds where the object is now that was at `place` when the run began. Returns `place`, or `other`, which is filled
 * in; NULL: the object no longer exists.
 */
const struct place *changes_find_present_place(const struct changes *changes, const struct place *place,
					       struct place *other);

/* Frees the paths of one entry of the list; forgets the whole list. */
void changes_free_rename_paths(struct directory_rename *move);
void changes_forget_directory_renames(struct changes *changes);

/* ---- changes.c, changes-renames.c ---- */

/* Touches `place` and, as directories were renamed, the path that its object had when the run began. */
int changes_add_first_and_present_place(struct changes *changes, const struct place *place);

/*
 * Touches everything below the renamed directories, by its path when the run began and by its present path. Then
 * forgets the renames. 0 or -ENOMEM.
 */
int changes_list_all_renamed_trees(struct changes *changes);

/* Whether changes of a mount are reported. False: private scratch space, /proc, /dev, files that callgate provides. */
bool changes_mount_is_reported(const struct mount *mount);

/* Makes the place (mount and path) of a touched path, for opening its file. */
void changes_get_touched_place(const struct touched_file *entry, struct place *ret_place);

#endif
