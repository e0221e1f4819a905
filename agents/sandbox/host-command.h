/* Commands of callgate's own that an answer is needed of: outside of the sandbox, without waiting. */
#ifndef CALLGATE_AGENTS_SANDBOX_HOST_COMMAND_H
#define CALLGATE_AGENTS_SANDBOX_HOST_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "agents/loop.h"

struct host_command;

/*
 * Gets what the command has printed on stdout and stderr, of at most 1 MiB, ended by NUL; borrowed. status: its exit
 * status; -1: it has not ended by itself. The command is freed before.
 */
typedef void host_command_on_reply(void *data, const char *reply, size_t len, int status);

#define HOST_COMMAND_LIMIT_MS 30000u
#define HOST_COMMAND_STALL_LIMIT_MS 120000u /* for commands that may take long: time without progress */
#define HOST_COMMAND_TOTAL_LIMIT_MS 3600000u /* for the same: a command that spins progresses, too */

struct host_command_options {
	const char *const *argv; /* NULL-ended; borrowed during the call */
	int stdin_fd;            /* borrowed during the call; -1: empty */
	uint64_t limit_ms;       /* the command is ended after this time */
	/*
	 * The command is ended after this time, and limit_ms counts from its last progress: processor time, bytes that
	 * were read or written. 0: limit_ms is all.
	 */
	uint64_t total_limit_ms;
	host_command_on_reply *on_reply; /* called once */
	void *data;
};

/* Starts a command. 0 or -errno. */
int host_command_start(struct loop *loop, const struct host_command_options *options,
		       struct host_command **ret_command);
/* Ends the command, whose reply is not passed on then. NULL is fine. */
void host_command_free(struct host_command *command);

#endif
