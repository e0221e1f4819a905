/* From host names back to virtual ones: cwd, descriptors, images. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "syscalls/tree.h"
#include "syscalls/view-private.h"

#include "base/banned.h"

static int give_name(const char *virt, const char *rest, char *out, size_t cap)
{
	bool root = virt[0] == '/' && virt[1] == '\0';
	int len;

	if (*rest == '\0')
		len = snprintf(out, cap, "%s", virt);
	else
		len = snprintf(out, cap, "%s/%s", root ? "" : virt, rest);
	return len < 0 || (size_t)len >= cap ? -ENAMETOOLONG : len;
}

int view_name(const struct view *view, const char *host, size_t host_len, char *out, size_t cap)
{
	const struct mount *best = NULL;
	const char *rest = path_rest(host, view->standin_host);

	if (!rest && view->skeleton_host[1]) /* "/": every name is its own, unless a mount has another one for it */
		rest = path_rest(host, view->skeleton_host);
	if (rest)
		return give_name("/", rest, out, cap);
	for (size_t i = 0; i < view->mounts; i++) {
		const struct mount *mount = view->mount[i];

		if (mount->host_len > host_len || (best && mount->host_len < best->host_len))
			continue;
		if (mount->flags & MOUNT_FILE ? strcmp(host, mount->host) == 0 : path_below(host, mount->host))
			best = mount;
	}
	if (!best)
		return -ENOENT;
	if (best->flags & MOUNT_SKELETON && !view->attached)
		return -ENOENT;
	return give_name(best->virt, best->flags & MOUNT_FILE ? "" : path_rest(host, best->host), out, cap);
}

bool view_confirm(const struct view *view, const char *virt, const struct stat *expected)
{
	_cleanup_close_ int fd = -1, listing = -1;
	struct place place;
	struct stat found;

	/* task NULL: a name taken from the kernel holds no "self" */
	if (view_locate(view, NULL, "/", virt, 0, &place) < 0)
		return false;
	fd = view_open(&place, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || fstat(fd, &found) < 0)
		return false;
	if (found.st_dev == expected->st_dev && found.st_ino == expected->st_ino)
		return true;
	if (!view->attached || !view_own_listing(&place))
		return false;
	listing = openat2_call(view->standin_fd, place.virt_len > 1 ? place.virt + 1 : ".", O_PATH, 0,
			       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	return listing >= 0 && fstat(listing, &found) == 0 && found.st_dev == expected->st_dev &&
	       found.st_ino == expected->st_ino;
}

int view_base(const struct view *view, const struct task *task, int fd, char *out, size_t cap)
{
	char link[64], host[PATH_MAX];
	struct stat object;
	ssize_t len;
	int r;

	if (fd == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "%d/cwd", task->tid);
	else if (fd < 0)
		return -EBADF;
	else
		(void)snprintf(link, sizeof(link), "%d/fd/%d", task->tid, fd);
	len = readlinkat(view->proc_fd, link, host, sizeof(host) - 1);
	if (len < 0)
		return fd == AT_FDCWD ? -errno : -EBADF;
	host[len] = '\0';
	if (fstatat(view->proc_fd, link, &object, 0) < 0)
		return -EBADF;
	if (!S_ISDIR(object.st_mode))
		return -ENOTDIR;
	r = view_name(view, host, (size_t)len, out, cap);
	if (r < 0)
		return r;
	/* A name can be spoofed ("x (deleted)", a rename under way): the object decides. */
	return view_confirm(view, out, &object) ? r : -ENOENT;
}
