/* What the files that resolve paths and descriptors share: descriptor.c, resolve.c, parent.c. */
#ifndef CALLGATE_SYSCALLS_FILE_RESOLVE_PRIVATE_H
#define CALLGATE_SYSCALLS_FILE_RESOLVE_PRIVATE_H

#include "syscalls/file/resolve.h"

#define FILE_RESOLVE_ATTEMPTS_MAX 16 /* attempts; ELOOP if a name changes faster than it can be resolved */

/* Writes the path of a descriptor's link below /proc. */
void file_write_fd_link(const struct call *call, int fd, char out[64]);

/*
 * Opens an object without a name. Pins it first, because another thread can replace the descriptor. A descriptor or
 * -errno; -EAGAIN: the link leads to another object by now.
 */
int file_open_proc_fd_link(const struct call *call, const struct place *place, int open_flags);

/* Whether a strict open failed with an error after which the path has to be walked. */
bool resolve_error_requires_walk(int error);

/* The part of a path after its leading "." components. */
const char *resolve_skip_dot_components(const char *text);

/* Finds the directory that a path starts from. 0, or -1 with the outcome set. */
int resolve_find_start_dir(struct call *call, struct call_path *path, char base[PATH_MAX]);

/*
 * Sets the outcome of a path that leads nowhere and on which `want` was to be judged; returns -1. Outside every grant
 * that is a denial, unless the host has nothing there either, so that the call fails natively too (every process looks
 * for /etc/ld.so.preload).
 */
int resolve_fail(struct call *call, const struct place *place, unsigned want, int error);

/* Judges a place, and keeps the decision. True: allowed. */
bool resolve_judge_place(struct call *call, const struct place *place, unsigned want);

/*
 * Walks path[i], stores its place in call->resolved_place[i] and judges it. follow: VIEW_FOLLOW_LAST_LINK, or 0. 0, or
 * -1 with the outcome set.
 */
int resolve_walk_and_judge(struct call *call, unsigned i, const char *base, unsigned follow, unsigned want);

#endif
