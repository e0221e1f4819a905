/* Functions shared by the roles of callgate-agents (main.c): mcp and serve. */
#ifndef CALLGATE_AGENTS_ROLE_H
#define CALLGATE_AGENTS_ROLE_H

#include "agents/loop.h"

#define ROLE_EXIT_ERROR 125 /* exit status of callgate's own errors, as CLI_EXIT_ERROR of cli/cli.h */

/*
 * Makes SIGINT, SIGTERM and SIGHUP stop the loop, so that the process ends its sandboxes before it exits. *ret_fd: a
 * signalfd owned by the caller, to be closed after loop_free(). 0 or -errno.
 */
int role_stop_on_signals(struct loop *loop, int *ret_fd);

#endif
