/* The descriptor table of a fork of the keeper. */
#ifndef CALLGATE_CONFINE_DESCRIPTORS_H
#define CALLGATE_CONFINE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* Closes all descriptors but 0-2 and these. Sorts keep; negative entries are ignored. */
void descriptors_keep_only(int *keep, size_t count);

/* Redirects 0 and 1 to /dev/null, and 2 unless with_stderr, which is for sanitizers and the C library. */
void descriptors_detach_stdio(bool with_stderr);

/*
 * Grows the descriptor table for a usual run while the process has one thread. Later, with threads, growing it waits
 * for an RCU grace period (expand_fdtable() in fs/file.c): 4-15 ms without any response. Best effort.
 */
void descriptors_make_room(void);

#endif
