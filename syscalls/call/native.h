/* Where the kernel, left to itself, would get from the program's own text: the question behind every detour. */
#ifndef CALLGATE_SYSCALLS_CALL_NATIVE_H
#define CALLGATE_SYSCALLS_CALL_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "syscalls/call/call.h"

/*
 * True when `text` (relative to the task's descriptor dirfd or, with AT_FDCWD, its cwd) leads to this (dev, ino).
 * flags: AT_SYMLINK_NOFOLLOW, and AT_EMPTY_PATH for the descriptor itself. An answer of the moment: what is done on it
 * is verified afterwards (exec) or grants nothing (chdir).
 */
bool native_same(const struct call *call, int dirfd, const char *text, unsigned flags, const struct stat *expected);

/* The name execve(2) gives path 0 of the call: its text, or "/dev/fd/N[/text]" (fs/exec.c, alloc_bprm()). */
void native_exec_name(const struct call *call, char *out, size_t cap);

#endif
