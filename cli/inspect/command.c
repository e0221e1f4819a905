#include "cli/inspect/command.h"

#include <string.h>

/* Options of interpreters. */
static const struct {
	enum inspect_type type;
	const char *code;          /* letters of options whose argument is code */
	const char *with_argument; /* letters of other options with an argument */
	const char *const *words;  /* long options with an argument that is no code; NULL-ended */
	/* "-cCODE" is "-c CODE". Of shells, code is what follows all options. */
	bool may_be_attached;
} grammars[] = {
	{INSPECT_TYPE_PYTHON, "c", "WX", (const char *const[]){"--check-hash-based-pycs", NULL}, true},
	{INSPECT_TYPE_SHELL, "c", "oO", (const char *const[]){"--rcfile", "--init-file", NULL}, false},
	{INSPECT_TYPE_JAVASCRIPT, "ep", "rC", (const char *const[]){"--require", "--import", "--conditions", NULL},
	 false},
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
	for (argv++; *argv && (**argv == '-' || strchr(*argv, '=')); argv++) {
		const char last = (*argv)[strlen(*argv) - 1];
		const bool is_short = (*argv)[0] == '-' && (*argv)[1] != '-';

		if (((is_short && (last == 'u' || last == 'C')) || strcmp(*argv, "--unset") == 0 ||
		     strcmp(*argv, "--chdir") == 0) &&
		    argv[1])
			argv++;
	}
	return argv;
}

static bool command_is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* What the options of an interpreter have told so far. */
struct command_options {
	struct inspect_command *command;
	size_t grammar;
	bool code_follows; /* of a shell: "-c" */
	bool reads_stdin;  /* of a shell: "-s" */
	bool is_done;      /* the command is known */
};

/* Reads a word of options with one letter each. The number of further words that it takes. */
static size_t command_read_letters(struct command_options *options, char *const *argv)
{
	struct inspect_command *command = options->command;
	const bool is_shell = command->type == INSPECT_TYPE_SHELL;
	size_t taken = 0;

	for (const char *letter = *argv + 1; *letter; letter++) {
		const char *attached = grammars[options->grammar].may_be_attached && letter[1] ? letter + 1 : NULL;

		if (strchr(grammars[options->grammar].code, *letter) && is_shell) {
			options->code_follows = **argv == '-';
		} else if (strchr(grammars[options->grammar].code, *letter)) {
			command->code = attached ? attached : argv[1];
			options->is_done = true;
			return 0;
		} else if (*letter == 'm' && command->type == INSPECT_TYPE_PYTHON) {
			command->module = attached ? attached : argv[1];
			options->is_done = true;
			return 0;
		} else if (strchr(grammars[options->grammar].with_argument, *letter)) {
			if (attached)
				return 0;
			taken++;
		} else if (*letter == 's' && is_shell) {
			options->reads_stdin = true;
		}
	}
	return taken;
}

/* Reads a long option. The number of further words that it takes. */
static size_t command_read_word(struct command_options *options, char *const *argv)
{
	const char *word = *argv;

	options->is_done = true;
	if (strcmp(word, "--eval") == 0 || strcmp(word, "--print") == 0) {
		options->command->code = argv[1];
		return 0;
	}
	if (strncmp(word, "--eval=", 7) == 0 || strncmp(word, "--print=", 8) == 0) {
		options->command->code = strchr(word, '=') + 1;
		return 0;
	}
	options->is_done = false;
	return command_is_one_of(word, grammars[options->grammar].words);
}

/* Whether a word is an option. */
static bool command_is_option(const struct inspect_command *command, const char *word)
{
	return *word == '-' || (*word == '+' && command->type == INSPECT_TYPE_SHELL);
}

/* Goes through the options of an interpreter. */
static void command_read_arguments(struct inspect_command *command, size_t grammar, char *const *argv)
{
	struct command_options options = {.command = command, .grammar = grammar};
	size_t taken = 0;
	bool ended = false; /* by a word that is for nothing else */

	for (; *argv && !ended && !options.is_done && command_is_option(command, *argv); argv++) {
		ended = strcmp(*argv, "--") == 0 || strcmp(*argv, "-") == 0;
		if (strcmp(*argv, "-") == 0 && command->type != INSPECT_TYPE_SHELL)
			break; /* the program itself comes on standard input */
		if (!ended)
			taken = (*argv)[0] == '-' && (*argv)[1] == '-' ? command_read_word(&options, argv)
								       : command_read_letters(&options, argv);
		for (; !options.is_done && !ended && taken > 0 && argv[1]; taken--)
			argv++;
	}
	if (options.is_done)
		return;
	if (options.code_follows)
		command->code = *argv;
	else if (*argv && !options.reads_stdin && strcmp(*argv, "-") != 0)
		command->script = *argv;
	else
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
