/* Builds the view once, before the program starts: a mount for each grant of the policy, and what every run has. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mounts.h"
#include "base/path.h"
#include "policy/below.h"
#include "syscalls/view-private.h"

#include "base/banned.h"

struct build {
	struct view *view;
	const struct view_options *options;
	struct policy_error *error;
};

static int fail(const struct build *build, int error, const char *what, const char *path)
{
	(void)snprintf(build->error->text, sizeof(build->error->text), "%s %s: %s", what, path, strerror(-error));
	return error;
}

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

/* The directory of a grant, O_PATH. -errno, with a message when there is more to say. */
static int open_dir(const struct build *build, const char *host)
{
	_cleanup_close_ int fd = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = refuse_procfs(build, fd, host);
	return r < 0 ? r : steal_fd(&fd);
}

/*
 * What is there, as it will be mounted, where that is to be done: one descriptor serves for building the view and for
 * mounting it. -errno when it cannot be had; then opening it tells why, and mounting says what could not be done.
 */
static int copy_host(const struct build *build, const char *virt, const char *host, unsigned flags, mode_t *ret_mode)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!build->options || build->options->tmpfs_fd < 0)
		return -ENOSYS;
	fd = mounts_clone_as(AT_FDCWD, host, view_restrictions(build->view, flags, host, virt));
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode)) /* the host put a link there: opening it follows that */
		return -ELOOP;
	*ret_mode = st.st_mode;
	return steal_fd(&fd);
}

/* The directory of a path: all before its last slash, "" for the root. */
static void dir_of(const char *path, char dir[PATH_MAX])
{
	(void)snprintf(dir, PATH_MAX, "%.*s", (int)(strrchr(path, '/') - path), path);
}

/* The directory of a file's host path, by a descriptor for all files of it. */
static int hold_dir(const struct build *build, const char *host, struct held **ret_held)
{
	char dir[PATH_MAX];
	int fd;

	dir_of(host, dir);
	*ret_held = view_held(build->view, dir);
	if (*ret_held)
		return 0;
	fd = open_dir(build, *dir ? dir : "/");
	if (fd < 0)
		return fd;
	*ret_held = view_hold(build->view, dir, fd);
	return *ret_held ? 0 : -ENOMEM;
}

/*
 * A grant of a single file is held by its directory, so that a host that replaces the file is followed. copy_fd is taken, also
 * on failure; -1: none.
 */
static int add_file(struct build *build, const char *virt, const char *host, int copy_fd, unsigned flags, const char *rule)
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

/* As it will be mounted. -errno: it has to be opened. */
static int add_copy(struct build *build, const struct policy_mount *grant, unsigned flags)
{
	mode_t mode = 0;
	_cleanup_close_ int fd = copy_host(build, grant->virt, grant->host, flags, &mode);

	if (fd < 0)
		return -EAGAIN;
	if (!S_ISDIR(mode))
		return add_file(build, grant->virt, grant->host, steal_fd(&fd), flags, grant->rule);
	if (refuse_procfs(build, fd, grant->host) < 0)
		return -EPERM;
	return add_dir(build, grant, steal_fd(&fd), flags | MOUNT_COPY);
}

static int add_opened(struct build *build, const struct policy_mount *grant, unsigned flags)
{
	int fd = open_dir(build, grant->host);

	if (fd == -ENOTDIR)
		return add_file(build, grant->virt, grant->host, -1, flags, grant->rule);
	if (fd < 0)
		return fd == -ENOENT || fd == -EACCES ? 0 : fd; /* what cannot be reached cannot be granted */
	return add_dir(build, grant, fd, flags);
}

static int add_grant(struct build *build, const struct policy_mount *grant)
{
	unsigned flags = mount_flags(build, grant);
	int r = add_copy(build, grant, flags);

	if (r != -EAGAIN)
		return r;
	r = grant->create ? make_private(grant->host) : 0;
	return r < 0 ? r : add_opened(build, grant, flags);
}

