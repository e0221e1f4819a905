/* The resource limits (setrlimit(2)) of the program's processes, made from the policy's limits. */
#ifndef CALLGATE_SUPERVISOR_LIMITS_RLIMITS_H
#define CALLGATE_SUPERVISOR_LIMITS_RLIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#include "policy/policy.h"
#include "supervisor/launch.h"

/* Which limits the processes get in place of limits by control groups. */
struct rlimits_without_cgroups {
	bool limits_cpu_by_rlimit;    /* each process gets RLIMIT_CPU */
	/*
	 * each process gets RLIMIT_DATA and RLIMIT_AS; calls that allocate memory which /proc does not show, such as
	 * memfd_create(2), are judged
	 */
	bool limits_memory_by_rlimit;
	bool limits_tasks_by_rlimit;  /* RLIMIT_NPROC, which counts by user; only with the run's own user namespace */
	bool limits_forks_by_judging; /* if RLIMIT_NPROC is not used: calls that make processes are judged */
};

/*
 * Fills ret_rlimit and returns the count. open_files: callgate's RLIMIT_NOFILE, for the program unless the policy sets
 * a limit. No limit exceeds callgate's own, because raising one needs a capability.
 */
size_t rlimits_build(const struct policy_limits *limits, const struct rlimit *open_files,
		     const struct rlimits_without_cgroups *fallback,
		     struct launch_rlimit ret_rlimit[LAUNCH_RLIMITS_MAX]);

#endif
