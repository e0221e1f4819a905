/*
 * Control groups of one run, version 1, 2 or both (hybrid): one leaf in each hierarchy that has something to offer,
 * below a directory of the run's user. The keeper makes them while it is still privileged; everything needed later is
 * opened then. Only the program and what it starts are in them.
 *
 *   OWN GROUP/callgate-UID/RUN-ID        (v2 may need the parent of the own group instead, see cgroup-v2.c)
 *
 * callgate-UID belongs to the run's user, so that a keeper without capabilities can remove its leaf; the leaf and its
 * files belong to whoever made them. It stays when its parent cannot be written without capabilities (the root group,
 * --user); the next run of root takes it.
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
	uid_t uid;                          /* the run's, which may not be ours yet */
	gid_t gid;
	const struct policy_limits *limits;
	struct layers *layers;              /* LAYER_CGROUPS is set: what is there, or why nothing is */
};

struct cgroup;

/*
 * Makes what can be made; sweeps leaves of runs whose keeper died. Returns NULL, with the reason in the layer, when no
 * limit asks for control groups or none can be had: then memory and cpu are sampled. cgroup_destroy frees.
 */
struct cgroup *cgroup_create(const struct cgroup_options *options);

/* Removes the leaves; they must be empty by now (a moment is waited for the last ones to go). Frees. */
void cgroup_destroy(struct cgroup *cgroup);

/*
 * The directories above the leaves, by name in parent_fds, which the keeper may not be able to remove: at most
 * CGROUP_BASES_MAX. Returns how many. Borrowed.
 */
#define CGROUP_BASES_MAX 4
size_t cgroup_bases(const struct cgroup *cgroup, int parent_fds[CGROUP_BASES_MAX], const char **ret_name);

/* True when this one is there. NULL has none. */
bool cgroup_has(const struct cgroup *cgroup, enum cgroup_controller controller);

/* The cgroup.procs files to join, for launch_options. Borrowed. */
const int *cgroup_procs(const struct cgroup *cgroup, size_t *ret_count);

/* Every descriptor, for keep_only(): at most CGROUP_FDS_MAX are written to fds. Returns how many. */
#define CGROUP_FDS_MAX 44
size_t cgroup_fds(const struct cgroup *cgroup, int *fds);

/* Readable when memory ran out; -1: there is none. cgroup_read takes the event. */
int cgroup_event_fd(const struct cgroup *cgroup);

struct cgroup_usage {
	uint64_t memory_bytes, memory_peak_bytes; /* page cache included */
	uint64_t oom_kills;
	uint64_t cpu_ns;
	uint64_t pids, pids_peak;
	uint64_t pids_refused; /* forks */
};

/* What a controller does not tell stays 0. */
void cgroup_read(const struct cgroup *cgroup, struct cgroup_usage *ret_usage);

/* With version 2 SIGKILL to every member at once. Beside, not instead of, killing the tree. */
void cgroup_kill(const struct cgroup *cgroup);

/* No more forks; those that fail count as refused from now on, so this comes after the last cgroup_read(). */
void cgroup_close(const struct cgroup *cgroup);

#endif
