/* Which descriptors a fork of the keeper keeps. */
#ifndef CALLGATE_SUPERVISOR_DESCRIPTORS_H
#define CALLGATE_SUPERVISOR_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* Closes every descriptor but 0-2 and these (negative: none), which it sorts. */
void descriptors_keep_only(int *keep, size_t count);

/* Points 0 and 1 at /dev/null, and 2 unless with_stderr: for what a sanitizer or the C library may have to say. */
void descriptors_detach_stdio(bool with_stderr);

#endif
