/*
 * /proc/meminfo of a run whose memory is limited: runtimes size themselves by it, and the machine's size would get them
 * killed.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_MEMINFO_H
#define CALLGATE_SYSCALLS_ACCOUNT_MEMINFO_H

#include <stdint.h>

#include "syscalls/call/call.h"

/*
 * The descriptor to give the program for the one that was opened for reading at place[0], which it takes: the same, or,
 * for /proc/meminfo with a limit below what the machine has, a copy that says so. -errno when the copy cannot be made.
 */
int meminfo_limited(const struct call *call, int fd);

/*
 * Makes the text: all numbers but those of the machine's own memory and swap stay. 0, or -EMSGSIZE. `out` may not be
 * `text`.
 */
int meminfo_text(const char *text, uint64_t limit_bytes, uint64_t used_bytes, char *out, size_t size);

#endif
