/* What "@interpreter" stands for: the directories and files an installed Python, node or Ruby is made of. */
#ifndef CALLGATE_CLI_HOST_INTERPRETER_H
#define CALLGATE_CLI_HOST_INTERPRETER_H

struct cli_interpreter;

/* The caller's home directory and the workdir, not resolved (NULL: none). */
struct interpreter_places {
	const char *home;
	const char *workdir;
};

/*
 * Finds the interpreter that a program is, or that its "#!" line names. When it is neither (or NULL): the python3, node
 * and ruby of PATH. `program` is a path from program_find. Owned by the caller; NULL when memory ran out.
 *
 * An earlier run may have written the program, its "#!" line and a virtual environment's pyvenv.cfg. They can only
 * choose among installed interpreters (cli/host/managers.h) and directories in the workdir.
 */
struct cli_interpreter *interpreter_find(const char *program, const struct interpreter_places *places);
void interpreter_free(struct cli_interpreter *interpreter);

/* Absolute paths that exist, NULL-ended, borrowed. A virtual environment comes before what it is based on. */
const char *const *interpreter_roots(const struct cli_interpreter *interpreter);

/*
 * The version manager's directory, before links are resolved, by which the root of this path was found. Borrowed; NULL:
 * no manager's, or the path is below no root.
 */
const char *interpreter_place(const struct cli_interpreter *interpreter, const char *path);

/* Why something that was found is not a root, one line; NULL: there is nothing to report. Borrowed. */
const char *interpreter_note(const struct cli_interpreter *interpreter);

#endif
