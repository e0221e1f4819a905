/* Version managers put scripts named like the programs they manage into PATH: what would they start? */
#ifndef CALLGATE_CLI_SHIM_H
#define CALLGATE_CLI_SHIM_H

#include <stdbool.h>

/* True when the file lies in a directory "shims" of a manager known here. */
bool shim_is(const char *path);

/* The program a shim starts for this name from the current directory. Owned; NULL: "system", or nothing installed. */
char *shim_target(const char *path, const char *name);

#endif
