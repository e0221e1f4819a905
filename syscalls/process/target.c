#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/process/target.h"

void target_allow_without_rule(struct call *call)
{
	call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW};
}

void target_refuse_pid_outside_run(struct call *call)
{
	call_refuse(call, -ESRCH, NULL, "outside_run");
}

bool target_is_self(const struct call *call, pid_t pid)
{
	return pid == call->tid || pid == call->task->tgid;
}

/* Opens a pidfd of pid's process. Like kill(2), takes the id of any thread, which pidfd_open(2) refuses. */
static int target_open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	long tgid;

	if (fd >= 0 || errno == ESRCH)
		return fd >= 0 ? fd : -ESRCH;
	if (errno != EINVAL && errno != ENOENT)
		return -errno;
	tgid = task_table_read_status_number(pid, "Tgid", 10);
	if (tgid <= 0)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)tgid, 0);
	return fd >= 0 ? fd : -errno;
}

int target_open_pidfd(const struct call *call, pid_t pid, bool thread)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (pid <= 0)
		return -ESRCH;
	fd = thread ? (int)syscall(SYS_pidfd_open, pid, PIDFD_THREAD) : target_open_process(pid);
	r = thread && fd < 0 ? -errno : fd;
	/* Always ESRCH for processes outside the run, so that their existence is not revealed. */
	if (!task_table_pid_is_in_run(call->sandbox->tree, pid))
		return -ESRCH;
	return r < 0 ? r : steal_fd(&fd);
}

void target_continue_if_in_run(struct call *call, pid_t pid)
{
	/*
	 * The pid is in a register, so the kernel may act on it. A race of microseconds remains: the process of the run
	 * ends and is reaped, and a process outside gets its pid.
	 */
	if (target_is_self(call, pid) || task_table_pid_is_in_run(call->sandbox->tree, pid))
		target_allow_continue(call);
	else
		target_refuse_pid_outside_run(call);
}
