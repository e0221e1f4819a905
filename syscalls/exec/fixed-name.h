/*
 * Tells which names the run cannot lead elsewhere. Called by execve.c in the supervisor thread, for execs that are
 * verified by the name which the kernel has used.
 */
#ifndef CALLGATE_SYSCALLS_EXEC_FIXED_NAME_H
#define CALLGATE_SYSCALLS_EXEC_FIXED_NAME_H

#include <stdbool.h>

struct policy;

/*
 * Whether no process of the run can change what file the kernel finds by `text`: it is absolute, the policy lets no
 * directory, symbolic link or file on the way be written, and it leads to `virt`, the canonical path that was judged.
 * To be called in the program's mount namespace and root. Answers are remembered by the text; processes outside the run
 * can make an answer obsolete, like any judgement.
 */
bool exec_path_is_immutable(const struct policy *policy, const char *text, const char *virt);

#endif
