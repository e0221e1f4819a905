/* Declarations that the files cgroup-*.c and cgroup.c share. */
#ifndef CALLGATE_CONFINE_CGROUP_PRIVATE_H
#define CALLGATE_CONFINE_CGROUP_PRIVATE_H

#include <limits.h>

#include "confine/cgroup.h"

/* The directories of this process's own groups. "": there is none, or it cannot be reached. */
struct cgroup_own_dirs {
	char v1[CGROUP_CONTROLLERS][PATH_MAX];
	char v2[PATH_MAX];
	char v2_mount_point[PATH_MAX]; /* the mount point of version 2 */
};

/* Finds the directories from the texts of /proc/self/cgroup and /proc/self/mountinfo. */
void cgroup_find_own_dirs(const char *self, const char *mountinfo, struct cgroup_own_dirs *ret_places);

/* The directory in which the leaf is made. */
struct cgroup_parent {
	char dir[PATH_MAX];
	unsigned controllers;  /* bits of the controllers that leaves in it will have */
	uint64_t pids_max; /* pids.max of the own group, if the leaf is not below that; 0: no limit */
};

/* Version 2: finds the directory for the leaf, and enables the controllers for its children. 0, or -errno with why. */
int cgroup_v2_find_parent(const struct cgroup_own_dirs *places, struct cgroup_parent *ret_parent, char *why,
			  size_t size);

/* Enables the controllers for the children of a directory. 0 or -errno. */
int cgroup_v2_enable_controllers(int dirfd, unsigned controllers);

/* Version 2: opens a descriptor that becomes readable when memory.events (events_fd) changes; or -errno. */
int cgroup_v2_open_oom_event(int events_fd);

#define CGROUP_UID_DIR_PREFIX "callgate-" /* followed by the uid of the run: the directory that has the leaves */

/* The open descriptors of a leaf. Only the keeper uses the first three. */
enum cgroup_fd {
	CGROUP_FD_PARENT,        /* the directory in which callgate-UID is */
	CGROUP_FD_UID_DIR,       /* the directory callgate-UID */
	CGROUP_FD_LEAF,          /* holds a lock, which tells that the keeper is alive */
	CGROUP_FD_PROCS,         /* cgroup.procs: a process joins the leaf by writing to it */
	CGROUP_FD_KILL,          /* cgroup.kill: kills all processes of the leaf */
	CGROUP_FD_MEMORY_USED,   /* memory.current */
	CGROUP_FD_MEMORY_PEAK,   /* memory.peak */
	CGROUP_FD_MEMORY_EVENTS, /* memory.events: how often the OOM killer ran */
	CGROUP_FD_OOM,           /* becomes readable when the leaf runs out of memory */
	CGROUP_FD_PIDS_LIMIT,    /* pids.max */
	CGROUP_FD_PIDS_USED,     /* pids.current */
	CGROUP_FD_PIDS_PEAK,     /* pids.peak */
	CGROUP_FD_PIDS_EVENTS,   /* pids.events: how often a fork was refused */
	CGROUP_FD_CPU,           /* cpu.stat or cpuacct.usage: CPU time */
	CGROUP_FD_MAX,
};

/* The names of the files of a leaf, for one version of control groups. */
struct cgroup_files {
	const char *name[CGROUP_FD_MAX]; /* NULL: this version has no such file */
	const char *memory_limit, *memory_swap, *memory_group; /* opened only to set the limit; group may be NULL */
	const char *cpu_key; /* key of the CPU time in its file; NULL: the file is a single number */
	uint64_t cpu_unit_ns; /* unit in which the CPU time is told */
	/* memory_swap limits memory plus swap: it is set to the memory limit. false: swap alone, and it is set to 0 */
	bool swap_limit_includes_memory;
};
extern const struct cgroup_files cgroup_v1_files, cgroup_v2_files;

/* A control group that was made for the run. */
struct cgroup_leaf {
	const struct cgroup_files *files; /* file names of version 1 or 2 */
	unsigned controllers;             /* bits of the controllers it has: 1 << enum cgroup_controller */
	int fd[CGROUP_FD_MAX]; /* descriptors of the leaf's files; -1: not open */
};

/*
 * Makes PARENT/base for options->uid, and in it the leaf, with limits and open files. 0; -errno: everything that was
 * made is removed again.
 */
int cgroup_make_leaf(struct cgroup_leaf *leaf, const struct cgroup_parent *parent, const char *base, const char *name,
		     const struct cgroup_options *options);
void cgroup_remove_leaf(struct cgroup_leaf *leaf, const char *base, const char *name);

/* Returns the number after "key " at the beginning of a line (key NULL: the first number); 0: no such line. */
uint64_t cgroup_parse_number(const char *text, const char *key);

#endif
