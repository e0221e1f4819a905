/* What the roles of callgate-agents (main.c) have in common. */
#ifndef CALLGATE_AGENTS_ROLE_H
#define CALLGATE_AGENTS_ROLE_H

#include "agents/loop.h"

#define ROLE_EXIT_ERROR 125 /* callgate's own errors, as in cli/cli.h */

/*
 * SIGINT, SIGTERM and SIGHUP stop the loop from now on, so that what was started is ended in order. Sets *ret_fd, which
 * must stay open until loop_free() and is the caller's. 0 or -errno.
 */
int role_stop_on_signals(struct loop *loop, int *ret_fd);

#endif
