#include "cli/inspect/wrappers.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "cli/inspect/command-add.h"
#include "cli/inspect/git.h"
#include "policy/variables.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LOADER_WORDS                                                                                            \
	WORDS("--library-path", "--preload", "--audit", "--inhibit-rpath", "--argv0", "--glibc-hwcaps-prepend", \
	      "--glibc-hwcaps-mask")

/* How such a program reads its arguments: options, operands, and then the command. */
struct wrapper {
	const char *name;         /* a pattern of fnmatch(3) */
	const char *letters;      /* letters of options with an argument; NULL: none */
	const char *const *words; /* long options with an argument; NULL-ended; NULL: none */
	unsigned operands;        /* words before the command that are no options */
	const char *const *after; /* the command follows one of these words; NULL-ended; NULL: the operands */
	const char *without;      /* letters of options with which nothing is started; NULL: none */
	const char *const *loads; /* long options, of `words`, whose argument is a library that is loaded; or NULL */
	bool takes_variables;     /* NAME=VALUE before the command; "-S TEXT" */
	bool adds_arguments;      /* the command gets further arguments */
	bool takes_code;          /* "-c CODE" for a shell in the place of the command */
	bool takes_settings;      /* git: "-c NAME=VALUE"; what follows the options is no command */
	bool is_unread;           /* it starts programs in ways that are not read here, */
	bool has_command;         /* but its operands, as far as they are read, are a command line */
	bool loads_code;          /* the argument of "-f" is native code; it starts nothing */
	bool sets_name; /* "-a NAME" or "--argv0 NAME": what the command is called; "-l": that begins with "-" */
};

