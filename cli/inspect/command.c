#include "cli/inspect/command.h"

#include <string.h>

/* Options of interpreters that take the next argument, without the last letter of those in one word, such as "-Ic". */
static const struct {
	enum inspect_type type;
	const char *code;          /* letters of options whose argument is code */
	const char *with_argument; /* letters of other options with an argument */
	const char *const *words;  /* long options with an argument that is no code; NULL-ended */
} grammars[] = {
	{INSPECT_TYPE_PYTHON, "c", "WX", (const char *const[]){"--check-hash-based-pycs", NULL}},
	{INSPECT_TYPE_SHELL, "c", "oO", (const char *const[]){"--rcfile", "--init-file", NULL}},
	{INSPECT_TYPE_JAVASCRIPT, "ep", "rC", (const char *const[]){"--require", "--import", "--conditions", NULL}},
};

static const char *command_get_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Skips "env", its options and its variables. */
static char *const *command_skip_env(char *const *argv)
{
	if (strcmp(command_get_base_name(*argv), "env") != 0)
		return argv;
	for (argv++; *argv && (**argv == '-' || strchr(*argv, '=')); argv++)
		;
	return argv;
}

static bool command_is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* Goes through the options of an interpreter. */
static void command_read_arguments(struct inspect_command *command, size_t grammar, char *const *argv)
{
	for (; *argv; argv++) {
		const char *word = *argv;
		char last = word[0] == '-' && word[1] != '\0' && word[1] != '-' ? word[strlen(word) - 1] : '\0';

		if (*word != '-') {
			command->script = word;
			return;
		}
		if (strcmp(word, "-") == 0 || (last == 's' && command->type == INSPECT_TYPE_SHELL))
			break;
		if (last == 'm' && command->type == INSPECT_TYPE_PYTHON) {
			command->module = argv[1];
			return;
		}
		if ((last && strchr(grammars[grammar].code, last)) || strcmp(word, "--eval") == 0 ||
		    strcmp(word, "--print") == 0) {
			command->code = argv[1];
			return;
		}
		if (strncmp(word, "--eval=", 7) == 0 || strncmp(word, "--print=", 8) == 0) {
			command->code = strchr(word, '=') + 1;
			return;
		}
		if (((last && strchr(grammars[grammar].with_argument, last)) ||
		     command_is_one_of(word, grammars[grammar].words)) &&
		    argv[1])
			argv++;
	}
	command->comes_on_stdin = true;
}

struct inspect_command inspect_read_command(char *const *argv)
{
	struct inspect_command command = {.program = *argv, .type = INSPECT_TYPE_MAX};
	char *const *inner = command_skip_env(argv);

	if (!*inner)
		return command;
	command.program = *inner;
	command.type = inspect_find_interpreter(command_get_base_name(*inner));
	for (size_t i = 0; i < sizeof(grammars) / sizeof(grammars[0]); i++)
		if (grammars[i].type == command.type)
			command_read_arguments(&command, i, inner + 1);
	return command;
}
