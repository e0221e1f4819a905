/* What a rule grants, as a mount of the view. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "view/build.h"

#include "base/banned.h"

static unsigned mount_flags(const struct build *build, const struct policy_mount *grant)
{
	const char *workdir = build->options->workdir_host, *scratch = build->options->scratch_host;
	bool reported = workdir && path_below(workdir, scratch) && path_below(grant->host, workdir);
	unsigned flags = 0;

	if (grant->filtered)
		flags |= MOUNT_FILTERED;
	if (grant->redirect)
		flags |= MOUNT_REDIRECT;
	if (path_below(grant->host, scratch) && !reported)
		flags |= MOUNT_PRIVATE;
	return flags;
}

unsigned view_restrictions(const struct view *view, unsigned flags, const char *host, const char *virt)
{
	unsigned restrictions = MOUNTS_NO_SETID;

	if (flags & (MOUNT_DEVICE | MOUNT_PROC))
		return restrictions;
	if (!path_below(host, "/dev")) /* who grants a device by name means it */
		restrictions |= MOUNTS_NO_DEVICES;
	if (flags & MOUNT_PROVIDED || !policy_may_write(view->policy, virt))
		restrictions |= MOUNTS_READ_ONLY;
	return restrictions;
}

static int make_private(const char *host)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s", host) >= sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) == 0)
		return chmod(path, 01777) < 0 ? -errno : 0;
	if (errno != ENOENT)
		return errno == EEXIST ? 0 : -errno;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*slash = '/';
	}
	/* Shared like /tmp, so that programs which check find what they expect; the scratch directory above is 0700. */
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, 01777) < 0 ? -errno : 0;
}

static int refuse_procfs(const struct build *build, int fd, const char *host)
{
	if (!view_is_procfs(fd))
		return 0;
	(void)snprintf(build->error->text, sizeof(build->error->text),
		       "%s is a procfs, which shows the supervisor: the program has its own /proc; remove the grant",
		       host);
	return -EPERM;
}

/* The policy has the canonical name: a link there is younger than the policy. */
static int changed(const struct build *build, const char *host)
{
	(void)snprintf(build->error->text, sizeof(build->error->text),
		       "%s has become a symbolic link, or lies behind one, since the policy was read: nothing was run",
		       host);
	return -ELOOP;
}

/* The directory of a grant, O_PATH. -errno, with a message when there is more to say. */
static int open_dir(const struct build *build, const char *host)
{
	_cleanup_close_ int fd = io_open_plain(host, O_PATH | O_DIRECTORY);
	int r;

	if (fd == -ELOOP)
		return changed(build, host);
	if (fd < 0)
		return fd;
	r = refuse_procfs(build, fd, host);
	return r < 0 ? r : steal_fd(&fd);
}

int view_build_copy(const struct build *build, const char *virt, const char *host, unsigned flags, mode_t *ret_mode)
{
	_cleanup_close_ int fd = -1, at = -1;
	struct stat st;

	if (!build->options || build->options->tmpfs_fd < 0)
		return -ENOSYS;
	at = io_open_plain(host, O_PATH);
	if (at < 0)
		return at;
	fd = mounts_clone_as(at, "", view_restrictions(build->view, flags, host, virt));
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_mode = st.st_mode;
	return steal_fd(&fd);
}

void view_build_dir_of(const char *path, char dir[PATH_MAX])
{
	(void)snprintf(dir, PATH_MAX, "%.*s", (int)(strrchr(path, '/') - path), path);
}

/* The directory of a file's host path, by a descriptor for all files of it. */
static int hold_dir(const struct build *build, const char *host, struct held **ret_held)
{
	char dir[PATH_MAX];
	int fd;

	view_build_dir_of(host, dir);
	*ret_held = view_held(build->view, dir);
	if (*ret_held)
		return 0;
	fd = open_dir(build, *dir ? dir : "/");
	if (fd < 0)
		return fd;
	*ret_held = view_hold(build->view, dir, fd);
	return *ret_held ? 0 : -ENOMEM;
}

int view_build_file(struct build *build, const char *virt, const char *host, int copy_fd, unsigned flags, const char *rule)
{
	_cleanup_close_ int copy = copy_fd;
	struct held *held = NULL;
	int r = hold_dir(build, host, &held);

	if (r == 0)
		r = view_show_name(build->view, virt, S_IFREG, NULL);
	if (r == 0)
		r = view_add_file(build->view, virt, host, held, flags, rule);
	if (r == 0)
		build->view->mount[build->view->mounts - 1]->copy_fd = steal_fd(&copy);
	return r;
}

static int add_dir(struct build *build, const struct policy_mount *grant, int dir_fd, unsigned flags)
{
	_cleanup_close_ int fd = dir_fd;
	int r = view_show_name(build->view, grant->virt, S_IFDIR, NULL);

	return r < 0 ? r : view_add_mount(build->view, grant->virt, grant->host, steal_fd(&fd), ".", flags, grant->rule);
}

/* As it will be mounted. -EAGAIN: it has to be opened. */
static int add_copy(struct build *build, const struct policy_mount *grant, unsigned flags)
{
	mode_t mode = 0;
	_cleanup_close_ int fd = view_build_copy(build, grant->virt, grant->host, flags, &mode);

	if (fd < 0)
		return -EAGAIN;
	if (!S_ISDIR(mode))
		return view_build_file(build, grant->virt, grant->host, steal_fd(&fd), flags, grant->rule);
	if (refuse_procfs(build, fd, grant->host) < 0)
		return -EPERM;
	return add_dir(build, grant, steal_fd(&fd), flags | MOUNT_COPY);
}

static int add_opened(struct build *build, const struct policy_mount *grant, unsigned flags)
{
	int fd = open_dir(build, grant->host);

	if (fd == -ENOTDIR)
		return view_build_file(build, grant->virt, grant->host, -1, flags, grant->rule);
	if (fd < 0)
		return fd == -ENOENT || fd == -EACCES ? 0 : fd; /* what cannot be reached cannot be granted */
	return add_dir(build, grant, fd, flags);
}

int view_build_grant(struct build *build, const struct policy_mount *grant)
{
	unsigned flags = mount_flags(build, grant);
	int r = add_copy(build, grant, flags);

	if (r != -EAGAIN)
		return r;
	r = grant->create ? make_private(grant->host) : 0;
	return r < 0 ? r : add_opened(build, grant, flags);
}
