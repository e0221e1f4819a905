/* Which descriptors a fork of the keeper keeps. */
#ifndef CALLGATE_CONFINE_DESCRIPTORS_H
#define CALLGATE_CONFINE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* Closes every descriptor but 0-2 and these (negative: none), which it sorts. */
void descriptors_keep_only(int *keep, size_t count);

/* Points 0 and 1 at /dev/null, and 2 unless with_stderr: for what a sanitizer or the C library may have to say. */
void descriptors_detach_stdio(bool with_stderr);

/*
 * Makes room for the descriptors of a usual run, while the process has one thread: a table that is shared is made
 * larger only after an RCU grace period (expand_fdtable in the kernel's fs/file.c), 4-15 ms in which nothing is
 * answered. Best effort.
 */
void descriptors_make_room(void);

#endif
