/* The keeper's fork of the supervisor, with the pipes between the three. */
#ifndef CALLGATE_SUPERVISOR_KEEPER_FORK_H
#define CALLGATE_SUPERVISOR_KEEPER_FORK_H

#include "supervisor/feed.h"
#include "supervisor/keeper.h"

struct keeper_child {
	pid_t pid;
	int pidfd;
	int control_fd;                /* writing end */
	int report_fd;                 /* memfd */
	struct run_counters *counters; /* shared page */
};

/*
 * Makes the pipes (capture and feed in it), forks. 0, or -errno with *ret_step naming what failed (static).
 * keeper_child_done releases in both cases.
 */
int keeper_fork(const struct keeper_options *options, struct keeper_outcome *outcome, struct feed *feed,
		struct keeper_child *ret_child, const char **ret_step);
void keeper_child_done(struct keeper_child *child);

#endif
