/* The options of callgate mcp and callgate serve that say who is asked about denied calls. */
#include <string.h>

#include "base/text.h"
#include "cli/agents/agents.h"

int agents_set_approve(const struct cli_given_option *given, void *approve)
{
	const bool by_client = given->setter_param == AGENTS_APPROVE_BY_CLIENT;

	if ((!by_client || strcmp(given->value, "client") != 0) && strncmp(given->value, "socket:/", 8) != 0 &&
	    (strncmp(given->value, "command:", 8) != 0 || !given->value[8]))
		return cli_refuse_value(given, "must be %ssocket:/PATH or command:COMMAND",
					by_client ? "client, " : "");
	*(const char **)approve = given->value;
	return 0;
}

int agents_set_ask_timeout(const struct cli_given_option *given, void *text)
{
	uint64_t time_ns;

	if (text_parse_duration(given->value, &time_ns) < 0 || time_ns == 0)
		return cli_refuse_value(given, "is no time; write one such as 30s or 5m");
	*(const char **)text = given->value;
	return 0;
}
