/* callgate check: reports every mistake of a policy. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/load.h"

/* Prints the warnings of both phases. A warning that both phases cause is printed once. */
static void check_print_warnings(struct policy *const policies[POLICY_PHASE_MAX])
{
	size_t count, others;
	const char *const *text = policy_get_warnings(policies[POLICY_PHASE_RUN], &count);
	const char *const *other = policy_get_warnings(policies[POLICY_PHASE_SETUP], &others);

	cli_print_policy_warnings(NULL, policies[POLICY_PHASE_RUN]);
	for (size_t i = 0; i < others; i++) {
		size_t at = 0;

		while (at < count && strcmp(text[at], other[i]) != 0)
			at++;
		if (at == count)
			cli_note("%s", other[i]);
	}
}

/* Checks one policy. Its messages have no prefix: editors jump to "file:line:". */
static int check_policy(const char *name)
{
	_cleanup_policy_errors_ struct policy_errors errors = {0};
	_cleanup_host_ struct cli_host host = {0};
	const char *const names[] = {name, NULL};
	struct policy *policies[POLICY_PHASE_MAX] = {NULL};
	int ret = cli_host_init(&host, NULL);

	if (ret == 0)
		ret = cli_host_set_workdir_and_scratch(&host, NULL, NULL);
	/* Checks both phases, because a rule may conflict with another rule in one phase alone. */
	for (enum policy_phase phase = 0; phase < POLICY_PHASE_MAX && (ret == 0 || ret == -EINVAL); phase++) {
		int r = policy_load(names, &(struct policy_cli){.phase = phase}, &host.policy, &policies[phase],
				    &errors);

		ret = r < 0 ? r : ret;
	}
	if (ret == 0)
		check_print_warnings(policies);
	if (ret == 0)
		cli_warn_missing_grants(NULL, &host, policies[POLICY_PHASE_RUN], false);
	cli_print_policy_errors(NULL, &errors);
	if (ret == -ENOMEM)
		(void)cli_fail_no_memory("check");
	for (size_t i = 0; i < POLICY_PHASE_MAX; i++)
		policy_free(policies[i]);
	return ret;
}

static const char usage[] =
	"Usage: callgate check POLICY...\n\n"
	"Reads each policy file with all it extends and prints every mistake as file:line: key: message,\n"
	"and what is probably not intended as file:line: key: warning: message.\n"
	"A name without a \"/\" and not ending in .json is a profile (minimal, python, data, extended).\n\n";

int cli_main_check(int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.verb = "check",
		.usage = usage,
		.epilogue = "\nExit status: 0 when all are good, 125 otherwise.\n",
		.allows_mixed_order = true,
	};
	int parsed = cli_parse_options(argc, argv, &syntax), status = CLI_EXIT_OK;

	if (parsed != CLI_OPTIONS_PARSED)
		return parsed;
	if (optind == argc) {
		cli_print_error("check", "no policy given");
		return cli_fail_usage("check");
	}
	for (; optind < argc; optind++) {
		if (check_policy(argv[optind]) < 0)
			status = CLI_EXIT_ERROR;
		else if (cli_print_text("check", argv[optind]) != CLI_EXIT_OK ||
			 cli_print_text("check", ": good\n") != CLI_EXIT_OK)
			return CLI_EXIT_ERROR;
	}
	return status;
}
