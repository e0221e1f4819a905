#include "syscalls/file/raise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "view/copy/copy.h"
#include "view/copy/leftover.h"

/* True when the upper layer has nothing at the place, so that the file is as it was. */
static bool raise_is_in_lower_only(const struct place *place)
{
	const struct view_layer *layer = place->mount->layer;
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "upper/%s", place->path_below_mount_fd) >= sizeof(path))
		return false;
	fd = openat2_retry(layer->dir_fd, path, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	if (fd >= 0)
		(void)close(fd);
	return fd == -ENOENT;
}

/*
 * Copies the file into a directory, and puts it into its place. acls_fd: -1 or COPY_WITHOUT_ACLS. 0; -EINVAL: its ACL
 * cannot be copied; or -errno.
 */
static int raise_by_copy(int parent_fd, const char *name, const struct stat *st, int dir_fd, int acls_fd)
{
	struct copy_context context = {.acls_fd = acls_fd};
	struct stat copied;
	const char *what;
	int r = copy_entry(parent_fd, name, st, dir_fd, &context, NULL, &what);

	if (r == 0 && fstatat(dir_fd, name, &copied, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	if (r == 0 && (copied.st_uid != st->st_uid || copied.st_gid != st->st_gid || copied.st_mode != st->st_mode))
		r = -EPERM;
	if (r == 0 && renameat(dir_fd, name, parent_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, name, 0); /* as far as it was made */
	return r;
}

/*
 * Notes where the directory for the copy will be, for when this process is killed, after what an earlier note tells has
 * been removed: of a `callgate session restore` that was killed. 0 or -errno.
 */
static int raise_note_dir(const struct place *place, int parent_fd)
{
	const int layer_fd = place->mount->layer->dir_fd;
	char dir[PATH_MAX], path[PATH_MAX];
	const char *name;
	struct stat st;
	int r = leftover_remove(layer_fd, place->mount->fd);

	if (r < 0)
		return r;
	if (fstatat(parent_fd, LEFTOVER_LINK_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST; /* not ours */
	r = path_split(place->path_below_mount_fd, dir, &name);
	if (r == 0)
		r = path_append_name(dir, LEFTOVER_LINK_NAME, path);
	return r < 0 ? r : leftover_note(layer_fd, path);
}

/*
 * Puts a file into its place that has capabilities or an ACL which this process may not give to its copy. The kernel
 * may: it copies the file up for a link, whose inode in a user namespace is another one that no lower file belongs to
 * (names_check_linked()). rename(2) to another name of the same upper inode does nothing, so a copy that lacks these is
 * put there between. 0, also when both names have one inode and nothing has to be done, or -errno.
 */
static int raise_by_link(int parent_fd, const char *name, const struct stat *st, int dir_fd)
{
	struct stat linked;
	int r = 0;

	if (linkat(parent_fd, name, dir_fd, LEFTOVER_LINK_NAME, 0) < 0)
		return -errno;
	if (fstatat(dir_fd, LEFTOVER_LINK_NAME, &linked, AT_SYMLINK_NOFOLLOW) < 0)
		r = -errno;
	else if (linked.st_ino != st->st_ino) {
		r = raise_by_copy(parent_fd, name, st, dir_fd, COPY_WITHOUT_ACLS);
		if (r == 0 && renameat(dir_fd, LEFTOVER_LINK_NAME, parent_fd, name) < 0)
			r = -errno;
	}
	(void)unlinkat(dir_fd, LEFTOVER_LINK_NAME, 0); /* where it is still there */
	return r;
}

/* Makes the directory for the copy, and removes it again. The times of the one above stay. 0 or -errno. */
static int raise_in_dir(int parent_fd, const char *name, const struct stat *st, bool has_capabilities)
{
	_cleanup_close_ int dir = -1;
	struct stat parent;
	int r;

	if (fstat(parent_fd, &parent) < 0 || mkdirat(parent_fd, LEFTOVER_LINK_NAME, 0700) < 0)
		return -errno;
	dir = io_open_dir(parent_fd, LEFTOVER_LINK_NAME);
	if (dir >= 0)
		(void)fremovexattr(dir, "system.posix_acl_default"); /* which the copy would inherit */
	r = dir < 0 ? dir : has_capabilities ? -EINVAL : raise_by_copy(parent_fd, name, st, dir, -1);
	if (r == -EINVAL)
		r = raise_by_link(parent_fd, name, st, dir);
	(void)unlinkat(parent_fd, LEFTOVER_LINK_NAME, AT_REMOVEDIR);
	(void)futimens(parent_fd, (const struct timespec[2]){parent.st_atim, parent.st_mtim});
	return r;
}

static bool raise_is_same_dir(int dir_fd, int other_fd)
{
	struct stat dir, other;

	return fstat(dir_fd, &dir) == 0 && fstat(other_fd, &other) == 0 && dir.st_ino == other.st_ino &&
	       dir.st_dev == other.st_dev;
}

void raise_file(struct call *call, unsigned i, int parent_fd, int *object_fd)
{
	const struct place *place = &call->resolved_place[i];
	_cleanup_close_ int parent = -1;
	struct stat st, named;
	const char *name;
	int fd, r;

	if (!place->mount || !place->mount->layer || !(place->mount->flags & MOUNT_OVERLAY) || place->is_magic_link ||
	    fstat(*object_fd, &st) < 0 || !S_ISREG(st.st_mode) || !raise_is_in_lower_only(place))
		return;
	parent = io_open_parent_below(place->mount->fd, place->path_below_mount_fd, O_RDONLY, RESOLVE_NO_XDEV, &name);
	if (parent < 0 || !raise_is_same_dir(parent, parent_fd) ||
	    fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || named.st_ino != st.st_ino ||
	    named.st_dev != st.st_dev || raise_note_dir(place, parent) < 0)
		return;
	r = raise_in_dir(parent, name, &st,
			 getxattr(io_proc_fd_path(*object_fd).path, "security.capability", NULL, 0) >= 0);
	leftover_forget(place->mount->layer->dir_fd);
	if (r < 0)
		return;
	fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)close(*object_fd);
	*object_fd = fd;
}
