/*
 * Makes overlays for create/, with --mode observe, --dry-run and --cow. The lower layer is a directory of the host. The
 * upper layer, which gets all that is written, is in the scratch directory of the run or, with --cow, in its workspace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/path.h"
#include "view/copy/copy.h"
#include "view/overlay.h"

#define OVERLAY_UPPER_DIR_NAME "upper" /* directory in the scratch directory that has the upper layers */
#define OVERLAY_UNMAPPED_ID 65534u /* what stat(2) shows for an id that has no number here: default of overflowuid */

/* Makes a directory if it is missing, and opens it. A descriptor or -errno. */
static int overlay_open_dir(int dirfd, const char *name, mode_t mode)
{
	if (mkdirat(dirfd, name, mode) < 0 && errno != EEXIST)
		return -errno;
	return io_open_dir(dirfd, name);
}

/*
 * Gives the upper layer the attributes of the lower: the root of the overlay shows them. Without root only mode and
 * times.
 */
static void overlay_copy_attributes(int upper_fd, int lower_fd)
{
	struct stat lower;

	if (fstat(lower_fd, &lower) < 0)
		return;
	(void)!fchown(upper_fd, lower.st_uid, lower.st_gid);
	(void)fchmod(upper_fd, lower.st_mode & 07777);
	(void)futimens(upper_fd, (const struct timespec[2]){lower.st_atim, lower.st_mtim});
}

/*
 * Gives the upper layer of a workspace all attributes of the lower: what differs in the end was changed by the program.
 * 0, or -errno: not all could be copied.
 */
