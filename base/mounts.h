/* The mount system calls that use descriptors: open_tree(2), move_mount(2), mount_setattr(2), fsopen(2). Linux 5.12. */
#ifndef CALLGATE_BASE_MOUNTS_H
#define CALLGATE_BASE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes a detached copy of the mount at (fd, path; path "" is fd itself), with all mounts below. Returns a descriptor
 * owned by the caller, O_CLOEXEC, or -errno. A user namespace that does not own the mounts may only copy whole trees.
 */
int mounts_clone_tree(int fd, const char *path);

/*
 * Makes a new instance of a file system ("tmpfs", "proc", "devpts"): detached, nosuid, noexec, and nodev unless
 * "devpts". `options` has `count` strings: names and values alternate. Returns as mounts_clone_tree.
 */
int mounts_create_fs(const char *type, const char *const *options, size_t count);

/*
 * Makes a detached overlay of the directory upper_fd over the directory lower_fd. work_fd: an empty directory on the
 * file system of upper_fd. flags: MOUNTS_*. plain_layer: each name of the upper layer has its whole content, so that
 * others than the kernel can read it; renaming a directory of the lower layer is EXDEV then. *ret_user_xattr: whether
 * the attributes of the overlay in the upper layer are user.overlay.*, not trusted.overlay.*. A CLOEXEC descriptor
 * owned by the caller, or -errno.
 */
int mounts_create_overlay(int lower_fd, int upper_fd, int work_fd, unsigned flags, bool plain_layer,
			  bool *ret_user_xattr);

/*
 * Makes a detached, read-only overlay of two directories. Of two entries with one name, that of first_fd is seen, but
 * two directories become one, with the attributes of the first. flags: MOUNTS_*. Returns as mounts_create_overlay.
 */
int mounts_create_union(int first_fd, int second_fd, unsigned flags);

enum mounts_flag {
	MOUNTS_READ_ONLY = 1 << 0,
	MOUNTS_NO_DEVICES = 1 << 1,  /* device files in the mount cannot be opened */
	MOUNTS_NO_SETID = 1 << 2,    /* set-user-ID and set-group-ID bits have no effect */
	MOUNTS_NO_SYMLINKS = 1 << 3, /* symbolic links in the mount fail with ELOOP. Linux 5.14 */
};

/* Combines mounts_clone_tree and mounts_restrict_copy: one system call since Linux 6.15, open_tree_attr(2). */
int mounts_clone_restricted(int fd, const char *path, unsigned flags);

/* Sets MOUNTS_* flags on a detached copy and on all mounts in it. 0 or -errno. */
int mounts_restrict_copy(int mount_fd, unsigned flags);

/* Makes an attached mount, and none below it, read-only. mount_fd: its root. 0 or -errno. */
int mounts_make_read_only(int mount_fd);

/* Attaches a detached copy at (dirfd, path; path "" is dirfd itself), not following a final link. 0 or -errno. */
int mounts_attach_copy(int mount_fd, int dirfd, const char *path);

/* One line of /proc/PID/mountinfo: proc_pid_mountinfo(5). */
struct mountinfo_line {
	char *root;  /* the directory of the file system that is mounted at `mount_point` */
	char *mount_point; /* path of the mount point */
	const char *type, *options; /* the file system's type and its mount options */
};

/* Splits a line of mountinfo in place. False when the line has another form. */
bool mounts_parse_mountinfo_line(char *line, struct mountinfo_line *ret_line);

/*
 * True when /proc is the only procfs among the mounts that this process reaches. False: it is not, or the kernel has no
 * statmount(2): the caller then reads mountinfo. A line of mountinfo takes the kernel ten times as long as a statmount.
 */
bool mounts_have_procfs_only_at_proc(void);

#endif
