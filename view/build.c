/* Builds the view once, before the program starts: a mount for each grant of the policy, and what every run has. */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "view/build.h"

#include "base/banned.h"

int view_build_fail(const struct build *build, int error, const char *what, const char *path)
{
	(void)snprintf(build->error->text, sizeof(build->error->text), "%s %s: %s", what, path, strerror(-error));
	return error;
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
		copy = view_build_copy(build, path, path, MOUNT_DEVICE, &mode);
		if (copy >= 0 || access(path, F_OK) == 0)
			r = view_build_file(build, path, path, copy, MOUNT_DEVICE | (i == 5 ? MOUNT_TTY : 0), NULL);
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
		return view_build_fail(build, r, "cannot make the view in", build->options->scratch_host);
	for (size_t i = 0; i < count; i++) {
		if (view_build_is_provided(build, grant[i].virt))
			continue;
		r = grant[i].kind == POLICY_MOUNT_PROVIDE ? view_build_provided(build, &grant[i], i) : view_build_grant(build, &grant[i]);
		if (r < 0 && build->error->text[0])
			return r;
		if (r < 0)
			return view_build_fail(build, r, "cannot mount in the view", grant[i].virt);
	}
	r = view_build_run_provides(build);
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
	return r < 0 ? view_build_fail(build, r, "cannot finish the view in", build->options->scratch_host) : 0;
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
	r = view_build_file(&build, name, name, -1, MOUNT_DEVICE, NULL);
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
