/* Commands of callgate's own that an answer is needed of: outside of the sandbox, without waiting. */
#ifndef CALLGATE_AGENTS_SANDBOX_HOST_COMMAND_H
#define CALLGATE_AGENTS_SANDBOX_HOST_COMMAND_H

#include <stddef.h>

#include "agents/loop.h"

struct host_command;

/*
 * Gets what the command has printed on stdout and stderr, of at most 1 MiB, ended by NUL; borrowed. status: its exit
 * status; -1: it has not ended by itself. The command is freed before.
 */
typedef void host_command_on_reply(void *data, const char *reply, size_t len, int status);

/* Starts a command. argv: NULL-ended; stdin_fd: borrowed, -1: empty. on_reply is called once. 0 or -errno. */
int host_command_start(struct loop *loop, const char *const *argv, int stdin_fd, host_command_on_reply *on_reply,
		       void *data, struct host_command **ret_command);
/* Ends the command, whose reply is not passed on then. NULL is fine. */
void host_command_free(struct host_command *command);

#endif
