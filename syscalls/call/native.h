/* What the kernel would resolve the target's own path to. Decides whether execve and chdir can be continued. */
#ifndef CALLGATE_SYSCALLS_CALL_NATIVE_H
#define CALLGATE_SYSCALLS_CALL_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "syscalls/call/call.h"

/*
 * True when `text`, relative to the target's dirfd or cwd (AT_FDCWD), leads to this (dev, ino). flags:
 * AT_SYMLINK_NOFOLLOW, and AT_EMPTY_PATH for dirfd itself. TOCTOU: so execve is verified afterwards, and chdir grants
 * nothing.
 */
bool native_leads_to(const struct call *call, int dirfd, const char *text, unsigned flags, const struct stat *expected);

/* The file name that execve(2) uses for path[0]: its text, or "/dev/fd/N[/text]" (fs/exec.c, alloc_bprm()). */
void native_exec_path(const struct call *call, char *out, size_t cap);

#endif
