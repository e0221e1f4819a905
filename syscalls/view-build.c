/* Builds the view once, before the program starts: mounts from the policy, the skeleton that holds their ancestors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
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

int view_add_node(struct view *view, const char *virt, struct mount *mount, const char *link)
{
	size_t len = strlen(virt);
	uint32_t hash = VIEW_HASH_START;
	struct node *node;

	for (size_t i = 1; i < len; i++)
		hash = view_hash_step(hash, virt[i]);
	if (view_node(view, virt, len, hash))
		return -EEXIST;
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->virt = strdup(virt);
	node->virt_len = len;
	node->link = link ? strdup(link) : NULL;
	if (!node->virt || (link && !node->link)) {
		free(node->virt);
		free(node->link);
		free(node);
		return -ENOMEM;
	}
	node->mount = mount;
	node->next = view->bucket[hash % VIEW_BUCKETS];
	view->bucket[hash % VIEW_BUCKETS] = node;
	return 0;
}

static void mount_free(struct mount *mount)
{
	if (!mount)
		return;
	if (mount->fd >= 0)
		(void)close(mount->fd);
	free(mount->virt);
	free(mount->host);
	free(mount->base);
	free(mount);
}

void view_free(struct view *view)
{
	if (!view)
		return;
	for (unsigned i = 0; i < VIEW_BUCKETS; i++) {
		while (view->bucket[i]) {
			struct node *node = view->bucket[i];

			view->bucket[i] = node->next;
			free(node->virt);
			free(node->link);
			free(node);
		}
	}
	for (size_t i = 0; i < view->mounts; i++)
		mount_free(view->mount[i]);
	free(view->mount);
	free(view->skeleton_host);
	if (view->proc_fd >= 0)
		(void)close(view->proc_fd);
	free(view);
}

/* Takes nothing; the mount is owned by the view afterwards. fd is stolen. */
static int add_mount(struct view *view, const char *virt, const char *host, int fd, const char *base, unsigned flags,
		     const char *rule)
{
	struct mount **list = reallocarray(view->mount, view->mounts + 1, sizeof(*list));
	struct mount *mount = calloc(1, sizeof(*mount));
	int r = 0;

	if (list)
		view->mount = list;
	if (!list || !mount) {
		free(mount);
		(void)close(fd);
		return -ENOMEM;
	}
	*mount = (struct mount){.view = view, .virt = strdup(virt), .host = strdup(host), .base = strdup(base), .fd = fd,
				.flags = flags, .rule = rule, .virt_len = strlen(virt), .host_len = strlen(host)};
	view->mount[view->mounts++] = mount;
	if (!mount->virt || !mount->host || !mount->base)
		return -ENOMEM;
	if (strcmp(virt, "/") == 0)
		view->top = mount;
	else
		r = view_add_node(view, virt, mount, NULL);
	return r == -EEXIST ? 0 : r;
}

/* True when a host tree already shows at this virtual path, so that the skeleton has no say there. */
static bool covered(const struct view *view, const char *virt)
{
	struct place place;

	return view_locate(view, NULL, "/", virt, 0, &place) < 0 || !(place.mount->flags & MOUNT_SKELETON);
}

/* The parents of a virtual path in the skeleton, and an entry with the object's type for listings. */
static int add_skeleton(const struct build *build, const char *virt, mode_t type, const char *target)
{
	const struct view *view = build->view;
	char path[PATH_MAX];
	char *slash;
	int r;

	(void)snprintf(path, sizeof(path), "%s", virt);
	if (type == S_IFDIR)
		return view_skeleton_mkdir(view, virt);
	slash = strrchr(path, '/');
	if (slash > path) {
		*slash = '\0';
		r = view_skeleton_mkdir(view, path);
		if (r < 0)
			return r;
		*slash = '/';
	}
	if (type == S_IFLNK)
		r = symlinkat(target, view->root->fd, path + 1);
	else
		r = mknodat(view->root->fd, path + 1, S_IFREG | 0444, 0); /* NOLINT(clang-analyzer-core*): it takes -errno for 0 */
	return r < 0 && errno != EEXIST ? -errno : 0;
}

