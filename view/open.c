/*
 * Opens the object at a place. openat2(2) follows no link here, so the object is at the path that was judged. Also
 * finds the virtual path of a host path or object, and the object of a place in the mounts of the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "view/copy/fill.h"
#include "view/private.h"

/* Opens the stand-in directory of a place, and brings it up to date. */
static int open_standin_dir(const struct place *place, int flags)
{
	const struct view *view = place->mount->view;
	int r;

	if (!(place->mount->flags & MOUNT_PROC)) {
		/* Fails with ENOENT or ENOTDIR as the object of the host does. */
		_cleanup_close_ int host = openat2_retry(place->mount->fd, place->path_below_mount_fd,
							 O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);

		if (host < 0)
			return host;
	}
	r = flags & O_PATH ? view_skeleton_mkdir(view, place->virt) : view_refresh_standin(place);
	if (r < 0)
		return r;
	return view_open_standin(place, flags);
}

/*
 * Opens the parent directory of a place, one component after another, and checks the mode of each opened directory.
 * *ret_name: the last name. *ret_dir: an O_PATH descriptor owned by the caller; -1: use mount->fd. 0 or -errno.
 */
static int open_parent_if_public(const struct place *place, int *ret_dir, const char **ret_name)
{
	_cleanup_close_ int dir = -1;
	const char *at = place->path_below_mount_fd, *slash;
	char name[NAME_MAX + 1];
	struct stat status;

	for (; (slash = strchr(at, '/')); at = slash + 1) {
		int next;

		if ((size_t)snprintf(name, sizeof(name), "%.*s", (int)(slash - at), at) >= sizeof(name))
			return -ENAMETOOLONG;
		next = openat2_retry(dir < 0 ? place->mount->fd : dir, name, O_PATH | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
		if (next < 0)
			return next;
		cleanup_close(&dir);
		dir = next;
		if (fstat(dir, &status) < 0)
			return -errno;
		if (!(status.st_mode & S_IXOTH))
			return -EACCES;
	}
	*ret_name = at;
	*ret_dir = steal_fd(&dir);
	return 0;
}

/* Opens a public object. Its mode is checked before, so that nothing private is opened, and again on the descriptor. */
static int open_object_if_public(const struct place *place, int flags)
{
	_cleanup_close_ int own = -1, fd = -1;
	struct stat status;
	const char *name = NULL;
	int dir, r;

	if (!(flags & O_PATH) && !view_public_place_may_be_read(place))
		return -EACCES;
	r = open_parent_if_public(place, &own, &name);
	if (r < 0)
		return r;
	dir = own < 0 ? place->mount->fd : own;
	if (!(flags & O_PATH) && fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!(flags & O_PATH) && !(status.st_mode & S_IROTH))
		return -EACCES;
	fd = openat2_retry(dir, name, flags, 0, IO_RESOLVE_BELOW);
	if (fd < 0 || flags & O_PATH)
		return steal_fd(&fd);
	if (fstat(fd, &status) < 0)
		return -errno;
	return status.st_mode & S_IROTH ? steal_fd(&fd) : -EACCES;
}

bool view_place_is_refused_as_not_public(const struct place *place)
{
	_cleanup_close_ int fd = -1;

	if (!place->mount || !view_place_is_public_only(place))
		return false;
	fd = openat2_retry(place->mount->fd, place->path_below_mount_fd, O_PATH | O_NOFOLLOW, 0, IO_RESOLVE_BELOW);
	return fd >= 0 && faccessat(fd, "", R_OK, AT_EMPTY_PATH) == 0;
}

/*
 * Opens the object of a place below fd, which is that of its mount. That of a mount itself is "." there, for which the
 * program's own user may lack the permission to search it; by its own path, no call needs that.
 */
static int open_below_mount(int fd, const struct place *place, int flags, mode_t mode)
{
	const int r = openat2_retry(fd, place->path_below_mount_fd, flags, mode, IO_RESOLVE_BELOW);

	if (r != -EACCES || place->virt_len != place->mount->virt_len || place->mount->flags & MOUNT_OF_SINGLE_FILE)
		return r;
	return openat2_retry(AT_FDCWD, io_proc_fd_path(fd).path,
			     (flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_DIRECTORY, 0, 0);
}

int view_open_place(const struct place *place, int flags, mode_t mode)
{
	const struct view *view = place->mount->view;

	if (place->is_magic_link) /* an object without a name is opened through /proc/PID/fd of its holder */
		return openat2_retry(place->mount->fd, place->path_below_mount_fd,
				     flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL), 0, 0);
	if (place->mount->flags & MOUNT_PROC && place->mount == facts_get_mount(view->facts)) {
		int r = facts_make_files(view);

		if (r < 0)
			return r;
	}
	if (place->mount->flags & MOUNT_TTY && !(flags & O_PATH))
		return flags & O_DIRECTORY ? -ENOTDIR : -ENXIO; /* only view_open_terminal() can open it */
	if (place->mount->flags & MOUNT_DEV_PTS && !terminals_place_is_dev_pts(place))
		return terminals_open_dev_pts_file(place, flags);
	/*
	 * After view_attach_mounts, an O_PATH descriptor is of the directory itself, not of its stand-in directory. A
	 * caller that shows its entries to the program must check view_has_standin first: syscalls/file/watch.c is the
	 * only one.
	 */
	if (place->mount->flags & MOUNT_HAS_STANDINS && view_has_standin(place) &&
	    !(flags & O_PATH && view->is_attached && !view_object_has_no_path(place))) {
		int fd = open_standin_dir(place, flags);

		/* The path is a file, which matches no glob: view_judge_place refuses its name. */
		return fd == -ENOTDIR && !(flags & O_DIRECTORY) ? -ENOENT : fd;
	}
	if (view_place_is_public_only(place))
		return open_object_if_public(place, flags & ~O_CREAT); /* nothing may be created there */
	return open_below_mount(place->mount->fd, place, flags, mode);
}

int view_open_uncovered(const struct place *place, int flags)
{
	if (place->is_magic_link || place->mount->uncovered_fd < 0)
		return view_open_place(place, flags, 0);
	return open_below_mount(place->mount->uncovered_fd, place, flags, 0);
}

int view_open_parent(const struct place *place, const char **ret_name)
{
	if (place->virt_len == place->mount->virt_len || place->is_magic_link)
		return -EBUSY;
	return io_open_parent_below(place->mount->fd, place->path_below_mount_fd, O_PATH, 0, ret_name);
}

int view_stat_place(const struct place *place, struct stat *ret_stat, int *ret_dirfd, const char **ret_path,
		    int *ret_fd)
{
	if (view_get_nosymfollow_path(place, ret_dirfd, ret_path))
		return fstatat(*ret_dirfd, *ret_path, ret_stat, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
	*ret_fd = view_open_place(place, O_PATH | O_NOFOLLOW, 0);
	if (*ret_fd < 0)
		return *ret_fd;
	*ret_dirfd = *ret_fd;
	*ret_path = "";
	return fstat(*ret_fd, ret_stat) < 0 ? -errno : 0;
}

int view_get_nosymfollow_root_fd(const struct view *view)
{
	return view->nosymfollow_root_fd;
}

uint64_t view_get_mount_id_for_copy(const struct view *view, uint64_t copy_id)
{
	for (size_t i = 0; i < view->mount_id_count; i++)
		if (view->mount_id[i].copy_id == copy_id)
			return view->mount_id[i].id;
	return 0;
}

/* Notes that mount copy_id is to be reported as mount `id`. */
void view_set_mount_id_for_copy(struct view *view, uint64_t copy_id, uint64_t id)
{
	if (view->mount_id_count < VIEW_MOUNT_IDS_MAX)
		view->mount_id[view->mount_id_count++] = (struct view_mount_id){.copy_id = copy_id, .id = id};
}

int view_find_virtual_path(const struct view *view, const char *host, size_t host_len, char *out, size_t cap)
{
	const struct mount *best = NULL;
	const char *rest = path_get_rest_below(host, view->standin_host);
	int len = view->first_view ? view_find_virtual_path(view->first_view, host, host_len, out, cap) : -ENOENT;

	if (len >= 0)
		return len;

	if (!rest && view->skeleton_host[1]) /* when it is "/", every path would match */
		rest = path_get_rest_below(host, view->skeleton_host);
	if (rest)
		return view_join_path("/", rest, out, cap);
	for (size_t i = 0; i < view->mount_count; i++) {
		const struct mount *mount = view->mount[i];

		if (mount->host_path_len > host_len || (best && mount->host_path_len < best->host_path_len))
			continue;
		if (mount->flags & MOUNT_OF_SINGLE_FILE ? strcmp(host, mount->host_path) == 0
							: path_is_below(host, mount->host_path))
			best = mount;
	}
	if (!best || (best->flags & MOUNT_SKELETON && !view->is_attached))
		return -ENOENT;
	return view_join_path(best->virt,
			      best->flags & MOUNT_OF_SINGLE_FILE ? "" : path_get_rest_below(host, best->host_path), out,
			      cap);
}

static bool view_is_same_object(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

bool view_path_leads_to_object(const struct view *view, const char *virt, const struct stat *expected)
{
	_cleanup_close_ int fd = -1, standin = -1;
	struct place place;
	struct stat found;
	const char *path;
	int dirfd;

	/* Without a task: the path comes from the kernel and has no "self" in it. */
	if (view_locate_path(view, NULL, "/", virt, 0, &place) < 0 ||
	    view_stat_place(&place, &found, &dirfd, &path, &fd) < 0)
		return false;
	if (view_is_same_object(&found, expected))
		return true;
	if (!view->is_attached || !view_has_standin(&place))
		return false;
	standin = view_open_standin(&place, O_PATH);
	return standin >= 0 && fstat(standin, &found) == 0 && view_is_same_object(&found, expected);
}

int view_open_workspace(const struct view *view, int at, const char **ret_path)
{
	*ret_path = NULL;
	for (size_t i = 0; i < view->mount_count; i++) {
		const struct mount *mount = view->mount[i];

		if (!(mount->flags & (MOUNT_OVERLAY | MOUNT_WORKSPACE_COPY)) || mount->workspace_dir != at)
			continue;
		*ret_path = mount->virt;
		return openat2_retry(mount->fd, ".", O_RDONLY | O_DIRECTORY, 0, IO_RESOLVE_BELOW);
	}
	return -ENOENT;
}

struct fill_file *view_find_placeholder(const struct view *view, int dir_fd, const char *name, const struct stat *st,
					struct fills **ret_fills)
{
	struct fill_file *file = NULL;

	for (size_t i = 0; !file && i < view->mount_count; i++) {
		*ret_fills = view->mount[i]->layer ? view->mount[i]->layer->fills : NULL;
		if (*ret_fills)
			file = fills_find(*ret_fills, dir_fd, name, st);
	}
	return file;
}

uint64_t view_reload_fills(const struct view *view)
{
	uint64_t filled_bytes = 0;

	for (size_t i = 0; i < view->mount_count; i++)
		if (view->mount[i]->layer && view->mount[i]->layer->fills)
			filled_bytes += fills_reload(view->mount[i]->layer->fills);
	return filled_bytes;
}

int view_begin_fill(const struct view *view, int fd, unsigned flags, struct view_fill *ret_fill)
{
	struct view_fill fill = {.flags = flags};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	fill.file = view_find_placeholder(view, fd, "", &st, &fill.fills);
	if (!fill.file)
		return 0;
	r = fills_check(fill.fills, fill.file);
	if (r < 0)
		return r;
	/* Now: what cannot be opened takes no room, and what it takes now may be more or less than before. */
	fill.source_fd = fills_open_source(fill.fills, fill.file, flags, &st);
	if (fill.source_fd < 0)
		return fill.source_fd;
	fill.bytes = (uint64_t)st.st_blocks * 512;
	*ret_fill = fill;
	return 1;
}

int view_fill_file(const struct view_fill *fill, int fd, const struct io_go_on *go_on)
{
	return fills_fill_from(fill->fills, fill->file, fd, fill->source_fd, fill->flags, go_on);
}

const struct copy_size *view_get_copy_size(const struct view *view)
{
	return &view->copy_size;
}

int view_open_host_object(const struct place *place, int fd, bool parent)
{
	_cleanup_close_ int twin = -1;
	struct stat here, there;
	char path[PATH_MAX], *slash;

	/*
	 * Covers are attached in the mounts of the run. A directory that is renamed by its host path, into another
	 * mount, would leave its covers behind.
	 */
	if (!place->mount || place->is_magic_link || place->mount->view->host_root_fd < 0 ||
	    place->mount->view->covered_dir_can_be_renamed ||
	    place->mount->flags & (MOUNT_SKELETON | MOUNT_PROC | MOUNT_DEVICE | MOUNT_PROVIDED | MOUNT_OVERLAY) ||
	    view_get_host_path(place, path) < 0)
		return -EXDEV;
	slash = strrchr(path, '/');
	if (parent)
		slash[slash == path] = '\0';
	twin = openat2_retry(place->mount->view->host_root_fd, path, O_PATH | O_NOFOLLOW, 0,
			    RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (twin < 0 || fstat(fd, &here) < 0 || fstat(twin, &there) < 0 || !view_is_same_object(&here, &there))
		return -EXDEV;
	return steal_fd(&twin);
}
