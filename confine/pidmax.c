#include "confine/pidmax.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io.h"

#define PIDMAX_SUPERVISOR_TASK_COUNT 2 /* the supervisor and its watchdog thread, as rlimits.c counts them */
/* Lowest limit that is set by pid_max. The kernel permits 301, but that close to the 300 reserved pids is inexact. */
#define PIDMAX_TASKS_MIN 1024
#define PIDMAX_TASKS_MAX 4000000 /* PID_MAX_LIMIT is 4194304 */

bool pidmax_limit_is_supported(uint64_t tasks)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (tasks < PIDMAX_TASKS_MIN || tasks > PIDMAX_TASKS_MAX || uname(&name) < 0)
		return false;
	return sscanf(name.release, "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 14));
}

int pidmax_set_limit(uint64_t tasks)
{
	char text[24];

	if (!pidmax_limit_is_supported(tasks) || getpid() != 1)
		return -EOPNOTSUPP;
	/* + 1: pids are lower than pid_max. */
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)tasks + PIDMAX_SUPERVISOR_TASK_COUNT + 1);
	return io_write_once(AT_FDCWD, "/proc/sys/kernel/pid_max", text);
}
