/* callgate show: prints the effective policy. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/load.h"

#include "base/banned.h"

static int show_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text, "Usage: callgate show [OPTION...] [-- PROGRAM]\n\n"
			"Prints the effective policy after extends, variables and command-line grants as a file that\n"
			"-p accepts. PROGRAM decides what @interpreter stands for.\n\n");
	buf_puts(&text, cli_policy_help());
	buf_puts(&text, CLI_COMMON_HELP);
	return cli_print_buf("show", &text);
}

int cli_show(int argc, char **argv)
{
	static const struct option longs[] = {CLI_POLICY_LONGS, {0}};
	_cleanup_policy_options_ struct cli_policy_options options = {0};
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_free_ char *text = NULL;
	struct policy *policy;
	int opt, ret;

	while ((opt = cli_getopt(argc, argv, "+" CLI_POLICY_SHORTS, longs)) != -1) {
		if (opt == CLI_OPT_HELP)
			return show_help();
		if (opt == CLI_OPT_VERSION)
			return cli_version();
		ret = cli_policy_option(&options, "show", opt, optarg);
		if (ret <= 0)
			return ret == 0 ? cli_usage_error("show") : CLI_ERROR;
	}
	if (cli_policy_load_only(&options, "show", optind < argc ? argv[optind] : NULL, &host, &policy) != CLI_OK)
		return CLI_ERROR;
	text = policy_show(policy);
	policy_free(policy);
	return cli_print("show", text);
}
