/* Starts callgate-agents, the executable behind `callgate mcp` and `callgate serve`. */
#ifndef CALLGATE_CLI_AGENTS_AGENTS_H
#define CALLGATE_CLI_AGENTS_AGENTS_H

#include "cli/options.h"

#define AGENTS_FILE_NAME "callgate-agents"

/*
 * Executes callgate-agents in this process: its arguments are the role, the path of this executable, and `arguments`.
 * Returns only on failure: the exit status, with a message printed.
 */
int agents_execute(const char *role, const struct cli_list *arguments);

#endif
