/* Mounts of granted directories and files of the host, as they are: what the other files of build.h are built on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "policy/paths/libraries.h"
#include "view/create/build.h"

int build_set_error(const struct build_state *build, int error, const char *what, const char *path)
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

unsigned build_get_mount_flags(const struct build_state *build, const struct policy_mount *grant)
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

int build_make_private_dir(const char *host)
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

int build_open_dir(const struct build_state *build, const char *host)
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

int build_clone_mount(const struct build_state *build, const char *virt, const char *host, unsigned flags,
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

int build_find_or_make_held_dir(const struct build_state *build, const char *host, const char *virt,
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

int build_mount_file(struct build_state *build, const char *virt, const char *host, int copy_fd, unsigned flags,
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

int build_mount_dir(struct build_state *build, const struct policy_mount *grant, int dir_fd, unsigned flags)
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

int build_mount_without_overlay(struct build_state *build, const struct policy_mount *grant, unsigned flags)
{
	int r = build_mount_clone(build, grant, flags);

	if (r != -EAGAIN)
		return r;
	r = grant->creates_host_path ? build_make_private_dir(grant->host_path) : 0;
	return r < 0 ? r : build_mount_grant_by_opening(build, grant, flags);
}
