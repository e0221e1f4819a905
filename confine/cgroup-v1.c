#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/cgroup-private.h"

#include "base/banned.h"

const struct cgroup_files cgroup_v1_files = {
	.memory_limit = "memory.limit_in_bytes",
	.memory_swap = "memory.memsw.limit_in_bytes",
	.memory_used = "memory.usage_in_bytes",
	.memory_peak = "memory.max_usage_in_bytes",
	.memory_events = "memory.oom_control",
	.pids_limit = "pids.max",
	.pids_used = "pids.current",
	.pids_peak = "pids.peak",
	.pids_events = "pids.events",
	.cpu = "cpuacct.usage",
	.cpu_unit_ns = 1,
	.swap_is_sum = true,
};

int cgroup_v1_oom_event(int leaf_fd)
{
	_cleanup_close_ int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	_cleanup_close_ int control_fd = openat(leaf_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char text[32];
	int error;

	if (event_fd < 0 || control_fd < 0)
		return -errno;
	(void)snprintf(text, sizeof(text), "%d %d", event_fd, control_fd); /* two ints */
	error = cgroup_put(leaf_fd, "cgroup.event_control", text);
	return error < 0 ? error : steal_fd(&event_fd);
}
