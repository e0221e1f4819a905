/* The role "mcp" of callgate-agents. Its arguments come from `callgate mcp` (cli/agents/mcp.c). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agents/mcp/mcp.h"
#include "agents/role.h"
#include "agents/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "base/text.h"

static bool mcp_is_session_option(const char *name)
{
	static const char *const names[] = {"--approve", "--approvals", "--ask-timeout"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Adds an argument to a NULL-ended list of at most `max`. False: there is no room. */
static bool mcp_add_argument(const char **list, size_t max, const char *argument)
{
	size_t count = 0;

	while (list[count])
		count++;
	if (count < max)
		list[count] = argument;
	return count < max;
}

/* Sets one option. False: an unknown option, or an invalid value. */
static bool mcp_set_option(struct mcp_options *options, const char *name, const char *value)
{
	uint64_t number = 0;

	if (strcmp(name, "--audit-dir") == 0) {
		options->audit_dir = value;
		return true;
	}
	if (strcmp(name, "--approve") == 0 && strcmp(value, "client") == 0) {
		options->asks_client = true;
		return true;
	}
	if (strcmp(name, "--allow-apply") == 0) {
		options->allows_apply = true;
		return true;
	}
	if (strcmp(name, "--cow") == 0) {
		options->uses_workspace = true;
		return mcp_add_argument(options->session_arguments, MCP_SESSION_ARGUMENTS_MAX, name);
	}
	if (mcp_is_session_option(name))
		return mcp_add_argument(options->session_arguments, MCP_SESSION_ARGUMENTS_MAX, name) &&
		       mcp_add_argument(options->session_arguments, MCP_SESSION_ARGUMENTS_MAX, value);
	if (strcmp(name, "--inspect") == 0) {
		options->inspects = true;
		return true;
	}
	if (text_parse_number(value, 1, UINT32_MAX, &number) < 0)
		return false;
	if (strcmp(name, "--sandboxes") == 0)
		options->sandboxes_max = (unsigned)number;
	else if (strcmp(name, "--idle-ms") == 0)
		options->idle_timeout_ms = number;
	else
		return false;
	return true;
}

/* Parses "--NAME VALUE" pairs up to "--"; what follows are options of the policy. False: invalid. */
static bool mcp_parse_options(int argc, char **argv, struct mcp_options *options)
{
	int at = 1;

	for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at += 2)
		if (!mcp_set_option(options, argv[at], argv[at + 1]))
			return false;
	if (at >= argc || strcmp(argv[at], "--") != 0)
		return false;
	options->policy_arguments = (const char *const *)(uintptr_t)(argv + at + 1);
	return options->sandboxes_max > 0 && options->idle_timeout_ms > 0;
}

int mcp_main(int argc, char **argv, const char *callgate)
{
	struct mcp_options options = {.callgate_path = callgate};
	_cleanup_close_ int signal_fd = -1;
	struct loop *loop = NULL;
	int error = mcp_parse_options(argc, argv, &options) ? loop_create(&loop) : -EINVAL;

	if (error < 0) {
		(void)text_printf(stderr, "callgate mcp: cannot start: %s\n", strerror(-error));
		return ROLE_EXIT_ERROR;
	}
	error = role_stop_on_signals(loop, &signal_fd);
	if (error == 0)
		error = mcp_serve(loop, STDIN_FILENO, STDOUT_FILENO, &options);
	sandbox_forget_launchers();
	loop_free(loop);
	if (error == -EPERM)
		(void)text_printf(stderr,
				  "callgate mcp: stdin and stdout must be pipes, sockets or a terminal, as a client of "
				  "the protocol makes them\n");
	else if (error < 0)
		(void)text_printf(stderr, "callgate mcp: %s\n", strerror(-error));
	return error < 0 ? ROLE_EXIT_ERROR : 0;
}
