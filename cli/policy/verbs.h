/*
 * Declarations shared by the verbs of `callgate policy`. (The file is not named policy.h, because files in cli/ would
 * find it instead of policy/policy.h.) Each verb gets argv from its own name on and returns the exit status.
 */
#ifndef CALLGATE_CLI_POLICY_VERBS_H
#define CALLGATE_CLI_POLICY_VERBS_H

#include "cli/load.h"

int policy_main_diff(int argc, char **argv);
int policy_main_test(int argc, char **argv);
int policy_main_fmt(int argc, char **argv);
int policy_main_minimise(int argc, char **argv);

/*
 * As cli_load_policy_without_run, for a policy that is an argument: a file, or a profile if it has no "/" and does not
 * end in ".json". It extends the policies of `options`. The rules of `phase` apply.
 */
int policy_load_argument(const char *verb, const struct cli_policy_options *options, const char *name,
			 const char *program, enum policy_phase phase, struct cli_host *host,
			 struct policy **ret_policy);

/*
 * Writes a new file beside `path`, with the mode of the old file if there is one, and renames it to `path`. 0, or
 * -errno with the old file unchanged.
 */
int policy_replace_file(const char *path, const char *text);

#endif
