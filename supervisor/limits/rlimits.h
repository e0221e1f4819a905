/*
 * The program's resource limits (setrlimit(2)): what the policy's limits are to the kernel for each of its processes.
 */
#ifndef CALLGATE_SUPERVISOR_LIMITS_RLIMITS_H
#define CALLGATE_SUPERVISOR_LIMITS_RLIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#include "policy/policy.h"
#include "supervisor/launch.h"

/* What no control group bounds, so that a process is at least held by itself. */
struct rlimits_fallback {
	bool cpu;
	bool memory;
	bool tasks; /* counted by user: where the run has a user namespace, and so a count, of its own */
};

/*
 * Fills ret_rlimit and returns how many there are. open_files: the caller's own RLIMIT_NOFILE, which the program has
 * when the policy says nothing. No limit is above what the caller may use itself: without capabilities none can be
 * raised.
 */
size_t rlimits_build(const struct policy_limits *limits, const struct rlimit *open_files,
		     const struct rlimits_fallback *fallback, struct launch_rlimit ret_rlimit[LAUNCH_RLIMITS_MAX]);

#endif
