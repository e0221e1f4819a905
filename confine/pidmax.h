/*
 * Limits the tasks of a run by kernel.pid_max, which each pid namespace has of its own since Linux 6.14. So forks need
 * not be judged. The effective limit may be up to 300 lower, since pids below 300 are not reused.
 */
#ifndef CALLGATE_CONFINE_PIDMAX_H
#define CALLGATE_CONFINE_PIDMAX_H

#include <stdbool.h>
#include <stdint.h>

/* True when the version of the kernel allows a limit of so many tasks: in older kernels pid_max is global. */
bool pidmax_limit_is_supported(uint64_t tasks);

/* Sets the limit. Called in the first process of a pid namespace, with CAP_SYS_ADMIN over it. 0 or -errno. */
int pidmax_set_limit(uint64_t tasks);

#endif
