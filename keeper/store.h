/* Stores a file of a run in the directory of --output, where the program may be able to write at the same time. */
#ifndef CALLGATE_KEEPER_STORE_H
#define CALLGATE_KEEPER_STORE_H

#include <sys/stat.h>

/*
 * Copies an open file, with permissions and times, to the path `rest` below the directory. Creates directories, and
 * follows no symbolic link. The copy is renamed when it is complete, so that no reader sees half a file. If another
 * hard link to the file was stored before, makes a hard link to that copy. 0 or -errno.
 */
int store_file(int directory_fd, int from_fd, const struct stat *st, const char *rest);

#endif
