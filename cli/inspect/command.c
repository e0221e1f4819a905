#include "cli/inspect/command.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/command-add.h"
#include "cli/inspect/wrappers.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/*
 * Options of interpreters. Each may come more than once. Of node, "-r" and others must stand alone, and options may
 * follow the code.
 */
static const struct grammar {
	enum inspect_type type;
	const char *name;          /* a pattern of fnmatch(3), if the type does not tell the interpreter */
	const char *code;          /* letters of options whose argument is code */
	const char *with_argument; /* letters of other options with an argument */
	const char *with_rest;     /* letters of options that take what is attached to them, if anything; NULL: none */
	const char *module;        /* of these: a module; what is no name is code; NULL: none */
	const char *script;        /* letters of options whose argument is the script; NULL: none */
	const char *load;          /* letters of options whose argument is a file that runs first; NULL: none */
	const char *setting;       /* letters of options whose argument is a setting, NAME=VALUE; NULL: none */
	const char *unread;        /* letters of options with an argument that is not looked at; NULL: none */
	const char *const *words;  /* long options with an argument; NULL-ended; NULL: none */
	const char *const *codes, *const *scripts, *const *loads; /* of these: as the letters; NULL-ended; NULL: none */
	const char *const *unseen;   /* options that run something that is not looked at; NULL-ended; NULL: none */
	const char *const *settings; /* patterns of settings that bring code; NULL-ended; NULL: none */
	/* "-cCODE" is "-c CODE". Of shells, code is what follows all options. */
	bool may_be_attached;
	bool may_be_cut;            /* the beginning of a long option stands for it */
	bool has_code_first;        /* without "-f FILE", the first operand is code */
	bool has_script_after_code; /* with code, the first operand is the script, too */
	bool has_libraries; /* a file to be loaded is one that is looked for, unless it begins with "." or "/" */
} grammars[] = {
	{.type = INSPECT_TYPE_PYTHON,
	 .code = "c",
	 .with_argument = "W",
	 .setting = "X",
	 .settings = WORDS("pycache_prefix=*", "presite=*"),
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
	 .words = WORDS("--eval", "--print", "--require", "--import", "--loader", "--experimental-loader", "--preload",
			"--conditions", "--title", "--env-file", "--env-file-if-exists", "--input-type", "--run",
			"--snapshot-blob", "--openssl-config", "--test-reporter", "--test-global-setup"),
	 .codes = WORDS("--eval", "--print"),
	 .loads = WORDS("-r", "--require", "--import", "--loader", "--experimental-loader", "--preload"),
	 .unseen = WORDS("--env-file", "--env-file-if-exists", "--test", "--run", "--snapshot-blob", "--openssl-config",
			 "--test-reporter", "--test-global-setup"),
	 .has_libraries = true},
	/* without a parser here: looked at for characters and secrets */
	{.type = INSPECT_TYPE_TEXT,
	 .name = "perl*",
	 .code = "eE",
	 .with_argument = "I",
	 .with_rest = "MmiFxDC",
	 .module = "Mm",
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "ruby*",
	 .code = "e",
	 .with_argument = "ICE",
	 .with_rest = "iFxWKT",
	 .load = "r",
	 .may_be_attached = true,
	 .has_libraries = true},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "php*",
	 .code = "rBRE",
	 .with_argument = "St",
	 .script = "fF",
	 .setting = "d",
	 .settings = WORDS("auto_*", "*extension*", "include_path*", "opcache.preload*", "ffi.*"),
	 .unread = "cz",
	 .words = WORDS("--run", "--process-begin", "--process-code", "--process-end", "--file", "--process-file"),
	 .codes = WORDS("--run", "--process-begin", "--process-code", "--process-end"),
	 .scripts = WORDS("--file", "--process-file"),
	 .may_be_attached = true},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "lua*",
	 .code = "e",
	 .with_argument = "",
	 .unread = "l",
	 .may_be_attached = true,
	 .has_script_after_code = true},
	{.type = INSPECT_TYPE_TEXT, .name = "tclsh*", .code = "", .with_argument = ""},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "expect*",
	 .code = "c",
	 .with_argument = "D",
	 .script = "fb",
	 .may_be_attached = true,
	 .has_script_after_code = true},
	{.type = INSPECT_TYPE_TEXT, .name = "Rscript", .code = "e", .with_argument = ""},
	{.type = INSPECT_TYPE_TEXT,
	 .name = "*awk",
	 .code = "e",
	 .with_argument = "vF",
	 .script = "fE",
	 .load = "i",
	 .unread = "lW",
	 .words = WORDS("--assign", "--field-separator", "--source", "--file", "--exec", "--include", "--load"),
	 .codes = WORDS("--source"),
	 .scripts = WORDS("--file", "--exec"),
	 .loads = WORDS("--include"),
	 .unseen = WORDS("--load"),
	 .may_be_attached = true,
	 .may_be_cut = true,
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

static bool command_has_letter(const char *letters, char letter)
{
	return letters && strchr(letters, letter);
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
static void command_load(const struct command_options *options, const char *file)
{
	const bool is_library = options->grammar->has_libraries && file && *file && !strchr("./", *file);

	if (is_library || !inspect_command_load(options->command, file, options->command->type))
		options->command->unseen = file;
}

/* Notes a script. Those after the first are files that run as well. */
static void command_take_script(const struct command_options *options, const char *script)
{
	if (options->command->script)
		command_load(options, script);
	else
		options->command->script = script;
}

/* Notes a setting, "NAME=VALUE". */
static void command_take_setting(const struct command_options *options, const char *setting)
{
	const char *const *pattern = options->grammar->settings;

	for (; setting && pattern && *pattern; pattern++)
		if (fnmatch(*pattern, setting, FNM_CASEFOLD) == 0)
			options->command->unseen = setting;
}

/* Reads an option of a shell, "-l" or "+l", that has no argument. True: it is such a one. */
static bool command_read_shell_letter(struct command_options *options, bool is_set, char letter)
{
	struct inspect_command *command = options->command;

	if (strchr(options->grammar->code, letter)) {
		options->code_follows = is_set;
	} else if (letter == 's') {
		options->reads_stdin = true;
	} else if (is_set && strchr("lif", letter)) {
		command->is_login = command->is_login || letter == 'l';
		command->is_interactive = command->is_interactive || letter == 'i';
		/* "zsh -f"; of others it is something else */
		command->skips_rc = command->skips_rc || (letter == 'f' && command->shell == 'z');
		command->skips_profile = command->skips_profile || (letter == 'f' && command->shell == 'z');
	} else {
		return false;
	}
	return true;
}

/* Reads a letter of an option. True: it takes the rest of the word, or the next one, which is `argument`. */
static bool command_read_letter(struct command_options *options, const char *word, char letter, const char *argument)
{
	const struct grammar *grammar = options->grammar;
	struct inspect_command *command = options->command;

	if (command->type == INSPECT_TYPE_SHELL && command_read_shell_letter(options, *word == '-', letter))
		return false;
	if (strchr(grammar->code, letter)) {
		inspect_command_add_code(command, argument);
		options->is_done = command->type == INSPECT_TYPE_PYTHON;
	} else if (letter == 'm' && command->type == INSPECT_TYPE_PYTHON) {
		command->module = argument;
		options->is_done = true;
	} else if (command_has_letter(grammar->script, letter)) {
		command_take_script(options, argument);
	} else if (command_has_letter(grammar->load, letter)) {
		command_load(options, argument);
	} else if (command_has_letter(grammar->setting, letter)) {
		command_take_setting(options, argument);
	} else if (command_has_letter(grammar->unread, letter)) {
		command->unseen = word;
	} else {
		return strchr(grammar->with_argument, letter);
	}
	return true;
}

/* Notes what is attached to an option. A module of perl is the rest of a statement, "use MODULE". */
static void command_take_rest(const struct command_options *options, char letter, const char *rest)
{
	if (command_has_letter(options->grammar->module, letter) && strpbrk(rest, " \t\n;(){}"))
		inspect_command_add_code(options->command, rest);
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

		if (command_has_letter(grammar->with_rest, *letter)) {
			command_take_rest(options, *letter, letter + 1);
			return taken;
		}
		if (!command_read_letter(options, *argv, *letter, attached ? attached : argv[1]))
			continue;
		if (attached)
			return 0;
		taken = is_node ? 1 : taken + 1;
	}
	if (command_is_one_of(*argv, grammar->loads))
		command_load(options, argv[1]);
	return taken;
}

/* Notes which startup files a long option of a shell asks for, or leaves out. */
static void command_read_startup(struct inspect_command *command, const char *word)
{
	command->is_login = command->is_login || strcmp(word, "--login") == 0;
	command->skips_profile = command->skips_profile || strcmp(word, "--noprofile") == 0;
	command->skips_rc = command->skips_rc || command_is_one_of(word, WORDS("--norc", "--rcfile", "--init-file"));
}

/* Copies the name of a long option, as the grammar has it. */
static void command_copy_word(const struct grammar *grammar, const char *name, size_t len, char ret_word[32])
{
	const char *const *word = grammar->may_be_cut && len > strlen("--") ? grammar->words : NULL;

	for (; word && *word; word++)
		if (strncmp(*word, name, len) == 0) {
			name = *word;
			len = strlen(*word);
		}
	(void)snprintf(ret_word, 32, "%.*s", (int)len, name);
}

/* Reads a long option. The number of further words that it takes. */
static size_t command_read_word(struct command_options *options, char *const *argv)
{
	const struct grammar *grammar = options->grammar;
	const char *equals = strchr(*argv, '='), *argument = equals ? equals + 1 : argv[1];
	char word[32];

	command_copy_word(grammar, *argv, equals ? (size_t)(equals - *argv) : strlen(*argv), word);
	if (command_is_one_of(word, grammar->unseen))
		options->command->unseen = *argv;
	command_read_startup(options->command, word);
	if (command_is_one_of(word, grammar->loads))
		command_load(options, argument);
	if (command_is_one_of(word, grammar->scripts))
		command_take_script(options, argument);
	if (command_is_one_of(word, grammar->codes))
		inspect_command_add_code(options->command, argument);
	return command_is_one_of(word, grammar->words) && !equals;
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
	if (options.is_done || command->script || (command->code_count > 0 && !grammar->has_script_after_code))
		return;
	if (options.code_follows || grammar->has_code_first)
		inspect_command_add_code(command, *argv);
	else if (*argv && !options.reads_stdin && strcmp(*argv, "-") != 0)
		command->script = *argv;
	else
		command->comes_on_stdin = command->code_count == 0;
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
	return command->script || command->code_count > 0 || command->module || command->comes_on_stdin ||
	       command->inner || command->inner_text || command->unseen;
}
