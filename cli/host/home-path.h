/*
 * Makes advice on programs that are in the user's PATH in the home directory but that a run does not find: which
 * options grant them.
 */
#ifndef CALLGATE_CLI_HOST_HOME_PATH_H
#define CALLGATE_CLI_HOST_HOME_PATH_H

#include "policy/policy.h"

/*
 * Advises which options grant directories of `path` (the user's PATH) that lie below `home`: the first directory that
 * has `program`, a name without "/"; or, if `program` is NULL, all directories whose programs the policy does not let
 * run. Returns a text for users, owned by the caller; NULL: no such directory, or no memory. Reads the host's
 * directories.
 */
char *home_path_make_advice(const struct policy *policy, const char *path, const char *home, const char *program);

#endif
