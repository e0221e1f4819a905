#include "workspace/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/times.h"

void place_format_name(const char *id, size_t number, char ret_name[PLACE_NAME_SIZE])
{
	const int len = snprintf(ret_name, PLACE_NAME_SIZE, ".callgate-%.*s", WORKSPACE_ID_LEN, id);

	if (number > 0)
		(void)snprintf(ret_name + len, PLACE_NAME_SIZE - (size_t)len, ".%zu", number);
}

int place_open_parent(int root_fd, const char *path, const char **ret_name)
{
	_cleanup_close_ int entry = -1;
	char dir[PATH_MAX];
	struct stat st;
	int r = path_split(path, dir, ret_name);

	if (r < 0)
		return r;
	entry = workspace_open_entry(root_fd, dir);
	if (entry < 0)
		return entry;
	if (fstat(entry, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? workspace_open_content(entry) : -ENOTDIR;
}

bool place_is_without_dir(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

/* ---- new entries ---- */

/* Makes a regular file with the content of one in the layer. A descriptor of it, or -errno. */
static int place_make_file(int dir_fd, const char *name, int upper_fd, unsigned flags)
{
	_cleanup_close_ int from = workspace_open_content(upper_fd), to = -1;
	int r;

	if (from < 0)
		return from;
	to = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	r = io_copy_sparse(from, to, NULL);
	if (r == 0 && flags & PLACE_ON_DISK && fsync(to) < 0)
		r = -errno;
	if (r == 0)
		return steal_fd(&to);
	(void)unlinkat(dir_fd, name, 0); /* as far as it was made */
	return r;
}

static int place_make_symlink(int dir_fd, const char *name, int upper_fd)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(upper_fd, "", target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return symlinkat(target, dir_fd, name) < 0 ? -errno : 0;
}

/*
 * Opens what was just made, with O_PATH. -EBUSY: another user has put something else there: what gets owner and mode
 * would be that. -EPERM: the file system, or another user, has given it another owner. A descriptor or -errno.
 */
static int place_open_made(int dir_fd, const char *name, mode_t mode)
{
	_cleanup_close_ int fd = workspace_open_entry(dir_fd, name);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (((st.st_mode ^ mode) & S_IFMT) != 0 || st.st_nlink != 1)
		return -EBUSY;
	return st.st_uid == geteuid() ? steal_fd(&fd) : -EPERM;
}

/* Makes an entry of the type that it has in the layer. -EPERM: a device. A descriptor of it, or -errno. */
static int place_make(int dir_fd, const char *name, int upper_fd, mode_t mode, unsigned flags)
{
	int r = -EPERM;

	if (S_ISREG(mode))
		return place_make_file(dir_fd, name, upper_fd, flags);
	if (S_ISLNK(mode))
		r = place_make_symlink(dir_fd, name, upper_fd);
	else if (S_ISFIFO(mode) || S_ISSOCK(mode))
		r = mknodat(dir_fd, name, (mode & S_IFMT) | 0600, 0) < 0 ? -errno : 0;
	if (r < 0)
		return r;
	r = place_open_made(dir_fd, name, mode);
	if (r < 0 && r != -EBUSY)
		(void)unlinkat(dir_fd, name, 0);
	return r;
}

/* As place_make_copy(). old_fd: the entry that it replaces, open with O_PATH, or -1. */
static int place_make_copy_of_old(const struct workspace_layer *layer, int dir_fd, const char *name, int from_fd,
				  mode_t mode, int old_fd, unsigned flags)
{
	_cleanup_close_ int fd = place_make(dir_fd, name, from_fd, mode, flags);
	int r = fd < 0 ? fd : place_copy_metadata(layer, from_fd, fd, old_fd, flags);

	if (fd >= 0 && r < 0)
		(void)unlinkat(dir_fd, name, 0); /* as far as it was made */
	return r;
}

int place_make_copy(const struct workspace_layer *layer, int dir_fd, const char *name, int from_fd, mode_t mode,
		    unsigned flags)
{
	return place_make_copy_of_old(layer, dir_fd, name, from_fd, mode, -1, flags);
}

/* ---- replacing ---- */

/* True for an entry that has another mode or owner than when it was compared. */
static bool place_has_other_rights(const struct stat *st, const struct workspace_entry *old)
{
	return st->st_mode != old->mode || st->st_uid != old->uid || st->st_gid != old->gid;
}

int place_check_old(int dir_fd, const char *name, const struct workspace_entry *old, bool was_renamed)
{
	/* An apply that replaces or removes another name of a file sets its change time, as renaming does. */
	const bool is_ctime_kept = !was_renamed && old->nlink == 1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (st.st_ino != old->ino || ((st.st_mode ^ old->mode) & S_IFMT) != 0)
		return -ESTALE;
	if (S_ISDIR(st.st_mode)) /* its entries are judged themselves */
		return 0;
	if ((uint64_t)st.st_size != old->size || times_compare(&st.st_mtim, &old->mtime) != 0 ||
	    place_has_other_rights(&st, old))
		return -ESTALE;
	return is_ctime_kept && times_compare(&st.st_ctim, &old->ctime) != 0 ? -ESTALE : 0;
}

/* Gives an entry its name, instead of the old one. 0 or -errno. */
static int place_rename(int dir_fd, const char *temporary, const char *name, const struct workspace_change *change)
{
	const bool replaces = change->base.exists && !S_ISDIR(change->base.mode);
	const int r = replaces ? place_check_old(dir_fd, name, &change->base, false) : 0;

	if (r < 0)
		return r;
	if (!replaces)
		return io_rename_new(dir_fd, temporary, dir_fd, name);
	return renameat(dir_fd, temporary, dir_fd, name) < 0 ? -errno : 0;
}

/*
 * Makes a directory. Owner, times and the rest of the mode come last, when all is in it; the mode comes now as well as
 * can be, so that an apply which goes on after an interruption does not take it for another process's.
 */
static int place_make_dir(int dir_fd, const char *name, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (mkdirat(dir_fd, name, 0700) < 0)
		return -errno;
	fd = io_open_dir(dir_fd, name);
	r = fd < 0 ? fd : fchmod(fd, (mode & 0777) | S_IRWXU) < 0 ? -errno : 0;
	if (r < 0)
		(void)unlinkat(dir_fd, name, AT_REMOVEDIR); /* as far as it was made */
	return r;
}

/* True for a change whose entry is to have another group than in the layer. */
static bool place_has_other_group(int upper_fd, const struct workspace_change *change)
{
	struct stat upper;

	return fstat(upper_fd, &upper) == 0 && upper.st_gid != change->upper.gid;
}

/*
 * Gives an entry, open with O_PATH, the group of a change, and its mode after that, as chown(2) takes set-id bits. 0 or
 * -errno.
 */
static int place_set_group(int fd, const struct workspace_change *change)
{
	if (fchownat(fd, "", (uid_t)-1, change->upper.gid, AT_EMPTY_PATH) < 0)
		return -errno;
	if (S_ISLNK(change->upper.mode))
		return 0;
	return chmod(io_proc_fd_path(fd).path, change->upper.mode & 07777) < 0 ? -errno : 0;
}

/*
 * Opens, with O_PATH, the entry of the directory that the program has changed, perhaps also renamed. -1: it has made
 * the entry anew.
 */
static int place_open_changed(const struct workspace_layer *layer, const struct workspace_change *change, int upper_fd)
{
	const char *path = change->base.exists ? change->path : change->old_path;

	if (!path || change->kind == WORKSPACE_REPLACED || !workspace_is_same_file(layer, change->path, upper_fd))
		return -1;
	return workspace_open_entry(layer->base_fd, path);
}

/* Makes an entry under a temporary name, as the change has it. 0 or -errno. */
static int place_make_changed(const struct workspace_layer *layer, const struct workspace_change *change, int dir_fd,
			      const char *temporary, int upper_fd)
{
	_cleanup_close_ int fd = -1, old = place_open_changed(layer, change, upper_fd);
	int r = place_make_copy_of_old(layer, dir_fd, temporary, upper_fd, change->upper.mode, old,
				       PLACE_ON_DISK | PLACE_IN_BASE);

	if (r < 0 || !place_has_other_group(upper_fd, change))
		return r;
	fd = place_open_made(dir_fd, temporary, change->upper.mode);
	r = fd < 0 ? fd : place_set_group(fd, change);
	if (r < 0)
		(void)unlinkat(dir_fd, temporary, 0);
	return r;
}

/* As place_make_new(), in an open directory. */
static int place_make_new_in(const struct workspace_layer *layer, const struct workspace_change *change, int dir_fd,
			     const char *temporary)
{
	_cleanup_close_ int upper = workspace_open_entry(layer->upper_fd, change->path);
	int r;

	if (upper < 0)
		return upper;
	r = S_ISDIR(change->upper.mode) ? place_make_dir(dir_fd, temporary, change->upper.mode)
					: place_make_changed(layer, change, dir_fd, temporary, upper);
	return r == -EEXIST ? -EBUSY : r;
}

int place_make_new(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name);

	return dir < 0 ? dir : place_make_new_in(layer, change, dir, temporary);
}

/* Gives what was made its name, or removes it. error: as of what made it. 0 or -errno. */
static int place_end_put(int dir_fd, const char *temporary, const char *name, const struct workspace_change *change,
			 int error)
{
	int r = error < 0 ? error : place_rename(dir_fd, temporary, name, change);

	if (error == 0 && r < 0)
		(void)unlinkat(dir_fd, temporary, 0);
	return r;
}

int place_put(const struct workspace_layer *layer, const struct workspace_change *change, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name);

	if (dir < 0)
		return dir;
	if (S_ISDIR(change->upper.mode))
		return place_make_dir(dir, name, change->upper.mode);
	return place_end_put(dir, temporary, name, change, place_make_new_in(layer, change, dir, temporary));
}

/* Whether a file is that of the layer, as far as its attributes tell. 0 or -ESTALE. */
static int place_check_linked(int dir_fd, const char *name, const struct workspace_change *change)
{
	const struct workspace_entry *upper = &change->upper;
	/* A directory was removed before; the file may have its inode number. */
	const bool replaces = change->base.exists && !S_ISDIR(change->base.mode);
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (st.st_mode != upper->mode || (uint64_t)st.st_size != upper->size || st.st_uid != upper->uid ||
	    st.st_gid != upper->gid || times_compare(&st.st_mtim, &upper->mtime) != 0 ||
	    (replaces && st.st_ino == change->base.ino))
		return -ESTALE;
	return 0;
}

/* As place_make_link(), in an open directory. */
static int place_make_link_in(const struct workspace_change *change, int dir_fd, int other_fd, const char *other_path,
			      const char *temporary)
{
	const char *other_name;
	_cleanup_close_ int other_dir = place_open_parent(other_fd, other_path, &other_name);
	int r;

	if (other_dir < 0)
		return other_dir;
	if (linkat(other_dir, other_name, dir_fd, temporary, 0) < 0)
		return errno == EEXIST ? -EBUSY : -errno;
	r = place_check_linked(dir_fd, temporary, change);
	if (r < 0)
		(void)unlinkat(dir_fd, temporary, 0);
	return r;
}

int place_make_link(const struct workspace_layer *layer, const struct workspace_change *change, int other_fd,
		    const char *other_path, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name);

	return dir < 0 ? dir : place_make_link_in(change, dir, other_fd, other_path, temporary);
}

