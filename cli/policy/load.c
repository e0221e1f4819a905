#include <string.h>

#include "cli/policy/verbs.h"

int policy_load_argument(const char *verb, const struct cli_policy_options *options, const char *name,
			 const char *program, enum policy_phase phase, struct cli_host *host,
			 struct policy **ret_policy)
{
	struct cli_policy_options whole = *options; /* borrows all lists but this one */
	_cleanup_list_ struct cli_list names = {0};
	int ret = 0;

	for (size_t i = 0; i < options->names.count && ret == 0; i++)
		ret = cli_list_add_owned(&names, strdup(options->names.item[i]));
	if (ret == 0)
		ret = cli_list_add_owned(&names, strdup(name));
	if (ret < 0)
		return cli_fail_no_memory(verb);
	whole.names = names;
	whole.cli.phase = phase;
	return cli_load_policy_without_run(&whole, verb, program, host, ret_policy);
}
