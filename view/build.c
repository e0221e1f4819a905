/* Makes the view: mounts for grants, provided files, /dev and /proc. Called before the program starts. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "view/build.h"
#include "view/fixed.h"
#include "view/private.h"

/* Writes the message of a failed view_create(): `what` failed for `path`. Returns error. */
static int build_set_error(const struct build_state *build, int error, const char *what, const char *path)
{
	(void)snprintf(build->error->text, sizeof(build->error->text), "%s %s: %s", what, path, strerror(-error));
	return error;
}

/* ---- grants ---- */

/* True when writes to a grant must go to the scratch directory. A grant that is in that directory needs no overlay. */
static bool build_wants_overlay(const struct build_state *build, const struct policy_mount *grant)
{
	const struct view_options *options = build->options;
	bool own = path_is_below(grant->host_path, options->scratch_host) || path_is_below(grant->host_path, "/dev");

	if (options->overlay == VIEW_OVERLAY_WORKSPACE)
		own = own || build_find_workspace_dir(build, grant->host_path) < 0;
	if (options->overlay == VIEW_OVERLAY_OUTSIDE_WORKDIR && options->workdir_host)
		own = own || path_is_below(grant->host_path, options->workdir_host);
	return options->overlay != VIEW_OVERLAY_NONE && !own && policy_may_write(build->view->policy, grant->virt);
}

/* MOUNT_* flags of the mount that shows a grant. */
static unsigned build_get_mount_flags(const struct build_state *build, const struct policy_mount *grant)
{
	const char *workdir = build->options->workdir_host, *scratch = build->options->scratch_host;
	bool reported = workdir && path_is_below(workdir, scratch) && path_is_below(grant->host_path, workdir);
	unsigned flags = 0;

	if (grant->is_granted_by_globs_only)
		flags |= MOUNT_BY_GLOBS_ONLY;
	if (grant->is_redirect)
		flags |= MOUNT_REDIRECT;
	if (policy_hides_names(build->view->policy))
		flags |= MOUNT_MAY_HIDE_NAMES;
	if (grant->is_interpreter)
		flags |= MOUNT_BY_INTERPRETER_ONLY;
	if (policy_get_rights(build->view->policy, grant->virt, strlen(grant->virt)) & POLICY_PUBLIC)
		flags |= MOUNT_HAS_PUBLIC_GRANT;
	if (path_is_below(grant->host_path, scratch) && !reported)
		flags |= MOUNT_PRIVATE;
	if (build_wants_overlay(build, grant))
		flags |= MOUNT_OVERLAY;
	return flags;
}

unsigned view_get_mount_restrictions(const struct view *view, unsigned flags, const char *host, const char *virt)
{
	unsigned restrictions = MOUNTS_NO_SETID;

	if (flags & (MOUNT_DEVICE | MOUNT_PROC))
		return restrictions;
	if (!path_is_below(host, "/dev")) /* a grant below /dev is a grant of devices */
		restrictions |= MOUNTS_NO_DEVICES;
	if (flags & (MOUNT_PROVIDED | MOUNT_LACKS_OVERLAY) || !policy_may_write(view->policy, virt))
		restrictions |= MOUNTS_READ_ONLY;
	return restrictions;
}

/* Makes a directory with the mode of /tmp, which programs check for. The scratch directory above it is 0700. */
static int build_make_shared_dir(const char *path)
{
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, 01777) < 0 ? -errno : 0;
}

/* Makes a directory of the scratch directory, with its ancestors. */
static int build_make_private_dir(const char *host)
{
	char path[PATH_MAX];
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s", host) >= sizeof(path))
		return -ENAMETOOLONG;
	r = build_make_shared_dir(path);
	if (r != -ENOENT)
		return r;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*slash = '/';
	}
	return build_make_shared_dir(path);
}

/* Refuses a grant of a procfs, which would show the supervisor. 0 or -EPERM. */
static int build_refuse_procfs(const struct build_state *build, int fd, const char *host)
{
	if (!view_is_procfs(fd))
		return 0;
	(void)snprintf(build->error->text, sizeof(build->error->text),
		       "%s is a procfs, which shows the supervisor: the program has its own /proc; remove the grant",
		       host);
	return -EPERM;
}

