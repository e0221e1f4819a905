/* Loads the policies of a run's phases. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/load.h"
#include "cli/run/private.h"

int run_load_policy(struct run *run, enum policy_phase phase, struct policy **ret_policy)
{
	struct cli_policy_options options = run->options.policy; /* a copy that borrows the lists */
	json_t *mistakes = NULL;
	int error;

	options.cli.phase = phase;
	/* policy_load() takes the files, which prepare_find_user() has parsed, out of the draft at the first load */
	options.cli.draft = run->policy_draft;
	error = cli_load_policy(&options, "run", &run->host, run->scratch.path, ret_policy, &mistakes);
	if (error == 0)
		return 0;
	json_decref(run->mistakes);
	run->mistakes = mistakes;
	return run_report_refusal(run, "policy_invalid", "the policy cannot be used: nothing was run");
}

/* Refuses --secret for an unset variable, because a run without a network would not notice a misspelt name. */
static int load_check_secrets(struct run *run)
{
	const struct cli_list *secrets = &run->options.policy.secret;

	for (size_t i = 0; i < secrets->count; i++) {
		_cleanup_free_ char *name = strndup(secrets->item[i], strcspn(secrets->item[i], "@"));

		const char *hosts = strchr(secrets->item[i], '@');

		/* An option without hosts is refused as a rule, by a message that tells what is missing. */
		if (name && hosts && hosts[1] && !getenv(name))
			return run_report_refusal(run, "secret_missing",
						  "--secret %s: that variable is not set; export it first", name);
	}
	return 0;
}

int run_load_policies(struct run *run)
{
	const struct run_options *options = &run->options;

	if (load_check_secrets(run) != 0)
		return CLI_EXIT_ERROR;
	if (run_load_policy(run, options->policy.cli.phase, &run->program_phase.policy) != 0)
		return CLI_EXIT_ERROR;
	if (options->setup_command && run_load_policy(run, POLICY_PHASE_SETUP, &run->setup_phase.policy) != 0)
		return CLI_EXIT_ERROR;
	return 0;
}
