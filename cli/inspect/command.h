/* Finds what a command line is about to run: its program and, if that is an interpreter, the script or the code. */
#ifndef CALLGATE_CLI_INSPECT_COMMAND_H
#define CALLGATE_CLI_INSPECT_COMMAND_H

#include "cli/inspect/subject.h"

/* What a command line runs. Texts are borrowed from it. */
struct inspect_command {
	const char *program;    /* the program's name or path */
	const char *script;     /* of an interpreter: the script's path; NULL: none */
	const char *code;       /* of an interpreter: the argument that is a program (-c, -e); NULL: none */
	const char *module;     /* of Python: the module that is run (-m); NULL: none */
	bool comes_on_stdin;    /* of an interpreter: the program is read from standard input */
	enum inspect_type type; /* of script, code or what is read */
};

/* Reads a command line as env(1) and interpreters do: "env VAR=1 python3 -I x.py y". argv: NULL-ended, not empty. */
struct inspect_command inspect_read_command(char *const *argv);

#endif
