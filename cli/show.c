/* callgate show: prints the policy that a run with these options would have. */
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/load.h"

int cli_main_show(int argc, char **argv)
{
	_cleanup_policy_options_ struct cli_policy_options options = {0};
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_free_ char *text = NULL;
	const struct cli_syntax syntax = {
		.verb = "show",
		.usage = "Usage: callgate show [OPTION...] [-- PROGRAM]\n\n"
			 "Prints the effective policy after extends, variables and command-line grants as a file that\n"
			 "-p accepts. PROGRAM decides what @interpreter stands for.\n"
			 "Without -p and --profile it is the profile minimal, and PROGRAM may be executed.\n\n",
		.table = {{NULL, cli_get_policy_table(), &options}},
	};
	_cleanup_policy_ struct policy *policy = NULL;
	int status = cli_parse_options(argc, argv, &syntax);

	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (cli_load_policy_without_run(&options, "show", argv[optind], &host, &policy) != CLI_EXIT_OK)
		return CLI_EXIT_ERROR;
	text = policy_make_json(policy);
	return cli_print_text("show", text);
}