/* Symbolic links on the way a rule was written: /lib for a grant of /usr/lib, /var/run for /run. */
static int add_links(const struct build *build, const char *written)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct stat object;

	if ((size_t)snprintf(path, sizeof(path), "%s", written) >= sizeof(path))
		return -ENAMETOOLONG;
	for (char *at = path + 1; at && *at;) {
		char *slash = strchr(at, '/');
		ssize_t len;
		int r;

		if (slash)
			*slash = '\0';
		if (lstat(path, &object) == 0 && S_ISLNK(object.st_mode) && !covered(build->view, path)) {
			len = readlink(path, target, sizeof(target) - 1);
			if (len > 0) {
				target[len] = '\0';
				r = view_add_node(build->view, path, NULL, target);
				if (r == 0)
					r = add_skeleton(build, path, S_IFLNK, target);
				if (r < 0 && r != -EEXIST)
					return r;
			}
		}
		if (slash)
			*slash = '/';
		at = slash ? slash + 1 : NULL;
	}
	return 0;
}

/* Debian's merged /usr: the loader's path /lib64/… is compiled into every program. */
static int add_merged_usr(const struct build *build)
{
	static const char *const links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(links) / sizeof(links[0]); i++) {
		_cleanup_free_ char *real = realpath(links[i], NULL);

		if (real && strcmp(real, links[i]) != 0 && covered(build->view, real))
			r = add_links(build, links[i]);
	}
	return r;
}

static unsigned mount_flags(const struct build *build, const struct policy_mount *grant)
{
	const char *workdir = build->options->workdir_host;
	unsigned flags = 0;

	if (grant->filtered)
		flags |= MOUNT_FILTERED;
	if (grant->redirect)
		flags |= MOUNT_REDIRECT;
	if (path_below(grant->host, build->options->scratch_host) && !(workdir && path_below(grant->host, workdir)))
		flags |= MOUNT_PRIVATE;
	return flags;
}

static int make_private(const char *host)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s", host) >= sizeof(path))
		return -ENAMETOOLONG;
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

/*
 * A grant that lies below one of the run's own directories (a workdir in /tmp, which is redirected): its ancestors and an
 * entry for it are made there, so that paths lead to it step by step and listings show it.
 */
