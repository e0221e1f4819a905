/*
 * What keeper, supervisor and custodian may still ask of the kernel once they are set up: a hole in one of them shall not
 * be more than its own work. A call that none of them has any use for, but an attacker has, kills the process; whatever
 * else is not listed is ENOSYS, so that a library that tries a newer call falls back instead of ending somebody's run.
 */
#ifndef CALLGATE_SUPERVISOR_SELFFILTER_H
#define CALLGATE_SUPERVISOR_SELFFILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "syscalls/table.h"

enum self_role {
	SELF_KEEPER = 1 << 0,
	SELF_SUPERVISOR = 1 << 1,
	SELF_CUSTODIAN = 1 << 2,
};

#define SELF_NEVER 0u

/* One call: who may make it (SELF_NEVER: it kills), and with which registers (NULL: any). */
struct self_rule {
	int nr; /* negative: this architecture lacks it */
	const char *name;
	unsigned roles;
	const struct row_term *terms;
};

/* Each number once. Static. */
const struct self_rule *selffilter_rules(size_t *ret_count);

/* Builds the program (BPF). 0 with ret_program->filter owned by the caller (free), or -errno. */
int selffilter_build(enum self_role role, struct sock_fprog *ret_program);

/*
 * Puts all threads of the calling process under it, for good; those made later inherit it. no_new_privs must be set.
 * 0; -errno: the process must not go on.
 */
int selffilter_install(enum self_role role);

/* False with the reason when this build cannot have it: sanitizers make calls of their own. Static. */
bool selffilter_possible(const char **ret_why);

#endif
