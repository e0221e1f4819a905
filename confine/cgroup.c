#include "confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/cgroup-private.h"
#include "confine/pidmax.h"

#define CGROUP_LEAVES_MAX (CGROUP_CONTROLLERS + 1) /* groups of a run: one per v1 controller, one of v2 */
#define CGROUP_ALL_CONTROLLERS_MASK ((1u << CGROUP_CONTROLLERS) - 1)
#define MOUNTINFO_BYTES_MAX (1u << 20) /* enough for mountinfo with thousands of mounts */

_Static_assert((CGROUP_FD_MAX - CGROUP_FD_PROCS) * CGROUP_LEAVES_MAX <= CGROUP_FDS_MAX,
	       "CGROUP_FDS_MAX is large enough");

/* The control groups of a run: one of version 2, or one for each controller of version 1. */
struct cgroup {
	char leaf_name[64]; /* name of the run's leaf groups */
	char uid_dir_name[32]; /* "callgate-UID" */
	struct cgroup_leaf leaf[CGROUP_LEAVES_MAX];
	size_t leaf_count;               /* used entries of leaf[] and procs_fd[] */
	int procs_fd[CGROUP_LEAVES_MAX]; /* descriptors of cgroup.procs, which the program joins */
	unsigned controllers;            /* bits of the controllers that any leaf has */
};

/*
 * Tries in a short-lived child process whether processes can be moved into the leaf. Moving fails where the common
 * ancestor of both groups belongs to another user or is threaded; then the run has no such leaf. The try costs no time:
 * the first move waits for an RCU grace period (cgroup_threadgroup_rwsem), so that the move of the program soon
 * afterwards need not. 0 or -errno.
 */
static int cgroup_try_join_leaf(int procs_fd)
{
	int status = 0;
	pid_t pid;

	(void)signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, the kernel reaps the child */
	pid = fork();
	if (pid == 0)
		_exit(write(procs_fd, "0", 1) == 1 ? 0 : errno);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* Makes a leaf. True when the run can use it; otherwise `why` says why not. */
static bool cgroup_add_leaf(struct cgroup *cgroup, const struct cgroup_files *files, const struct cgroup_parent *parent,
			    const struct cgroup_options *options, char *why, size_t size)
{
	struct cgroup_leaf *leaf = &cgroup->leaf[cgroup->leaf_count];
	int error;

	leaf->files = files;
	error = cgroup_make_leaf(leaf, parent, cgroup->uid_dir_name, cgroup->leaf_name, options);
	if (error < 0) {
		(void)snprintf(why, size, "no group can be made in %.100s: %s", parent->dir, strerror(-error));
		return false;
	}
	error = cgroup_try_join_leaf(leaf->fd[CGROUP_FD_PROCS]);
	if (error < 0) {
		cgroup_remove_leaf(leaf, cgroup->uid_dir_name, cgroup->leaf_name);
		(void)snprintf(why, size, "a group in %.100s cannot be joined: %s", parent->dir, strerror(-error));
		return false;
	}
	cgroup->procs_fd[cgroup->leaf_count++] = leaf->fd[CGROUP_FD_PROCS];
	cgroup->controllers |= parent->controllers;
	return true;
}

/* Adds the leaves of version 1. Controllers that are mounted together (cpu,cpuacct) share a leaf. */
static void cgroup_add_v1_leaves(struct cgroup *cgroup, const struct cgroup_own_dirs *places,
				 const struct cgroup_options *options, char *why, size_t size)
{
	unsigned done = cgroup->controllers;

	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++) {
		struct cgroup_parent parent = {.controllers = 0};

		if (!places->v1[c][0] || done & 1u << c)
			continue;
		/* Is never truncated, because parent.dir has the same size as places->v1[c]. */
		(void)snprintf(parent.dir, sizeof(parent.dir), "%s", places->v1[c]);
		for (enum cgroup_controller same = c; same < CGROUP_CONTROLLERS; same++)
			if (strcmp(places->v1[same], places->v1[c]) == 0)
				parent.controllers |= 1u << same;
		done |= parent.controllers;
		(void)cgroup_add_leaf(cgroup, &cgroup_v1_files, &parent, options, why, size);
	}
}

/*
 * Adds the leaves. The leaf of version 2 comes first, because it tells the CPU time and has cgroup.kill even without
 * controllers. Each controller is in one version only.
 */
