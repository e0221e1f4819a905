/* Judges calls on resource limits, scheduling and priorities of processes, and prctl(2). */
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

#define AFFINITY_BYTES_MAX 8192u /* larger than any NR_CPUS needs */

/*
 * Answers calls on RLIMIT_CORE. With a piped core_pattern, the kernel starts a program of the host on a crash, unless
 * the limit is 1 (coredump_pipe() in fs/coredump.c). launch.c sets it to 1, and it never changes: lowering it is
 * accepted without effect, and raising it fails as in the kernel.
 */
static void prlimit_answer_core_limit(struct call *call, pid_t pid, unsigned new_arg, uint64_t old_address)
{
	struct rlimit now = {0, 0}, wanted;
	_cleanup_close_ int member = pid == 0 || target_is_self(call, pid) ? -1 : target_open_pidfd(call, pid, false);
	int r = decode_struct(call, new_arg, &wanted, sizeof(wanted));

	if (pid != 0 && !target_is_self(call, pid) && member < 0) {
		target_refuse_pid_outside_run(call);
		return;
	}
	target_allow_without_rule(call);
	if (r == 0 && prlimit(call->tid, RLIMIT_CORE, NULL, &now) < 0)
		r = -errno;
	if (r == 0 && wanted.rlim_cur > wanted.rlim_max)
		r = -EINVAL;
	if (r == 0 && wanted.rlim_max > now.rlim_max)
		r = -EPERM;
	if (r == 0 && old_address)
		r = decode_write_output(call, old_address, &now, sizeof(now));
	call_return_result(call, r);
}

/* Continuing is safe whatever limits are in memory: without CAP_SYS_RESOURCE no hard limit can be raised. */
static void prlimit_judge_call(struct call *call, pid_t pid, unsigned resource, unsigned new_arg, uint64_t old_address)
{
	if (resource == RLIMIT_CORE && call->arg[new_arg]) {
		prlimit_answer_core_limit(call, pid, new_arg, old_address);
		return;
	}
	if (resource == RLIMIT_NOFILE && call->arg[new_arg])
		fd_table_note_limit_change(call);
	target_continue_if_in_run(call, pid == 0 ? call->tid : pid);
}

HANDLER(sys_prlimit64, prlimit_judge_call(call, call_get_int(call, 0), call_get_uint(call, 1), 2, call->arg[3]))
HANDLER(sys_setrlimit, prlimit_judge_call(call, 0, call_get_uint(call, 0), 1, 0))

/* Lets a scheduling call continue if its pid is of the run. */
static void scheduling_judge_call(struct call *call)
{
	pid_t pid = call_get_int(call, 0);

	if (pid < 0)
		target_allow_but_fail(call, -EINVAL);
	else
		target_continue_if_in_run(call, pid);
}

/*
 * Notified only where CPU placement changes affinity masks (supervisor/cpu/cpu.h). The target's own mask was restored
 * when the notification was received. Not continued: the mask could change again before the kernel reads it.
 */
void sys_sched_getaffinity(struct call *call)
{
	unsigned long mask[AFFINITY_BYTES_MAX / sizeof(unsigned long)];
	unsigned len = call_get_uint(call, 1) < AFFINITY_BYTES_MAX ? call_get_uint(call, 1) : AFFINITY_BYTES_MAX;
	long got = syscall(SYS_sched_getaffinity, call_get_int(call, 0), len, mask);
	int r = got < 0 ? -errno : decode_write_output(call, call->arg[2], mask, (size_t)got);

	target_allow_without_rule(call);
	call_return_result(call, r < 0 ? r : got);
}

HANDLER(sys_sched_setaffinity, scheduling_judge_call(call))
HANDLER(sys_sched_setattr, scheduling_judge_call(call))
HANDLER(sys_sched_setparam, scheduling_judge_call(call))
HANDLER(sys_sched_setscheduler, scheduling_judge_call(call))

/* Judges a call about one process. Groups and users are refused: they may include processes outside the run. */
static void setpriority_judge_call(struct call *call, int process, int last)
{
	int which = call_get_int(call, 0);

	if (which == process)
		target_continue_if_in_run(call, call_get_int(call, 1));
	else if (which < process || which > last)
		target_allow_but_fail(call, -EINVAL);
	else
		call_refuse(call, -EPERM, NULL, "outside_run");
}

HANDLER(sys_setpriority, setpriority_judge_call(call, PRIO_PROCESS, PRIO_USER))

/* 1 and 3: IOPRIO_WHO_PROCESS and the last kind, IOPRIO_WHO_USER, of linux/ioprio.h. */
HANDLER(sys_ioprio_set, setpriority_judge_call(call, 1, 3))

HANDLER(sys_get_robust_list, target_continue_if_in_run(call, call_get_int(call, 0)))

/*
 * PR_SET_DUMPABLE 0 is accepted without effect: it would make the process unreadable for the supervisor, and programs
 * as timeout(1) complain if it fails. There are no core files anyway; other processes of the user can still trace it.
 */
static void prctl_accept_undumpable(struct call *call)
{
	target_allow_without_rule(call);
	if (call->arg[1] != 0) {
		call_fail(call, -EINVAL);
		return;
	}
	call->decision.reason = "without_effect";
	call_return(call, 0);
}

/*
 * Judges PR_SET_PTRACER, Yama's exception for one tracer, which sanitizers ask for. 0 means no tracer. -1 means every
 * process: the user's other processes may trace anyway, and the run's as far as sys_ptrace lets them.
 */
static void prctl_judge_ptracer(struct call *call)
{
	pid_t pid = call_get_int(call, 1);

	if (call->arg[1] == 0 || call->arg[1] == UINT64_MAX || task_table_pid_is_in_run(call->sandbox->tree, pid))
		target_allow_continue(call);
	else
		/* the errno of yama_task_prctl() if no such process exists */
		call_refuse(call, -EINVAL, NULL, "outside_run");
}

/* Judges the options that allow_prctl does not let pass. */
void sys_prctl(struct call *call)
{
	int option = call_get_int(call, 0);

	/* PR_SET_MM is refused, because it forges /proc/PID/exe. */
	if (option == PR_SET_DUMPABLE)
		prctl_accept_undumpable(call);
	else if (option == PR_SET_PTRACER)
		prctl_judge_ptracer(call);
	else if (option == PR_SET_MM || option == PR_SCHED_CORE)
		call_refuse(call, -EPERM, NULL, "not_permitted");
	else
		call_refuse(call, -EINVAL, NULL, "not_offered");
}
