/* The mount calls of Linux 5.2 and 5.12, by descriptor: open_tree(2), move_mount(2), mount_setattr(2), fsopen(2). */
#ifndef CALLGATE_BASE_MOUNTS_H
#define CALLGATE_BASE_MOUNTS_H

#include <stddef.h>

/*
 * A copy of what is mounted at (fd, path; path "" is fd itself) with everything mounted below it, attached nowhere: a
 * CLOEXEC descriptor owned by the caller, or -errno. In a user namespace a tree can only be copied whole.
 */
int mounts_clone(int fd, const char *path);

/*
 * A new instance of a file system ("tmpfs", "proc"), nosuid, nodev, noexec, as mounts_clone gives it. options: names
 * and values in turn, `count` texts.
 */
int mounts_make(const char *type, const char *const *options, size_t count);

enum mounts_flag {
	MOUNTS_READ_ONLY = 1 << 0,
	MOUNTS_NO_DEVICES = 1 << 1,
	MOUNTS_NO_SETID = 1 << 2,
	MOUNTS_NO_LINKS = 1 << 3, /* no symbolic link is followed there: ELOOP. Linux 5.14 */
};

/* mounts_clone and mounts_restrict, in one call where the kernel has that (open_tree_attr(2), Linux 6.15). */
int mounts_clone_as(int fd, const char *path, unsigned flags);

/* Adds MOUNTS_* to a copy and everything below it. 0 or -errno. */
int mounts_restrict(int mount_fd, unsigned flags);

/* Puts a copy at (dirfd, path; path "" is dirfd itself), following no link at the end. 0 or -errno. */
int mounts_attach(int mount_fd, int dirfd, const char *path);

#endif
