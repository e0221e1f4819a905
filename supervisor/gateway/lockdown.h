/*
 * What a process of the egress side is before it does anything: somebody without rights, files, signals or a way back.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_LOCKDOWN_H
#define CALLGATE_SUPERVISOR_GATEWAY_LOCKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "confine/privs.h"

struct confine {
	unsigned role;    /* SELF_EGRESS or SELF_RESOLVER */
	bool self_filter; /* as for keeper and supervisor */
	int landlock_fd;  /* -1: none */
};

/* While files can be opened. 0, also where there is no Landlock, or -errno. confine_done releases. */
int confine_prepare(unsigned role, bool self_filter, bool landlock, struct confine *ret_confine);
void confine_done(struct confine *confine);

/*
 * Before it has anything of value: its own session, no capabilities, no core, nobody may look into it, dead when its
 * parent dies; of the environment only the NULL-ended `variables` are left, of the descriptors the `count` of keep. 0
 * or -errno.
 */
int confine_settle(const struct confine *confine, const struct privs_user *user, pid_t parent,
		   const char *const *variables, int *keep, size_t count);

/* When all is open: Landlock and the filter. ctx: struct confine. 0; -errno: the process must not go on. */
int confine_lock(void *ctx);

#endif
