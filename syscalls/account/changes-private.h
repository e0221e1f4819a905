/* Shared by changes.c, which records touched paths, and changes-report.c, which compares them. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_CHANGES_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_CHANGES_PRIVATE_H

#include "syscalls/account/changes.h"

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
	void *tree; /* a tsearch(3) tree of struct touched_file by their paths; owned */
	size_t touched_count; /* files in `tree` */
	size_t paths_bytes; /* length of all paths in `tree` */
	uint64_t unlisted_count;   /* changed files for which there was no room */
	uint64_t listing_spent_ns; /* time spent on listing renamed directories */
	/* renamed directories, owned; a later entry takes precedence over an earlier one */
	struct directory_rename *directory_rename;
	size_t moves, move_room;
};

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
