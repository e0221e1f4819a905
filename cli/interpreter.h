/* What "@interpreter" stands for: the directories and files an installed Python, node or Ruby is made of. */
#ifndef CALLGATE_CLI_INTERPRETER_H
#define CALLGATE_CLI_INTERPRETER_H

struct cli_interpreter;

/* Where the caller's home directory and the workdir are (as they are named; NULL: nowhere). */
struct interpreter_places {
	const char *home;
	const char *workdir;
};

/*
 * Finds the interpreter a program is, or the one its "#!" line names; when it is neither (or NULL), the python3, node
 * and ruby of PATH. `program` is a path from program_find. Owned by the caller; NULL when memory ran out.
 *
 * The program, its "#!" line and a virtual environment's pyvenv.cfg may be an earlier run's work: they only choose
 * among what is installed (cli/managers.h), and what lies in the workdir.
 */
struct cli_interpreter *interpreter_find(const char *program, const struct interpreter_places *places);
void interpreter_free(struct cli_interpreter *interpreter);

/* Absolute paths that exist, NULL-ended, borrowed. A virtual environment comes before what it is based on. */
const char *const *interpreter_roots(const struct cli_interpreter *interpreter);

/*
 * Of a path that is or lies below a root: the manager's place by which that root was found, before links are resolved.
 * Borrowed; NULL: it needed none.
 */
const char *interpreter_place(const struct cli_interpreter *interpreter, const char *path);

/* Why something that was found is not among them, one line; NULL: nothing to say. Borrowed. */
const char *interpreter_note(const struct cli_interpreter *interpreter);

#endif
