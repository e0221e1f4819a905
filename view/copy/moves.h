/* The file of an overlay's workspace that says which names may be names of one file. */
#ifndef CALLGATE_VIEW_COPY_MOVES_H
#define CALLGATE_VIEW_COPY_MOVES_H

/*
 * File of the layer, of strings, each with its NUL: which start of the machine it is of (copy_read_boot_id()), then
 * pairs of paths below the directory: syscalls/account/workspace/moves.h. With the sticky bit, not all pairs are there.
 * Of a file with several names (hard links), a pair is of a path and VIEW_MOVES_INODE with the inode number in the
 * directory.
 */
#define VIEW_MOVES_NAME "moves"
#define VIEW_MOVES_INODE '/'         /* no path below the directory begins with it */
#define VIEW_MOVES_NAMES_MAX 100000u /* most names of a run that are in pairs */

#endif
