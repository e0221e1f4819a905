/* Limits, priorities and scheduling of other processes; prctl. On itself (pid 0) the filter allows them natively. */
#include <errno.h>
#include <linux/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/resolve.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define AFFINITY_BYTES_MAX 8192u /* of more CPUs than Linux has */

/*
 * A piped core_pattern starts a program of the host's, whatever the limit, but for a limit of 1 (coredump_pipe() in
 * fs/coredump.c), which launch.c sets. So it stays as it is: who asks for less has got what it is for, and more there
 * is not.
 */
static void limit_core(struct call *call, pid_t pid, unsigned new_arg, uint64_t old_address)
{
	struct rlimit now = {0, 0}, wanted;
	_cleanup_close_ int member = pid == 0 || target_is_self(call, pid) ? -1 : target_open(call, pid, false);
	int r = decode_struct(call, new_arg, &wanted, sizeof(wanted));

	if (pid != 0 && !target_is_self(call, pid) && member < 0) {
		target_absent(call);
		return;
	}
	target_allow(call);
	if (r == 0 && prlimit(call->tid, RLIMIT_CORE, NULL, &now) < 0)
		r = -errno;
	if (r == 0 && wanted.rlim_cur > wanted.rlim_max)
		r = -EINVAL;
	if (r == 0 && wanted.rlim_max > now.rlim_max)
		r = -EPERM;
	if (r == 0 && old_address)
		r = decode_output(call, old_address, &now, sizeof(now));
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

static void continue_limit(struct call *call, unsigned resource, pid_t pid, uint64_t new_address)
{
	if (resource == RLIMIT_NOFILE && new_address)
		room_limit_set(call);
	target_continue(call, pid == 0 ? call->tid : pid);
}

/*
 * The new limits are in memory, but nothing rests on them: without CAP_SYS_RESOURCE a limit only goes up to its hard
 * one, and the kernel copies the struct itself.
 */
void sys_prlimit64(struct call *call)
{
	if (call_uint(call, 1) == RLIMIT_CORE && call->arg[2])
		limit_core(call, call_int(call, 0), 2, call->arg[3]);
	else
		continue_limit(call, call_uint(call, 1), call_int(call, 0), call->arg[2]);
}

void sys_setrlimit(struct call *call)
{
	if (call_uint(call, 0) == RLIMIT_CORE)
		limit_core(call, 0, 1, 0);
	else
		continue_limit(call, call_uint(call, 0), 0, call->arg[1]); /* any but RLIMIT_NOFILE is none there is, as the kernel will say */
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

/*
 * Notified only where a mask may be ours for a moment (supervisor/cpu/cpu.h). Here it is not: it was put back when the
 * call came, and could be ours again by the time the kernel looked at another's.
 */
void sys_sched_getaffinity(struct call *call)
{
	unsigned long mask[AFFINITY_BYTES_MAX / sizeof(unsigned long)];
	unsigned len = call_uint(call, 1) < AFFINITY_BYTES_MAX ? call_uint(call, 1) : AFFINITY_BYTES_MAX;
	long got = syscall(SYS_sched_getaffinity, call_int(call, 0), len, mask);
	int r = got < 0 ? -errno : decode_output(call, call->arg[2], mask, (size_t)got);

	target_allow(call);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, got);
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
