/* What "@interpreter" stands for: the directories and files an installed Python, node or Ruby is made of. */
#ifndef CALLGATE_CLI_HOST_INTERPRETER_H
#define CALLGATE_CLI_HOST_INTERPRETER_H

#include <stddef.h>

#include "policy/arena.h"

#define INTERPRETER_GRANTED_PATHS_MAX 64
#define INTERPRETER_PREFIXES_MAX 16

/*
 * The files and directories of the interpreter that @interpreter stands for in a run. Everything is allocated in the
 * arena.
 */
struct cli_interpreter {
	/*
	 * Absolute paths that exist, NULL-ended. A virtual environment comes before the installation that it is based
	 * on.
	 */
	const char *granted_path[INTERPRETER_GRANTED_PATHS_MAX + 1];
	/* for each granted path, the directory of the version manager that it belongs to; NULL: none */
	const char *manager_dirs[INTERPRETER_GRANTED_PATHS_MAX];
	size_t granted_path_count;
	/*
	 * Prefixes of interpreters that were found, NULL-ended, whether @interpreter stands for them or not: where
	 * packages may be installed.
	 */
	const char *prefix[INTERPRETER_PREFIXES_MAX + 1];
	size_t prefix_count;
	const char *why_left_out; /* why an interpreter that was found is left out, one line; NULL: nothing to report */
	struct arena *arena;
	const char *home, *workdir;
};

/*
 * Finds the interpreter that the program is, or that its "#!" line names. If the program is neither an interpreter nor
 * a script, or NULL, finds the python3, node and ruby of PATH. `program` is a path from program_find_executable. The
 * home directory and the workdir need not be canonical, and may be NULL. NULL when memory ran out.
 *
 * An earlier run may have written the program, its "#!" line and a virtual environment's pyvenv.cfg. They can only
 * choose among installed interpreters (cli/host/managers.h) and directories in the workdir.
 */
struct cli_interpreter *interpreter_find(struct arena *arena, const char *program, const char *home,
					 const char *workdir);

/*
 * The version manager's directory, before links are resolved, through which @interpreter found the granted path that
 * contains `path`. NULL: no granted path contains `path`, or it was not found through a version manager.
 */
const char *interpreter_find_manager(const struct cli_interpreter *interpreter, const char *path);

#endif
