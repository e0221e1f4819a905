/* What "@interpreter" stands for: the directories and files an installed Python, node or Ruby is made of. */
#ifndef CALLGATE_CLI_HOST_INTERPRETER_H
#define CALLGATE_CLI_HOST_INTERPRETER_H

#include <stddef.h>

#include "policy/arena.h"

#define INTERPRETER_ROOTS_MAX 64

/* All in the arena. */
struct cli_interpreter {
	/* Absolute paths that exist, NULL-ended. A virtual environment comes before what it is based on. */
	const char *root[INTERPRETER_ROOTS_MAX + 1];
	const char *place[INTERPRETER_ROOTS_MAX]; /* of each root: see interpreter_find_manager() */
	size_t count;
	const char *note; /* why something that was found is not a root, one line; NULL: there is nothing to report */
	struct arena *arena;
	const char *home, *workdir;
};

/*
 * Finds the interpreter that a program is, or that its "#!" line names. When it is neither (or NULL): the python3, node
 * and ruby of PATH. `program` is a path from program_find_executable. The home directory and the workdir need not be
 * canonical, and may be NULL. NULL when memory ran out.
 *
 * An earlier run may have written the program, its "#!" line and a virtual environment's pyvenv.cfg. They can only
 * choose among installed interpreters (cli/host/managers.h) and directories in the workdir.
 */
struct cli_interpreter *interpreter_find(struct arena *arena, const char *program, const char *home,
					 const char *workdir);

/*
 * The version manager's directory, before links are resolved, by which the root of this path was found. NULL: no
 * manager's, or the path is below no root.
 */
const char *interpreter_find_manager(const struct cli_interpreter *interpreter, const char *path);

#endif
