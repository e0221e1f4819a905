/* What the readers of command lines add to what one runs. */
#ifndef CALLGATE_CLI_INSPECT_COMMAND_ADD_H
#define CALLGATE_CLI_INSPECT_COMMAND_ADD_H

#include "cli/inspect/command.h"

/*
 * Adds a file to those that run first; the empty text is none. type: as which; INSPECT_TYPE_MAX: what it is. False: the
 * text lists several, or is one that a shell or the loader expands, or there is no room.
 */
bool inspect_command_load(struct inspect_command *command, const char *file, enum inspect_type type);

/* Adds code to what it runs. NULL: the option has no argument. If there is no room, it is unseen. */
void inspect_command_add_code(struct inspect_command *command, const char *code);
/* The command line that it starts besides `inner`, one of its own. NULL: there is no further one. */
char *const *inspect_command_get_next_inner(const struct inspect_command *command, char *const *inner);

#endif
