/* The skeleton: real directories that hold the ancestors of mounts, and entries that lend listings their names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/private.h"

#include "base/banned.h"

/*
 * The directory `name` of dirfd, made when it is not there. A listing may have put a link of the host's at this name when
 * it was one there; following it would make directories outside. O_PATH descriptor, or -errno.
 */
static int make_step(int dirfd, const char *name)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);

	if (fd >= 0)
		return fd;
	if (errno == ENOTDIR || errno == ELOOP)
		(void)io_remove_tree(dirfd, name); /* mkdirat tells */
	if (mkdirat(dirfd, name, 0755) < 0)
		return -errno;
	fd = openat(dirfd, name, flags);
	return fd < 0 ? -errno : fd;
}

static int make_way(const struct view *view, char *path)
{
	_cleanup_close_ int dir = fcntl(view->standin_fd, F_DUPFD_CLOEXEC, 3);
	char *rest = NULL;

	if (dir < 0)
		return -errno;
	for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		int next = make_step(dir, name);

		if (next < 0)
			return next;
		(void)close(dir);
		dir = next;
	}
	return 0;
}

/* The way to a directory, of which the first parts have been made already, no link is in them. -errno: try it carefully. */
static int make_new(const struct view *view, char *path)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (!view_shows(view, path, strlen(path)) && mkdirat(view->standin_fd, path + 1, 0755) < 0)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* While the program runs the umask is the one of whoever created something last; while the view is built it is set. */
static mode_t mask(const struct view *view)
{
	return view->building ? 022 : umask(022);
}

static void unmask(const struct view *view, mode_t program)
{
	if (!view->building)
		(void)umask(program);
}

int view_skeleton_mkdir(const struct view *view, const char *virt)
{
	char path[PATH_MAX];
	size_t len = strlen(virt);
	mode_t program;
	int fd, r;

	if (len >= sizeof(path))
		return -ENAMETOOLONG;
	if (len <= 1)
		return 0;
	if (!view->tree && view_shows(view, virt, len))
		return 0; /* while it is made nobody else is there */
	memcpy(path, virt, len + 1);
	program = mask(view);
	r = view->tree ? -EEXIST : make_new(view, path);
	unmask(view, program);
	if (r == 0) {
		view_note_shown(view, virt, true);
		return 0;
	}
	memcpy(path, virt, len + 1);
	fd = openat2_call(view->standin_fd, path + 1, O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (fd >= 0)
		(void)close(fd);
	view_note_shown(view, virt, true);
	if (fd >= 0)
		return 0;
	program = mask(view);
	r = make_way(view, path);
	unmask(view, program);
	return r;
}

static int make_parent(const struct view *view, const char *virt)
{
	char path[PATH_MAX];
	char *slash;

	if ((size_t)snprintf(path, sizeof(path), "%s", virt) >= sizeof(path))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = '\0';
	return slash > path ? view_skeleton_mkdir(view, path) : 0;
}

int view_skeleton_entry(const struct view *view, const char *virt, mode_t type, const char *target)
{
	int r;

	if (type == S_IFDIR)
		return view_skeleton_mkdir(view, virt);
	r = make_parent(view, virt);
	if (r < 0)
		return r;
	view_note_shown(view, virt, false);
	if (type == S_IFLNK)
		r = symlinkat(target, view->root->fd, virt + 1);
	else
		r = mknodat(view->root->fd, virt + 1, S_IFREG | 0444, 0); /* NOLINT(clang-analyzer-core*): it takes -errno for 0 */
	return r < 0 && errno != EEXIST ? -errno : 0;
}

int view_skeleton_file(const struct view *view, const char *virt, const void *text, size_t len)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_close_ int fd = -1;
	int r = make_parent(view, virt);

	if (r < 0)
		return r;
	fd = openat(view->root->fd, virt + 1, flags, 0444);
	if (fd < 0 && errno == EEXIST && unlinkat(view->root->fd, virt + 1, 0) == 0) /* of an attempt before this one */
		fd = openat(view->root->fd, virt + 1, flags, 0444);
	if (fd < 0)
		return -errno;
	view_note_shown(view, virt, false);
	return io_write_full(fd, text, len);
}

static int make_entry(const char *host, mode_t type, const char *target)
{
	struct stat there;
	int r;

	if (lstat(host, &there) == 0)
		return 0;
	if (type == S_IFDIR)
		r = mkdir(host, 0755);
	else if (type == S_IFLNK)
		r = symlink(target, host);
	else
		r = mknod(host, S_IFREG | 0444, 0);
	return r < 0 ? -errno : 0;
}

/*
 * A name below one of the run's own directories (a workdir in /tmp, which is redirected): its ancestors and an entry for
 * it are made there, so that paths lead to it step by step and listings show it. The program does not run yet.
 */
static int show_in_private(const struct place *place, mode_t type, const char *target)
{
	char host[PATH_MAX];
	int r = view_host(place, host, sizeof(host));

	if (r < 0)
		return r;
	for (char *slash = strchr(host + place->mount->host_len + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(host, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return make_entry(host, type, target);
}

int view_show_name(const struct view *view, const char *virt, mode_t type, const char *target)
{
	struct place place;

	if (!view_covered(view, virt))
		return view_skeleton_entry(view, virt, type, target);
	if (view_locate(view, NULL, "/", virt, 0, &place) < 0 || !(place.mount->flags & MOUNT_PRIVATE) ||
	    place.mount->flags & MOUNT_FILE || place.virt_len == place.mount->virt_len)
		return 0;
	return show_in_private(&place, type, target);
}
