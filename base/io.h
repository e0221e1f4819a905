/* Reads, writes and copies that go on until everything is done. Removes directory trees. */
#ifndef CALLGATE_BASE_IO_H
#define CALLGATE_BASE_IO_H

#include <dirent.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes all `len` bytes, resuming after EINTR and short writes. 0 or -errno. */
int io_write_all(int fd, const void *bytes, size_t len);

/*
 * Whether -errno of opening a file says that there is none of this name, or none for the caller. Any other says that it
 * is not known: to be looked for is not the same as to be missing where too few descriptors or a full disk decide.
 */
bool io_error_means_absent(int error);

/* For openat2(2): follow no symbolic links, and stay below the directory. */
#define IO_RESOLVE_BELOW (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* openat2(2) with O_CLOEXEC. A descriptor owned by the caller, or -errno. */
int openat2_retry(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);

/* Likewise with O_NOATIME, or without it where that is for the owner of the file alone. */
int io_open_keeping_atime(int dirfd, const char *path, int flags, uint64_t resolve);

/* 0, or the errno with which the kernel, or a filter on this process, refuses openat2(2). */
int io_find_openat2_errno(void);

/*
 * Opens a path that has been resolved: no part of it may be a symbolic link. -ELOOP: a part has become one since. A
 * descriptor owned by the caller, with O_CLOEXEC, or -errno.
 */
int io_open_without_links(const char *path, int flags);

/*
 * Opens the directory, at or below the other one, that the last name of a path is in. *ret_name: that name, borrowed. A
 * descriptor owned by the caller, or -errno.
 */
int io_open_parent_below(int dirfd, const char *path, int flags, uint64_t resolve, const char **ret_name);

/*
 * Opens a file for reading if it is a regular one, following links. For names that a hostile file gives: to open a FIFO
 * or a device does something already (a watchdog starts, a tape rewinds). Waits for nothing: -EWOULDBLOCK, another
 * process has a lease on it. A descriptor owned by the caller, -EINVAL: it is no regular file, or -errno.
 */
int io_open_regular(const char *path);

/* True when a directory has a name, which may be that of a link, or when that cannot be found out. */
bool io_may_have_name(int dirfd, const char *name);

/* Opens a directory, following no link as the last component. A descriptor owned by the caller, or -errno. */
int io_open_dir(int dirfd, const char *name);

/*
 * As fdopendir(3), but takes fd in any case, also on failure. fd may be -errno, which becomes errno. NULL: with errno.
 */
DIR *io_take_dir_stream(int fd);

/*
 * Reads the next entry of a directory but "." and "..", borrowed until the next read. NULL: there is none, or it cannot
 * be read. *ret_error: 0, or -errno when it cannot be read: readdir(3) tells that apart from the end only by errno.
 */
const struct dirent *io_read_entry(DIR *dir, int *ret_error);

/* Reads a whole file, NUL-terminated, owned by the caller. 0, -EFBIG when it has more than `cap` bytes, or -errno. */
int io_read_file(int dirfd, const char *path, size_t cap, char **ret_text, size_t *ret_len);
int io_read_fd(int fd, size_t cap, char **ret_text, size_t *ret_len);

/* "/proc/self/fd/N": the path of our own descriptor, for system calls that take a path (chmod, setxattr, open). */
struct io_proc_fd_path {
	char path[sizeof("/proc/self/fd/") + 10];
};
struct io_proc_fd_path io_proc_fd_path(int fd);
/* Reads the name that the kernel has for what a descriptor refers to, NUL-terminated. Its length, or -errno. */
ssize_t io_read_fd_name(int fd, char ret_name[PATH_MAX]);

/* Reads a small file of procfs or of a control group by one read(2), NUL-terminated. Returns the length or -errno. */
ssize_t io_read_once(int dirfd, const char *path, char *text, size_t size);
/* Writes a small file of procfs or of a control group by one write(2). 0 or -errno. */
int io_write_once(int dirfd, const char *path, const char *text);

/* Copies up to `max` bytes from one descriptor to the other. 0 or -errno. */
int io_copy_bytes(int from_fd, int to_fd, uint64_t max, uint64_t *ret_copied);

/* Whether what takes long is to go on: asked every few tenths of a second. */
struct io_go_on {
	bool (*asks)(void *ctx);
	void *ctx;
};

/*
 * Copies a whole regular file into an empty one. Holes stay holes: they can be terabytes large. go_on may be NULL. 0;
 * -ECANCELED: it is not to go on; or -errno.
 */
int io_copy_sparse(int from_fd, int to_fd, const struct io_go_on *go_on);

/* True for an error of renameat2(2) where the file system has none of its flags, such as NFS and some by FUSE. */
bool io_error_means_no_rename_flags(int error);

/*
 * Gives an entry a name that nothing has. Where the file system has no RENAME_NOREPLACE, it gets the name by a link,
 * and then loses the old one; a directory may take the place of an empty one. -EEXIST: something has the name. 0 or
 * -errno.
 */
int io_rename_new(int from_dirfd, const char *from, int to_dirfd, const char *to);

/* Removes a directory tree, following no links; chmods directories that the owner may not write. 0 or -errno. */
int io_remove_tree(int dirfd, const char *name);

/* Returns the time of CLOCK_MONOTONIC in nanoseconds. */
uint64_t io_read_clock_ns(void);

#endif
