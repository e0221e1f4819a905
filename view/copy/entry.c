/* Copies one entry of a directory, with its attributes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/copy/acls.h"
#include "view/copy/copy.h"

#define COPY_BYTES_BETWEEN_CHECKS (UINT64_C(16) << 20) /* copied bytes after which the room on the disk is looked at */
#define COPY_KEPT_FREE_PART 64                         /* 1/64 of a file system stays free for others */
#define COPY_ATTRIBUTES_BUFFER_SIZE (XATTR_LIST_MAX + 2 * XATTR_SIZE_MAX) /* a list of names and two values */

/* ---- attributes ---- */

/*
 * True for an attribute that need not be copied: security modules label files by where they are, and what only root
 * sees is no program's.
 */
static bool copy_may_skip_attribute(const char *name)
{
	return strncmp(name, "user.", strlen("user.")) != 0 && strncmp(name, "system.", strlen("system.")) != 0;
}

/* Copies one extended attribute. value: room for XATTR_SIZE_MAX. 0 or -errno. */
static int copy_attribute(const char *from, const char *to, const char *name, char *value)
{
	const ssize_t len = getxattr(from, name, value, XATTR_SIZE_MAX);

	if (len >= 0 && setxattr(to, name, value, (size_t)len, 0) == 0)
		return 0;
	return copy_may_skip_attribute(name) || errno == ENODATA ? 0 : -errno;
}

/* Whether copying an attribute fails since it is an ACL of a user or group that has no number here. */
static bool copy_lacks_number(const char *name, int error)
{
	return error == -EINVAL && strncmp(name, "system.posix_acl_", strlen("system.posix_acl_")) == 0;
}

static int copy_extended_attributes(int from_fd, int to_fd, int acls_fd)
{
	const struct io_proc_fd_path from_path = io_proc_fd_path(from_fd), to_path = io_proc_fd_path(to_fd);
	const char *const from = from_path.path, *const to = to_path.path;
	_cleanup_free_ char *names = NULL;
	ssize_t len = flistxattr(from_fd, NULL, 0);
	int r = 0;

	if (len < 0 && errno == EBADF) /* O_PATH */
		len = listxattr(from, NULL, 0);

	if (len <= 0)
		return len < 0 && errno != EOPNOTSUPP ? -errno : 0;
	names = malloc(XATTR_LIST_MAX + XATTR_SIZE_MAX);
	if (!names)
		return -ENOMEM;
	len = listxattr(from, names, XATTR_LIST_MAX);
	if (len < 0)
		return -errno;
	for (ssize_t at = 0; r == 0 && at < len; at += (ssize_t)strlen(names + at) + 1) {
		r = copy_attribute(from, to, names + at, names + XATTR_LIST_MAX);
		if (copy_lacks_number(names + at, r))
			r = acls_fd == COPY_WITHOUT_ACLS ? 0 : acls_copy(acls_fd, from_fd, to_fd);
	}
	return r;
}

/* Sets the mode of what is open, perhaps with O_PATH. 0 or -errno. */
static int copy_mode(int fd, const char *link, mode_t mode)
{
	if (fchmod(fd, mode) == 0)
		return 0;
	return errno != EBADF || chmod(link, mode) < 0 ? -errno : 0;
}

static int copy_times(int fd, const char *link, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (futimens(fd, times) == 0)
		return 0;
	return errno != EBADF || utimensat(AT_FDCWD, link, times, 0) < 0 ? -errno : 0;
}

int copy_attributes(int from_fd, int to_fd, int acls_fd, const char **ret_what)
{
	const struct io_proc_fd_path to = io_proc_fd_path(to_fd);
	struct stat st, own;
	int r;

	*ret_what = "has attributes that cannot be copied";
	if (fstat(from_fd, &st) < 0 || fstat(to_fd, &own) < 0)
		return -errno;
	/* What belongs to another user is the program's own in the copy, unless this process may change that. */
	if (st.st_uid != own.st_uid || st.st_gid != own.st_gid)
		(void)!fchownat(to_fd, "", st.st_uid, st.st_gid, AT_EMPTY_PATH);
	r = copy_extended_attributes(from_fd, to_fd, acls_fd);
	if (r == 0 && !S_ISLNK(st.st_mode))
		r = copy_mode(to_fd, to.path, st.st_mode & 07777);
	return r < 0 ? r : copy_times(to_fd, to.path, &st);
}

/* ---- attributes of the directory itself ---- */

/* Lists the extended attributes of a directory. Returns the length or -errno. */
static ssize_t copy_list_attributes(int fd, char ret_names[XATTR_LIST_MAX])
{
	const ssize_t len = flistxattr(fd, ret_names, XATTR_LIST_MAX);

	return len < 0 && errno != EOPNOTSUPP ? -errno : len < 0 ? 0 : len;
}

