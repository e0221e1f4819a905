/*
 * Starts the program in a child process. The child shares the supervisor's descriptor table until it has installed the
 * filter, so that the supervisor gets the listener without pidfd_getfd(2) or a message that the filter would catch.
 * Then the child gets its own table with descriptors 0 to 2. Called by supervise.c.
 */
#ifndef CALLGATE_SUPERVISOR_LAUNCH_H
#define CALLGATE_SUPERVISOR_LAUNCH_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "confine/scheduling.h"

/* A resource limit that the supervisor sets for the program. */
struct launch_rlimit {
	int resource; /* RLIMIT_* */
	struct rlimit limit;
};

#define LAUNCH_RLIMITS_MAX 7 /* resource limits that the supervisor sets for the program */

/* What the program is started with. */
struct launch_options {
	const char *program; /* virtual path, found in the PATH of the program's environment */
	char *const *argv;
	char *const *envp;
	const char *cwd_host; /* host directory of the virtual workdir */
	int stdio_fd[3];      /* the program's stdin, stdout and stderr */
	const struct sock_fprog *filter;                 /* the program's seccomp filter */
	struct launch_rlimit rlimit[LAUNCH_RLIMITS_MAX]; /* limits that the supervisor sets; the others are inherited */
	size_t rlimit_count;                             /* used entries of rlimit[] */
	int landlock_fd;          /* Landlock ruleset; -1: no Landlock domain */
	const int *cgroup_procs_fds;     /* cgroup.procs files, to which the child writes itself */
	size_t cgroup_count;             /* entries of cgroup_procs_fds */
	bool no_huge_pages;       /* sets PR_SET_THP_DISABLE; the program's filter does not let it undo that */
	bool stdio_is_terminal;   /* stdio_fd are a terminal, which becomes the controlling terminal */
	/* in a session the child runs spawner_run() instead of the program; page NULL: a run of one program */
	struct {
		struct spawner_page *page;
		int socket_fd;
	} spawner;
};

struct launch_shared_page;
struct spawner_page;

/* The child process that becomes the program, from its fork to its exec. */
struct launch {
	pid_t pid;
	/* the child's CPU affinity, to be restored by launch_await_filter() */
	struct scheduling_saved_affinity moved_child_affinity;
	int listener_fd; /* the seccomp listener of the program */
	/* On a page that is shared with the child until its exec: 0, or the errno of the failed step. */
	volatile int *ret_error;
	volatile int *ret_step;   /* enum launch_step */
	/* the page that ret_error and ret_step point to; launch_release() unmaps it */
	struct launch_shared_page *shared_page;
};

enum launch_step {
	LAUNCH_SETUP,
	LAUNCH_LANDLOCK,
	LAUNCH_FILTER,
	LAUNCH_DESCRIPTORS, /* close_range(2): a table of descriptors of its own, with stdio alone */
	LAUNCH_ADDFD,       /* the listener gives descriptors to the program */
	LAUNCH_EXEC,
};

/*
 * Makes the child, which prepares itself while the caller does other things. The calling thread must outlive the
 * program (PR_SET_PDEATHSIG), and no other thread of the caller may hold a lock. 0 or -errno; launch_release releases
 * ret_launch in both cases.
 */
int launch_fork_child(const struct launch_options *options, struct launch *ret_launch);

/*
 * Waits until the child has installed its filter. 0: the child's next call is execve, the first judged call; if that
 * fails, the child writes errno and LAUNCH_EXEC and exits with 127. -errno: *launch->ret_step is the failed step, and
 * the child is reaped. LAUNCH_FILTER with -EBUSY: there is a listener already, as in a nested callgate.
 */
int launch_await_filter(const struct launch_options *options, struct launch *launch);

/* Kills and reaps the child. To be called in place of launch_await_filter(). */
void launch_kill_child(const struct launch *launch);
/* Closes the listener and unmaps the page; reaps nothing. */
void launch_release(struct launch *launch);

#endif