/* Of coreutils, util-linux, findutils, glibc and others; the last ones are built into shells. */
static const struct wrapper wrappers[] = {
	{.name = "env",
	 .letters = "CSau",
	 .words = WORDS("--unset", "--chdir", "--split-string", "--argv0"),
	 .takes_variables = true,
	 .sets_name = true},
	{.name = "timeout", .letters = "ks", .words = WORDS("--kill-after", "--signal"), .operands = 1},
	{.name = "nice", .letters = "n", .words = WORDS("--adjustment")},
	{.name = "nohup"},
	{.name = "setsid"},
	{.name = "stdbuf", .letters = "ioe", .words = WORDS("--input", "--output", "--error")},
	{.name = "time", .letters = "of", .words = WORDS("--format", "--output")},
	{.name = "ionice", .letters = "cnpPu", .words = WORDS("--class", "--classdata", "--pid", "--pgid", "--uid")},
	{.name = "chrt",
	 .letters = "TPD",
	 .words = WORDS("--sched-runtime", "--sched-period", "--sched-deadline"),
	 .operands = 1},
	{.name = "taskset", .operands = 1},
	{.name = "setarch"},
	{.name = "linux32"},
	{.name = "linux64"},
	{.name = "x86_64"},
	{.name = "i386"},
	{.name = "prlimit", .letters = "po", .words = WORDS("--pid", "--output")},
	{.name = "setpriv",
	 .words = WORDS("--ambient-caps", "--inh-caps", "--bounding-set", "--ruid", "--euid", "--rgid", "--egid",
			"--reuid", "--regid", "--groups", "--securebits", "--pdeathsig", "--selinux-label",
			"--apparmor-profile")},
	{.name = "flock",
	 .letters = "wE",
	 .words = WORDS("--timeout", "--wait", "--conflict-exit-code"),
	 .operands = 1,
	 .takes_code = true},
	{.name = "strace", .letters = "abeEIoOpPsSuUX"},
	{.name = "ltrace", .letters = "aAeDFlnopsux"},
	{.name = "valgrind"},
	{.name = "fakeroot", .letters = "lsib", .words = WORDS("--lib", "--faked")},
	{.name = "faketime", .operands = 1},
	{.name = "unbuffer"},
	{.name = "busybox"},
	{.name = "xargs",
	 .letters = "adEILnPs",
	 .words = WORDS("--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"),
	 .adds_arguments = true},
	{.name = "find", .after = WORDS("-exec", "-execdir", "-ok", "-okdir"), .adds_arguments = true},
	{.name = "ld-linux*.so*", .words = LOADER_WORDS, .loads = WORDS("--preload", "--audit"), .sets_name = true},
	{.name = "ld-musl-*", .words = LOADER_WORDS, .loads = WORDS("--preload", "--audit"), .sets_name = true},
	{.name = "ld.so", .words = LOADER_WORDS, .loads = WORDS("--preload", "--audit"), .sets_name = true},
	{.name = "git",
	 .letters = "cC",
	 .words = WORDS("--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"),
	 .takes_settings = true},
	{.name = "chroot", .operands = 1, .is_unread = true, .has_command = true},
	{.name = "unshare", .letters = "RwSG", .is_unread = true, .has_command = true},
	{.name = "nsenter", .letters = "tSG", .is_unread = true, .has_command = true},
	{.name = "sudo",
	 .letters = "CDghpRrTtUu",
	 .words = WORDS("--user", "--group", "--host", "--prompt", "--close-from", "--chdir", "--chroot", "--role",
			"--type", "--command-timeout", "--other-user"),
	 .is_unread = true,
	 .has_command = true},
	{.name = "doas", .letters = "Cu", .is_unread = true, .has_command = true},
	{.name = "su", .is_unread = true},
	{.name = "runuser", .is_unread = true},
	{.name = "parallel", .is_unread = true},
	{.name = "script", .is_unread = true},
	{.name = "watch", .is_unread = true},
	{.name = "entr", .is_unread = true},
	{.name = "make", .is_unread = true},
	{.name = "npm", .is_unread = true},
	{.name = "npx", .is_unread = true},
	{.name = "uv", .is_unread = true},
	{.name = "enable", .letters = "f", .loads_code = true},
	{.name = "exec", .letters = "a", .sets_name = true},
	{.name = "command", .without = "vV"},
	{.name = "builtin"},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct wrapper *wrapper_find(const char *name)
{
	for (size_t i = 0; i < COUNT(wrappers); i++)
		if (fnmatch(wrappers[i].name, name, 0) == 0)
			return &wrappers[i];
	return NULL;
}

/* Whether a word is one of these options, or the beginning of one: getopt_long(3) takes it for the option. */
static bool wrapper_is_one_of(const char *word, size_t len, const char *const *words)
{
	for (; words && *words; words++)
		if (strncmp(*words, word, len) == 0)
			return true;
	return false;
}

/* Notes what the argument of an option does. letter: of env, 'S' and 'C' are read; 'L': a library that is loaded. */
static void wrapper_take_argument(struct inspect_command *command, const struct wrapper *wrapper, char letter,
				  const char *argument)
{
	if (!argument)
		return;
	if (letter == 'L' && !inspect_command_load(command, argument, INSPECT_TYPE_MAX))
		command->unseen = argument;
	if (letter == 'S' && wrapper->takes_variables)
		command->inner_text = argument;
	if (letter == 'f' && wrapper->loads_code)
		command->unseen = wrapper->name;
	if (letter == 'a' && wrapper->sets_name && *argument == '-')
		command->makes_login = true;
	if (letter == 'u' && wrapper->takes_variables && strcmp(argument, "HOME") == 0)
		command->home = INSPECT_HOME_UNKNOWN;
	if (letter == 'C' && wrapper->takes_variables)
		command->directory = argument;
	if (letter == 'c' && wrapper->takes_settings)
		inspect_git_take_setting(command, argument);
	if (letter == 'v' && wrapper->takes_settings) /* the value is that of a variable */
		command->unseen = wrapper->name;
}

/* Reads "--word", "--word=argument" or "--word argument". The number of further words that it takes. */
static size_t wrapper_read_word(struct inspect_command *command, const struct wrapper *wrapper, char *const *argv)
{
	const char *equals = strchr(*argv, '=');
	const size_t len = equals ? (size_t)(equals - *argv) : strlen(*argv);
	const bool has_argument = wrapper_is_one_of(*argv, len, wrapper->words);

	if (wrapper->takes_settings && equals && strncmp(*argv, "--exec-path", len) == 0)
		command->unseen = wrapper->name;
	if (wrapper->takes_variables && len > 2 && strncmp(*argv, "--ignore-environment", len) == 0)
		command->home = INSPECT_HOME_UNKNOWN;
	if (has_argument)
		wrapper_take_argument(command, wrapper,
				      wrapper_is_one_of(*argv, len, wrapper->loads)            ? 'L'
				      : wrapper_is_one_of(*argv, len, WORDS("--split-string")) ? 'S'
				      : wrapper_is_one_of(*argv, len, WORDS("--chdir"))        ? 'C'
				      : wrapper_is_one_of(*argv, len, WORDS("--argv0"))        ? 'a'
				      : wrapper_is_one_of(*argv, len, WORDS("--unset"))        ? 'u'
				      : wrapper_is_one_of(*argv, len, WORDS("--config-env"))   ? 'v'
											       : 0,
				      equals ? equals + 1 : argv[1]);
	return has_argument && !equals;
}

/* Notes what an option without an argument does: "exec -l", "exec -c", "env -i". */
static void wrapper_take_letter(struct inspect_command *command, const struct wrapper *wrapper, char letter)
{
	if (wrapper->sets_name && letter == 'l')
		command->makes_login = true;
	if (wrapper->sets_name && letter == (wrapper->takes_variables ? 'i' : 'c'))
		command->home = INSPECT_HOME_UNKNOWN;
}

/* Reads "-abc", where "c" may have an argument, attached or not. The number of further words that it takes. */
static size_t wrapper_read_letters(struct inspect_command *command, const struct wrapper *wrapper, char *const *argv)
{
	if (wrapper->takes_variables && strcmp(*argv, "-") == 0) /* "env -" is "env -i" */
		command->home = INSPECT_HOME_UNKNOWN;
	for (const char *letter = *argv + 1; *letter; letter++) {
		wrapper_take_letter(command, wrapper, *letter);
		command->starts_none = command->starts_none || (wrapper->without && strchr(wrapper->without, *letter));
		if (wrapper->letters && strchr(wrapper->letters, *letter)) {
			wrapper_take_argument(command, wrapper, *letter == 'L' ? 0 : *letter,
					      letter[1] ? letter + 1 : argv[1]);
			return letter[1] == '\0';
		}
	}
	return 0;
}

/* Goes behind the options. With "env -S TEXT" what follows is not read: the text comes before it. */
static char *const *wrapper_skip_options(struct inspect_command *command, const struct wrapper *wrapper,
					 char *const *argv)
{
	size_t taken;

	for (; *argv && **argv == '-' && !command->inner_text; argv++) {
		if (strcmp(*argv, "--") == 0)
			return argv + 1;
		taken = (*argv)[1] == '-' ? wrapper_read_word(command, wrapper, argv)
					  : wrapper_read_letters(command, wrapper, argv);
		if (taken > 0 && argv[1])
			argv++;
	}
	return argv;
}

/* The value of "NAME=VALUE" or "NAME+=VALUE", if the word is that. */
static const char *wrapper_find_value(const char *word)
{
	const char *equals = strchr(word, '=');

	for (const char *at = word; equals && at < equals; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && !(*at == '+' && at + 1 == equals))
			return NULL;
	return equals && equals > word ? equals + 1 : NULL;
}

void inspect_read_variable(struct inspect_command *command, const char *assignment)
{
	const struct variable *variable = variable_find(assignment);
	const char *value = assignment + strcspn(assignment, "=");
	bool is_file;

	if (strncmp(assignment, "HOME=", strlen("HOME=")) == 0)
		command->home = value + 1;
	if (!variable || !*value || !variable_brings_code_in_shell(variable, assignment))
		return;
	is_file = variable->meaning == VARIABLE_LIBRARY || variable->meaning == VARIABLE_SCRIPT;
	if (!is_file ||
	    !inspect_command_load(command, value + 1,
				  variable->meaning == VARIABLE_SCRIPT ? INSPECT_TYPE_SHELL : INSPECT_TYPE_MAX))
		command->unseen = variable->name;
}

void inspect_read_own_variable(struct inspect_command *command, const char *assignment)
{
	const struct variable *variable = variable_find(assignment);

	if (variable && (variable->meaning == VARIABLE_LIBRARY || variable->meaning == VARIABLE_SCRIPT ||
			 strcmp(variable->name, "HOME") == 0))
		inspect_read_variable(command, assignment);
}

static char *const *wrapper_skip_variables(struct inspect_command *command, char *const *argv)
{
	command->assignments = argv;
	for (; *argv && strchr(*argv, '='); argv++, command->assignment_count++)
		inspect_read_variable(command, *argv);
	return argv;
}

static void wrapper_find_inner(struct inspect_command *command, const struct wrapper *wrapper, char *const *argv)
{
	if (wrapper->after) {
		command->between = wrapper->after;
		command->inner = inspect_command_get_next_inner(command, argv);
		return;
	}
	argv = wrapper_skip_options(command, wrapper, argv);
	if (wrapper->loads_code)
		return;
	if (wrapper->takes_settings) {
		inspect_git_take_command(command, argv);
		return;
	}
	for (unsigned i = 0; i < wrapper->operands && *argv; i++)
		argv++;
	if (wrapper->takes_variables && !command->inner_text)
		argv = wrapper_skip_variables(command, argv);
	if (wrapper->takes_code && argv[0] && (strcmp(argv[0], "-c") == 0 || strcmp(argv[0], "--command") == 0)) {
		inspect_command_add_code(command, argv[1]);
		command->type = INSPECT_TYPE_SHELL;
		return;
	}
	command->inner = argv;
}

bool inspect_read_wrapper(struct inspect_command *command, const char *name, char *const *argv)
{
	const struct wrapper *wrapper = wrapper_find(name);

	if (!wrapper) {
		/* a shell has assignments before a command, without env */
		if (!wrapper_find_value(*argv))
			return false;
		command->inner = wrapper_skip_variables(command, argv);
		return true;
	}
	command->adds_arguments = wrapper->adds_arguments;
	command->type = wrapper->takes_settings ? INSPECT_TYPE_TEXT : command->type;
	if (wrapper->is_unread)
		command->unseen = wrapper->name;
	if (!wrapper->is_unread || wrapper->has_command)
		wrapper_find_inner(command, wrapper, argv + 1);
	if ((command->inner && !*command->inner && !command->inner_text && !wrapper->adds_arguments) ||
	    command->starts_none)
		command->inner = NULL;
	return true;
}
