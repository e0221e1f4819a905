/* Finds and executes callgate-agents. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/installed.h"
#include "cli/agents/agents.h"

int agents_execute(const char *role, const struct cli_list *arguments)
{
	char program[PATH_MAX], self[PATH_MAX];
	_cleanup_free_ char **argv = calloc(arguments->count + 4, sizeof(*argv));
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!argv || len < 0) {
		cli_print_error(role, "cannot start: %s", strerror(argv ? errno : ENOMEM));
		return CLI_EXIT_ERROR;
	}
	self[len] = '\0';
	if (installed_find_file(AGENTS_EXECUTABLE_NAME, program) < 0) {
		cli_print_error(role, UNTRUSTED_FILE_MESSAGE_FORMAT, program);
		return CLI_EXIT_ERROR;
	}
	argv[0] = program;
	argv[1] = (char *)(uintptr_t)role;
	argv[2] = self;
	for (size_t i = 0; i < arguments->count; i++)
		argv[3 + i] = arguments->item[i];
	(void)execv(program, argv);
	cli_print_error(role, "needs %s, which cannot be started: %s", program, strerror(errno));
	return CLI_EXIT_ERROR;
}
