/* Opens what an attacker may have put where packages are installed: through no link, only regular files. */
#ifndef CALLGATE_CLI_LIBRARIES_READ_H
#define CALLGATE_CLI_LIBRARIES_READ_H

#include <dirent.h>
#include <stddef.h>

/* The text of a regular file below a directory. Owned by the caller; NULL: there is none, or it is too large. */
char *package_read_file(int dirfd, const char *path, size_t cap);

/* Opens a directory below another. Owned by the caller; NULL: there is none. */
DIR *package_open_dir(int dirfd, const char *path);

#endif
