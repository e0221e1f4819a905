/* Starts callgate-agents, the executable behind `callgate mcp` and `callgate serve`. */
#ifndef CALLGATE_CLI_AGENTS_AGENTS_H
#define CALLGATE_CLI_AGENTS_AGENTS_H

#include "cli/options.h"

#define AGENTS_EXECUTABLE_NAME "callgate-agents"

/*
 * Executes callgate-agents in place of this program. Its arguments are the role, the path of this executable, and
 * `arguments`. Returns only on failure: the exit status, after printing an error.
 */
int agents_execute(const char *role, const struct cli_list *arguments);

#endif
