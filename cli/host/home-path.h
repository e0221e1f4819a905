/* Programs in the home directory that the user's PATH finds and a run does not: which options grant them. */
#ifndef CALLGATE_CLI_HOST_HOME_PATH_H
#define CALLGATE_CLI_HOST_HOME_PATH_H

#include "policy/policy.h"

/*
 * The text "THING: to allow: OPTIONS", owned by the caller: for the first directory of `path` (the user's PATH) below
 * `home` that has `program` (a name without "/"), or with `program` NULL for all such directories of which the policy
 * does not let programs be executed. NULL: there is none, or no memory. Reads the host's directories.
 */
char *home_path_advice(const struct policy *policy, const char *path, const char *home, const char *program);

#endif
