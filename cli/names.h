/*
 * What callgate-egress's role "names" is asked: names of hosts for the policy (policy/network/names.h), accounts for
 * cli/account.c. It is started by the first question, and stays until cli_names_end().
 */
#ifndef CALLGATE_CLI_NAMES_H
#define CALLGATE_CLI_NAMES_H

#include "base/helper.h"

/* 0, or -errno: *ret_why (static) says why not, to follow a name. */
int cli_names_ask(const struct names_query *query, struct names_reply *ret_reply, const char **ret_why);

/* Before a run begins, and not needed where this process ends. */
void cli_names_end(void);

#endif
