/* Composes and compiles the policy of a command line, and judges the host paths that it names. */
#ifndef CALLGATE_CLI_LOAD_H
#define CALLGATE_CLI_LOAD_H

#include "cli/host/host.h"
#include "cli/host/places.h"
#include "cli/options.h"
#include "policy/policy.h"

/*
 * `host` comes from cli_host_init and knows the program's name (for @interpreter). `scratch` is the run's scratch
 * directory (canonical host path); the workdir is -w's directory or scratch/work. With scratch NULL (show, why) a name
 * that does not exist stands in for it. Refuses host paths that a program may have chosen: cli/host/places.h.
 * 0 with an owned policy, or -errno with the messages printed, and as JSON in *ret_mistakes (NULL: not wanted), which
 * the caller owns.
 */
int cli_load_policy(const struct cli_policy_options *options, const char *verb, struct cli_host *host,
		    const char *scratch, struct policy **ret_policy, json_t **ret_mistakes);

/* As cli_load_policy, without a run (show, why): initialises `host` too, and prints its notes. CLI_OK or CLI_ERROR. */
int cli_load_policy_without_run(const struct cli_policy_options *options, const char *verb, const char *program,
			 struct cli_host *host, struct policy **ret_policy);

/*
 * Warns of grants of paths that do not exist, which grant nothing; not of those in profiles and in the workdir. With
 * `own` only of those on the command line.
 */
void cli_policy_warn_missing(const char *verb, const struct cli_host *host, const struct policy *policy, bool own);

/* Where a program may write by `policy`, its other phase, `further` (NULL: nothing) and -w. Borrows. */
struct places cli_collect_policy_places(const struct cli_policy_options *options, struct cli_host *host,
				const struct policy *policy, const struct policy *further);

#endif