static void cgroup_add_leaves(struct cgroup *cgroup, const struct cgroup_options *options, char *why, size_t size)
{
	_cleanup_free_ char *self = NULL, *mounts = NULL;
	_cleanup_free_ struct cgroup_own_dirs *places = malloc(sizeof(*places));
	struct cgroup_parent parent;
	size_t len;

	if (!places || io_read_file(AT_FDCWD, "/proc/self/cgroup", MOUNTINFO_BYTES_MAX, &self, &len) < 0 ||
	    io_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_BYTES_MAX, &mounts, &len) < 0) {
		(void)snprintf(why, size, "/proc/self/cgroup and mountinfo cannot be read");
		return;
	}
	cgroup_find_own_dirs(self, mounts, places);
	if (places->v2[0] && cgroup_v2_find_parent(places, &parent, why, size) == 0)
		(void)cgroup_add_leaf(cgroup, &cgroup_v2_files, &parent, options, why, size);
	cgroup_add_v1_leaves(cgroup, places, options, why, size);
}

/* Sets the state of LAYER_CGROUPS: which controllers there are, and why others are missing. */
static void cgroup_report_layer(const struct cgroup *cgroup, struct layers *layers, const char *why)
{
	static const char *const names[CGROUP_CONTROLLERS] = {"memory", "pids", "cpu"};
	char there[32] = "", missing[32] = "";

	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++) {
		char *list = cgroup->controllers & 1u << c ? there : missing;
		size_t len = strlen(list);

		/* fits: three short names */
		(void)snprintf(list + len, sizeof(there) - len, "%s%s", len ? ", " : "", names[c]);
	}
	if (!missing[0])
		layers_set_state(layers, LAYER_CGROUPS, true, "%s of the whole run are counted by the kernel", there);
	else
		layers_set_state(layers, LAYER_CGROUPS, false, "not for %s: %s%s%s", missing,
				 *why ? why : "none is mounted", there[0] ? "; yes for " : "", there);
}

/*
 * True when the number of tasks is limited without control groups: by pidmax.h; or by RLIMIT_NPROC, which counts per
 * user namespace and uid, but not for root. Judging forks is worse: a signal can make a fork fail with EINTR before its
 * notification is received, and a shell then gives up.
 */
static bool cgroup_tasks_are_limited_otherwise(const struct cgroup_options *options)
{
	const struct layers *layers = options->layers;

	if (!layers_wants_layer(layers, LAYER_USERNS) || !layers_wants_layer(layers, LAYER_PIDNS) ||
	    !layers_wants_layer(layers, LAYER_MOUNTNS))
		return false;
	return options->uid != 0 || pidmax_limit_is_supported(options->limits->pids);
}

/* True when a limit needs control groups: making and joining them takes tens of ms, most of a short run. */
static bool cgroup_is_needed(const struct cgroup_options *options)
{
	const struct policy_limits *limits = options->limits;

	if (!layers_wants_layer(options->layers, LAYER_CGROUPS))
		return false;
	if (limits->memory_bytes || limits->cpu_ns || options->layers->required_layers & LAYER_BIT(LAYER_CGROUPS) ||
	    (limits->pids && !cgroup_tasks_are_limited_otherwise(options)))
		return true;
	layers_set_state(options->layers, LAYER_CGROUPS, false, "no limit asks for them");
	return false;
}

struct cgroup *cgroup_create(const struct cgroup_options *options)
{
	struct cgroup *cgroup;
	char why[160] = "";

	if (!cgroup_is_needed(options))
		return NULL;
	cgroup = calloc(1, sizeof(*cgroup));
	if (!cgroup) {
		layers_set_state(options->layers, LAYER_CGROUPS, false, "no memory");
		return NULL;
	}
	/* a run id fits in `name` */
	(void)snprintf(cgroup->leaf_name, sizeof(cgroup->leaf_name), "%s", options->run_id);
	(void)snprintf(cgroup->uid_dir_name, sizeof(cgroup->uid_dir_name), CGROUP_UID_DIR_PREFIX "%u",
		       (unsigned)options->uid);
	cgroup_add_leaves(cgroup, options, why, sizeof(why));
	cgroup_report_layer(cgroup, options->layers, why);
	if (cgroup->leaf_count > 0)
		return cgroup;
	free(cgroup);
	return NULL;
}

_Static_assert(CGROUP_LEAVES_MAX <= CGROUP_UID_DIRS_MAX, "CGROUP_UID_DIRS_MAX is large enough");

size_t cgroup_get_uid_dirs(const struct cgroup *cgroup, int parent_fds[CGROUP_UID_DIRS_MAX], const char **ret_name)
{
	size_t count = 0;

	if (!cgroup)
		return 0;
	for (size_t i = 0; i < cgroup->leaf_count; i++)
		if (cgroup->leaf[i].fd[CGROUP_FD_PARENT] >= 0)
			parent_fds[count++] = cgroup->leaf[i].fd[CGROUP_FD_PARENT];
	*ret_name = cgroup->uid_dir_name;
	return count;
}

