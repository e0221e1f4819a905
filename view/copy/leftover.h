/*
 * Entries with temporary names in a layer of a workspace, which a process that is killed leaves there. A file beside
 * the layer, which the program does not reach, says where one is: it is written before the entry is made. Called by the
 * supervisor, by `callgate session restore`, and by what opens a workspace afterwards.
 */
#ifndef CALLGATE_VIEW_COPY_LEFTOVER_H
#define CALLGATE_VIEW_COPY_LEFTOVER_H

#include <stdbool.h>

#define LEFTOVER_NAME "temporary" /* file of a layer: the path of an entry that is temporary */

/* The names that such entries have: no other one is removed. */
#define LEFTOVER_LINK_NAME ".callgate-link"
#define LEFTOVER_RESTORE_PREFIX ".callgate-restore-" /* with LEFTOVER_RESTORE_DIGITS behind it, of [0-9a-f] */
#define LEFTOVER_RESTORE_DIGITS 16

/*
 * Notes that an entry is about to be made at a path below the directory, in place of an earlier note. 0; or -errno:
 * then there is no note.
 */
int leftover_note(int layer_fd, const char *path);

/* Removes the note: the entry is not there any more. */
void leftover_forget(int layer_fd);

/* Whether a process was killed while there was such an entry. */
bool leftover_is_noted(int layer_fd);

/*
 * Removes the entry below an open directory, following no link, and the note. What the note says is removed only if
 * its name is one of those above. 0, also when there is no note or no entry; or -errno: then the note stays.
 */
int leftover_remove(int layer_fd, int top_fd);

#endif
