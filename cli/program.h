/* Finding the file a command name means on the host, through version managers' shims. */
#ifndef CALLGATE_CLI_PROGRAM_H
#define CALLGATE_CLI_PROGRAM_H

#include <stdbool.h>

/*
 * The path of an executable file: `name` itself when it has a "/", else searched in the caller's PATH. A shim of pyenv,
 * rbenv, nodenv or asdf is followed to the program it would start in the current directory. Owned; NULL: not found.
 */
char *program_find(const char *name);

/*
 * What runs a script: the path in its "#!" line, or what PATH has for "#!/usr/bin/env NAME", also behind env's options
 * as env(1) has them. Owned; NULL: no script, not found, or with *ret_unknown options that are not understood here.
 */
char *program_script_interpreter(const char *path, bool *ret_unknown);

bool program_is_file(const char *path); /* an executable regular file */

#endif