/* Opens a directory of the host, O_PATH. A descriptor or -errno, for some errors with a message. */
static int build_open_dir(const struct build_state *build, const char *host)
{
	const int root_fd = build->options->root_fd;
	_cleanup_close_ int fd = root_fd < 0 ? io_open_without_links(host, O_PATH | O_DIRECTORY)
					     : openat2_retry(root_fd, host[1] ? host + 1 : ".", O_PATH | O_DIRECTORY, 0,
							    IO_RESOLVE_BELOW);
	int r;

	if (fd == -ELOOP)
		(void)snprintf(
			build->error->text, sizeof(build->error->text),
			"%s has become a symbolic link, or lies behind one, since the policy was read: nothing was run",
			host);
	if (fd < 0)
		return fd;
	r = build_refuse_procfs(build, fd, host);
	return r < 0 ? r : steal_fd(&fd);
}

/* Clones the mount of a host path, for view_attach_mounts. A descriptor; -errno: the caller opens the path instead. */
static int build_clone_mount(const struct build_state *build, const char *virt, const char *host, unsigned flags,
			     mode_t *ret_mode)
{
	_cleanup_close_ int fd = -1, at = -1;
	struct stat st;

	if (build->options->tmpfs_fd < 0)
		return -ENOSYS;
	at = io_open_without_links(host, O_PATH);
	if (at < 0)
		return at;
	fd = mounts_clone_restricted(at, "", view_get_mount_restrictions(build->view, flags, host, virt));
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_mode = st.st_mode;
	return steal_fd(&fd);
}

/* Returns all of a path before its last slash; "" for the root. */
static void build_get_parent_path(const char *path, char dir[PATH_MAX])
{
	(void)snprintf(dir, PATH_MAX, "%.*s", (int)(strrchr(path, '/') - path), path);
}

/*
 * Finds or makes the held directory of a file. virt: the virtual path of a file in the skeleton, for which the
 * directory is opened, because `host` may not exist yet; else NULL.
 */
static int build_find_or_make_held_dir(const struct build_state *build, const char *host, const char *virt,
			  struct held_dir **ret_held)
{
	char name[PATH_MAX], dir[PATH_MAX];
	int fd;

	build_get_parent_path(host, name);
	*ret_held = view_find_held_dir(build->view, name);
	if (*ret_held)
		return 0;
	if (virt) {
		build_get_parent_path(virt, dir);
		fd = openat2_retry(build->view->skeleton_mount->fd, *dir ? dir + 1 : ".", O_PATH | O_DIRECTORY, 0,
				  IO_RESOLVE_BELOW);
	} else if (build->options->tmpfs_fd >= 0 && strcmp(name, "/" VIEW_PROVIDED_FILES_DIR_NAME) == 0) {
		fd = openat2_retry(build->options->tmpfs_fd, VIEW_PROVIDED_FILES_DIR_NAME, O_PATH | O_DIRECTORY, 0,
				  IO_RESOLVE_BELOW);
	} else {
		fd = build_open_dir(build, *name ? name : "/");
	}
	if (fd < 0)
		return fd;
	*ret_held = view_add_held_dir(build->view, name, fd);
	return *ret_held ? 0 : -ENOMEM;
}

/* Mounts a file. It is opened through its directory: if the host replaces it, the new file is seen. Takes copy_fd. */
static int build_mount_file(struct build_state *build, const char *virt, const char *host, int copy_fd, unsigned flags,
			    const char *rule)
{
	_cleanup_close_ int copy = copy_fd;
	struct held_dir *held = NULL;
	int r = build_find_or_make_held_dir(build, host, NULL, &held);

	if (r == 0)
		r = view_add_listing_entry(build->view, virt, S_IFREG, NULL);
	if (r == 0)
		r = view_add_file(build->view, virt, host, held, flags, rule);
	if (r == 0)
		build->view->mount[build->view->mount_count - 1]->copy_fd = steal_fd(&copy);
	return r;
}

/* Adds the mount of a granted directory. Takes dir_fd. */
static int build_mount_dir(struct build_state *build, const struct policy_mount *grant, int dir_fd, unsigned flags)
{
	_cleanup_close_ int fd = dir_fd;
	int r = view_add_listing_entry(build->view, grant->virt, S_IFDIR, NULL);

	return r < 0 ? r
		     : view_add_mount(build->view, grant->virt, grant->host_path, steal_fd(&fd), ".", flags,
				      grant->rule);
}

