/* What "@interpreter" stands for: the directories and files an installed Python, node or Ruby is made of. */
#ifndef CALLGATE_CLI_INTERPRETER_H
#define CALLGATE_CLI_INTERPRETER_H

struct cli_interpreter;

/*
 * Finds the interpreter a program is, or the one its "#!" line names; when it is neither (or NULL), the python3, node
 * and ruby of PATH. `program` is a path from program_find. Owned by the caller; NULL when memory ran out.
 */
struct cli_interpreter *interpreter_find(const char *program);
void interpreter_free(struct cli_interpreter *interpreter);

/* Absolute paths that exist, NULL-ended, borrowed. A virtual environment comes before what it is based on. */
const char *const *interpreter_roots(const struct cli_interpreter *interpreter);

#endif
