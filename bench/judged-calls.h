/* What bench-instructions is made of: see judged-calls.c. */
#ifndef CALLGATE_BENCH_JUDGED_CALLS_H
#define CALLGATE_BENCH_JUDGED_CALLS_H

#include <limits.h>

#include "policy/policy.h"
#include "syscalls/call/call.h"

#define JUDGED_MEMORY 0x10000u /* where the program's text is, a page boundary */

/* ---- judged-kernel.c: the program's memory, and what is not there under valgrind ---- */

extern char judged_memory[PATH_MAX * 2];
extern const struct memory_ops judged_guest;

/* ---- judged-tree.c ---- */

/* The directory that all is below. */
extern char judged_top[32];
/* A policy of the size of the profile `extended`. */
extern const char judged_policy[];

_Noreturn void judged_die(const char *what, int error);
void judged_make_tree(void);
/* The text of a policy that grants a thousand names; the caller frees it. */
char *judged_many_grants(void);
struct policy *judged_load(const char *text, const char *scratch);

#endif
