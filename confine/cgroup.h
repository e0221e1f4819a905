/*
 * Control groups of one run, version 1, 2 or both (hybrid): one leaf in each useful hierarchy. Only the program and its
 * descendants are in them. The keeper makes them, and opens all their files, before it drops its capabilities.
 *
 *   OWN GROUP/callgate-UID/RUN-ID        (v2 may need the parent of the own group instead, see cgroup-v2.c)
 *
 * callgate-UID belongs to the run's user, so that a keeper without capabilities can remove its leaf. callgate-UID
 * itself stays where removing it takes capabilities (root group, --user); the next run of root removes it.
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

struct cgroup_options {
	const char *run_id;                 /* the leaf's name */
	uid_t uid;                          /* the run's, which the keeper may not have taken on yet */
	gid_t gid;
	const struct policy_limits *limits;
	struct layers *layers;              /* LAYER_CGROUPS is set, with the reason if inactive */
};

struct cgroup;

/*
 * Makes the leaves, and removes those of runs whose keeper died. NULL, with the reason in the layer, when no limit
 * needs control groups or none can be made: memory and CPU time are then sampled. cgroup_destroy frees.
 */
struct cgroup *cgroup_create(const struct cgroup_options *options);

/* Removes the leaves, after their last processes have left (up to 0.2 s). Frees cgroup. */
void cgroup_destroy(struct cgroup *cgroup);

/* The callgate-UID directories: their parents' descriptors, their common name, and how many there are. Borrowed. */
#define CGROUP_BASES_MAX 4
size_t cgroup_get_bases(const struct cgroup *cgroup, int parent_fds[CGROUP_BASES_MAX], const char **ret_name);

/* True when the run has the controller. cgroup may be NULL. */
bool cgroup_has_controller(const struct cgroup *cgroup, enum cgroup_controller controller);

/* The cgroup.procs files to join, for launch_options. Borrowed. */
const int *cgroup_get_procs_fds(const struct cgroup *cgroup, size_t *ret_count);

/* Writes all descriptors (at most CGROUP_FDS_MAX) to fds, for descriptors_keep_only(). Returns how many. */
#define CGROUP_FDS_MAX 44
size_t cgroup_get_fds(const struct cgroup *cgroup, int *fds);

/* A descriptor, readable when memory ran out, until cgroup_read_usage(); -1: none. */
int cgroup_get_oom_fd(const struct cgroup *cgroup);

struct cgroup_usage {
	uint64_t memory_bytes, memory_peak_bytes; /* page cache included */
	uint64_t oom_kills;
	uint64_t cpu_ns;
	uint64_t pids, pids_peak;
	uint64_t pids_refused; /* failed forks */
};

/* Values of missing controllers are 0. */
void cgroup_read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret_usage);

/* Version 2: sends SIGKILL to all members at once. killtree() is needed in any case. */
void cgroup_kill_all(const struct cgroup *cgroup);

/* Makes all further forks fail. They count in pids_refused, so call it after the last cgroup_read_usage(). */
void cgroup_forbid_forks(const struct cgroup *cgroup);

#endif
