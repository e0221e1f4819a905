/* Finds the installation's files: in the executable's directory after a build, in PKGLIBDIR after make install. */
#ifndef CALLGATE_BASE_INSTALLED_H
#define CALLGATE_BASE_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/* Makes the path of `name` in the running executable's directory; it may not exist. False: directory unknown. */
bool installed_get_sibling_path(const char *name, char ret_path[PATH_MAX]);

/* The message when installed_find_file() returns -EPERM; its argument is the path. */
#define UNTRUSTED_FILE_MESSAGE_FORMAT \
	"%s, or a directory above it, may be written by others than the program may; take that right away"

/*
 * Finds the file `name`, and trusts it only if each user who can write it could replace the executable itself:
 *   - it belongs to root or to the executable's owner, and is not writable for all;
 *   - it is writable for a group only if that group may write the executable or its directory; a POSIX ACL counts as
 *     an unknown group;
 *   - beside the executable it must be a regular file; otherwise it is ignored, since in /tmp others can put files
 *     beside an executable that they cannot replace;
 *   - in PKGLIBDIR the directories up to "/" are checked as well.
 * 0: *ret_path may not exist, if it is in PKGLIBDIR; -EPERM when the file in PKGLIBDIR is not trusted.
 */
int installed_find_file(const char *name, char ret_path[PATH_MAX]);

#endif
