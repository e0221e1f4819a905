/*
 * Entries of a layer that the program has closed to its own user, such as by `chmod 0`. They are made readable when
 * they are first compared, and stay so: the layer is callgate's. Which mode each has is in the file 0/closed, and is on
 * the disk before the entry is changed. It has paths, because a workspace may be moved to another file system. So it is
 * with directories of a copy, of which the layer is made (fold.h): their modes are in 0/copy-closed. As root, nothing
 * is closed.
 */
#ifndef CALLGATE_WORKSPACE_CLOSED_H
#define CALLGATE_WORKSPACE_CLOSED_H

#include <stdbool.h>
#include <sys/stat.h>

struct closed;

/* Of which tree. */
enum closed_tree { CLOSED_OF_LAYER, CLOSED_OF_COPY };

/* Loads what is in the file; none: nothing is closed yet. dir_fd: the directory "0"; borrowed. 0 or -errno. */
int closed_load(int dir_fd, enum closed_tree tree, struct closed **ret_closed);
void closed_free(struct closed *closed);

/* True when something may be closed. dir_fd: as of closed_load(). */
bool closed_is_noted(int dir_fd, enum closed_tree tree);

/* Gives the status of an entry the mode that the program has left. closed NULL: nothing is closed. */
void closed_fix_status(const struct closed *closed, struct stat *st);

/*
 * Makes a regular file or directory readable, and a directory searchable, for its owner, if that is the caller. fd: the
 * entry, open with O_PATH; path: of it, in the tree; st: its status, which keeps the mode that the program has left.
 * 0 or -errno.
 */
int closed_open(struct closed *closed, const char *path, int fd, struct stat *st);

#endif
