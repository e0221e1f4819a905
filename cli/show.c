/* callgate show: what a run would be judged by. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/options.h"

#include "base/banned.h"

static int print_help(void)
{
	_cleanup_buf_ struct buf text = {0};

	buf_puts(&text,
		 "Usage: callgate show [OPTION...] [-- PROGRAM]\n\n"
		 "Prints the effective policy after extends, variables and command-line grants as a file that -p\n"
		 "accepts. PROGRAM decides what @interpreter stands for.\n\n");
	buf_puts(&text, cli_policy_help());
	buf_puts(&text, "      --help                print this\n"
			"      --version             print the version\n");
	return cli_print("show", text.data ? text.data : "");
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
			return print_help();
		if (opt == CLI_OPT_VERSION)
			return cli_version();
		ret = cli_policy_option(&options, "show", opt, optarg);
		if (ret == 0)
			return cli_usage_error("show");
		if (ret < 0)
			return CLI_ERROR;
	}
	if (cli_host_init(&host, optind < argc ? argv[optind] : NULL) < 0) {
		cli_error("show", "out of memory");
		return CLI_ERROR;
	}
	if (cli_policy_load(&options, "show", &host, NULL, &policy) < 0)
		return CLI_ERROR;
	cli_host_tell(&host);
	text = policy_show(policy);
	policy_free(policy);
	if (text)
		return cli_print("show", text);
	cli_error("show", "out of memory");
	return CLI_ERROR;
}
