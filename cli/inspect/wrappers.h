/* Programs that start another one, whose command line is theirs: env, timeout, nice, xargs and others. */
#ifndef CALLGATE_CLI_INSPECT_WRAPPERS_H
#define CALLGATE_CLI_INSPECT_WRAPPERS_H

#include "cli/inspect/command.h"

/*
 * Reads the command line of such a program: sets inner, inner_text, code, adds_arguments, assignments, loaded and
 * unseen. name: the program's, without its directory. False, with nothing changed: it is not one of them.
 */
bool inspect_read_wrapper(struct inspect_command *command, const char *name, char *const *argv);

/* Notes what a variable, "NAME=VALUE", does by policy/variables.h: sets loaded, unseen and home. */
void inspect_read_variable(struct inspect_command *command, const char *assignment);
/* The same of a variable as the policy has it, which is meant so: only a file that runs first, and HOME. */
void inspect_read_own_variable(struct inspect_command *command, const char *assignment);

#endif
