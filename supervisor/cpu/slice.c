#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/cpu/cpu.h"

#include "base/banned.h"

#define SHORTEST_SLICE_NS 100000u /* the kernel's minimum */

/* struct sched_attr in its first version: <linux/sched/types.h> and <sched.h> cannot both be included. */
struct slice_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

void cpu_request_short_slice(void)
{
	struct slice_attr attr = {.size = sizeof(attr)};

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 || attr.policy != SCHED_OTHER)
		return;
	attr.size = sizeof(attr);
	attr.runtime_ns = SHORTEST_SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}
