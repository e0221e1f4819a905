/* From host names back to virtual ones: cwd, descriptors, images. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/private.h"
#include "view/tree.h"

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

/* The very object, by name or by descriptor. */
static int look_at(const struct place *place, struct stat *ret_found)
{
	_cleanup_close_ int fd = -1;
	const char *path;
	int dirfd;

	if (view_ask(place, &dirfd, &path))
		return fstatat(dirfd, path, ret_found, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	fd = view_open(place, O_PATH | O_NOFOLLOW, 0);
	return fd < 0 ? -1 : fstat(fd, ret_found);
}

bool view_confirm(const struct view *view, const char *virt, const struct stat *expected)
{
	_cleanup_close_ int listing = -1;
	struct place place;
	struct stat found;

	/* task NULL: a name taken from the kernel holds no "self" */
	if (view_locate(view, NULL, "/", virt, 0, &place) < 0)
		return false;
	if (look_at(&place, &found) < 0)
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
