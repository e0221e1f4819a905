/* Limits, priorities and scheduling of other processes; prctl. On itself (pid 0) the filter allows them natively. */
#include <errno.h>
#include <linux/prctl.h>
#include <sys/resource.h>

#include "syscalls/handlers.h"
#include "syscalls/target.h"

#include "base/banned.h"

/*
 * The new limits are in memory, but nothing rests on them: without CAP_SYS_RESOURCE a limit only goes up to its hard one,
 * and the kernel copies the struct itself.
 */
void sys_prlimit64(struct call *call)
{
	target_continue(call, call_int(call, 0));
}

static void schedule(struct call *call)
{
	pid_t pid = call_int(call, 0);

	if (pid < 0) {
		target_allow(call);
		call_fail(call, -EINVAL);
		return;
	}
	target_continue(call, pid);
}

void sys_sched_setaffinity(struct call *call)
{
	schedule(call);
}

void sys_sched_setattr(struct call *call)
{
	schedule(call);
}

void sys_sched_setparam(struct call *call)
{
	schedule(call);
}

void sys_sched_setscheduler(struct call *call)
{
	schedule(call);
}

/*
 * A process group may hold outsiders when the program did not start a session of its own, a user's processes always do:
 * only single processes.
 */
static void priority(struct call *call, int process, int last)
{
	int which = call_int(call, 0);

	if (which == process) {
		target_continue(call, call_int(call, 1));
		return;
	}
	if (which < process || which > last) {
		target_allow(call);
		call_fail(call, -EINVAL);
		return;
	}
	call_refuse(call, -EPERM, NULL, "outside_run");
}

void sys_setpriority(struct call *call)
{
	priority(call, PRIO_PROCESS, PRIO_USER);
}

/* linux/ioprio.h: IOPRIO_WHO_PROCESS, _PGRP, _USER. */
void sys_ioprio_set(struct call *call)
{
	priority(call, 1, 3);
}

/* What allow_prctl leaves out. */
void sys_prctl(struct call *call)
{
	switch (call_int(call, 0)) {
	case PR_SET_DUMPABLE: /* 0: the exec check could not read it */
	case PR_SET_MM:       /* forges what /proc/PID/exe and maps show */
	case PR_SET_PTRACER:
	case PR_SCHED_CORE:
		call_refuse(call, -EPERM, NULL, "not_permitted");
		break;
	default:
		call_refuse(call, -EINVAL, NULL, "not_offered");
		break;
	}
}
