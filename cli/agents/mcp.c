/* callgate mcp: checks the options and the policy, so that a mistake is reported once, and executes callgate-agents. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/times.h"
#include "cli/agents/agents.h"
#include "cli/load.h"

#define MCP_SANDBOXES_DEFAULT 16
#define MCP_SANDBOXES_MAX 256
#define MCP_IDLE_TIMEOUT_DEFAULT_NS UINT64_C(900000000000)
#define MCP_PROFILE_DEFAULT "extended" /* interpreters, compilers and tools, which models expect */

/* Options of `callgate mcp`. */
struct mcp_command_line {
	/* borrowed from argv; NULL: not given */
	const char *audit_dir, *approve, *approvals_file, *ask_timeout;
	uint64_t idle_timeout_ns, sandboxes_max;
	bool inspects, uses_workspace, allows_apply;
};

static int mcp_set_idle_timeout(const struct cli_given_option *given, void *idle_timeout_ns)
{
	if (text_parse_duration(given->value, idle_timeout_ns) < 0 || *(uint64_t *)idle_timeout_ns < NS_PER_MS)
		return cli_refuse_value(given, "is no time; write one such as 30s, 15m or 1h");
	return 0;
}

static int mcp_set_sandbox_count(const struct cli_given_option *given, void *count)
{
	if (text_parse_number(given->value, 1, MCP_SANDBOXES_MAX, count) < 0)
		return cli_refuse_value(given, "must be a number from 1 to 256");
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct mcp_command_line, member)

static const struct cli_option mcp_table[] = {
	{"sandboxes", 0, "N", "at most N sandboxes at a time; default 16", mcp_set_sandbox_count,
	 FIELD_OFFSET(sandboxes_max), 0},
	{"idle", 0, "TIME", "end a sandbox that no call has used for TIME; default 15m", mcp_set_idle_timeout,
	 FIELD_OFFSET(idle_timeout_ns), 0},
	{"audit-dir", 0, "DIR", "write the audit log of each sandbox into DIR", cli_set_directory,
	 FIELD_OFFSET(audit_dir), 0},
	{"approve", 0, "WHERE",
	 "ask about each call that the policy denies with \"on_deny\": \"ask\": client, by the\n"
	 "protocol's elicitation; or socket:/PATH or command:COMMAND",
	 agents_set_approve, FIELD_OFFSET(approve), AGENTS_APPROVE_BY_CLIENT},
	CLI_TEXT("approvals", "FILE", "with --approve: keep answers that are to be remembered in FILE",
		 FIELD_OFFSET(approvals_file)),
	{"ask-timeout", 0, "TIME", "with --approve: deny what is not answered after TIME; default 60s",
	 agents_set_ask_timeout, FIELD_OFFSET(ask_timeout), 0},
	CLI_FLAG("cow", 0,
		 "copy on write: leave the directory of -w as it is; what a sandbox writes there goes to a\n"
		 "workspace with the id of its session, for callgate ws",
		 FIELD_OFFSET(uses_workspace)),
	CLI_FLAG("allow-apply", 0,
		 "with --cow: let the client apply what a sandbox has written to the directory of -w, by\n"
		 "the tool workspace_apply; without this the tool only shows it",
		 FIELD_OFFSET(allows_apply)),
	CLI_FLAG("inspect", 0,
		 "look at code and commands first (callgate inspect), and refuse those with an alarm; or\n"
		 "what \"inspect\" of the policy says",
		 FIELD_OFFSET(inspects)),
	{0},
};

/* Finds the option in mcp_table that an argument names, with or without "=VALUE". NULL: no option of mcp_table. */
static const struct cli_option *mcp_find_own_option(const char *argument)
{
	const size_t len = strcspn(argument, "=");

	for (const struct cli_option *option = mcp_table; option->name; option++)
		if (strncmp(argument, "--", 2) == 0 && strlen(option->name) + 2 == len &&
		    strncmp(argument + 2, option->name, len - 2) == 0)
			return option;
	return NULL;
}

/* Adds an option with its value, unless that is NULL. 0, or not 0 when out of memory. */
static int mcp_add_option(struct cli_list *list, const char *name, const char *value)
{
	int error = value ? cli_list_add_owned(list, strdup(name)) : 0;

	return value && error == 0 ? cli_list_add_owned(list, strdup(value)) : error;
}

/*
 * Makes the arguments of callgate-agents: the options of mcp_table as "--NAME VALUE", "--", and the policy's options as
 * they were given. 0, or not 0 when out of memory.
 */
