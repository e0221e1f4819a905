/* Files that callgate or the policy provides, /dev, /proc and the root of a view. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "view/create/build.h"
#include "view/fixed.h"

/* ---- provided files ---- */

/* Adds a file of the skeleton itself, which needs no mount. */
static int build_mount_skeleton_file(struct build_state *build, const char *virt, const void *text, size_t len,
				     unsigned flags, const char *rule)
{
	_cleanup_free_ char *host = NULL;
	struct held_dir *held = NULL;
	int r = view_skeleton_add_file(build->view, virt, text, len);

	if (r == 0) {
		host = text_format("%s%s", build->view->skeleton_host, virt);
		r = host ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = build_find_or_make_held_dir(build, host, virt, &held);
	return r < 0 ? r : view_add_file(build->view, virt, host, held, flags | MOUNT_SKELETON_FILE, rule);
}

/*
 * Makes the read-only file `name` in the directory for provided files: in the tmpfs of the run's mount namespace, or
 * without that in the scratch directory. On disk each file would cost a change of the file system's journal.
 */
static int build_make_provided_file(const struct build_state *build, const char *name, const void *text, size_t len,
				    char ret_host[PATH_MAX])
{
	const bool own = build->options->tmpfs_fd >= 0;
	const int dirfd = own ? build->options->tmpfs_fd : build->options->scratch_fd;
	const char *dir = own ? VIEW_PROVIDED_FILES_DIR_NAME : "provided";
	char path[64];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdirat(dirfd, dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	(void)snprintf(ret_host, PATH_MAX, "%s/%s", own ? "" : build->options->scratch_host, path);
	return io_write_all(fd, text, len);
}

int build_mount_file_with_text(struct build_state *build, const char *name, const char *virt, const void *text,
			       size_t len, unsigned flags, const char *rule)
{
	char host[PATH_MAX];
	int r;

	flags |= MOUNT_PROVIDED | MOUNT_PRIVATE;
	if (!view_is_in_host_tree(build->view, virt))
		return build_mount_skeleton_file(build, virt, text, len, flags, rule);
	r = build_make_provided_file(build, name, text, len, host);
	return r < 0 ? r : build_mount_file(build, virt, host, -1, flags, rule);
}

bool build_path_is_provided_file(const struct build_state *build, const char *virt)
{
	for (size_t i = 0; i < build->options->provided_file_count; i++)
		if (strcmp(build->options->provided_file[i].virt, virt) == 0)
			return true;
	return false;
}

int build_mount_provided_files(struct build_state *build)
{
	char name[40];
	int r = 0;

	for (size_t i = 0; r == 0 && i < build->options->provided_file_count; i++) {
		const struct view_provided_file *file = &build->options->provided_file[i];

		(void)snprintf(name, sizeof(name), "run-%zu", i);
		r = build_mount_file_with_text(build, name, file->virt, file->text, file->text_len, MOUNT_CALLGATE_FILE,
					       NULL);
		if (r < 0)
			(void)build_set_error(build, r, "cannot provide", file->virt);
	}
	return r;
}

/* ---- /dev, /proc and the root ---- */

/*
 * Makes a /dev of the view's own, even if "/" is granted: the host's /dev has callgate's terminal. Devices are granted
 * by name.
 */
static int build_mount_dev(const struct build_state *build)
{
	struct place place;
	int r = view_locate_path(build->view, NULL, "/", "/dev", 0, &place);

	if (r < 0 || place.mount->flags & MOUNT_SKELETON || place.mount->virt_len > 1)
		return r;
	r = view_skeleton_mkdir(build->view, "/dev");
	return r < 0 ? r : view_add_node(build->view, "/dev", build->view->skeleton_mount, NULL);
}

static int build_mount_device(struct build_state *build, const char *path)
{
	mode_t mode;
	int copy = build_clone_mount(build, path, path, MOUNT_DEVICE, &mode);

	if (copy < 0 && access(path, F_OK) < 0)
		return 0;
	return build_mount_file(build, path, path, copy,
				MOUNT_DEVICE | (strcmp(path, VIEW_TTY_PATH) == 0 ? MOUNT_TTY : 0), NULL);
}

static int build_mount_devices(struct build_state *build)
{
	int r = 0;

	for (const char *const *device = view_fixed_devices; r == 0 && *device; device++)
		r = build_mount_device(build, *device);
	for (const struct view_fixed_link *link = view_fixed_links; r == 0 && link->path; link++) {
		r = view_add_node(build->view, link->path, NULL, link->target);
		if (r == 0)
			r = view_skeleton_add_entry(build->view, link->path, S_IFLNK, link->target);
	}
	return r;
}

static int build_mount_proc(struct build_state *build)
{
	_cleanup_close_ int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	build->view->proc_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (view_skeleton_add_entry(build->view, "/proc", S_IFDIR, NULL) < 0 || build->view->proc_fd < 0)
		return -EIO;
	return view_add_mount(build->view, "/proc", "/proc", steal_fd(&fd), ".", MOUNT_PROC, NULL);
}

int build_mount_root(struct build_state *build)
{
	const struct view_options *options = build->options;
	struct view *view = build->view;
	const bool own = options->tmpfs_fd >= 0;
	const char *name = own ? VIEW_ROOT_DIR_NAME : "view";
	const int dirfd = own ? options->tmpfs_fd : options->scratch_fd;
	_cleanup_close_ int fd = -1;

	if (mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	view->skeleton_host = text_format("%s/%s", own ? "" : options->scratch_host, name);
	if (!view->skeleton_host)
		return -ENOMEM;
	view->standin_host = strdup(view->skeleton_host);
	fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	view->standin_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (view->standin_fd < 0 || !view->standin_host ||
	    view_add_mount(view, "/", view->skeleton_host, steal_fd(&fd), ".", MOUNT_SKELETON, NULL) < 0)
		return -ENOMEM;
	view->skeleton_mount = view->mount[0];
	return 0;
}

int build_mount_proc_and_devices(struct build_state *build)
{
	int r = build_mount_proc(build);

	if (r == 0)
		r = build_mount_dev(build);
	return r == 0 ? build_mount_devices(build) : r;
}
