/* Makes the request that `callgate session exec` sends to a session: which program to start, and how. */
#ifndef CALLGATE_CLI_SESSION_REQUEST_H
#define CALLGATE_CLI_SESSION_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* Options of `callgate session exec`. */
struct exec_options {
	struct cli_list env;
	const char *cwd; /* NULL: the workdir */
	uint64_t wall_ns; /* time limit of the program */
	bool interactive, tty, detach, json, quiet, inspects;
};

/* Makes the request "exec" (supervisor/session/session.h), owned by the caller. NULL: an argument is not UTF-8. */
json_t *exec_make_request(const struct exec_options *options, char *const *argv);

#endif
