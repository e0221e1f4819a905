/*
 * The kernel renames and links within one mount only. Where the view is made of real mounts, two of them may show
 * what is one file system of the host; there the host's own mounts serve, with the very objects that were pinned.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/private.h"

#include "base/banned.h"

int view_origin(const struct place *place, char out[PATH_MAX])
{
	const struct mount *mount = place->mount;
	const char *rest = mount->virt_len == 1 ? place->virt : place->virt + mount->virt_len;
	int len = snprintf(out, PATH_MAX, "%s%s", mount->origin[1] ? mount->origin : "", rest);

	return len <= 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* The host's path of a place, or of the directory it is in. */
static int origin_of(const struct place *place, bool parent, char out[PATH_MAX])
{
	char *slash;

	if (view_origin(place, out) < 0)
		return -EXDEV;
	slash = strrchr(out, '/');
	if (parent)
		slash[slash == out] = '\0';
	return 0;
}

int view_host_twin(const struct place *place, int fd, bool parent)
{
	_cleanup_close_ int twin = -1;
	struct stat here, there;
	char path[PATH_MAX];

	if (!place->mount || place->magic || place->mount->view->host_root_fd < 0 ||
	    place->mount->flags & (MOUNT_SKELETON | MOUNT_PROC | MOUNT_DEVICE | MOUNT_PROVIDED))
		return -EXDEV;
	if (origin_of(place, parent, path) < 0)
		return -EXDEV;
	twin = openat2_call(place->mount->view->host_root_fd, path, O_PATH | O_NOFOLLOW, 0,
			    RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (twin < 0 || fstat(fd, &here) < 0 || fstat(twin, &there) < 0 || here.st_dev != there.st_dev ||
	    here.st_ino != there.st_ino)
		return -EXDEV;
	return steal_fd(&twin);
}
