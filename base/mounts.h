/* The mount API by descriptor (Linux 5.2, 5.12): open_tree(2), move_mount(2), mount_setattr(2), fsopen(2). */
#ifndef CALLGATE_BASE_MOUNTS_H
#define CALLGATE_BASE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A detached recursive copy of the mount at (fd, path; path "" is fd itself). A CLOEXEC descriptor owned by the caller,
 * or -errno. Recursive, because a user namespace that does not own the mounts may only copy whole trees.
 */
int mounts_clone_tree(int fd, const char *path);

/*
 * A new instance of a file system ("tmpfs", "proc"), nosuid, nodev, noexec, detached as by mounts_clone_tree. options:
 * `count` strings, names and values alternating. Of "devpts" its devices can be opened.
 */
int mounts_create_fs(const char *type, const char *const *options, size_t count);

enum mounts_flag {
	MOUNTS_READ_ONLY = 1 << 0,
	MOUNTS_NO_DEVICES = 1 << 1,
	MOUNTS_NO_SETID = 1 << 2,
	MOUNTS_NO_LINKS = 1 << 3, /* symbolic links in it are not followed: ELOOP. Linux 5.14 */
};

/* mounts_clone_tree and mounts_restrict_copy in one: a single system call with open_tree_attr(2), Linux 6.15. */
int mounts_clone_restricted(int fd, const char *path, unsigned flags);

/* Sets MOUNTS_* on a copy, recursively. 0 or -errno. */
int mounts_restrict_copy(int mount_fd, unsigned flags);

/* Attaches a copy at (dirfd, path; path "" is dirfd itself); a final symbolic link is not followed. 0 or -errno. */
int mounts_attach_copy(int mount_fd, int dirfd, const char *path);

/* A line of mountinfo: proc_pid_mountinfo(5). */
struct mounts_line {
	char *root;  /* the directory of the file system that is mounted */
	char *point; /* where */
	const char *type, *options; /* of the file system */
};

/* Splits a line in place. False: the line has another form. */
bool mounts_parse_line(char *line, struct mounts_line *ret_line);

#endif
