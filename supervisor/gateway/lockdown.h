/*
 * Locks the processes of callgate-egress before they do their work: no privileges, no files, no signals from outside, a
 * Landlock domain and a seccomp filter. Called by program.c.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_LOCKDOWN_H
#define CALLGATE_SUPERVISOR_GATEWAY_LOCKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "confine/privs.h"

/* What egress or a resolver restricts itself by. */
struct egress_sandbox {
	unsigned role;    /* SELF_EGRESS or SELF_RESOLVER */
	bool self_filter; /* see selffilter.h */
	int landlock_fd;  /* Landlock ruleset; -1: no Landlock domain */
};

/* Prepares the sandbox while files can be opened. 0, even without Landlock, or -errno. lockdown_release() releases. */
int lockdown_build_domain(unsigned role, bool self_filter, bool landlock, struct egress_sandbox *ret_lockdown);
void lockdown_release(struct egress_sandbox *lockdown);

/*
 * Called before the process has received anything secret. It gets its own session, loses capabilities and core dumps,
 * becomes undumpable and dies with its parent. It keeps the environment variables named in `variables` (NULL-ended) and
 * the `count` descriptors of `keep`. 0 or -errno.
 */
int lockdown_drop_privileges(const struct egress_sandbox *lockdown, const struct privs_user *user, pid_t parent,
		   const char *const *variables, int *keep, size_t count);

/* Enters the Landlock domain and the filter. ctx: struct egress_sandbox. 0; -errno: the process must exit. */
int lockdown_enter_sandbox(void *ctx);

#endif
