/* Finds the executable file of a command name on the host, also behind a version manager's shim. */
#ifndef CALLGATE_CLI_HOST_PROGRAM_H
#define CALLGATE_CLI_HOST_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/*
 * Finds an executable file: `name` itself when it has a "/", else searched in PATH. A shim of pyenv, rbenv, nodenv or
 * asdf is followed to the program it would start in the current directory. Owned; NULL: not found.
 */
char *program_find_executable(const char *name);

/*
 * Finds the interpreter of a script: the path in its "#!" line, or for "#!/usr/bin/env [OPTION...] NAME" the file of
 * NAME in PATH. Owned; NULL: not a script, or not found. *ret_unknown: env has options that callgate does not
 * understand.
 */
char *program_find_script_interpreter(const char *path, bool *ret_unknown);

#define SCRIPT_FIRST_LINE_BYTES_MAX 256 /* bytes of the first line that the kernel reads (BINPRM_BUF_SIZE) */
/* Reads the first line of a script, which begins with "#!". 1; 0: it is none, or not there; or -errno. */
int program_read_script_line(const char *path, char line[SCRIPT_FIRST_LINE_BYTES_MAX + 1]);

/* The n-th directory of PATH; "": the current directory. Owned; NULL: PATH has no more directories, or no memory. */
char *program_get_nth_path_dir(unsigned number);

/* "/opt/py/bin/python3" with `below` "bin" gives "/opt/py". False: the file is not in a directory of that name. */
bool program_strip_directory(const char *path, const char *below, char out[PATH_MAX]);

bool program_is_executable(const char *path); /* true for a regular file that may be executed */

#endif
