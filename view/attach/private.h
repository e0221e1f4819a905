/* What the files of this folder share: the state of attaching the mounts of the view. */
#ifndef CALLGATE_VIEW_ATTACH_PRIVATE_H
#define CALLGATE_VIEW_ATTACH_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "view/private.h"

/* One mount of the view, while it is being attached. */
struct attach_mount_state {
	struct mount *mount;
	int copy_fd;             /* the mount to attach; -1: its object is gone, or another mount has its path */
	bool mount_owns_copy_fd; /* struct mount owns copy_fd */
	bool is_skeleton_file;   /* a file of the skeleton, which needs no mount */
	/* attached in attach_state.pathless_mounts_dir: its virtual path does not exist in the host tree around it */
	bool has_no_virtual_path;
};

/* The mounting of all mounts of the view at their virtual paths. */
struct attach_state {
	struct view *view;
	int tmpfs_fd;    /* tmpfs with the skeleton and the program's root */
	int own_proc_fd; /* a procfs for the supervisor alone; -1: it uses that of the program */
	int root_fd;     /* "/" of the program */
	/* the directory for mounts with has_no_virtual_path; -1: not made yet */
	int pathless_mounts_fd;
	const char *pathless_mounts_dir;        /* path of that directory */
	int empty_dir_fd, empty_file_fd;        /* mode 0; -1: nothing was covered yet */
	struct attach_mount_state *mount_state; /* parents before children */
	size_t mount_state_count;               /* entries of mount_state[] */
	bool for_kernel_reads;                  /* the kernel will judge reads: names and covers are mounted as well */
	const char *failed_step;                /* the step that failed, for the message */
};

/* Stores the name of the step that failed. Returns error. */
static inline int attach_note_failure(struct attach_state *attach, int error, const char *what)
{
	attach->failed_step = what;
	return error;
}

/*
 * Opens the descriptors of the view again, below the program's root, and gives its mounts the paths they have there. 0
 * or -errno.
 */
int attach_reopen_mounts(struct attach_state *attach);

/*
 * Makes a copy of the program's root, mounted with nosymfollow: fstatat(2) by a path below the copy finds the object
 * that openat2(2) would, in one system call instead of three. Without this copy every object is opened.
 */
void attach_make_nosymfollow_copy(struct attach_state *attach);

/*
 * Mounts an empty object over each covered or denied name. Names that only globs deny, and names that are made later,
 * get no such mount: the supervisor alone refuses them. 0 or -errno.
 */
int attach_cover_names(struct attach_state *attach);

#endif
