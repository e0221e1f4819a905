/* Resource limits, scheduling and priorities of processes; prctl. */
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

#define AFFINITY_BYTES_MAX 8192u /* more than NR_CPUS needs */

/*
 * With a piped core_pattern the kernel starts a program of the host on a crash, unless the limit is 1 (coredump_pipe()
 * in fs/coredump.c), which launch.c sets. So the limit never changes: lowering it is accepted without effect, and
 * raising it fails as the kernel would.
 */
static void limit_core(struct call *call, pid_t pid, unsigned new_arg, uint64_t old_address)
{
	struct rlimit now = {0, 0}, wanted;
	_cleanup_close_ int member = pid == 0 || target_is_self(call, pid) ? -1 : target_open(call, pid, false);
	int r = decode_struct(call, new_arg, &wanted, sizeof(wanted));

	if (pid != 0 && !target_is_self(call, pid) && member < 0) {
		target_refuse(call);
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
	call_end(call, r);
}

static void continue_limit(struct call *call, unsigned resource, pid_t pid, uint64_t new_address)
{
	if (resource == RLIMIT_NOFILE && new_address)
		fd_table_limit_changed(call);
	target_continue(call, pid == 0 ? call->tid : pid);
}

/* Continuing is safe whatever the limits in memory are: without CAP_SYS_RESOURCE the hard limit is not raised. */
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
		continue_limit(call, call_uint(call, 0), 0, call->arg[1]);
}

static void schedule(struct call *call)
{
	pid_t pid = call_int(call, 0);

	if (pid < 0)
		target_fail(call, -EINVAL);
	else
		target_continue(call, pid);
}

/*
 * Notified only where CPU placement may change affinity masks (supervisor/cpu/cpu.h). The target's own mask was
 * restored when the notification was received. Not continued: it could be changed again before the kernel reads it.
 */
void sys_sched_getaffinity(struct call *call)
{
	unsigned long mask[AFFINITY_BYTES_MAX / sizeof(unsigned long)];
	unsigned len = call_uint(call, 1) < AFFINITY_BYTES_MAX ? call_uint(call, 1) : AFFINITY_BYTES_MAX;
	long got = syscall(SYS_sched_getaffinity, call_int(call, 0), len, mask);
	int r = got < 0 ? -errno : decode_output(call, call->arg[2], mask, (size_t)got);

	target_allow(call);
	call_end(call, r < 0 ? r : got);
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

/* Only single processes: a process group may, and a user's processes always do, include processes outside the run. */
static void priority(struct call *call, int process, int last)
{
	int which = call_int(call, 0);

	if (which == process)
		target_continue(call, call_int(call, 1));
	else if (which < process || which > last)
		target_fail(call, -EINVAL);
	else
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

void sys_get_robust_list(struct call *call)
{
	target_continue(call, call_int(call, 0));
}

/*
 * Not dumpable, a process could not be read by the supervisor. Accepted without effect, because programs complain
 * otherwise (timeout(1)): there are no core files anyway, but other processes of the user can still trace it.
 */
static void prctl_dumpable(struct call *call)
{
	target_allow(call);
	if (call->arg[1] != 0) {
		call_fail(call, -EINVAL);
		return;
	}
	call->decision.reason = "without_effect";
	call_return(call, 0);
}

/* Options that allow_prctl does not let pass. */
void sys_prctl(struct call *call)
{
	switch (call_int(call, 0)) {
	case PR_SET_DUMPABLE:
		prctl_dumpable(call);
		break;
	case PR_SET_MM:       /* forges /proc/PID/exe and maps */
	case PR_SET_PTRACER:
	case PR_SCHED_CORE:
		call_refuse(call, -EPERM, NULL, "not_permitted");
		break;
	default:
		call_refuse(call, -EINVAL, NULL, "not_offered");
		break;
	}
}
