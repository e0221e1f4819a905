/* Link(2) of a file that an overlay has in its lower layer only. Called by handlers, in the supervisor thread. */
#ifndef CALLGATE_SYSCALLS_FILE_RAISE_H
#define CALLGATE_SYSCALLS_FILE_RAISE_H

#include "syscalls/call/call.h"

/*
 * Whether link(2) of the file of object_fd needs raise_file(): resolved_place[0], a regular file of a workspace's
 * overlay that the run has not changed yet, gets another name in the same directory, parent_fd. That directory, open
 * for reading and owned by the caller; -1: it does not.
 */
int raise_open_dir(const struct call *call, int parent_fd, int object_fd);

/*
 * Puts a copy into the place of such a file: a new file of the upper layer, of which link(2) makes further names that
 * are the same file. The overlay of a user namespace makes files of their own of the names of one that was copied up,
 * because it cannot find out from which file of the lower layer that was: ovl_decode_real_fh() of the kernel wants
 * CAP_DAC_READ_SEARCH. Nothing can have the file open for writing, as that would have copied it up. What has it open
 * for reading keeps the old one, as always with overlayfs. Only for a new name in the same directory, as of programs
 * that keep what they are about to replace, such as dpkg(1). git(1) links objects to other directories, and fails when
 * the inode number is another one than that of the file before; after EXDEV it copies. dir_fd: of raise_open_dir().
 * *object_fd: the file, open with O_PATH; it becomes the new one. When this is not possible, nothing has changed, and
 * link(2) fails with EXDEV.
 */
void raise_file(const struct call *call, int dir_fd, int *object_fd);

/* Counts the copy for limits.disk. To be called after link(2), before which the kernel copies what was not raised. */
void raise_count_copy(const struct call *call, int object_fd);

/*
 * To be called before the call's record is written, and before raise_file(): looks whether limits.disk has room for
 * the copy, and lets a worker raise a large file. Meanwhile no other call is handled, as nothing else may change the
 * file or see its copy, but limits and the end of the run do not wait (sandbox->is_filling). 0; -1 with
 * OUTCOME_COPY_FIRST, or with the call refused or failed.
 */
int raise_begin(struct call *call, int dir_fd, int object_fd);

#endif
