/* The keeper's fork of the supervisor, and the pipes between keeper, supervisor and program. */
#ifndef CALLGATE_KEEPER_FORK_H
#define CALLGATE_KEEPER_FORK_H

#include "keeper/run.h"
#include "keeper/stdin-relay.h"
#include "keeper/terminal.h"
#include "supervisor/gateway/start.h"

/* The keeper's ends of the program's streams, besides the captures. */
struct keeper_streams {
	struct stdin_relay input;
	struct terminal terminal;
};

/* What stops the keeper from waiting while the namespaces are made. Both are handled later, in its loop. */
struct keeper_wait {
	int signal_fd;     /* borrowed */
	uint64_t until_ns; /* the run's time limit, CLOCK_MONOTONIC; 0: none */
};

struct keeper_child {
	pid_t pid;
	int pidfd;
	int control_fd;    /* the keeper's end of a socket pair */
	int ready_pipe[2]; /* the keeper writes an int, 0 or -errno, after each step of keeper_prepare() */
	int scratch_error; /* 0 or -errno of that */
	bool batch;        /* the keeper is SCHED_BATCH until it has dropped its privileges */
	int report_fd;     /* memfd */
	struct run_counters *counters; /* shared page */
	struct cgroup *cgroup;         /* owned; NULL: none. Set by the caller before keeper_fork() */
};

/*
 * Makes the pipes or the terminal, and forks. 0, or -errno with *ret_step, what failed (static). The child may be dead
 * already. egress: the supervisor inherits its ends. Release with keeper_child_done in both cases.
 */
int keeper_fork(const struct keeper_options *options, struct keeper_outcome *outcome, struct keeper_streams *streams,
		const struct keeper_wait *wait, struct egress_side *egress, struct keeper_child *ret_child,
		const char **ret_step);
void keeper_child_done(struct keeper_child *child);

#endif