static int overlay_copy_all_attributes(int layer_fd, int upper_fd, int lower_fd, int acls_fd)
{
	_cleanup_close_ int lower = openat(lower_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* it may be O_PATH */

	return lower < 0 ? -errno : copy_root_attributes(lower, upper_fd, layer_fd, acls_fd);
}

/*
 * Leaves in the directory of a layer that is kept the empty file "trusted" or "user": which attributes are the
 * overlay's own. The program could set those of the other kind.
 */
static int overlay_mark_kind(int dir_fd, bool user_xattr)
{
	_cleanup_close_ int fd = openat(dir_fd, user_xattr ? "user" : "trusted",
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

/* True when the layer was mounted before, with attributes of this kind. */
static bool overlay_has_kind(int dir_fd, bool user_xattr)
{
	return faccessat(dir_fd, user_xattr ? "user" : "trusted", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool overlay_layer_has_begun(int dir_fd)
{
	return overlay_has_kind(dir_fd, true) || overlay_has_kind(dir_fd, false);
}

/* True when this user namespace has a number for OVERLAY_UNMAPPED_ID itself, by /proc/self/uid_map or gid_map. */
static bool overlay_map_has_unmapped_id(const char *map_path)
{
	_cleanup_fclose_ FILE *map = fopen(map_path, "re");
	unsigned first, outer, count;

	while (map && fscanf(map, "%u %u %u", &first, &outer, &count) == 3)
		if (first <= OVERLAY_UNMAPPED_ID && OVERLAY_UNMAPPED_ID - first < count)
			return true;
	return false;
}

bool overlay_dir_is_unmapped(int dirfd, const char *path, int access_mode)
{
	struct stat st;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 || !S_ISDIR(st.st_mode) ||
	    faccessat(dirfd, path, access_mode, AT_EACCESS) < 0)
		return false;
	return (st.st_uid == OVERLAY_UNMAPPED_ID && !overlay_map_has_unmapped_id("/proc/self/uid_map")) ||
	       (st.st_gid == OVERLAY_UNMAPPED_ID && !overlay_map_has_unmapped_id("/proc/self/gid_map"));
}

/* The length of the path down to the last directory on it that overlay_dir_is_unmapped(); 0: there is none. */
static size_t overlay_find_last_unmapped(int lower_fd, const char *path)
{
	char prefix[PATH_MAX];
	struct stat st;
	size_t last = 0;

	for (size_t end = strcspn(path, "/"); end < sizeof(prefix); end += 1 + strcspn(path + end + 1, "/")) {
		memcpy(prefix, path, end);
		prefix[end] = '\0';
		if (fstatat(lower_fd, prefix, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 || !S_ISDIR(st.st_mode))
			break; /* a directory in place of a link would hide it */
		if (overlay_dir_is_unmapped(lower_fd, prefix, X_OK))
			last = end;
		if (!path[end])
			break;
	}
	return last;
}

/* Gives a directory of the upper layer the attributes that it has in the lower one. */
static void overlay_copy_attributes_of(int upper_fd, int lower_fd, const char *path)
{
	_cleanup_close_ int upper = openat(upper_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int lower = openat(lower_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (upper >= 0 && lower >= 0)
		overlay_copy_attributes(upper, lower);
}

/* Makes the directories of the path in the upper layer. Modifies the path. */
static void overlay_make_dirs(int upper_fd, int lower_fd, char *path)
{
	char *slash;

	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdirat(upper_fd, path, 0700);
		*slash = '/';
	}
	(void)mkdirat(upper_fd, path, 0700);
	/* the deepest first, because making a directory changes the times of the one above */
	overlay_copy_attributes_of(upper_fd, lower_fd, path);
	while ((slash = strrchr(path, '/'))) {
		*slash = '\0';
		overlay_copy_attributes_of(upper_fd, lower_fd, path);
	}
}

/*
 * Before overlayfs changes an entry, it copies the directories above it into the upper layer, with their owners. In a
 * user namespace that has no number for an owner, this fails with EOVERFLOW (Linux 6.2, commit 4f11ada10d0a; before,
 * with EPERM). The namespace of an unprivileged user has a number for that user only. So the directories of others on
 * the way to where programs write are made here, as the user's own. overlayfs joins them with those of the lower layer.
 * When this fails, the program's write fails as it would have.
 */
static void overlay_make_unmapped_dirs(const struct overlays *overlays, int upper_fd, int lower_fd,
				       const char *lower_host)
{
	for (size_t i = 0; i < OVERLAYS_WRITTEN_DIRS; i++) {
		const char *dir = overlays->written_dir[i];
		const char *rest = dir ? path_get_rest_below(dir, lower_host) : NULL;
		const size_t len = rest && *rest ? overlay_find_last_unmapped(lower_fd, rest) : 0;
		_cleanup_free_ char *path = len ? strndup(rest, len) : NULL;

		if (path)
			overlay_make_dirs(upper_fd, lower_fd, path);
	}
}

/* Makes an overlay whose upper layer is in overlays->dir_fd. */
static int overlay_create_in_dir_fd(struct overlays *overlays, int lower_fd, const char *lower_host,
				    unsigned restrictions)
{
	_cleanup_close_ int dir = -1, upper = -1, work = -1, mount_fd = -1;
	bool user_xattr, goes_on;
	char name[24];
	int r;

	(void)snprintf(name, sizeof(name), "%zu", overlays->count++);
	dir = overlay_open_dir(overlays->dir_fd, name, 0700);
	upper = dir < 0 ? dir : overlay_open_dir(dir, OVERLAY_LAYER_NAME, 0700);
	work = upper < 0 ? upper : overlay_open_dir(dir, "work", 0700);
	if (work < 0)
		return work;
	goes_on = overlays->kept_dir && overlay_layer_has_begun(dir);
	if (!overlays->kept_dir) /* a layer that is kept has the program's changes only */
		overlay_make_unmapped_dirs(overlays, upper, lower_fd, lower_host);
	if (!goes_on &&
	    (!overlays->kept_dir || overlay_copy_all_attributes(dir, upper, lower_fd, overlays->acls_fd) < 0))
		overlay_copy_attributes(upper, lower_fd);
	mount_fd = mounts_create_overlay(lower_fd, upper, work, restrictions, overlays->kept_dir != NULL, &user_xattr);
	if (mount_fd < 0)
		return mount_fd;
	if (goes_on) /* the setup's marks would not count with attributes of the other kind */
		return overlay_has_kind(dir, user_xattr) ? steal_fd(&mount_fd) : -EINVAL;
	r = overlays->kept_dir ? overlay_mark_kind(dir, user_xattr) : 0;
	return r < 0 ? r : steal_fd(&mount_fd);
}

/* Uses a tmpfs for the upper layers: a scratch directory that is on an overlay itself (container) cannot hold them. */
static int overlay_use_tmpfs(struct overlays *overlays)
{
	static const char *const options[] = {"mode", "0700"};
	_cleanup_close_ int mount_fd = mounts_create_fs("tmpfs", options, 2);
	int r = mount_fd < 0 ? mount_fd : mounts_attach_copy(mount_fd, overlays->dir_fd, "");

	overlays->is_on_tmpfs = true;
	if (r < 0)
		return r;
	(void)close(overlays->dir_fd);
	overlays->dir_fd = openat(mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return overlays->dir_fd < 0 ? -errno : 0;
}

/*
 * Opens the directory of the upper layers by its path: the mount of the keeper's descriptor is in another namespace,
 * which overlays refuse.
 */
static int overlay_open_upper(const char *scratch)
{
	_cleanup_close_ int fd = io_open_without_links(scratch, O_RDONLY | O_DIRECTORY);

	return fd < 0 ? fd : overlay_open_dir(fd, OVERLAY_UPPER_DIR_NAME, 0700);
}

int overlay_create(struct overlays *overlays, const char *scratch, int lower_fd, const char *lower_host,
		   unsigned restrictions)
{
	int r;

	if (overlays->dir_fd < 0)
		overlays->dir_fd = overlays->kept_dir
					   ? io_open_without_links(overlays->kept_dir, O_RDONLY | O_DIRECTORY)
					   : overlay_open_upper(scratch);
	r = overlays->dir_fd < 0 ? overlays->dir_fd
				 : overlay_create_in_dir_fd(overlays, lower_fd, lower_host, restrictions);
	if (r < 0 && overlays->dir_fd >= 0 && !overlays->is_on_tmpfs && overlays->made == 0 && !overlays->kept_dir &&
	    overlay_use_tmpfs(overlays) == 0)
		r = overlay_create_in_dir_fd(overlays, lower_fd, lower_host, restrictions);
	overlays->made += r >= 0;
	return r;
}

int overlays_read_mount_points(struct overlays *overlays)
{
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;

	if (!mounts)
		return -errno;
	while (getline(&line, &cap, mounts) > 0) {
		struct mountinfo_line mount;

		if (!mounts_parse_mountinfo_line(line, &mount))
			continue;
		if (!array_reserve(&overlays->point, overlays->points, &overlays->room))
			return -ENOMEM;
		overlays->point[overlays->points] = strdup(mount.mount_point);
		if (!overlays->point[overlays->points])
			return -ENOMEM;
		overlays->points++;
	}
	return ferror(mounts) ? -EIO : 0;
}

const char *overlays_find_mount_below(const struct overlays *overlays, const char *host)
{
	for (size_t i = 0; i < overlays->points; i++) {
		const char *rest = path_get_rest_below(overlays->point[i], host);

		if (rest && *rest)
			return overlays->point[i];
	}
	return NULL;
}

bool overlays_has_mount_below(const struct overlays *overlays, const char *host)
{
	return overlays_find_mount_below(overlays, host) != NULL;
}

void overlays_release(struct overlays *overlays)
{
	for (size_t i = 0; i < overlays->points; i++)
		free(overlays->point[i]);
	free(overlays->point);
	cleanup_close(&overlays->dir_fd);
}
