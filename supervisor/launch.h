/*
 * Starts the program: a child that shares the supervisor's descriptor table until the filter is on (so that the
 * listener is at hand without pidfd_getfd and without a message the filter would catch), then gets its own table with
 * 0-2 only.
 */
#ifndef CALLGATE_SUPERVISOR_LAUNCH_H
#define CALLGATE_SUPERVISOR_LAUNCH_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "confine/scheduling.h"

/* A resource limit of the program, which is set from outside: see set_rlimits in launch.c. */
struct launch_rlimit {
	int resource; /* RLIMIT_* */
	struct rlimit limit;
};

#define LAUNCH_RLIMITS_MAX 7

struct launch_options {
	const char *program; /* virtual path, already searched in PATH by the program's environment */
	char *const *argv;
	char *const *envp;
	const char *cwd_host; /* host directory of the virtual workdir */
	int stdio_fd[3];
	const struct sock_fprog *filter;
	struct launch_rlimit rlimit[LAUNCH_RLIMITS_MAX]; /* all others are as the supervisor's */
	size_t rlimits;
	int landlock_fd;          /* ruleset it is put under; -1: none */
	const int *cgroup_fd;     /* cgroup.procs files it writes itself to, before anything of the program's runs */
	size_t cgroups;
	bool no_huge_pages;       /* for good: the program's filter keeps it so */
	bool tty;                 /* stdio_fd are a terminal that becomes its controlling one */
};

struct launch_page;

struct launch {
	pid_t pid;
	struct scheduling_moved aside; /* until it is waited for */
	int listener_fd;
	/* Shared with the child until its exec: 0, or the errno of the step or of the exec that failed. */
	volatile int *ret_error;
	volatile int *ret_step;   /* enum launch_step */
	struct launch_page *page; /* what the two point into; released by launch_done */
};

enum launch_step { LAUNCH_SETUP, LAUNCH_LANDLOCK, LAUNCH_FILTER, LAUNCH_EXEC };

/*
 * Makes the child, which then prepares itself beside the caller: what does not concern it can be done meanwhile. The
 * calling thread must outlive the program, whose PR_SET_PDEATHSIG it is, and no other of the caller's may hold a lock.
 * 0 or -errno; in both cases launch_done releases what is in ret_launch.
 */
int launch_begin(const struct launch_options *options, struct launch *ret_launch);

/*
 * Waits until the child has its filter. 0, or -errno with *launch->ret_step telling which step and the child reaped. On
 * success it is in (or about to enter) its execve, the first judged call: when that fails it writes errno and
 * LAUNCH_EXEC and exits with 127. LAUNCH_FILTER with -EBUSY: the filters above hold a listener already (a nested
 * callgate).
 */
int launch_await(const struct launch_options *options, struct launch *launch);

/* Kills and reaps a child that is not waited for. */
void launch_abandon(const struct launch *launch);
/* Closes the listener and unmaps the page; reaps nothing. */
void launch_done(struct launch *launch);

#endif
