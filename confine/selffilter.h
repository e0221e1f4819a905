/*
 * What keeper, supervisor, custodian, egress and resolver may still ask of the kernel once they are set up: a hole in one of them shall not
 * be more than its own work. A call that none of them has any use for, but an attacker has, kills the process; whatever
 * else is not listed is ENOSYS, so that a library that tries a newer call falls back instead of ending somebody's run.
 */
#ifndef CALLGATE_CONFINE_SELFFILTER_H
#define CALLGATE_CONFINE_SELFFILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "syscalls/table/table.h"

enum self_role {
	SELF_KEEPER = 1 << 0,
	SELF_SUPERVISOR = 1 << 1,
	SELF_CUSTODIAN = 1 << 2,
	SELF_EGRESS = 1 << 3,     /* the network's bytes: sockets, and nothing that has a name on this machine */
	SELF_RESOLVER = 1 << 4,   /* getaddrinfo(3): reads files, maps libraries, talks to servers of names */
	SELF_NETWORK = 1 << 5,    /* besides SELF_SUPERVISOR, when the policy has a network: the sockets it takes */
};

#define SELF_NEVER 0u

/* One call: who may make it (SELF_NEVER: it kills), and with which registers (NULL: any). Other roles may have another rule. */
struct self_rule {
	int nr; /* negative: this architecture lacks it */
	const char *name;
	unsigned roles;
	const struct row_term *terms;
};

/* Each number once for each role. Static. */
const struct self_rule *selffilter_rules(size_t *ret_count);

/* Builds the program (BPF) for one role or several. 0 with ret_program->filter owned by the caller (free), or -errno. */
int selffilter_build(unsigned roles, struct sock_fprog *ret_program);

/*
 * Puts all threads of the calling process under it, for good; those made later inherit it. no_new_privs must be set.
 * 0; -errno: the process must not go on.
 */
int selffilter_install(unsigned roles);

/* False with the reason when this build cannot have it: sanitizers make calls of their own. Static. */
bool selffilter_possible(const char **ret_why);

#endif
