#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/cgroup-private.h"

/*
 * "No internal processes" (cgroups(7)): except for the root, a group that contains processes cannot enable controllers
 * for its children. The own group contains this process at least. So these places for the leaf are tried in order:
 *
 *   own group      when it is the root, or its children have the controllers already
 *   own group      where systemd has delegated it (Delegate=yes of a service): its processes are moved into a leaf
 *                  first
 *   its parent     when it may be written: under systemd the units of a user manager are siblings in a slice that
 *                  belongs to the user. Not when the own group has limits, which would not apply there
 *   own group      at the root of a cgroup namespace (a container): its processes are moved into a leaf first, as
 *                  container engines inside containers do
 */

const struct cgroup_files cgroup_v2_files = {
	.name = {[CGROUP_FD_PROCS] = "cgroup.procs",
		 [CGROUP_FD_KILL] = "cgroup.kill", /* Linux 5.14 */
		 [CGROUP_FD_MEMORY_USED] = "memory.current",
		 [CGROUP_FD_MEMORY_PEAK] = "memory.peak",
		 [CGROUP_FD_MEMORY_EVENTS] = "memory.events",
		 [CGROUP_FD_PIDS_LIMIT] = "pids.max",
		 [CGROUP_FD_PIDS_USED] = "pids.current",
		 [CGROUP_FD_PIDS_PEAK] = "pids.peak",
		 [CGROUP_FD_PIDS_EVENTS] = "pids.events",
		 [CGROUP_FD_CPU] = "cpu.stat"},
	.memory_limit = "memory.max",
	.memory_swap = "memory.swap.max",
	.memory_group = "memory.oom.group",
	.cpu_key = "usage_usec",
	.cpu_unit_ns = 1000,
};

#define LEAF_NAME_FOR_PROCESSES "callgate-init" /* child group to which callgate's own group's processes are moved */
#define PROCESS_MOVE_ATTEMPTS_MAX 10 /* rounds of moving all processes, because processes may fork during a round */
#define CGROUP_PROCS_BYTES_MAX 65536 /* how much of the own group's cgroup.procs is read at once */

static const char *const controller_names[CGROUP_CONTROLLERS] = {[CGROUP_MEMORY] = "memory", [CGROUP_PIDS] = "pids"};

