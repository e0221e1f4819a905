/* The program's own companions: files that lie beside it, as after a build, or where it is installed. */
#ifndef CALLGATE_BASE_BESIDE_H
#define CALLGATE_BASE_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* `name` (short) in the directory of the running program, whatever is there. False: that directory is not known. */
bool beside_path(const char *name, char ret_path[PATH_MAX]);

/* For the message, with the path. */
#define BESIDE_WRITABLE \
	"%s, or a directory above it, may be written by others than the program may; take that right away"

/*
 * The path of `name` (short, a file's). It must be written by nobody who could not replace the program itself: it
 * belongs to the program's owner or to root, is not writable for all, and for a group only if that may write the
 * program, or its directory, as well; an access control list counts as a group nobody knows. Beside the program it has
 * to be a regular file, and counts for nothing otherwise: in a directory for everybody (/tmp) others can put a file
 * beside a program that they cannot replace. The installed one's directories, up to "/", are held to the same. 0;
 * -EPERM: the installed one is not; it may be absent.
 */
int beside_find(const char *name, char ret_path[PATH_MAX]);

#endif
