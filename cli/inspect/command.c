#include "cli/inspect/command.h"

#include <fnmatch.h>
#include <string.h>

#include "cli/inspect/wrappers.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/*
 * Options of interpreters. Of node, "-r" and others must stand alone, and options may follow the code.
 */
static const struct grammar {
	enum inspect_type type;
	const char *name;          /* a pattern of fnmatch(3), if the type does not tell the interpreter */
	const char *code;          /* letters of options whose argument is code */
	const char *with_argument; /* letters of other options with an argument */
	const char *with_rest;     /* letters of options that take what is attached to them, if anything; NULL: none */
	const char *script;        /* letters of options whose argument is the script; NULL: none */
	const char *const *words;  /* long options with an argument that is no code; NULL-ended */
	const char *const *loads;  /* options whose argument is a file that runs first; NULL-ended */
	const char *const *unseen; /* options that run something that is not looked at; NULL-ended */
	/* "-cCODE" is "-c CODE". Of shells, code is what follows all options. */
	bool may_be_attached;
	bool has_code_first; /* without "-f FILE", the first operand is code */
} grammars[] = {
	{.type = INSPECT_TYPE_PYTHON,
	 .code = "c",
	 .with_argument = "WX",
	 .words = WORDS("--check-hash-based-pycs"),
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_SHELL,
	 .code = "c",
	 .with_argument = "oO",
	 .words = WORDS("--rcfile", "--init-file"),
	 .loads = WORDS("--rcfile", "--init-file")},
	{.type = INSPECT_TYPE_JAVASCRIPT,
	 .code = "ep",
	 .with_argument = "rC",
	 .words = WORDS("--require", "--import", "--loader", "--experimental-loader", "--conditions", "--title",
			"--env-file", "--env-file-if-exists", "--input-type", "--run"),
	 .loads = WORDS("-r", "--require", "--import", "--loader", "--experimental-loader"),
	 .unseen = WORDS("--env-file", "--env-file-if-exists", "--test", "--run")},
	/* without a parser here: looked at for characters and secrets */
	{.type = INSPECT_TYPE_TEXT,
	 .name = "perl*",
	 .code = "eE",
	 .with_argument = "I",
	 .with_rest = "MmiFxDC",
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "ruby*",
	 .code = "e",
	 .with_argument = "IrCE",
	 .with_rest = "iFxWKT",
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "php*",
	 .code = "r",
	 .with_argument = "cdz",
	 .script = "f",
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT, .name = "lua*", .code = "e", .with_argument = "l", .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT, .name = "tclsh*", .code = "", .with_argument = ""},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "expect*",
	 .code = "c",
	 .with_argument = "D",
	 .script = "fb",
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT, .name = "Rscript", .code = "e", .with_argument = ""},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "awk",
	 .code = "",
	 .with_argument = "vF",
	 .script = "f",
	 .may_be_attached = true,
	 .has_code_first = true},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "[gmn]awk",
	 .code = "",
	 .with_argument = "vF",
	 .script = "f",
	 .may_be_attached = true,
	 .has_code_first = true},
};

static const struct grammar *command_find_grammar(enum inspect_type type, const char *name)
{
	for (size_t i = 0; i < sizeof(grammars) / sizeof(grammars[0]); i++)
		if (grammars[i].name ? fnmatch(grammars[i].name, name, 0) == 0 : grammars[i].type == type)
			return &grammars[i];
	return NULL;
}