/* Mounts a clone of the granted object. -EAGAIN: it must be opened instead. */
static int build_mount_clone(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	mode_t mode = 0;
	_cleanup_close_ int fd = build_clone_mount(build, grant->virt, grant->host_path, flags, &mode);

	if (fd < 0)
		return -EAGAIN;
	if (!S_ISDIR(mode))
		return build_mount_file(build, grant->virt, grant->host_path, steal_fd(&fd), flags, grant->rule);
	if (build_refuse_procfs(build, fd, grant->host_path) < 0)
		return -EPERM;
	return build_mount_dir(build, grant, steal_fd(&fd), flags | MOUNT_DETACHED);
}

/* Adds the mount of a grant by opening its directory or file, where that cannot be cloned. */
static int build_mount_grant_by_opening(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	int fd = build_open_dir(build, grant->host_path);

	if (fd == -ENOTDIR)
		return build_mount_file(build, grant->virt, grant->host_path, -1, flags, grant->rule);
	if (fd < 0)
		/* The user cannot reach the object, so it is left out. */
		return fd == -ENOENT || fd == -EACCES ? 0 : fd;
	return build_mount_dir(build, grant, fd, flags);
}

/* ---- grants whose writes go to the scratch directory ---- */

#define VIEW_OVERLAYS_MAX 200u /* overlays of grants whose writes go to the scratch directory */

/* Mounts an overlay over the granted directory. -EAGAIN: that is impossible. */
static int build_mount_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	const unsigned restrictions = view_get_mount_restrictions(build->view, flags, grant->host_path, grant->virt);
	_cleanup_close_ int lower = -1;
	int fd;

	if (build->options->tmpfs_fd < 0 || build->overlays.made >= VIEW_OVERLAYS_MAX ||
	    overlays_has_mount_below(&build->overlays, grant->host_path))
		return -EAGAIN;
	lower = build_open_dir(build, grant->host_path);
	if (lower < 0)
		return lower == -EPERM ? lower : -EAGAIN;
	fd = overlay_create(&build->overlays, build->options->scratch_host, lower, grant->host_path, restrictions);
	return fd < 0 ? -EAGAIN : build_mount_dir(build, grant, fd, flags | MOUNT_DETACHED);
}

/* Whether an overlay may be mounted at this path or below it. */
static bool build_overlay_is_possible_below(const struct build_state *build, const char *virt)
{
	static const char *const machine[] = {"/proc", "/sys", "/dev"};

	for (size_t i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		if (path_is_below(virt, machine[i]))
			return false;
	/* A path that has another mount or a link of the view, such as a redirected /tmp, gets no overlay. */
	return !view_find_node(build->view, virt, strlen(virt), view_hash_path(virt, strlen(virt)));
}

static int build_mount_overlays_below(struct build_state *build, const struct policy_mount *grant, unsigned flags);

/*
 * Mounts an overlayfs over a subdirectory of a granted directory that has mounts below it; where the subdirectory has
 * such mounts itself, over its subdirectories instead.
 */
static int build_mount_overlay_at(struct build_state *build, const struct policy_mount *grant, unsigned flags,
				  const char *name)
{
	_cleanup_free_ char *virt = NULL, *host = NULL;
	struct policy_mount part = *grant;
	int r;

	if (asprintf(&virt, "%s/%s", grant->virt[1] ? grant->virt : "", name) < 0)
		virt = NULL;
	if (asprintf(&host, "%s/%s", grant->host_path[1] ? grant->host_path : "", name) < 0)
		host = NULL;
	if (!virt || !host)
		return -ENOMEM;
	part.virt = virt;
	part.host_path = host;
	if (!build_overlay_is_possible_below(build, virt))
		return 0;
	if (overlays_has_mount_below(&build->overlays, host))
		return build_mount_overlays_below(build, &part, flags);
	r = build_mount_overlay(build, &part, flags);
	return r == -EAGAIN ? 0 : r; /* without an overlay the outer mount shows the entry, read-only */
}

/*
 * Mounts an overlayfs over each subdirectory of a granted directory; where a subdirectory has mounts below it, over its
 * subdirectories instead. 0 or -errno.
 */
static int build_mount_overlays_below(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	_cleanup_closedir_ DIR *dir = opendir(grant->host_path);
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && !path_is_dot_name(entry->d_name))
			r = build_mount_overlay_at(build, grant, flags, entry->d_name);
	return r;
}

/* Shows a grant whose writes go to the host. */
static int build_mount_without_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	int r = build_mount_clone(build, grant, flags);

	if (r != -EAGAIN)
		return r;
	r = grant->creates_host_path ? build_make_private_dir(grant->host_path) : 0;
	return r < 0 ? r : build_mount_grant_by_opening(build, grant, flags);
}

