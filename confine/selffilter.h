/*
 * The seccomp filters of callgate's own processes (keeper, supervisor, custodian, egress, resolver), from the syscall
 * table's SELF columns: a hole in one of them must not be worth more than the work it does. SELF(NEVER) kills the
 * process; whatever else is not a role's is ENOSYS, so that a library that tries a newer call falls back instead of
 * ending a run.
 */
#ifndef CALLGATE_CONFINE_SELFFILTER_H
#define CALLGATE_CONFINE_SELFFILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "syscalls/table/table.h"

/*
 * Builds the program (BPF) for one role or several (enum self_role). 0 with ret_program->filter owned by the caller
 * (free), or -errno.
 */
int selffilter_build(unsigned roles, struct sock_fprog *ret_program);

/*
 * Puts all threads of the calling process under it, for good; those made later inherit it. no_new_privs must be set.
 * 0; -errno: the process must not go on.
 */
int selffilter_install(unsigned roles);

/* False with the reason when this build cannot have it: sanitizers make calls of their own. Static. */
bool selffilter_possible(const char **ret_why);

#endif
