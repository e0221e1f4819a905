/*
 * Directories that their owner may not write, such as those of Go's module cache. callgate ws apply makes them writable
 * for as long as it changes entries of them, and gives them their mode back. The journal has the mode: after a crash,
 * callgate ws recover gives it back. Only directories of the caller's own are changed, and none for which the kernel
 * asks no rights of the caller, as of root.
 */
#ifndef CALLGATE_WORKSPACE_UNLOCK_H
#define CALLGATE_WORKSPACE_UNLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct unlocked_dir {
	char *path; /* below the directory; "" is it itself; owned */
	ino_t inode;
	mode_t mode; /* that it gets back */
};

/* Zero-initialise, except base_fd. unlock_release() frees. */
struct unlock {
	int base_fd; /* the directory of the workspace; borrowed */
	struct unlocked_dir *item;
	size_t count, room, made; /* the first `made` were made writable; those are sorted by path */
};

/*
 * Adds the directory of a path, if it is one and the caller lacks rights to it that its owner can have. needs: R_OK,
 * W_OK and X_OK. Nothing is changed yet. 0 or -ENOMEM.
 */
int unlock_add(struct unlock *unlock, const char *path, int needs);

/*
 * Writes all that were added to the journal and, when that is on the disk, makes them writable. A directory that
 * refuses that stays as it is: the change in it tells. 1: some were made writable; 0: none; or -errno.
 */
int unlock_make(struct unlock *unlock, int journal_fd);

/*
 * Gives the directories their modes back whose paths are behind this one, those below first; also: that of this path,
 * too. One that has another mode by now, was removed or replaced is left. They are not in the list any more. 0 or
 * -errno of one.
 */
int unlock_restore(struct unlock *unlock, const char *path, bool also);

/* Whether the last directory of the list has this path; then *ret_mode is the mode that it was given. */
bool unlock_is_last(const struct unlock *unlock, const char *path, mode_t *ret_mode);

/* Removes the last directory from the list: it has its new mode. */
void unlock_forget_last(struct unlock *unlock);

/*
 * After an interruption: adds the directories that the journal has, and makes them writable. unlock_restore() gives
 * them back the mode that they had before the apply, or the one that the apply has given them. 0 or -errno.
 */
int unlock_read(struct unlock *unlock, int journal_dir_fd);

void unlock_release(struct unlock *unlock);
#define _cleanup_unlock_ __attribute__((cleanup(unlock_release)))

#endif
