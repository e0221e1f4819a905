/*
 * Reads command lines: the program, and if that is an interpreter, the script or the code; of programs that only start
 * another one (env, timeout, nice), the command line of that.
 */
#ifndef CALLGATE_CLI_INSPECT_COMMAND_H
#define CALLGATE_CLI_INSPECT_COMMAND_H

#include "cli/inspect/subject.h"

#define COMMAND_LOADED_MAX 8 /* files that options and variables of one command load first */
#define COMMAND_CODES_MAX 8  /* arguments of one command that are code */

/* HOME as the shell takes it from passwd(5) when it is not set: like other values with "$", it is not known. */
#define INSPECT_HOME_UNKNOWN "$HOME"

/* What one command line runs. Texts are borrowed from it. */
struct inspect_command {
	const char *program;    /* the program's name or path */
	const char *script;     /* of an interpreter: the script's path; NULL: none */
	const char *module;     /* of Python: the module that is run (-m); NULL: none */
	bool comes_on_stdin;    /* of an interpreter: the program is read from standard input */
	enum inspect_type type; /* of script, code or what is read; INSPECT_TYPE_MAX: no interpreter that is known */

	const char *code[COMMAND_CODES_MAX]; /* arguments that are programs (-c, -e), or that a shell runs */
	size_t code_count;

	char *const *inner;     /* the command line that it starts; NULL: none */
	const char *const *between; /* words in it behind which further ones begin (find); NULL-ended; NULL: none */
	const char *inner_text; /* the same as one text, before the words of `inner` (env -S); NULL: none */
	const char *directory;  /* in which it starts it; NULL: its own */
	bool starts_none;       /* an option says that nothing is started */
	bool adds_arguments;    /* it starts it with further arguments, which are not known (xargs) */

	char *const *assignments; /* variables that it sets for it, "NAME=VALUE", in a row */
	size_t assignment_count;
	char shell;                    /* of a shell: the first letter of its name; 0: it is none */
	bool is_login, is_interactive; /* of a shell, by its options */
	bool skips_profile, skips_rc;  /* of a shell: it does not run these startup files */
	bool makes_login;              /* it starts a shell as a login shell: by a name that begins with "-" */
	const char *home;              /* its HOME, if it sets that for what it starts; NULL: it does not */

	const char *loaded[COMMAND_LOADED_MAX]; /* files that run before the program: node -r, LD_PRELOAD */
	enum inspect_type loaded_type[COMMAND_LOADED_MAX]; /* as which; INSPECT_TYPE_MAX: what they are */
	size_t loaded_count;
	const char *unseen; /* an option or a variable whose effect cannot be looked at; NULL: none */
};

/*
 * Reads a command line as interpreters, env(1), timeout(1) and others do. name: the program's name without its
 * directory, if it is to be taken for another one than argv[0] says. argv: NULL-ended, not empty.
 */
struct inspect_command inspect_read_command(const char *name, char *const *argv);

/* Whether it starts something that is looked at by itself. */
bool inspect_command_starts_other(const struct inspect_command *command);

#endif