void cgroup_destroy(struct cgroup *cgroup)
{
	if (!cgroup)
		return;
	for (size_t i = 0; i < cgroup->leaf_count; i++)
		cgroup_remove_leaf(&cgroup->leaf[i], cgroup->uid_dir_name, cgroup->leaf_name);
	free(cgroup);
}

bool cgroup_has_controller(const struct cgroup *cgroup, enum cgroup_controller controller)
{
	return cgroup && cgroup->controllers & 1u << controller;
}

const int *cgroup_get_procs_fds(const struct cgroup *cgroup, size_t *ret_count)
{
	*ret_count = cgroup ? cgroup->leaf_count : 0;
	return cgroup ? cgroup->procs_fd : NULL;
}

size_t cgroup_get_fds(const struct cgroup *cgroup, int *fds)
{
	size_t count = 0;

	for (size_t i = 0; cgroup && i < cgroup->leaf_count; i++)
		for (size_t which = CGROUP_FD_PROCS; which < CGROUP_FD_MAX; which++)
			if (cgroup->leaf[i].fd[which] >= 0)
				fds[count++] = cgroup->leaf[i].fd[which];
	return count;
}

int cgroup_get_oom_fd(const struct cgroup *cgroup)
{
	for (size_t i = 0; cgroup && i < cgroup->leaf_count; i++)
		if (cgroup->leaf[i].fd[CGROUP_FD_OOM] >= 0)
			return cgroup->leaf[i].fd[CGROUP_FD_OOM];
	return -1;
}

/* Reads a number from an open file. Uses pread(2), because the file is read again and again. */
static uint64_t cgroup_read_number(int fd, const char *key)
{
	char text[2048];
	ssize_t len = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	return cgroup_parse_number(text, key);
}

static void cgroup_read_usage_of_leaf(const struct cgroup_leaf *leaf, struct cgroup_usage *usage)
{
	const int *fd = leaf->fd;

	if (leaf->controllers & 1u << CGROUP_MEMORY) {
		usage->memory_bytes = cgroup_read_number(fd[CGROUP_FD_MEMORY_USED], NULL);
		usage->memory_peak_bytes = cgroup_read_number(fd[CGROUP_FD_MEMORY_PEAK], NULL);
		usage->oom_kills = cgroup_read_number(fd[CGROUP_FD_MEMORY_EVENTS], "oom_kill");
	}
	if (leaf->controllers & 1u << CGROUP_PIDS) {
		usage->pids = cgroup_read_number(fd[CGROUP_FD_PIDS_USED], NULL);
		usage->pids_peak = cgroup_read_number(fd[CGROUP_FD_PIDS_PEAK], NULL);
		usage->refused_fork_count = cgroup_read_number(fd[CGROUP_FD_PIDS_EVENTS], "max");
	}
	if (leaf->controllers & 1u << CGROUP_CPU)
		usage->cpu_ns = cgroup_read_number(fd[CGROUP_FD_CPU], leaf->files->cpu_key) * leaf->files->cpu_unit_ns;
}

void cgroup_read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage)
{
	uint64_t event;

	*ret_usage = (struct cgroup_usage){0};
	for (size_t i = 0; i < cgroup->leaf_count; i++) {
		const struct cgroup_leaf *leaf = &cgroup->leaf[i];

		/* In version 1, clear the event. In version 2, reading memory.events does that. */
		if (leaf->files == &cgroup_v1_files && leaf->fd[CGROUP_FD_OOM] >= 0)
			(void)!read(leaf->fd[CGROUP_FD_OOM], &event, sizeof(event));
		cgroup_read_usage_of_leaf(leaf, ret_usage);
	}
}

/* Writes a digit, such as "1" to cgroup.kill, to a file of every leaf. */
static void cgroup_write_digit_to_leaves(const struct cgroup *cgroup, enum cgroup_fd which, const char *digit)
{
	for (size_t i = 0; cgroup && i < cgroup->leaf_count; i++)
		if (cgroup->leaf[i].fd[which] >= 0)
			(void)!write(cgroup->leaf[i].fd[which], digit, 1);
}

void cgroup_kill_all(const struct cgroup *cgroup)
{
	cgroup_write_digit_to_leaves(cgroup, CGROUP_FD_KILL, "1");
}

void cgroup_forbid_forks(const struct cgroup *cgroup)
{
	cgroup_write_digit_to_leaves(cgroup, CGROUP_FD_PIDS_LIMIT, "0");
}
