/* The keeper's fork of the supervisor, with the pipes between the three. */
#ifndef CALLGATE_KEEPER_FORK_H
#define CALLGATE_KEEPER_FORK_H

#include "keeper/feed.h"
#include "keeper/keeper.h"
#include "keeper/terminal.h"
#include "supervisor/gateway/start.h"

/* The ends of the program's input and output that the keeper needs besides the captures. */
struct keeper_streams {
	struct feed feed;
	struct terminal terminal;
};

/* What ends the keeper's waiting while namespaces are tried; it is looked after later. */
struct keeper_wait {
	int signal_fd;     /* borrowed */
	uint64_t until_ns; /* the run's time limit; 0: none */
};

struct keeper_child {
	pid_t pid;
	int pidfd;
	int control_fd;   /* the keeper's end of a pair */
	int furnished[2]; /* a pipe: the supervisor learns what was done beside it, each time by an int, 0 or -errno */
	int furnish_error;
	bool behind;                   /* the keeper is to step forward when it has given up its privileges */
	int report_fd;                 /* memfd */
	struct run_counters *counters; /* shared page */
	struct cgroup *cgroup;         /* owned; NULL: none. Set by the caller before keeper_fork() */
};

/*
 * Makes the pipes or the terminal (captures and streams in them), forks. 0, or -errno with *ret_step naming what
 * failed (static). keeper_child_done releases in both cases. The child may be dead already. egress: the supervisor's
 * end of it is inherited.
 */
int keeper_fork(const struct keeper_options *options, struct keeper_outcome *outcome, struct keeper_streams *streams,
		const struct keeper_wait *wait, struct egress_side *egress, struct keeper_child *ret_child,
		const char **ret_step);
void keeper_child_done(struct keeper_child *child);

#endif
