/* Composes and compiles the policy of a command line, and judges the host paths that the policy names. */
#ifndef CALLGATE_CLI_LOAD_H
#define CALLGATE_CLI_LOAD_H

#include "cli/host/host.h"
#include "cli/host/places.h"
#include "cli/options.h"
#include "policy/policy.h"

/*
 * Loads the policy that the options compose, and refuses host paths that a program may have chosen (cli/host/places.h).
 * `host` comes from cli_host_init and knows the program's name (for @interpreter). `scratch` is the run's scratch
 * directory (canonical host path); with NULL (show, why) the name of a directory that does not exist is used. The
 * workdir is the directory of -w or scratch/work. 0 with an owned policy, or -errno with messages printed and, unless
 * ret_mistakes is NULL, returned as JSON that the caller owns.
 */
int cli_load_policy(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
		    const char *scratch, struct policy **ret_policy, json_t **ret_mistakes);

/*
 * Loads the observing policy of a run with --mode observe. To be called after cli_load_policy() has loaded the judged
 * policy, which the observing policy owns from then on. 0, or -errno with the messages printed.
 */
int cli_load_observing_policy(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
			      const struct policy_observe *observe, struct policy **ret_policy);

/* As cli_load_policy without a run and without messages, to try whether a policy is valid. 0 or -errno. */
int cli_try_to_load_policy(const struct cli_policy_options *options, struct cli_host *host, struct policy **ret_policy);

/*
 * As cli_load_policy, for verbs without a run: also initialises `host` and reports void grants. CLI_EXIT_OK or
 * CLI_EXIT_ERROR.
 */
int cli_load_policy_without_run(const struct cli_policy_options *options, const char *verb, const char *program,
			 struct cli_host *host, struct policy **ret_policy);

/*
 * Warns of each granted path that does not exist, because nothing is granted then. Leaves out the paths of profiles and
 * those in the workdir. `own`: warns only of paths from the command line.
 */
void cli_warn_missing_grants(const char *verb, const struct cli_host *host, const struct policy *policy, bool own);

/*
 * Collects the places where a program may write: those that `policy`, the policy of its other phase and `further` (may
 * be NULL) let it write, and the directory of -w. Borrows its arguments.
 */
struct writable_places cli_collect_writable_places(const struct cli_policy_options *options, struct cli_host *host,
				const struct policy *policy, const struct policy *further);

#endif