/* True when one of the names is an overlay's. */
static bool copy_has_overlay_attribute(const char *names, ssize_t len)
{
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		if (strncmp(names + at, "trusted.overlay.", 16) == 0 || strncmp(names + at, "user.overlay.", 13) == 0)
			return true;
	return false;
}

/* True for an attribute by which a security module labels files by where they are. */
static bool copy_is_label(const char *name)
{
	return strncmp(name, "security.", strlen("security.")) == 0;
}

/* Counts the attributes, and whether each has the value that it has in another directory. -1: one has another one. */
static int copy_count_equal(int fd, int other_fd, const char *names, ssize_t len, char *values)
{
	int count = 0;

	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;
		ssize_t size, other;

		if (copy_is_label(name))
			continue;
		size = fgetxattr(fd, name, values, XATTR_SIZE_MAX);
		other = fgetxattr(other_fd, name, values + XATTR_SIZE_MAX, XATTR_SIZE_MAX);
		if (size < 0 || size != other || memcmp(values, values + XATTR_SIZE_MAX, (size_t)size) != 0)
			return -1;
		count++;
	}
	return count;
}

/* copy_has_same_attributes() with a buffer of COPY_ATTRIBUTES_BUFFER_SIZE. */
static bool copy_is_equal(int from_fd, int to_fd, char *buffer)
{
	char *const names = buffer, *const values = buffer + XATTR_LIST_MAX;
	struct stat from, to;
	ssize_t len;
	int count;

	if (fstat(from_fd, &from) < 0 || fstat(to_fd, &to) < 0 || from.st_mode != to.st_mode ||
	    from.st_uid != to.st_uid || from.st_gid != to.st_gid)
		return false;
	len = copy_list_attributes(from_fd, names);
	count = len < 0 ? -1 : copy_count_equal(from_fd, to_fd, names, len, values);
	if (count < 0)
		return false;
	len = copy_list_attributes(to_fd, names);
	return len >= 0 && copy_count_equal(to_fd, from_fd, names, len, values) == count;
}

bool copy_has_same_attributes(int fd, int other_fd)
{
	_cleanup_free_ char *buffer = malloc(COPY_ATTRIBUTES_BUFFER_SIZE);

	return buffer && copy_is_equal(fd, other_fd, buffer);
}

int copy_root_attributes(int from_fd, int to_fd, int layer_fd, int acls_fd)
{
	_cleanup_free_ char *buffer = malloc(COPY_ATTRIBUTES_BUFFER_SIZE);
	_cleanup_close_ int marker = -1;
	const char *what;
	ssize_t len;
	int r;

	if (!buffer)
		return -ENOMEM;
	len = copy_list_attributes(from_fd, buffer);
	if (len < 0)
		return (int)len;
	if (copy_has_overlay_attribute(buffer, len))
		return -EOPNOTSUPP;
	r = copy_attributes(from_fd, to_fd, acls_fd, &what);
	if (r < 0 || !copy_is_equal(from_fd, to_fd, buffer))
		return r;
	marker = openat(layer_fd, COPY_ROOT_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return marker < 0 ? -errno : 0;
}

/* ---- files ---- */

/* -ENOSPC unless the file system has room for so many bytes more, and some for others. */
static int copy_check_room(int dir_fd, uint64_t bytes, struct copy_context *context)
{
	struct statvfs fs;

	context->unchecked_bytes += bytes;
	if (context->unchecked_bytes < COPY_BYTES_BETWEEN_CHECKS)
		return 0;
	context->unchecked_bytes = 0;
	if (fstatvfs(dir_fd, &fs) < 0)
		return 0; /* then writing tells */
	return (uint64_t)fs.f_bavail * fs.f_frsize < bytes + (uint64_t)fs.f_blocks * fs.f_frsize / COPY_KEPT_FREE_PART
		       ? -ENOSPC
		       : 0;
}

/* Opens a regular file; its access time stays. -ENOENT: it has become something else. A descriptor or -errno. */
static int copy_open_file(int dir_fd, const char *name, struct stat *ret_st)
{
	_cleanup_close_ int fd = io_open_keeping_atime(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
						       IO_RESOLVE_BELOW | RESOLVE_NO_XDEV);

	if (fd == -ELOOP || fd == -ENXIO)
		return -ENOENT;
	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0)
		return -errno;
	return S_ISREG(ret_st->st_mode) ? steal_fd(&fd) : -ENOENT;
}

static int copy_content(int from_fd, int to_fd, uint64_t bytes, struct copy_context *context)
{
	int r;

	if (bytes == 0)
		return io_copy_sparse(from_fd, to_fd, context->go_on);
	if (ioctl(to_fd, FICLONE, from_fd) == 0)
		return 0;
	r = copy_check_room(to_fd, bytes, context);
	return r < 0 ? r : io_copy_sparse(from_fd, to_fd, context->go_on);
}

