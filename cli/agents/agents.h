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

/* Setter parameter of agents_set_approve(): "client" is allowed, too. */
#define AGENTS_APPROVE_BY_CLIENT 1

/* Setters of --approve and --ask-timeout, which keep the text for `callgate session create`. */
int agents_set_approve(const struct cli_given_option *given, void *approve);
int agents_set_ask_timeout(const struct cli_given_option *given, void *text);

#endif
