/* Resolves a target's path as the kernel would, to decide whether execve and chdir can be continued. */
#ifndef CALLGATE_SYSCALLS_CALL_NATIVE_H
#define CALLGATE_SYSCALLS_CALL_NATIVE_H

#include "syscalls/call/call.h"

/*
 * Whether `text`, relative to the target's dirfd or cwd (AT_FDCWD), resolves to the file `expected`. flags:
 * AT_SYMLINK_NOFOLLOW, and AT_EMPTY_PATH for dirfd itself. The path may change afterwards (TOCTOU). So a continued
 * execve is verified later, and chdir grants no access.
 */
bool native_path_leads_to_file(const struct call *call, int dirfd, const char *text, unsigned flags,
			       const struct stat *expected);

/* The file name that the kernel gives to an exec of path[0]: its text, or "/dev/fd/N[/text]" (alloc_bprm()). */
void native_get_exec_path(const struct call *call, char *out, size_t cap);

#endif