bool copy_may_read_later(const struct stat *st)
{
	const mode_t want = S_ISDIR(st->st_mode) ? S_IXOTH : S_IROTH;

	/* Of a user who is neither the owner nor in the group, the group's bits may count as well, by an ACL. */
	if (st->st_uid != geteuid())
		return st->st_mode & want && st->st_mode & want << 3;
	return st->st_mode & want << 6;
}

/*
 * Whether the copy of a file can be filled later. An empty one, or one hole, is simply copied. So is one with
 * capabilities: writing takes them, and when it is filled they cannot be set again.
 */
static bool copy_can_be_placeholder(int from_fd, const struct stat *st)
{
	return st->st_size > 0 && st->st_blocks > 0 && copy_may_read_later(st) &&
	       fgetxattr(from_fd, "security.capability", NULL, 0) < 0;
}

/*
 * Makes an empty file a placeholder. 1; 0: it has to be copied, since without capabilities this process could not write
 * to it, as it has given it to another user; or -errno.
 */
static int copy_make_placeholder(int from_fd, int to_fd, int acls_fd, struct copy_placeholder *placeholder,
				 const char **ret_what)
{
	struct stat from, to;
	int r;

	if (fstat(from_fd, &from) < 0 || ftruncate(to_fd, from.st_size) < 0)
		return -errno;
	r = copy_attributes(from_fd, to_fd, acls_fd, ret_what);
	if (r < 0)
		return r;
	if (fstat(to_fd, &to) < 0)
		return -errno;
	if (to.st_uid != geteuid())
		return 0;
	*placeholder = (struct copy_placeholder){.inode = to.st_ino,
						 .device = to.st_dev,
						 .source_inode = from.st_ino,
						 .size = (uint64_t)from.st_size,
						 .source_bytes = (uint64_t)from.st_blocks * 512,
						 .source_mtime = {from.st_mtim.tv_sec, from.st_mtim.tv_nsec},
						 .source_ctime = {from.st_ctim.tv_sec, from.st_ctim.tv_nsec}};
	return 1;
}

static int copy_file(int from_dir_fd, const char *name, int to_dir_fd, struct copy_context *context,
		     struct copy_placeholder *placeholder, const char **ret_what)
{
	struct stat st;
	_cleanup_close_ int from = copy_open_file(from_dir_fd, name, &st), to = -1;
	int r;

	*ret_what = from == -EXDEV ? "is a mount of its own" : "cannot be read";
	if (from == -ENOENT)
		return 0;
	if (from < 0)
		return from;
	*ret_what = "cannot be written to the copy in TMPDIR";
	to = openat(to_dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	if (placeholder && copy_can_be_placeholder(from, &st)) {
		r = copy_make_placeholder(from, to, context->acls_fd, placeholder, ret_what);
		if (r != 0)
			return r < 0 ? r : 0;
		*ret_what = "cannot be written to the copy in TMPDIR";
	}
	r = copy_content(from, to, (uint64_t)st.st_blocks * 512, context);
	return r < 0 ? r : copy_attributes(from, to, context->acls_fd, ret_what);
}

/* ---- other entries ---- */

static int copy_make_link(int from_dir_fd, const char *name, int to_dir_fd)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(from_dir_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return symlinkat(target, to_dir_fd, name) < 0 ? -errno : 0;
}

/* Makes a link, FIFO, socket or device, and copies its attributes. */
static int copy_node(int from_dir_fd, const char *name, const struct stat *st, int to_dir_fd, int acls_fd,
		     const char **ret_what)
{
	_cleanup_close_ int from = -1, to = -1;
	int r;

	*ret_what = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? "is a device, which cannot be copied"
								 : "cannot be copied";
	if (S_ISLNK(st->st_mode))
		r = copy_make_link(from_dir_fd, name, to_dir_fd);
	else
		r = mknodat(to_dir_fd, name, (st->st_mode & S_IFMT) | 0600, st->st_rdev) < 0 ? -errno : 0;
	if (r < 0)
		return r == -ENOENT || r == -EINVAL ? 0 : r; /* it is no link any more */
	from = openat(from_dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	to = openat(to_dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return -errno;
	return from < 0 ? 0 : copy_attributes(from, to, acls_fd, ret_what);
}

int copy_entry(int from_dir_fd, const char *name, const struct stat *st, int to_dir_fd, struct copy_context *context,
	       struct copy_placeholder *placeholder, const char **ret_what)
{
	if (placeholder)
		placeholder->inode = 0;
	return S_ISREG(st->st_mode) ? copy_file(from_dir_fd, name, to_dir_fd, context, placeholder, ret_what)
				    : copy_node(from_dir_fd, name, st, to_dir_fd, context->acls_fd, ret_what);
}
