/* Storing one file of a run in --output's directory, where the program may be able to write at the same time. */
#ifndef CALLGATE_KEEPER_STORE_H
#define CALLGATE_KEEPER_STORE_H

#include <sys/stat.h>

/*
 * Copies an open file to the path `rest` below the directory, with its permissions and times, and makes the directories
 * above it. No symbolic link is followed. The copy is made under another name and renamed, so that a reader of the
 * directory never sees half a file. A further hard link to a file that was stored before becomes a hard link. 0 or
 * -errno.
 */
int store_file(int directory_fd, int from_fd, const struct stat *st, const char *rest);

#endif
