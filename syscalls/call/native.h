/* Resolves a target's path as the kernel would, to decide whether execve and chdir can be continued. */
#ifndef CALLGATE_SYSCALLS_CALL_NATIVE_H
#define CALLGATE_SYSCALLS_CALL_NATIVE_H

#include "syscalls/call/call.h"

/*
 * True when `text`, relative to the target's dirfd or cwd (AT_FDCWD), resolves to this (dev, ino). flags:
 * AT_SYMLINK_NOFOLLOW, and AT_EMPTY_PATH for dirfd itself. The path may change afterwards (TOCTOU): execve is therefore
 * verified after it was continued, and chdir gives no access.
 */
bool native_leads_to(const struct call *call, int dirfd, const char *text, unsigned flags, const struct stat *expected);

/* The file name that execve(2) uses for path[0]: its text, or "/dev/fd/N[/text]" (fs/exec.c, alloc_bprm()). */
void native_get_exec_path(const struct call *call, char *out, size_t cap);

#endif