static int mcp_make_agents_arguments(int argc, char *const *given, const struct mcp_command_line *options,
				     bool names_no_policy, struct cli_list *list)
{
	int error = cli_list_add_owned(list, strdup("--sandboxes"));

	error = error ? error
		      : cli_list_add_owned(list, text_format("%llu", (unsigned long long)options->sandboxes_max));
	error = error ? error : cli_list_add_owned(list, strdup("--idle-ms"));
	error = error ? error
		      : cli_list_add_owned(
				list, text_format("%llu", (unsigned long long)(options->idle_timeout_ns / NS_PER_MS)));
	error = error ? error : mcp_add_option(list, "--audit-dir", options->audit_dir);
	error = error ? error : mcp_add_option(list, "--approve", options->approve);
	error = error ? error : mcp_add_option(list, "--approvals", options->approvals_file);
	error = error ? error : mcp_add_option(list, "--ask-timeout", options->ask_timeout);
	error = error ? error : mcp_add_option(list, "--cow", options->uses_workspace ? "yes" : NULL);
	error = error ? error : mcp_add_option(list, "--allow-apply", options->allows_apply ? "yes" : NULL);
	error = error ? error : mcp_add_option(list, "--inspect", options->inspects ? "yes" : NULL);
	error = error ? error : cli_list_add_owned(list, strdup("--"));
	if (names_no_policy) {
		error = error ? error : cli_list_add_owned(list, strdup("--profile"));
		error = error ? error : cli_list_add_owned(list, strdup(MCP_PROFILE_DEFAULT));
	}
	for (int i = 1; i < argc && error == 0; i++) {
		if (!mcp_find_own_option(given[i]))
			error = cli_list_add_owned(list, strdup(given[i]));
		else if (!strchr(given[i], '=') && mcp_find_own_option(given[i])->argument)
			i++; /* its value */
	}
	return error;
}

/* Loads the policy, to find mistakes. False: a message was printed. */
static bool mcp_check_policy(const struct cli_policy_options *policy_options)
{
	_cleanup_host_ struct cli_host host = {0};
	_cleanup_policy_ struct policy *policy = NULL;

	return cli_load_policy_without_run(policy_options, "mcp", NULL, &host, &policy) == CLI_EXIT_OK;
}

/* Reports options that need another one. */
static bool mcp_check_options(const struct mcp_command_line *options)
{
	if ((options->approvals_file || options->ask_timeout) && !options->approve) {
		cli_print_error("mcp", "--approvals and --ask-timeout are for --approve; add that");
		return false;
	}
	if (options->allows_apply && !options->uses_workspace) {
		cli_print_error("mcp", "--allow-apply is for what sandboxes write with --cow; add that");
		return false;
	}
	return true;
}

int cli_main_mcp(int argc, char **argv)
{
	struct mcp_command_line options = {.idle_timeout_ns = MCP_IDLE_TIMEOUT_DEFAULT_NS,
					   .sandboxes_max = MCP_SANDBOXES_DEFAULT};
	_cleanup_policy_options_ struct cli_policy_options policy = {0};
	_cleanup_list_ struct cli_list arguments = {0};
	const struct cli_syntax syntax = {
		.verb = "mcp",
		.usage =
			"Usage: callgate mcp [OPTION...]\n\n"
			"Serves the Model Context Protocol on stdin and stdout: an agent runs code, commands and file\n"
			"operations in sandboxes under the policy. Started by the agent's framework.\n\n",
		.table = {{NULL, mcp_table, &options},
			  {"\nThe policy of the sandboxes (default: --profile extended):\n", cli_get_policy_table(),
			   &policy}},
	};
	/* a copy of argv, which parsing may reorder */
	_cleanup_free_ char **given = calloc((size_t)argc + 1, sizeof(*given));
	bool names_no_policy;
	int status;

	if (!given)
		return CLI_EXIT_ERROR;
	memcpy(given, argv, (size_t)argc * sizeof(*given));
	status = cli_parse_options(argc, argv, &syntax);
	if (status != CLI_OPTIONS_PARSED)
		return status;
	if (optind < argc) {
		cli_print_error("mcp", "unexpected argument: %s", argv[optind]);
		return cli_fail_usage("mcp");
	}
	if (!mcp_check_options(&options))
		return CLI_EXIT_ERROR;
	names_no_policy = policy.policy_names.count == 0;
	if ((names_no_policy && cli_list_add_owned(&policy.policy_names, strdup(MCP_PROFILE_DEFAULT)) < 0) ||
	    !mcp_check_policy(&policy))
		return CLI_EXIT_ERROR;
	status = mcp_make_agents_arguments(argc, given, &options, names_no_policy, &arguments);
	if (status < 0) {
		cli_print_error("mcp", "out of memory");
		return CLI_EXIT_ERROR;
	}
	return agents_execute("mcp", &arguments);
}
