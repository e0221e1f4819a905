/* Whom the run is done as: --user, or the policy's "user". */
#ifndef CALLGATE_CLI_USER_H
#define CALLGATE_CLI_USER_H

#include "confine/privs.h"
#include "policy/policy.h"

/*
 * Looks up "UID[:GID]", either of them as a number or a name; without a group the account's own, or the user's number
 * for one without account. *ret_user is not set when that is who we are anyway. 0, or -errno with a message that begins
 * with `option`.
 */
int cli_user_find(const char *option, const char *text, struct privs_user *ret_user, struct policy_error *ret_error);

#endif
