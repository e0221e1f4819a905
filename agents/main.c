/*
 * callgate-agents, the executable behind `callgate mcp` and `callgate serve`, which start it as
 *
 *   callgate-agents ROLE CALLGATE [ARGUMENT...]
 *
 * CALLGATE is the path of the executable callgate, with which sandboxes are made.
 */
#include <stdio.h>
#include <string.h>

#include "agents/e2b/e2b.h"
#include "agents/mcp/mcp.h"
#include "agents/role.h"
#include "agents/sandbox/sandbox.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv, const char *callgate); /* argv[0] is CALLGATE */
} roles[] = {
	{"mcp", mcp_main},
	{"serve", e2b_main},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(argv[1], roles[i].name) == 0) {
			sandbox_raise_open_files_limit();
			return roles[i].run(argc - 2, argv + 2, argv[2]);
		}
	(void)fputs("callgate-agents is started by callgate mcp and callgate serve\n", stderr);
	return ROLE_EXIT_ERROR;
}