static bool command_is_one_of(const char *word, const char *const *words)
{
	for (; words && *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* What the options of an interpreter have told so far. */
struct command_options {
	struct inspect_command *command;
	const struct grammar *grammar;
	bool code_follows; /* of a shell: "-c" */
	bool reads_stdin;  /* of a shell: "-s" */
	bool is_done;      /* the command is known; node alone takes options behind code, too */
};

/* Notes a file that an option loads. */
static void command_load(struct inspect_command *command, const char *file)
{
	if (!inspect_command_load(command, file, command->type))
		command->unseen = file;
}

static void command_take_code(struct command_options *options, const char *code)
{
	options->command->code = code;
	options->is_done = options->command->type != INSPECT_TYPE_JAVASCRIPT;
}

/* Reads a letter of an option. True: it takes the rest of the word, or the next one, which is `argument`. */
static bool command_read_letter(struct command_options *options, const char *word, char letter, const char *argument)
{
	struct inspect_command *command = options->command;
	const bool is_shell = command->type == INSPECT_TYPE_SHELL;

	if (is_shell && strchr(options->grammar->code, letter)) {
		options->code_follows = *word == '-';
	} else if (is_shell && letter == 's') {
		options->reads_stdin = true;
	} else if (is_shell && *word == '-' && strchr("lif", letter)) {
		command->is_login = command->is_login || letter == 'l';
		command->is_interactive = command->is_interactive || letter == 'i';
		/* "zsh -f"; of others it is something else */
		command->skips_rc = command->skips_rc || (letter == 'f' && command->shell == 'z');
		command->skips_profile = command->skips_profile || (letter == 'f' && command->shell == 'z');
	} else if (strchr(options->grammar->code, letter)) {
		command_take_code(options, argument);
		return true;
	} else if (letter == 'm' && command->type == INSPECT_TYPE_PYTHON) {
		command->module = argument;
		options->is_done = true;
		return true;
	} else if (options->grammar->script && strchr(options->grammar->script, letter)) {
		command->script = argument;
		options->is_done = true;
		return true;
	}
	return strchr(options->grammar->with_argument, letter);
}

/* Reads a word of options with one letter each. The number of further words that it takes. */
static size_t command_read_letters(struct command_options *options, char *const *argv)
{
	const struct grammar *grammar = options->grammar;
	const bool is_node = options->command->type == INSPECT_TYPE_JAVASCRIPT;
	size_t taken = 0;

	if (is_node && argv[1] && *argv[1] == '-')
		return 0; /* the next word is an option, too */
	for (const char *letter = *argv + 1; *letter && !options->is_done; letter++) {
		const char *attached = grammar->may_be_attached && letter[1] ? letter + 1 : NULL;

		if (grammar->with_rest && strchr(grammar->with_rest, *letter))
			return taken;
		if (!command_read_letter(options, *argv, *letter, attached ? attached : argv[1]))
			continue;
		if (attached)
			return 0;
		taken = is_node ? 1 : taken + 1;
	}
	if (command_is_one_of(*argv, grammar->loads))
		command_load(options->command, argv[1]);
	return taken;
}

/* Notes which startup files a long option of a shell asks for, or leaves out. */
static void command_read_startup(struct inspect_command *command, const char *word)
{
	command->is_login = command->is_login || strcmp(word, "--login") == 0;
	command->skips_profile = command->skips_profile || strcmp(word, "--noprofile") == 0;
	command->skips_rc = command->skips_rc || command_is_one_of(word, WORDS("--norc", "--rcfile", "--init-file"));
}

/* Reads a long option. The number of further words that it takes. */
static size_t command_read_word(struct command_options *options, char *const *argv)
{
	const struct grammar *grammar = options->grammar;
	const char *equals = strchr(*argv, '='), *argument = equals ? equals + 1 : argv[1];
	const size_t len = equals ? (size_t)(equals - *argv) : strlen(*argv);
	char word[32] = "";

	if (len < sizeof(word))
		memcpy(word, *argv, len);
	if (command_is_one_of(word, grammar->unseen))
		options->command->unseen = *argv;
	command_read_startup(options->command, word);
	if (command_is_one_of(word, grammar->loads))
		command_load(options->command, argument);
	if (strcmp(word, "--eval") == 0 || strcmp(word, "--print") == 0)
		command_take_code(options, argument);
	else if (!command_is_one_of(word, grammar->words))
		return 0;
	return !equals;
}

/* Whether a word is an option. */
static bool command_is_option(const struct inspect_command *command, const char *word)
{
	return *word == '-' || (*word == '+' && command->type == INSPECT_TYPE_SHELL);
}

/* Goes through the options. Returns what is behind them. */
static char *const *command_skip_options(struct command_options *options, char *const *argv)
{
	for (; *argv && !options->is_done && command_is_option(options->command, *argv); argv++) {
		const bool is_dash = strcmp(*argv, "-") == 0;
		size_t taken;

		if (is_dash && options->command->type != INSPECT_TYPE_SHELL)
			break; /* the program itself comes on standard input */
		if (is_dash || strcmp(*argv, "--") == 0)
			return argv + 1;
		taken = (*argv)[1] == '-' ? command_read_word(options, argv) : command_read_letters(options, argv);
		for (; !options->is_done && taken > 0 && argv[1]; taken--)
			argv++;
	}
	return argv;
}

/* Goes through the arguments of an interpreter. */
static void command_read_arguments(struct inspect_command *command, const struct grammar *grammar, char *const *argv)
{
	struct command_options options = {.command = command, .grammar = grammar};

	argv = command_skip_options(&options, argv);
	if (options.is_done || command->code)
		return;
	if (options.code_follows || grammar->has_code_first)
		command->code = *argv;
	else if (*argv && !options.reads_stdin && strcmp(*argv, "-") != 0)
		command->script = *argv;
	else
		command->comes_on_stdin = true;
}

struct inspect_command inspect_read_command(const char *name, char *const *argv)
{
	struct inspect_command command = {.program = *argv, .type = INSPECT_TYPE_MAX};
	const struct grammar *grammar;

	if (!name) {
		const char *slash = strrchr(*argv, '/');

		name = slash ? slash + 1 : *argv;
	}
	if (inspect_read_wrapper(&command, name, argv))
		return command;
	command.type = inspect_find_interpreter(name);
	command.shell = command.type == INSPECT_TYPE_SHELL ? *name : '\0';
	grammar = command_find_grammar(command.type, name);
	if (grammar)
		command_read_arguments(&command, grammar, argv + 1);
	return command;
}

bool inspect_command_starts_other(const struct inspect_command *command)
{
	return command->script || command->code || command->module || command->comes_on_stdin || command->inner ||
	       command->inner_text || command->unseen;
}
