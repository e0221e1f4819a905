#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/cgroup-private.h"

/* attempts to make the leaf, because another run may remove its directory between two steps */
#define LEAF_MAKE_ATTEMPTS_MAX 50
/* attempts to remove the leaf, one each millisecond, because a process leaves its group a little after it was reaped */
#define LEAF_REMOVE_ATTEMPTS_MAX 200
#define CGROUP_PROCS_BYTES_MAX (1u << 20) /* how much of the leaf's cgroup.procs is read at once */

const struct cgroup_files cgroup_v1_files = {
	.name = {[CGROUP_FD_PROCS] = "cgroup.procs",
		 [CGROUP_FD_MEMORY_USED] = "memory.usage_in_bytes",
		 [CGROUP_FD_MEMORY_PEAK] = "memory.max_usage_in_bytes",
		 [CGROUP_FD_MEMORY_EVENTS] = "memory.oom_control",
		 [CGROUP_FD_PIDS_LIMIT] = "pids.max",
		 [CGROUP_FD_PIDS_USED] = "pids.current",
		 [CGROUP_FD_PIDS_PEAK] = "pids.peak",
		 [CGROUP_FD_PIDS_EVENTS] = "pids.events",
		 [CGROUP_FD_CPU] = "cpuacct.usage"},
	.memory_limit = "memory.limit_in_bytes",
	.memory_swap = "memory.memsw.limit_in_bytes",
	.cpu_unit_ns = 1,
	.swap_limit_includes_memory = true,
};

static int cgroup_write_number(int dirfd, const char *name, uint64_t value)
{
	char text[24];

	/* `text` has room for the at most 20 digits. */
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return io_write_once(dirfd, name, text);
}

/* Kills the processes that were left when keeper and supervisor died: all members of a leaf belong to its run. */
static void cgroup_kill_members(int leaf_fd)
{
	_cleanup_free_ char *list = malloc(CGROUP_PROCS_BYTES_MAX);
	char *save = NULL;

	if (io_write_once(leaf_fd, "cgroup.kill", "1") == 0)
		return;
	if (!list || io_read_once(leaf_fd, "cgroup.procs", list, CGROUP_PROCS_BYTES_MAX) < 0)
		return;
	for (char *line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);

		if (pid > 1) /* 0: a process outside this pid namespace */
			(void)kill(pid, SIGKILL);
	}
}

/* Removes the leaves whose lock is free, because their keepers are dead. */
static void cgroup_sweep_dead_leaves(int base_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(base_fd, "."));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		_cleanup_close_ int fd = -1;

		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		fd = openat(base_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (unlinkat(base_fd, entry->d_name, AT_REMOVEDIR) < 0 && errno == EBUSY)
			/* the killed processes leave the group only later, so the next run removes the leaf */
			cgroup_kill_members(fd);
	}
}

/*
 * Removes the empty callgate-UID directories of all users. With --user, or below the root group, a keeper without
 * capabilities cannot remove its own. So the next run removes them, while it still has its capabilities.
 */
static void cgroup_sweep_uid_dirs(int parent_fd)
{
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(io_open_dir(parent_fd, "."));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, CGROUP_UID_DIR_PREFIX, strlen(CGROUP_UID_DIR_PREFIX)) == 0)
			/* EBUSY or ENOTEMPTY: a run still uses the group. */
			(void)unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR);
}

