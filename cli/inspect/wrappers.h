/* Programs that start another one, whose command line is theirs: env, timeout, nice, xargs and others. */
#ifndef CALLGATE_CLI_INSPECT_WRAPPERS_H
#define CALLGATE_CLI_INSPECT_WRAPPERS_H

#include "cli/inspect/command.h"

/*
 * Reads the command line of such a program: sets inner, inner_text, code, adds_arguments, loaded and unseen. name: the
 * program's, without its directory. False, with nothing changed: it is not one of them.
 */
bool inspect_read_wrapper(struct inspect_command *command, const char *name, char *const *argv);

/* Adds a file to those that run first; the empty text is none. False: the text lists several, or there is no room. */
bool inspect_command_load(struct inspect_command *command, const char *file);

#endif