int place_link(const struct workspace_layer *layer, const struct workspace_change *change, int other_fd,
	       const char *other_path, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name);

	if (dir < 0)
		return dir;
	return place_end_put(dir, temporary, name, change,
			     place_make_link_in(change, dir, other_fd, other_path, temporary));
}

int place_check(const struct workspace_layer *layer, const struct workspace_change *change)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name);

	return dir < 0 ? dir : place_check_old(dir, name, &change->base, false);
}

int place_remove(const struct workspace_layer *layer, const struct workspace_change *change)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, change->path, &name);
	const int r = dir < 0 ? dir : place_check_old(dir, name, &change->base, false);

	if (r < 0)
		return r;
	return unlinkat(dir, name, S_ISDIR(change->base.mode) ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

int place_set_attributes(const struct workspace_layer *layer, const struct workspace_change *change)
{
	const char *path = change->path;
	_cleanup_close_ int upper = workspace_open_entry(layer->upper_fd, path), fd = -1;
	struct stat st;
	int r;

	if (upper < 0)
		return upper;
	fd = workspace_open_entry(layer->base_fd, path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (change->kind == WORKSPACE_MODIFIED && place_has_other_rights(&st, &change->base))
		return -ESTALE;
	r = workspace_stat_upper(layer, upper, &st);
	if (r < 0)
		return r;
	if (!*path && !layer->has_root_attributes) /* only the mode is compared */
		return chmod(io_proc_fd_path(fd).path, st.st_mode & 07777) < 0 ? -errno : 0;
	r = place_copy_metadata(layer, upper, fd, fd, PLACE_IN_BASE);
	return r < 0 || !place_has_other_group(upper, change) ? r : place_set_group(fd, change);
}

int place_remove_temporary(const struct workspace_layer *layer, const char *path, const char *temporary)
{
	const char *name;
	_cleanup_close_ int dir = place_open_parent(layer->base_fd, path, &name);

	if (dir < 0)
		return place_is_without_dir(dir) ? 0 : dir;
	if (unlinkat(dir, temporary, 0) == 0 || errno == ENOENT)
		return 0;
	return errno == EISDIR ? -ESTALE : -errno;
}
