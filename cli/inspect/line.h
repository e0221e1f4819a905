/* Looks at one command line, and at all that are started by it: programs, scripts, code, what their shells run. */
#ifndef CALLGATE_CLI_INSPECT_LINE_H
#define CALLGATE_CLI_INSPECT_LINE_H

#include "cli/inspect/command.h"
#include "cli/inspect/program.h"

/* A command line that is being looked at. */
struct inspect_line {
	char *const *argv; /* NULL-ended, not empty */
	unsigned depth;
	bool adds_arguments;        /* what starts it adds arguments (xargs) */
	const char *already_looked; /* a script that was looked at; NULL: none */
	bool is_of_shell;           /* a word that is empty may be any text; names without a slash may be built in */
	bool has_own_input;         /* it does not read what this process reads */
	const char *document;       /* but this text; NULL: something that is not known */
	bool is_login;              /* a shell is a login shell by its name */
	bool is_sourced;            /* it is no process: the shell itself reads the file */
};

/* Looks at all that it runs. What a shell changes ends with it, unless it is sourced. 0 or -errno. */
int inspect_line_look(struct inspect_program *inspection, const struct inspect_line *line);
/* Looks at code, and, if a shell runs it, at the commands in it. 0 or -errno. */
int inspect_line_look_at_code(struct inspect_program *inspection, const struct inspect_line *line, const char *code,
			      enum inspect_type type);
/*
 * Looks at what the shell programs run that were looked at since the last time. script: which one that is, for
 * messages; NULL: what is looked at already. 0 or -errno.
 */
int inspect_line_follow_commands(struct inspect_program *inspection, const struct inspect_line *line,
				 const char *script);
/* Looks at what runs before the program: libraries, modules. 0 or -errno. */
int inspect_line_look_at_loaded(struct inspect_program *inspection, const struct inspect_line *line,
				const struct inspect_command *command);
/* Tells what variables do to the program. Those in shell code were found by its parser. 0 or -ENOMEM. */
int inspect_line_look_at_assignments(struct inspect_program *inspection, const struct inspect_line *line,
				     char *const *assignments, size_t count);

#endif
