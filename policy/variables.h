/*
 * Environment variables by which programs find code, options or commands that they run. The one list of them: for what
 * callgate inspect finds, and for what a question about an exec shows (syscalls/exec/environment.h).
 */
#ifndef CALLGATE_POLICY_VARIABLES_H
#define CALLGATE_POLICY_VARIABLES_H

#include <stdbool.h>

/* What the value of a variable is for the programs that obey it. */
enum variable_meaning {
	VARIABLE_LIBRARY,  /* a library that is loaded */
	VARIABLE_SCRIPT,   /* a file that a shell runs */
	VARIABLE_LOADS,    /* files or directories, divided by ":", from which code is loaded */
	VARIABLE_COMMAND,  /* a command or code that is run */
	VARIABLE_OPTIONS,  /* options, by which code can be loaded or run */
	VARIABLE_SETTINGS, /* settings, or where they are; some of them name commands */
	VARIABLE_SPLITS,   /* how a shell splits words; nothing is run by that alone */
	VARIABLE_MEANING_MAX,
};

struct variable {
	const char *name; /* "*" at the end stands for the rest of a name */
	enum variable_meaning meaning;
	const char *usual; /* patterns of fnmatch(3), with blanks between them; NULL: only the empty value is usual */
};

/* The row of the variable that a text sets: "NAME=VALUE" or, as in a shell, "NAME+=VALUE". NULL: it decides nothing. */
const struct variable *variable_find(const char *assignment);

/*
 * Whether code that was not there before can run by this assignment: true unless the variable is one of settings, or
 * all parts of the value are usual ones, such as "cat" of PAGER.
 */
bool variable_brings_code(const struct variable *variable, const char *assignment);
/* The same of the text of a shell program, in which "$PATH" is the value that PATH has already. */
bool variable_brings_code_in_shell(const struct variable *variable, const char *assignment);

/* What the value is, in words such as "loads code". */
const char *variable_describe(const struct variable *variable);

#endif
