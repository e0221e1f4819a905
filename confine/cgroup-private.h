/* Between cgroup.c and the two versions. */
#ifndef CALLGATE_CONFINE_CGROUP_PRIVATE_H
#define CALLGATE_CONFINE_CGROUP_PRIVATE_H

#include <limits.h>

#include "confine/cgroup.h"

/* Where this process is: directories as seen from here. "" when there is none, or it cannot be reached. */
struct cgroup_places {
	char v1[CGROUP_CONTROLLERS][PATH_MAX];
	char v2[PATH_MAX];
	char v2_top[PATH_MAX]; /* where version 2 is mounted: nothing above it can be used */
};

/* From the texts of /proc/self/cgroup and /proc/self/mountinfo. */
void cgroup_find(const char *self, const char *mountinfo, struct cgroup_places *ret_places);

/* Names of files in a leaf; NULL: this version has none. */
struct cgroup_files {
	const char *memory_limit, *memory_swap, *memory_group, *memory_used, *memory_peak, *memory_events;
	const char *pids_limit, *pids_used, *pids_peak, *pids_events;
	const char *cpu, *cpu_key; /* cpu_key NULL: the file is one number */
	uint64_t cpu_unit_ns;
	/* the limit of memory and swap together, set to the memory limit; otherwise of swap alone: 0 */
	bool swap_is_sum;
};
extern const struct cgroup_files cgroup_v1_files, cgroup_v2_files;

/* A leaf's parent that a version chose. */
struct cgroup_parent {
	char dir[PATH_MAX];
	unsigned controllers;  /* bits of what leaves below it will have */
	uint64_t pids_at_most; /* a limit that the run must not escape by being put here; 0: none */
};

/*
 * Version 2: finds, and prepares (cgroup.subtree_control), a directory whose children have the controllers. 0, or
 * -errno with why: then only cgroup.kill and cpu time may be had (controllers without memory and pids) or, with dir "",
 * nothing.
 */
int cgroup_v2_parent(const struct cgroup_places *places, struct cgroup_parent *ret_parent, char *why, size_t size);

/* Gives a made directory's children the controllers. 0 or -errno. */
int cgroup_v2_enable(int dirfd, unsigned controllers);

/* An eventfd that is written to when the leaf's memory runs out (version 1), or -errno. */
int cgroup_v1_oom_event(int leaf_fd);
/* Readable when the memory.events of an open descriptor changed (version 2), or -errno. */
int cgroup_v2_oom_event(int events_fd);

#define CGROUP_BASE "callgate-" /* and the run's uid: the directory of leaves */

/* What is kept open of a leaf. The first three are the keeper's alone. */
enum cgroup_fd {
	CGROUP_FD_PARENT,
	CGROUP_FD_BASE, /* callgate-UID */
	CGROUP_FD_LEAF, /* locked: its keeper lives */
	CGROUP_FD_PROCS,
	CGROUP_FD_KILL,
	CGROUP_FD_MEMORY_USED,
	CGROUP_FD_MEMORY_PEAK,
	CGROUP_FD_MEMORY_EVENTS,
	CGROUP_FD_OOM, /* readable when memory ran out */
	CGROUP_FD_PIDS_LIMIT,
	CGROUP_FD_PIDS_USED,
	CGROUP_FD_PIDS_PEAK,
	CGROUP_FD_PIDS_EVENTS,
	CGROUP_FD_CPU,
	CGROUP_FD_MAX,
};

struct cgroup_leaf {
	const struct cgroup_files *files;
	unsigned controllers;
	int fd[CGROUP_FD_MAX]; /* -1: not there */
};

/*
 * Makes PARENT/base, owned by uid, with the directory `name` in it, limits it and opens its files. 0, or -errno with
 * nothing left. cgroup_leaf_remove undoes it.
 */
int cgroup_leaf_make(struct cgroup_leaf *leaf, const struct cgroup_parent *parent, const char *base, const char *name,
		     const struct cgroup_options *options);
void cgroup_leaf_remove(struct cgroup_leaf *leaf, const char *base, const char *name);

/* Writes a whole small file. 0 or -errno. */
int cgroup_put(int dirfd, const char *name, const char *value);
/* Reads one into text, NUL-terminated. 0 or -errno. */
int cgroup_get(int dirfd, const char *name, char *text, size_t size);
/* The number after "key " at a line's beginning; the first number when key is NULL. 0 when there is none. */
uint64_t cgroup_number(const char *text, const char *key);

#endif
