/* The program's environment: an allowlist, made from the policy. */
#ifndef CALLGATE_SUPERVISOR_ENVIRONMENT_H
#define CALLGATE_SUPERVISOR_ENVIRONMENT_H

#include "policy/policy.h"
#include "supervisor/gateway/start.h"

/*
 * NULL-ended "NAME=VALUE" list, owned by the caller (environment_free); NULL when memory ran out. What the network adds
 * stands back behind the policy's own, but for secrets.
 */
char **environment_build(const struct policy *policy, const struct egress_side *egress);
void environment_free(char **envp);

/* A variable of such a list. Borrows; NULL when it is not there. */
const char *environment_get(char *const *envp, const char *name);

/* Overwrites the calling process's own environment: what the caller had in it is nobody's business from here on. */
void environment_scrub(void);

#endif
