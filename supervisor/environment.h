/* Builds the program's environment, which has only what the policy lists. */
#ifndef CALLGATE_SUPERVISOR_ENVIRONMENT_H
#define CALLGATE_SUPERVISOR_ENVIRONMENT_H

#include "policy/policy.h"
#include "supervisor/gateway/start.h"

/*
 * Returns an owned, NULL-terminated list of "NAME=VALUE", for environment_free(); NULL: no memory. The policy's values
 * override those of the network, except the placeholders of secrets.
 */
char **environment_build(const struct policy *policy, const struct egress_process *egress);
void environment_free(char **envp);

/* The value of a variable in a list of environment_build(), borrowed, or NULL. */
const char *environment_get_value(char *const *envp, const char *name);

/* Overwrites and clears the calling process's own environment, which may hold secrets. */
void environment_wipe_own(void);

#endif