/* Returns the bits of the controllers that a file lists. CPU time is counted without a controller. */
static unsigned cgroup_get_controllers(int dirfd, const char *file)
{
	unsigned bits = 1u << CGROUP_CPU;
	char text[512], *save = NULL;

	if (io_read_once(dirfd, file, text, sizeof(text)) < 0)
		return 0;
	for (char *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
		for (enum cgroup_controller c = 0; c < CGROUP_CPU; c++)
			if (strcmp(word, controller_names[c]) == 0)
				bits |= 1u << c;
	return bits;
}

int cgroup_v2_enable_controllers(int dirfd, unsigned controllers)
{
	unsigned missing = controllers & ~cgroup_get_controllers(dirfd, "cgroup.subtree_control");

	for (enum cgroup_controller c = 0; c < CGROUP_CPU; c++) {
		char word[16];
		int error;

		if (!(missing & 1u << c))
			continue;
		/* `word` has room: names of controllers are short. */
		(void)snprintf(word, sizeof(word), "+%s", controller_names[c]);
		error = io_write_once(dirfd, "cgroup.subtree_control", word);
		if (error < 0)
			return error;
	}
	return 0;
}

/* Whether a file such as memory.max sets no limit. */
static bool cgroup_limit_file_is_max(int dirfd, const char *name)
{
	char text[64];

	/* Without this file the group lacks the controller, and so has no limit. */
	return io_read_once(dirfd, name, text, sizeof(text)) < 0 || strncmp(text, "max", 3) == 0;
}

/* True when the own group has limits that would not apply to a sibling. pids.max does not count: it is copied. */
static bool cgroup_has_limits(int own_fd)
{
	return !cgroup_limit_file_is_max(own_fd, "memory.max") || !cgroup_limit_file_is_max(own_fd, "memory.high") ||
	       !cgroup_limit_file_is_max(own_fd, "memory.swap.max") || !cgroup_limit_file_is_max(own_fd, "cpu.max");
}

/* Tries whether children of a directory can be made and have the controllers. 0 or -errno. */
static int cgroup_try_dir_as_parent(int dirfd, unsigned controllers)
{
	if (faccessat(dirfd, ".", W_OK, AT_EACCESS) < 0)
		return -errno;
	return cgroup_v2_enable_controllers(dirfd, controllers);
}

/* Tries to make the leaf beside callgate's own group, instead of in it. 0 or -errno. */
static int cgroup_try_parent_of_own_group(const struct cgroup_own_dirs *places, int own_fd, unsigned controllers,
			      struct cgroup_parent *parent)
{
	_cleanup_close_ int up_fd = -1;
	char text[64];
	int error;

	if (strcmp(places->v2, places->v2_mount_point) == 0 || cgroup_has_limits(own_fd))
		return -EBUSY;
	up_fd = openat(own_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = up_fd < 0 ? -errno : cgroup_try_dir_as_parent(up_fd, controllers);
	if (error < 0)
		return error;
	(void)snprintf(parent->dir, sizeof(parent->dir), "%.*s", (int)(strrchr(places->v2, '/') - places->v2),
		       places->v2);
	if (io_read_once(own_fd, "pids.max", text, sizeof(text)) > 0)
		parent->pids_max = cgroup_parse_number(text, NULL); /* 0 for "max": no limit */
	return 0;
}

/* Moves the processes of a group into a leaf below it, except kernel threads and processes that have ended. */
static void cgroup_move_processes(int own_fd, int leaf_fd)
{
	_cleanup_free_ char *list = malloc(CGROUP_PROCS_BYTES_MAX);
	char *save = NULL;

	if (!list || io_read_once(own_fd, "cgroup.procs", list, CGROUP_PROCS_BYTES_MAX) < 0)
		return;
	for (char *pid = strtok_r(list, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save))
		(void)io_write_once(leaf_fd, "cgroup.procs", pid);
}

/* True when systemd says that the group, and all in it, is its owner's to arrange: systemd.resource-control(5). */
static bool cgroup_is_delegated(int own_fd)
{
	char text[2];

	return fgetxattr(own_fd, "user.delegate", text, sizeof(text)) == 1 && text[0] == '1';
}

/* Moves the processes of the own group into a leaf, so that its other children can have the controllers. */
static int cgroup_try_moving_processes(int own_fd, unsigned controllers)
{
	_cleanup_close_ int leaf_fd = -1;
	int error = -EBUSY;

	if (mkdirat(own_fd, LEAF_NAME_FOR_PROCESSES, 0755) < 0 && errno != EEXIST)
		return -errno;
	leaf_fd = openat(own_fd, LEAF_NAME_FOR_PROCESSES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf_fd < 0)
		return -errno;
	for (int round = 0; error == -EBUSY && round < PROCESS_MOVE_ATTEMPTS_MAX; round++) {
		cgroup_move_processes(own_fd, leaf_fd);
		error = cgroup_try_dir_as_parent(own_fd, controllers);
	}
	return error;
}

int cgroup_v2_find_parent(const struct cgroup_own_dirs *places, struct cgroup_parent *ret_parent, char *why,
			  size_t size)
{
	_cleanup_close_ int own_fd = open(places->v2, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned controllers = own_fd < 0 ? 0 : cgroup_get_controllers(own_fd, "cgroup.controllers");
	int error = own_fd < 0 ? -errno : cgroup_try_dir_as_parent(own_fd, controllers);
	const bool is_delegated = error == -EBUSY && cgroup_is_delegated(own_fd);

	*ret_parent = (struct cgroup_parent){.controllers = controllers};
	if (is_delegated)
		error = cgroup_try_moving_processes(own_fd, controllers);
	if (error < 0 && own_fd >= 0 && cgroup_try_parent_of_own_group(places, own_fd, controllers, ret_parent) == 0)
		return 0;
	if (error == -EBUSY && !is_delegated && strcmp(places->v2, places->v2_mount_point) == 0)
		error = cgroup_try_moving_processes(own_fd, controllers);
	if (error == 0) {
		(void)snprintf(ret_parent->dir, sizeof(ret_parent->dir), "%s", places->v2);
		return 0;
	}
	ret_parent->controllers = 0;
	if (error == -EBUSY)
		(void)snprintf(why, size, "%.60s holds processes and so cannot limit its children; systemd-run --user "
			       "--scope callgate … gives one that can", places->v2);
	else
		(void)snprintf(why, size, "%.80s cannot be used: %s", places->v2, strerror(-error));
	return error;
}

int cgroup_v2_open_oom_event(int events_fd)
{
	/* kernfs reports a change as EPOLLPRI. An epoll descriptor around the file then becomes readable (POLLIN). */
	struct epoll_event event = {.events = EPOLLPRI};
	_cleanup_close_ int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, events_fd, &event) < 0)
		return -errno;
	return steal_fd(&epoll_fd);
}