/* Makes callgate-UID and in it the leaf of the run. -ENOENT, -ENODEV: another run has removed one meanwhile. */
static int cgroup_make_dirs(struct cgroup_leaf *leaf, const char *parent, const char *base, const char *name,
			    const struct cgroup_options *options)
{
	int error = 0, *fd = leaf->fd;

	fd[CGROUP_FD_PARENT] = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd[CGROUP_FD_PARENT] < 0)
		return -errno;
	cgroup_sweep_uid_dirs(fd[CGROUP_FD_PARENT]);
	if (mkdirat(fd[CGROUP_FD_PARENT], base, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd[CGROUP_FD_UID_DIR] = openat(fd[CGROUP_FD_PARENT], base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd[CGROUP_FD_UID_DIR] < 0)
		return -errno;
	if (geteuid() != options->uid && fchown(fd[CGROUP_FD_UID_DIR], options->uid, options->gid) < 0)
		return -errno;
	cgroup_sweep_dead_leaves(fd[CGROUP_FD_UID_DIR]);
	if (leaf->files == &cgroup_v2_files)
		error = cgroup_v2_enable_controllers(fd[CGROUP_FD_UID_DIR], leaf->controllers);
	/* EEXIST: this run made the leaf in the round before (run IDs are random), when a sweep held its lock. */
	if (error == 0 && mkdirat(fd[CGROUP_FD_UID_DIR], name, 0755) < 0 && errno != EEXIST)
		error = -errno;
	if (error < 0)
		return error;
	fd[CGROUP_FD_LEAF] = openat(fd[CGROUP_FD_UID_DIR], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd[CGROUP_FD_LEAF] < 0)
		return -errno;
	if (flock(fd[CGROUP_FD_LEAF], LOCK_EX | LOCK_NB) < 0)
		return -ENOENT;
	return faccessat(fd[CGROUP_FD_LEAF], "cgroup.procs", F_OK, 0) < 0 ? -ENOENT : 0;
}

static void cgroup_close_leaf(struct cgroup_leaf *leaf)
{
	for (size_t i = 0; i < CGROUP_FD_MAX; i++)
		close_fd(&leaf->fd[i]);
}

/* Limits swap too: else pages would be swapped out. A missing file (no swap, or no accounting of it) is ignored. */
static int cgroup_limit_memory(const struct cgroup_leaf *leaf, uint64_t bytes)
{
	const struct cgroup_files *files = leaf->files;
	int dirfd = leaf->fd[CGROUP_FD_LEAF], error = cgroup_write_number(dirfd, files->memory_limit, bytes);

	if (error < 0)
		return error;
	(void)cgroup_write_number(dirfd, files->memory_swap, files->swap_limit_includes_memory ? bytes : 0);
	if (files->memory_group)
		(void)io_write_once(dirfd, files->memory_group, "1"); /* lets the OOM killer kill the whole run */
	return 0;
}

static int cgroup_set_limits(const struct cgroup_leaf *leaf, const struct policy_limits *limits, uint64_t pids_at_most)
{
	uint64_t pids = limits->pids;
	int error = 0;

	if (pids_at_most && (!pids || pids_at_most < pids))
		pids = pids_at_most;
	if (limits->memory_bytes && leaf->controllers & 1u << CGROUP_MEMORY)
		error = cgroup_limit_memory(leaf, limits->memory_bytes);
	if (error == 0 && pids && leaf->controllers & 1u << CGROUP_PIDS)
		error = cgroup_write_number(leaf->fd[CGROUP_FD_LEAF], leaf->files->name[CGROUP_FD_PIDS_LIMIT], pids);
	return error;
}

/* Version 1: opens an eventfd that becomes readable when the leaf runs out of memory; or -errno. */
static int cgroup_v1_open_oom_event(int leaf_fd)
{
	_cleanup_close_ int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	_cleanup_close_ int control_fd = openat(leaf_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char text[32];
	int error;

	if (event_fd < 0 || control_fd < 0)
		return -errno;
	/* `text` has room for two ints of any value. */
	(void)snprintf(text, sizeof(text), "%d %d", event_fd, control_fd);
	error = io_write_once(leaf_fd, "cgroup.event_control", text);
	return error < 0 ? error : steal_fd(&event_fd);
}

/*
 * Whether the leaf needs this file: its version of control groups has the file, and the leaf has the file's controller.
 */
static bool cgroup_leaf_needs_file(const struct cgroup_leaf *leaf, enum cgroup_fd which)
{
	if (!leaf->files->name[which])
		return false;
	if (which < CGROUP_FD_MEMORY_USED)
		return true; /* files before CGROUP_FD_MEMORY_USED need no controller */
	if (which < CGROUP_FD_PIDS_LIMIT)
		return leaf->controllers & 1u << CGROUP_MEMORY;
	return leaf->controllers & 1u << (which < CGROUP_FD_CPU ? CGROUP_PIDS : CGROUP_CPU);
}

static int cgroup_open_files(struct cgroup_leaf *leaf)
{
	int *fd = leaf->fd, event = -1;

	for (enum cgroup_fd which = CGROUP_FD_PROCS; which < CGROUP_FD_MAX; which++) {
		bool written = which == CGROUP_FD_PROCS || which == CGROUP_FD_KILL || which == CGROUP_FD_PIDS_LIMIT;

		if (cgroup_leaf_needs_file(leaf, which))
			fd[which] = openat(fd[CGROUP_FD_LEAF], leaf->files->name[which],
					   (written ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	}
	if (leaf->controllers & 1u << CGROUP_MEMORY)
		event = leaf->files == &cgroup_v2_files ? cgroup_v2_open_oom_event(fd[CGROUP_FD_MEMORY_EVENTS])
							: cgroup_v1_open_oom_event(fd[CGROUP_FD_LEAF]);
	fd[CGROUP_FD_OOM] = event < 0 ? -1 : event;
	return fd[CGROUP_FD_PROCS] < 0 ? -EACCES : 0;
}

int cgroup_make_leaf(struct cgroup_leaf *leaf, const struct cgroup_parent *parent, const char *base, const char *name,
		     const struct cgroup_options *options)
{
	int error = -ENOENT;

	leaf->controllers = parent->controllers;
	for (size_t i = 0; i < CGROUP_FD_MAX; i++)
		leaf->fd[i] = -1;
	for (int i = 0; i < LEAF_MAKE_ATTEMPTS_MAX && (error == -ENOENT || error == -ENODEV); i++) {
		cgroup_close_leaf(leaf);
		error = cgroup_make_dirs(leaf, parent->dir, base, name, options);
	}
	if (error == 0)
		error = cgroup_set_limits(leaf, options->limits, parent->pids_max);
	if (error == 0)
		error = cgroup_open_files(leaf);
	if (error < 0)
		cgroup_remove_leaf(leaf, base, name);
	return error;
}

void cgroup_remove_leaf(struct cgroup_leaf *leaf, const char *base, const char *name)
{
	static const struct timespec moment = {.tv_nsec = 1000000};
	const int *fd = leaf->fd;

	for (int i = 0; fd[CGROUP_FD_LEAF] >= 0 && i < LEAF_REMOVE_ATTEMPTS_MAX; i++) {
		if (unlinkat(fd[CGROUP_FD_UID_DIR], name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			break;
		if (i == 0)
			cgroup_kill_members(fd[CGROUP_FD_LEAF]);
		(void)nanosleep(&moment, NULL);
	}
	/* callgate-UID stays if it has leaves of other runs, or if removing it takes capabilities (root group). */
	if (fd[CGROUP_FD_UID_DIR] >= 0)
		(void)unlinkat(fd[CGROUP_FD_PARENT], base, AT_REMOVEDIR);
	cgroup_close_leaf(leaf);
}
