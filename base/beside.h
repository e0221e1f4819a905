/* The program's own companions: files that lie beside it, as after a build, or where it is installed. */
#ifndef CALLGATE_BASE_BESIDE_H
#define CALLGATE_BASE_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* `name` (short) in the directory of the running program, whatever is there. False: that directory is not known. */
bool beside_path(const char *name, char ret_path[PATH_MAX]);

/*
 * The path of `name` (short, a file's). Beside the program it counts only as a regular file that belongs to the program's
 * owner or to root and that not everybody may write: in a directory for everybody (/tmp) others can put a file beside a
 * program that they cannot replace. Whether the installed one exists is not asked.
 */
void beside_find(const char *name, char ret_path[PATH_MAX]);

#endif
