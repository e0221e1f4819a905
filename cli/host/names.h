/*
 * Asks a process of callgate-egress (role "names"): host names for the policy (policy/network/names.h), accounts for
 * cli/host/account.c. The first question starts it, cli_names_end() ends it.
 */
#ifndef CALLGATE_CLI_HOST_NAMES_H
#define CALLGATE_CLI_HOST_NAMES_H

#include "base/helper.h"

/* 0, or -errno with the reason in *ret_why (static), to be printed behind the name. */
int cli_names_ask(const struct names_query *query, struct names_reply *ret_reply, const char **ret_why);

/* To be called before a run begins. Not needed where callgate exits. */
void cli_names_end(void);

#endif
