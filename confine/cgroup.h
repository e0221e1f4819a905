/*
 * The control groups of one run, in version 1, 2 or both (hybrid): one leaf in each hierarchy that is needed. Only the
 * program and its descendants are in the leaves. The keeper makes them, and opens all their files, before it drops its
 * capabilities.
 *
 *   OWN GROUP/callgate-UID/RUN-ID        (v2 may need the parent of the own group instead, see cgroup-v2.c)
 *
 * callgate-UID belongs to the user of the run, so that a keeper without capabilities can remove its leaf. Where
 * removing callgate-UID itself takes capabilities (root group, --user), it stays until the next run of root removes it.
 */
#ifndef CALLGATE_CONFINE_CGROUP_H
#define CALLGATE_CONFINE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "confine/layers.h"
#include "policy/policy.h"

enum cgroup_controller { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_CONTROLLERS };

/* What the control groups of a run are made for. */
struct cgroup_options {
	const char *run_id;                 /* the name of the leaf */
	uid_t uid;                          /* the uid of the run, to which the keeper may not have changed yet */
	gid_t gid;
	const struct policy_limits *limits; /* limits that control groups are to hold */
	struct layers *layers;              /* the state of LAYER_CGROUPS is set here, with the reason if inactive */
};

struct cgroup;

/*
 * Makes the leaves, and removes leaves of runs whose keeper died. Returns NULL, with the reason in the layer, when no
 * limit needs control groups or no leaf can be made: then memory and CPU time are sampled. cgroup_destroy frees.
 */
struct cgroup *cgroup_create(const struct cgroup_options *options);

/* Removes the leaves when their last processes have left (waits up to 0.2 s), and frees cgroup. */
void cgroup_destroy(struct cgroup *cgroup);

#define CGROUP_UID_DIRS_MAX 4 /* directories callgate-UID of a run: at most one per leaf */
/* Gets the callgate-UID directories: their parents (borrowed) and their common name. Returns how many there are. */
size_t cgroup_get_uid_dirs(const struct cgroup *cgroup, int parent_fds[CGROUP_UID_DIRS_MAX], const char **ret_name);

/* True when the run has the controller. cgroup may be NULL. */
bool cgroup_has_controller(const struct cgroup *cgroup, enum cgroup_controller controller);

/* Returns descriptors of the cgroup.procs files that the program must join. Borrowed. */
const int *cgroup_get_procs_fds(const struct cgroup *cgroup, size_t *ret_count);

#define CGROUP_FDS_MAX 44 /* descriptors that cgroup_get_fds() returns */
/* Writes all descriptors (at most CGROUP_FDS_MAX) to fds, for descriptors_close_all_but(). Returns their number. */
size_t cgroup_get_fds(const struct cgroup *cgroup, int *fds);

/* Returns a descriptor that is readable from when memory ran out until cgroup_read_usage(); -1: none. Borrowed. */
int cgroup_get_oom_fd(const struct cgroup *cgroup);

/* What the run uses, as its control groups count it. */
struct cgroup_usage {
	uint64_t memory_bytes, memory_peak_bytes; /* memory of the run now and at its peak, page cache included */
	uint64_t oom_kills;                       /* processes that the OOM killer has ended */
	uint64_t cpu_ns;                          /* CPU time since the run's start */
	uint64_t pids, pids_peak;
	uint64_t refused_fork_count; /* forks that failed because of the limit of processes */
};

/* Reads the usage. Values of controllers that the run lacks are 0. */
void cgroup_read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage);

/* Sends SIGKILL to all members at once, in version 2 only: the caller needs killtree() in any case. */
void cgroup_kill_all(const struct cgroup *cgroup);

/* Makes all further forks fail. They count in refused_fork_count, so read the usage before. */
void cgroup_forbid_forks(const struct cgroup *cgroup);

#endif
