/* Storing one file of a run in --output's directory, where the program may be able to write at the same time. */
#ifndef CALLGATE_KEEPER_STORE_H
#define CALLGATE_KEEPER_STORE_H

#include <sys/stat.h>

/*
 * Copies an open file to the path `rest` below the directory, with permissions and times, making directories and
 * following no symbolic link. A rename ends it, so that no reader sees half a file. A further hard link to a stored
 * file becomes a hard link. 0 or -errno.
 */
int store_file(int directory_fd, int from_fd, const struct stat *st, const char *rest);

#endif
