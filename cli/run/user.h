/* The user that the program runs as: --user, or the policy's "user". */
#ifndef CALLGATE_CLI_RUN_USER_H
#define CALLGATE_CLI_RUN_USER_H

#include "confine/privs.h"
#include "policy/policy.h"

/*
 * Looks up "UID[:GID]", each a number or a name. Without a GID it is the account's group, or the UID where there is no
 * account. *ret_user is not `set` when it is callgate's own user. 0, or -errno with a message that begins with
 * `option`.
 */
int run_user_find(const char *option, const char *text, struct privs_user *ret_user, struct policy_error *ret_error);

#endif
