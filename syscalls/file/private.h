/* Shared by file.c and file-name.c. */
#ifndef CALLGATE_SYSCALLS_FILE_PRIVATE_H
#define CALLGATE_SYSCALLS_FILE_PRIVATE_H

#include "syscalls/file/resolve.h"

#define FILE_TRIES 16 /* names that change faster than they can be resolved end in ELOOP, as openat2(2)'s EAGAIN would */

/* The directory a path starts from. 0, or -1 with the outcome set. */
int file_start_of(struct call *call, const struct call_path *path, char base[PATH_MAX]);

/* Judges and keeps the decision. True when allowed; else file_refuse answers by it. */
bool file_judge(struct call *call, const struct place *place, unsigned want);
void file_refuse(struct call *call);

/*
 * To where the i-th path leads, in call->place[i]; judged. follow: of view_walk(). 0, or -1 with the outcome set: there is no way,
 * or it is refused.
 */
int file_walk(struct call *call, unsigned i, const char *base, unsigned follow, unsigned want);

/* Of a strict open: the walk has to tell. */
bool file_try_again(int error);

/* The outcome when there is no way to a place, or nothing there. */
void file_fail_walk(struct call *call, const struct place *place, int error);

#endif