static int add_to_private(const struct build *build, const char *virt, mode_t type)
{
	char host[PATH_MAX];
	struct place place;
	struct stat there;
	size_t start;
	int r = view_locate(build->view, NULL, "/", virt, 0, &place);

	if (r < 0 || !(place.mount->flags & MOUNT_PRIVATE) || place.mount->flags & MOUNT_FILE)
		return 0;
	r = view_host(&place, host, sizeof(host));
	if (r < 0)
		return r;
	start = strlen(place.mount->host) + 1;
	for (char *slash = strchr(host + start, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(host, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (lstat(host, &there) == 0)
		return 0;
	r = type == S_IFDIR ? mkdir(host, 0755) : mknod(host, S_IFREG | 0444, 0);
	return r < 0 ? -errno : 0;
}

/* A grant of a single file is held by its directory, so that a host that replaces the file is followed. */
static int add_file(struct build *build, const char *virt, const char *host, unsigned flags, const char *rule)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, r;

	(void)snprintf(dir, sizeof(dir), "%s", host);
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = covered(build->view, virt) ? add_to_private(build, virt, S_IFREG) : add_skeleton(build, virt, S_IFREG, NULL);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return add_mount(build->view, virt, host, fd, strrchr(host, '/') + 1, flags | MOUNT_FILE, rule);
}

static int add_grant(struct build *build, const struct policy_mount *grant)
{
	unsigned flags = mount_flags(build, grant);
	int fd, r;

	if (grant->create) {
		r = make_private(grant->host);
		if (r < 0)
			return r;
	}
	fd = open(grant->host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOTDIR)
		return add_file(build, grant->virt, grant->host, flags, grant->rule);
	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno; /* what cannot be reached cannot be granted */
	r = covered(build->view, grant->virt) ? add_to_private(build, grant->virt, S_IFDIR)
					      : add_skeleton(build, grant->virt, S_IFDIR, NULL);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return add_mount(build->view, grant->virt, grant->host, fd, ".", flags, grant->rule);
}

/* Content that the policy supplies lives as a read-only file in the scratch space. */
static int add_provided(struct build *build, const struct policy_mount *grant, size_t index)
{
	char name[32], host[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	if (mkdirat(build->options->scratch_fd, "provided", 0700) < 0 && errno != EEXIST)
		return -errno;
	(void)snprintf(name, sizeof(name), "provided/%zu", index);
	fd = openat(build->options->scratch_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, grant->text, grant->text_len);
	if (r < 0)
		return r;
	(void)snprintf(host, sizeof(host), "%s/%s", build->options->scratch_host, name);
	return add_file(build, grant->virt, host, MOUNT_PROVIDED | MOUNT_PRIVATE, grant->rule);
}

static int add_devices(struct build *build)
{
	static const char *const device[] = {"null", "zero", "full", "random", "urandom", "tty"};
	static const char *const link[][2] = {{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"},
					      {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"}};
	char path[32];
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(device) / sizeof(device[0]); i++) {
		(void)snprintf(path, sizeof(path), "/dev/%s", device[i]);
		if (access(path, F_OK) == 0)
			r = add_file(build, path, path, MOUNT_DEVICE | (i == 5 ? MOUNT_NOTTY : 0), NULL);
	}
	for (size_t i = 0; r == 0 && i < sizeof(link) / sizeof(link[0]); i++) {
		r = view_add_node(build->view, link[i][0], NULL, link[i][1]);
		if (r == 0)
			r = add_skeleton(build, link[i][0], S_IFLNK, link[i][1]);
	}
	return r;
}

static int add_proc(struct build *build)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	build->view->proc_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (add_skeleton(build, "/proc", S_IFDIR, NULL) < 0 || build->view->proc_fd < 0) {
		(void)close(fd);
		return -EIO;
	}
	return add_mount(build->view, "/proc", "/proc", fd, ".", MOUNT_PROC, NULL);
}

static int add_root(struct build *build)
{
	const struct view_options *options = build->options;
	struct view *view = build->view;
	int fd;

	if (mkdirat(options->scratch_fd, "view", 0755) < 0 && errno != EEXIST)
		return -errno;
	if (asprintf(&view->skeleton_host, "%s/view", options->scratch_host) < 0) {
		view->skeleton_host = NULL;
		return -ENOMEM;
	}
	fd = openat(options->scratch_fd, "view", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (add_mount(view, "/", view->skeleton_host, fd, ".", MOUNT_SKELETON, NULL) < 0)
		return -ENOMEM;
	view->root = view->mount[0];
	return 0;
}

/* Other runs' scratch space, and our own beyond what is mounted, is nowhere, by whichever names it was granted. */
static int add_holes(const struct build *build)
{
	const struct view *view = build->view;
	const char *base = build->options->scratch_base;

	for (size_t i = 0; i < view->mounts; i++) {
		const struct mount *mount = view->mount[i];
		const char *rest = path_rest(base, mount->host);
		char virt[PATH_MAX];
		int r;

		if (!rest || !*rest || mount->flags & (MOUNT_SKELETON | MOUNT_FILE))
			continue;
		if ((size_t)snprintf(virt, sizeof(virt), "%s/%s", mount->virt_len > 1 ? mount->virt : "", rest) >=
		    sizeof(virt))
			return -ENAMETOOLONG;
		r = view_add_node(build->view, virt, NULL, NULL);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return 0;
}

static int build_all(struct build *build, const struct policy *policy)
{
	size_t count;
	const struct policy_mount *grant = policy_mounts(policy, &count);
	int r = add_root(build);

	if (r != 0)
		return fail(build, r, "cannot make the view in", build->options->scratch_host);
	for (size_t i = 0; i < count; i++) {
		r = grant[i].kind == POLICY_MOUNT_PROVIDE ? add_provided(build, &grant[i], i) : add_grant(build, &grant[i]);
		if (r < 0)
			return fail(build, r, "cannot mount in the view", grant[i].virt);
	}
	r = add_proc(build);
	if (r == 0)
		r = add_devices(build);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (grant[i].written)
			r = add_links(build, grant[i].written);
	if (r == 0)
		r = add_merged_usr(build);
	if (r == 0)
		r = add_holes(build);
	return r < 0 ? fail(build, r, "cannot finish the view in", build->options->scratch_host) : 0;
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
	view->policy = policy;
	view->proc_fd = -1;
	old = umask(022);
	r = build_all(&build, policy);
	(void)umask(old);
	if (r < 0) {
		view_free(view);
		return r;
	}
	*ret_view = view;
	return 0;
}

void view_set_tree(struct view *view, struct tree *tree)
{
	view->tree = tree;
}