/* Makes a missing directory that a run would make (@workdir/.tmp) in the scratch directory, and mounts that. */
static int build_mount_missing_grant(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	_cleanup_free_ char *host = NULL;
	struct policy_mount made = *grant;
	int r;

	if (asprintf(&host, "%s/made-%zu", build->options->scratch_host, build->overlays.count++) < 0) {
		host = NULL;
		return -ENOMEM;
	}
	made.host_path = host;
	r = build_make_private_dir(host);
	return r < 0 ? r : build_mount_without_overlay(build, &made, flags & ~(unsigned)MOUNT_OVERLAY);
}

/* Sets the error: what is written to the grant cannot be kept apart. */
static int build_refuse_dry_run_of_grant(const struct build_state *build, const struct policy_mount *grant)
{
	(void)snprintf(build->error->text, sizeof(build->error->text),
		       "--dry-run: what is written to %s cannot be kept apart: %s", grant->virt,
		       build->options->tmpfs_fd < 0 ? "that takes a mount namespace of the run's own (callgate doctor)"
						    : "that takes a directory, and an overlayfs that can be mounted "
						      "over it; grant its directory, or run in a copy");
	return -EOPNOTSUPP;
}

/*
 * Mounts a grant whose writes go to the scratch directory. What cannot have an overlay is mounted read-only. With
 * --dry-run this is an error, if it concerns the whole grant.
 */
static int build_mount_redirected(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	const bool dry = build->options->overlay == VIEW_OVERLAY_ALL;
	int r = build_mount_overlay(build, grant, flags);

	if (r != -EAGAIN)
		return r;
	if (grant->creates_host_path && access(grant->host_path, F_OK) < 0)
		return build_mount_missing_grant(build, grant, flags);
	if (build->options->tmpfs_fd >= 0 && overlays_has_mount_below(&build->overlays, grant->host_path)) {
		if (!array_reserve(&build->split, build->splits, &build->split_room))
			return -ENOMEM;
		build->split[build->splits++] = grant;
	} else if (dry) {
		return build_refuse_dry_run_of_grant(build, grant);
	}
	return build_mount_without_overlay(build, grant, (flags & ~(unsigned)MOUNT_OVERLAY) | MOUNT_LACKS_OVERLAY);
}

/* With --cow: shows a copy of directory `at`. For records it is the directory itself. */
static int build_mount_workspace_copy(struct build_state *build, const struct policy_mount *grant, unsigned flags,
				      int at)
{
	_cleanup_free_ char *host = NULL;
	struct policy_mount copy = *grant;
	struct mount *mount;
	int r = build_find_workspace_copy(build, grant, at, &host);

	if (r < 0)
		return r;
	copy.host_path = host;
	r = build_mount_without_overlay(build, &copy, (flags & ~(unsigned)MOUNT_OVERLAY) | MOUNT_WORKSPACE_COPY);
	if (r < 0)
		return r;
	mount = build->view->mount[build->view->mount_count - 1];
	if (strcmp(mount->host_path, host) != 0)
		return -EIO; /* it was left out, as a grant is that cannot be opened */
	free(mount->recorded_host_path);
	mount->recorded_host_path = strdup(grant->host_path);
	return mount->recorded_host_path ? 0 : -ENOMEM;
}

/*
 * Whether a directory of --cow is copied without trying an overlay: by option, or because it is one of another user or
 * group in which the user may write. What it contains is most likely like it.
 */
static bool build_wants_workspace_copy(const struct build_state *build, const struct policy_mount *grant)
{
	return build->options->copies_workspace || overlay_dir_is_unmapped(AT_FDCWD, grant->host_path, W_OK | X_OK);
}

/* With --cow: mounts a writable grant in a directory that stays as it is. */
static int build_mount_workspace(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	const int at = build_find_workspace_dir(build, grant->host_path);
	int r = build_check_workspace_grant(build, grant, at);

	if (r < 0)
		return r;
	build->overlays.count = (size_t)at; /* the layer has the number of the directory */
	r = build_wants_workspace_copy(build, grant) ? -EAGAIN : build_mount_overlay(build, grant, flags);
	if (r == -EAGAIN)
		r = build_mount_workspace_copy(build, grant, flags, at);
	if (r < 0)
		return r;
	build->workspace_dirs_mounted |= UINT64_C(1) << at;
	build->view->mount[build->view->mount_count - 1]->workspace_dir = at;
	return build_add_workspace_layer(build, grant, at);
}

