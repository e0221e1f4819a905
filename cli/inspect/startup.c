#include "cli/inspect/startup.h"

#include <string.h>

#define FILES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* When a shell runs a file of this list: INVOCATION of bash(1), STARTUP/SHUTDOWN FILES of zsh(1). */
static const struct {
	const char *shells; /* their first letters */
	bool is_for_all, is_for_login, is_for_interactive;
	bool is_not_for_login;
	const char *const *files;
} startup[] = {
	{"br", .is_for_login = true, .files = FILES(".bash_profile", ".bash_login", ".profile")},
	{"br", .is_for_interactive = true, .is_not_for_login = true, .files = FILES(".bashrc")},
	{"z", .is_for_all = true, .files = FILES(".zshenv")},
	{"z", .is_for_login = true, .files = FILES(".zprofile")},
	{"z", .is_for_interactive = true, .files = FILES(".zshrc")},
	{"z", .is_for_login = true, .files = FILES(".zlogin")},
	{"k", .is_for_interactive = true, .files = FILES(".kshrc")},
	{"m", .is_for_interactive = true, .files = FILES(".mkshrc")},
	{"y", .is_for_login = true, .files = FILES(".yash_profile")},
	{"y", .is_for_interactive = true, .files = FILES(".yashrc")},
	{"sdakm", .is_for_login = true, .files = FILES(".profile")},
};

const char *const *inspect_get_startup_files(const struct inspect_command *command, size_t number)
{
	for (size_t i = 0; command->shell && i < sizeof(startup) / sizeof(startup[0]); i++) {
		const bool is_for_login = startup[i].is_for_login && command->is_login;
		const bool is_for_interactive = startup[i].is_for_interactive && command->is_interactive &&
						!(startup[i].is_not_for_login && command->is_login);

		if (!strchr(startup[i].shells, command->shell) ||
		    (startup[i].is_for_login ? command->skips_profile : command->skips_rc))
			continue;
		if ((startup[i].is_for_all || is_for_login || is_for_interactive) && number-- == 0)
			return startup[i].files;
	}
	return NULL;
}
