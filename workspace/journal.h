/*
 * The journal of callgate ws apply, a file in the workspace while entries are put into the directory. A line says which
 * path is begun, the next that it is done or has failed. What it says after a crash is for callgate ws recover.
 */
#ifndef CALLGATE_WORKSPACE_JOURNAL_H
#define CALLGATE_WORKSPACE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "workspace/dir-id.h"

/*
 * Makes the journal. id: of the directory that is changed. -EEXIST: there is one of an apply that did not end. A
 * descriptor owned by the caller or -errno; then none was made.
 */
int journal_create(int workspace_fd, const struct dir_id *id);

/* Reads which directory was changed; nothing is known: there is no journal, or nothing was changed. */
void journal_read_dir_id(int workspace_fd, struct dir_id *ret_id);

/*
 * Notes, before anything is changed, that a path is begun, and that it is done; or has failed: then nothing is left of
 * it, and what has the temporary name is not the apply's. number: of a replacement (place.h),
 * or 0. on_disk: also for after a crash of the machine, which takes milliseconds: needed when a crash may leave
 * something half-made there. 0 or -errno.
 */
int journal_begin(int journal_fd, const char *path, size_t number, bool on_disk);
int journal_end(int journal_fd, bool is_done);

/*
 * Notes, before the first path is begun, a directory that is to be made writable, and the mode that it has (unlock.h).
 * The caller forces it to the disk. 0 or -errno.
 */
int journal_note_dir(int journal_fd, const char *path, uint64_t inode, mode_t mode);

/* Calls visit for each of these directories, in their order. Returns as journal_visit(). */
int journal_visit_dirs(int workspace_fd, int (*visit)(void *ctx, const char *path, uint64_t inode, mode_t mode),
		       void *ctx);

/* True when an apply of the workspace goes on, or was interrupted. */
bool journal_exists(int workspace_fd);

/* Removes the journal: the apply has ended. 0 or -errno; -ENOENT: there is none. */
int journal_remove(int workspace_fd);

/*
 * Calls visit for each path of the journal, except those that have failed. 0; -ENOENT: there is none; or -errno. A
 * last line that was not wholly written is left out: nothing was changed then.
 */
int journal_visit(int workspace_fd, int (*visit)(void *ctx, const char *path, size_t number, bool is_done), void *ctx);

#endif