/* Mounts the parts of split grants. Called after all grants: another grant may have the path of a part. */
static int build_mount_split_grants(struct build_state *build)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < build->splits; i++)
		r = build_mount_overlays_below(build, build->split[i], build_get_mount_flags(build, build->split[i]));
	return r;
}

/* Mounts a grant. 0 or -errno, for some errors with a message. */
static int build_mount_grant(struct build_state *build, const struct policy_mount *grant)
{
	unsigned flags = build_get_mount_flags(build, grant);
	int r = build_refuse_grant_above_workspace(build, grant);

	if (r < 0)
		return r;
	if (!(flags & MOUNT_OVERLAY))
		return build_mount_without_overlay(build, grant, flags);
	return build->options->overlay == VIEW_OVERLAY_WORKSPACE ? build_mount_workspace(build, grant, flags)
								 : build_mount_redirected(build, grant, flags);
}

/* ---- provided files ---- */

/* Adds a file of the skeleton itself, which needs no mount. */
static int build_mount_skeleton_file(struct build_state *build, const char *virt, const void *text, size_t len,
				     unsigned flags, const char *rule)
{
	_cleanup_free_ char *host = NULL;
	struct held_dir *held = NULL;
	int r = view_skeleton_add_file(build->view, virt, text, len);

	if (r == 0 && asprintf(&host, "%s%s", build->view->skeleton_host, virt) < 0) {
		host = NULL; /* asprintf(3) leaves it undefined on failure */
		r = -ENOMEM;
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

/* Adds a file with this content: in the skeleton or, in a granted tree, as the provided file `name`. */
static int build_mount_file_with_text(struct build_state *build, const char *name, const char *virt, const void *text,
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

/* Whether callgate itself provides a file at this path. */
static bool build_path_is_provided_file(const struct build_state *build, const char *virt)
{
	for (size_t i = 0; i < build->options->provided_file_count; i++)
		if (strcmp(build->options->provided_file[i].virt, virt) == 0)
			return true;
	return false;
}

/* Adds the files of view_options.provide, after the grants that they may lie in. 0, or -errno with a message. */
static int build_mount_provided_files(struct build_state *build)
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

/* Makes the skeleton, and shows it as "/". */
static int build_mount_root(struct build_state *build)
{
	const struct view_options *options = build->options;
	struct view *view = build->view;
	const bool own = options->tmpfs_fd >= 0;
	const char *name = own ? VIEW_ROOT_DIR_NAME : "view";
	const int dirfd = own ? options->tmpfs_fd : options->scratch_fd;
	_cleanup_close_ int fd = -1;

	if (mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (asprintf(&view->skeleton_host, "%s/%s", own ? "" : options->scratch_host, name) < 0) {
		view->skeleton_host = NULL;
		return -ENOMEM;
	}
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

/* Mounts one grant of the policy. index: its number, which names a provided file in the scratch directory. */
static int build_mount_grant_of_rule(struct build_state *build, const struct policy_mount *grant, size_t index)
{
	char name[32];
	int r;

	if (build_path_is_provided_file(build, grant->virt))
		return 0;
	(void)snprintf(name, sizeof(name), "%zu", index);
	if (grant->kind == POLICY_MOUNT_PROVIDE)
		r = build_mount_file_with_text(build, name, grant->virt, grant->provided_text, grant->provided_text_len,
					       0, grant->rule);
	else
		r = build_mount_grant(build, grant);
	return r < 0 && !build->error->text[0] ? build_set_error(build, r, "cannot mount in the view", grant->virt) : r;
}

/* Adds the symbolic links that the host has in the paths of rules. */
static int build_add_links_of_rule_paths(struct build_state *build, const struct policy *policy)
{
	size_t links;
	const struct policy_link *link = policy_get_links(policy, &links);
	int r = 0;

	for (size_t i = 0; r == 0 && i < links; i++)
		r = view_add_links_of_path(build->view, link[i].path);
	if (r == 0)
		r = view_add_merged_usr(build->view);
	tdestroy(build->view->plain, free);
	build->view->plain = NULL;
	return r;
}

static int build_whole_view(struct build_state *build, const struct policy *policy)
{
	size_t count;
	const struct policy_mount *grant = policy_get_mounts(policy, &count);
	int r = build_mount_root(build);

	if (r != 0)
		return build_set_error(build, r, "cannot make the view in", build->options->scratch_host);
	/* Before the grants: a grant of /dev/pts must show the terminals of the run. */
	r = terminals_add_to_view(build->view, build->options->pts_fd,
				  build->options->tmpfs_fd >= 0 || build->options->root_fd >= 0);
	if (r < 0)
		return build_set_error(build, r, "cannot make in the view", "/dev/pts");
	for (size_t i = 0; r == 0 && i < count; i++)
		r = build_mount_grant_of_rule(build, &grant[i], i);
	if (r == 0)
		r = build_mount_split_grants(build);
	if (r == 0)
		r = build_mount_provided_files(build);
	if (r < 0)
		return r;
	r = build_mount_proc(build);
	if (r == 0)
		r = build_mount_dev(build);
	if (r == 0)
		r = build_mount_devices(build);
	if (r == 0)
		r = build_add_links_of_rule_paths(build, policy);
	if (r == 0)
		r = view_add_covered_names(build->view, build->options->scratch_base);
	return r < 0 ? build_set_error(build, r, "cannot finish the view in", build->options->scratch_host) : 0;
}

/* ---- creating and freeing a view ---- */

int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error)
{
	struct view *view = calloc(1, sizeof(*view));
	struct build_state build = {.view = view, .options = options, .error = ret_error,
				    .overlays = OVERLAYS_NONE};
	const char *written_dir[OVERLAYS_WRITTEN_DIRS] = {options->workdir_host, options->home_host,
							  options->scratch_base, "/var/tmp"};
	const bool cow = options->overlay == VIEW_OVERLAY_WORKSPACE;
	mode_t old;
	int r;

	ret_error->text[0] = '\0';
	if (!view || !(view->skeleton_names = view_skeleton_names_create())) {
		free(view);
		return -ENOMEM;
	}
	view->policy = policy;
	view->shares_layers_with_second_view = options->second_view_shares_layers;
	view->proc_fd = view->standin_fd = view->host_root_fd = view->nosymfollow_root_fd = -1;
	old = umask(022);
	r = facts_create(view, options->scratch_fd);
	if (r == 0 && options->root_fd >= 0) {
		view->host_root_fd = fcntl(options->root_fd, F_DUPFD_CLOEXEC, 3);
		r = view->host_root_fd < 0 ? -errno : 0;
	}
	if (r == 0 && options->overlay != VIEW_OVERLAY_NONE && options->tmpfs_fd >= 0)
		r = overlays_read_mount_points(&build.overlays);
	memcpy(build.overlays.written_dir, written_dir, sizeof(written_dir));
	build.overlays.kept_dir = cow ? options->workspace_host : NULL;
	if (r == 0)
		r = build_whole_view(&build, policy);
	if (r == 0 && cow)
		r = build_check_workspace(&build);
	(void)umask(old);
	overlays_release(&build.overlays);
	free(build.split);
	if (r < 0) {
		view_free(view);
		return r;
	}
	*ret_view = view;
	return 0;
}

void view_free(struct view *view)
{
	if (!view)
		return;
	for (unsigned i = 0; i < VIEW_NODE_BUCKETS; i++) {
		while (view->node_bucket[i]) {
			struct view_node *node = view->node_bucket[i];

			view->node_bucket[i] = node->next;
			free(node->link_target);
			free(node);
		}
	}
	view_free_mounts(view);
	view_skeleton_names_free(view->skeleton_names);
	terminals_free(view);
	for (unsigned i = 0; view->start_dir_cache && i < VIEW_START_DIRS_CACHED; i++)
		free(view->start_dir_cache->cached_dir[i].virt);
	free(view->start_dir_cache);
	facts_free(view->facts);
	free(view->skeleton_host);
	free(view->standin_host);
	cleanup_close(&view->standin_fd);
	cleanup_close(&view->host_root_fd);
	cleanup_close(&view->proc_fd);
	cleanup_close(&view->nosymfollow_root_fd);
	free(view->hidden_processes.pid);
	free(view);
}

void view_set_policy(struct view *view, const struct policy *policy)
{
	view->policy = policy;
}

void view_set_supervisor_pid(struct view *view, pid_t root)
{
	view->run_root = root;
	if (root && !view->start_dir_cache)
		/* out of memory: paths are not cached */
		view->start_dir_cache = calloc(1, sizeof(*view->start_dir_cache));
}