/* hold_dir for the skeleton, which may have its name in no mount namespace yet. */
static int hold_own_dir(const struct build *build, const char *host, const char *virt, struct held **ret_held)
{
	char name[PATH_MAX], dir[PATH_MAX];
	int fd;

	dir_of(host, name);
	dir_of(virt, dir);
	*ret_held = view_held(build->view, name);
	if (*ret_held)
		return 0;
	fd = openat2_call(build->view->root->fd, *dir ? dir + 1 : ".", O_PATH | O_DIRECTORY, 0,
			  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return fd;
	*ret_held = view_hold(build->view, name, fd);
	return *ret_held ? 0 : -ENOMEM;
}

/* In the skeleton, where nothing has to be mounted for it. */
static int add_own(struct build *build, const char *virt, const void *text, size_t len, unsigned flags, const char *rule)
{
	_cleanup_free_ char *host = NULL;
	struct held *held = NULL;
	int r = view_skeleton_file(build->view, virt, text, len);

	if (r == 0 && asprintf(&host, "%s%s", build->view->skeleton_host, virt) < 0) {
		host = NULL; /* undefined after a failure */
		r = -ENOMEM;
	}
	if (r == 0)
		r = hold_own_dir(build, host, virt, &held);
	return r < 0 ? r : view_add_file(build->view, virt, host, held, flags | MOUNT_OWN, rule);
}

/* Content that the policy or the run supplies: below a granted tree it is a read-only file of the scratch space. */
static int add_text(struct build *build, const char *name, const char *virt, const void *text, size_t len, unsigned flags,
		    const char *rule)
{
	char host[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	flags |= MOUNT_PROVIDED | MOUNT_PRIVATE;
	if (!view_covered(build->view, virt))
		return add_own(build, virt, text, len, flags, rule);
	if (mkdirat(build->options->scratch_fd, "provided", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(build->options->scratch_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, text, len);
	if (r < 0)
		return r;
	(void)snprintf(host, sizeof(host), "%s/%s", build->options->scratch_host, name);
	return add_file(build, virt, host, -1, flags, rule);
}

static int add_provided(struct build *build, const struct policy_mount *grant, size_t index)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "provided/%zu", index);
	return add_text(build, name, grant->virt, grant->text, grant->text_len, 0, grant->rule);
}

static bool run_provides(const struct build *build, const char *virt)
{
	for (size_t i = 0; i < build->options->provides; i++)
		if (strcmp(build->options->provide[i].virt, virt) == 0)
			return true;
	return false;
}

/* After the grants, which they stand in the place of or within. */
static int add_run_provides(struct build *build)
{
	char name[40];

	for (size_t i = 0; i < build->options->provides; i++) {
		const struct view_provide *file = &build->options->provide[i];
		int r;

		(void)snprintf(name, sizeof(name), "provided/run-%zu", i);
		r = add_text(build, name, file->virt, file->text, file->text_len, MOUNT_RUN, NULL);
		if (r < 0)
			return fail(build, r, "cannot provide", file->virt);
	}
	return 0;
}

/*
 * A grant of "/" is one of files: /dev stays the view's own, or it would hold the caller's terminal. Who wants a device
 * grants it (or /dev) by name.
 */
static int keep_dev(const struct build *build)
{
	struct place place;
	int r = view_locate(build->view, NULL, "/", "/dev", 0, &place);

	if (r < 0 || place.mount->flags & MOUNT_SKELETON || place.mount->virt_len > 1)
		return r;
	r = view_skeleton_mkdir(build->view, "/dev");
	return r < 0 ? r : view_add_node(build->view, "/dev", build->view->root, NULL);
}

static int add_devices(struct build *build)
{
	static const char *const device[] = {"null", "zero", "full", "random", "urandom", "tty"};
	static const char *const link[][2] = {{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
					      {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"}};
	char path[32];
	mode_t mode;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(device) / sizeof(device[0]); i++) {
		int copy;

		(void)snprintf(path, sizeof(path), "/dev/%s", device[i]);
		copy = copy_host(build, path, path, MOUNT_DEVICE, &mode);
		if (copy >= 0 || access(path, F_OK) == 0)
			r = add_file(build, path, path, copy, MOUNT_DEVICE | (i == 5 ? MOUNT_TTY : 0), NULL);
	}
	for (size_t i = 0; r == 0 && i < sizeof(link) / sizeof(link[0]); i++) {
		r = view_add_node(build->view, link[i][0], NULL, link[i][1]);
		if (r == 0)
			r = view_skeleton_entry(build->view, link[i][0], S_IFLNK, link[i][1]);
	}
	return r;
}

static int add_proc(struct build *build)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	build->view->proc_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (view_skeleton_entry(build->view, "/proc", S_IFDIR, NULL) < 0 || build->view->proc_fd < 0) {
		(void)close(fd);
		return -EIO;
	}
	return view_add_mount(build->view, "/proc", "/proc", fd, ".", MOUNT_PROC, NULL);
}

static int add_root(struct build *build)
{
	const struct view_options *options = build->options;
	struct view *view = build->view;
	const bool own = options->tmpfs_fd >= 0;
	const char *name = own ? VIEW_ROOT_NAME : "view";
	const int dirfd = own ? options->tmpfs_fd : options->scratch_fd;
	int fd;

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
	if (view->standin_fd < 0 || !view->standin_host) {
		(void)close(fd);
		return -ENOMEM;
	}
	if (view_add_mount(view, "/", view->skeleton_host, fd, ".", MOUNT_SKELETON, NULL) < 0)
		return -ENOMEM;
	view->root = view->mount[0];
	return 0;
}

static int build_all(struct build *build, const struct policy *policy)
{
	size_t count, links;
	const struct policy_mount *grant = policy_mounts(policy, &count);
	const struct policy_link *link = policy_links(policy, &links);
	int r = add_root(build);

	if (r != 0)
		return fail(build, r, "cannot make the view in", build->options->scratch_host);
	for (size_t i = 0; i < count; i++) {
		if (run_provides(build, grant[i].virt))
			continue;
		r = grant[i].kind == POLICY_MOUNT_PROVIDE ? add_provided(build, &grant[i], i) : add_grant(build, &grant[i]);
		if (r < 0 && build->error->text[0])
			return r;
		if (r < 0)
			return fail(build, r, "cannot mount in the view", grant[i].virt);
	}
	r = add_run_provides(build);
	if (r < 0)
		return r;
	r = add_proc(build);
	if (r == 0)
		r = keep_dev(build);
	if (r == 0)
		r = add_devices(build);
	for (size_t i = 0; r == 0 && i < count; i++)
		/* The compiler found the canonical name: where that is what the rule has, no link is on the way. */
		if (grant[i].written && strcmp(grant[i].written, grant[i].virt) != 0)
			r = view_add_links(build->view, grant[i].written);
	for (size_t i = 0; r == 0 && i < links; i++) /* of rules whose mount another one covers */
		r = view_add_links(build->view, link[i].path);
	if (r == 0)
		r = view_add_merged_usr(build->view);
	tdestroy(build->view->plain, free);
	build->view->plain = NULL;
	if (r == 0)
		r = view_add_holes(build->view, build->options->scratch_base);
	return r < 0 ? fail(build, r, "cannot finish the view in", build->options->scratch_host) : 0;
}

/* What is built is under an umask that suits directories for everybody. */
static mode_t begin(struct view *view)
{
	view->building = true;
	return umask(022);
}

static void end(struct view *view, mode_t old)
{
	view->building = false;
	(void)umask(old);
}

int view_set_terminal(struct view *view, int terminal_fd)
{
	struct build build = {.view = view};
	char name[32] = "";
	mode_t old;
	int r = 0;

	if (ttyname_r(terminal_fd, name, sizeof(name)) != 0)
		name[0] = '\0';
	view->terminal_fd = terminal_fd;
	/* One of another devpts instance has no name here: tty(1) says so, everything else works. */
	if (strncmp(name, "/dev/pts/", 9) != 0)
		return 0;
	old = begin(view);
	r = add_file(&build, name, name, -1, MOUNT_DEVICE, NULL);
	end(view, old);
	return r;
}

int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error)
{
	struct view *view = calloc(1, sizeof(*view));
	struct build build = {.view = view, .options = options, .error = ret_error};
	mode_t old;
	int r;

	if (!view)
		return -ENOMEM;
	ret_error->text[0] = '\0';
	view->shown = view_shown_create();
	if (!view->shown) {
		free(view);
		return -ENOMEM;
	}
	view->policy = policy;
	view->proc_fd = view->standin_fd = view->host_root_fd = view->terminal_fd = view->still_fd = -1;
	old = begin(view);
	r = build_all(&build, policy);
	end(view, old);
	if (r < 0) {
		view_free(view);
		return r;
	}
	*ret_view = view;
	return 0;
}
