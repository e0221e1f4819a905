/* callgate check: every mistake of a policy. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/options.h"

#include "base/banned.h"

static const char help[] =
	"Usage: callgate check POLICY...\n\n"
	"Reads each policy file with all it extends and prints every mistake as file:line: key: message,\n"
	"and what is probably not meant as file:line: key: warning: message.\n"
	"A name without a \"/\" and not ending in .json is a profile (minimal, python, data, extended).\n\n"
	"      --help                print this\n"
	"      --version             print the version\n\n"
	"Exit status: 0 when all are good, 125 otherwise.\n";

/* One policy. Its messages go to stderr as they are: editors jump to "file:line:". */
static int check(const char *name)
{
	struct policy_errors errors = {0};
	const char *const names[] = {name, NULL};
	_cleanup_host_ struct cli_host host = {0};
	struct policy *policy = NULL;
	int ret;

	ret = cli_host_init(&host, NULL);
	if (ret == 0)
		ret = cli_host_place(&host, NULL, NULL);
	if (ret == 0)
		ret = policy_load(names, NULL, &host.policy, &policy, &errors);
	if (ret == 0)
		cli_policy_warnings(NULL, policy);
	for (size_t i = 0; i < errors.count; i++)
		(void)fprintf(stderr, "%s\n", errors.item[i].text); /* nobody left to tell */
	if (ret == -ENOMEM)
		cli_error("check", "out of memory");
	policy_errors_done(&errors);
	policy_free(policy);
	return ret;
}

int cli_check(int argc, char **argv)
{
	static const struct option longs[] = {
		{"help", no_argument, NULL, CLI_OPT_HELP}, {"version", no_argument, NULL, CLI_OPT_VERSION}, {0}};
	int opt, bad = 0;

	opterr = 1;
	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_print("check", help);
		if (opt == CLI_OPT_VERSION)
			return cli_version();
		return cli_usage_error("check");
	}
	if (optind == argc) {
		cli_error("check", "no policy given");
		return cli_usage_error("check");
	}
	for (; optind < argc; optind++) {
		if (check(argv[optind]) < 0) {
			bad = 1;
			continue;
		}
		if (cli_print("check", argv[optind]) != CLI_OK || cli_print("check", ": good\n") != CLI_OK)
			return CLI_ERROR;
	}
	return bad ? CLI_ERROR : CLI_OK;
}
