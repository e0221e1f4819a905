/* The files in the home directory that a shell runs before anything else. */
#ifndef CALLGATE_CLI_INSPECT_STARTUP_H
#define CALLGATE_CLI_INSPECT_STARTUP_H

#include <stddef.h>

#include "cli/inspect/command.h"

/*
 * The n-th list of names, from 0: the shell runs the first of them that is there. NULL-ended; NULL: it has no n-th
 * list. Files in /etc are the system's, and are left out as its programs are.
 */
const char *const *inspect_get_startup_files(const struct inspect_command *command, size_t number);

#endif
