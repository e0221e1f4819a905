/*
 * Signals: kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_open and pidfd_send_signal. Signals to the
 * caller's own process are continued. So are signals to other processes of the run if the kernel confines signals to
 * the run: then a reused thread id does no harm. Otherwise the supervisor sends the signal, by a pidfd that was found
 * to be of the run. The receiver sees the supervisor as the sender (si_pid): the kernel allows no other with SI_USER.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "base/proc/stat.h"
#include "syscalls/call/decode.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* From linux/pidfd.h of Linux 6.9. */
#ifndef PIDFD_SIGNAL_THREAD
#define PIDFD_SIGNAL_THREAD (1U << 0)        /* flag of pidfd_send_signal(2), Linux 6.9 */
#define PIDFD_SIGNAL_THREAD_GROUP (1U << 1)  /* flag of pidfd_send_signal(2), Linux 6.9 */
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2) /* flag of pidfd_send_signal(2), Linux 6.9 */
#endif

/* ---- signals to process groups, and to all processes ---- */

/*
 * The kernel signals a group in one step. Here the processes are listed again until each has been signalled, because
 * one may fork meanwhile. The maximum is for programs whose handlers fork on each signal.
 */
#define SIGNAL_GROUP_ROUNDS_MAX 8

static pid_t signal_read_process_group(pid_t pid)
{
	struct procstat stat;

	return procstat_read(pid, &stat) < 0 ? -ESRCH : stat.group;
}

/* Sends a signal to a process group, or to the whole run: one process after the other. */
struct signal_group_work {
	bool is_whole_run; /* all processes of the run except the caller's */
	pid_t group;
	pid_t *pid; /* processes that are in the run now */
	size_t count, room;
	pid_t *done; /* processes that were signalled */
	size_t done_count, done_room;
	int last_error; /* -errno of the last process that was not signalled */
	bool was_sent;  /* at least one process was signalled */
};

/* Lists the processes of the run. 0 or -ENOMEM. */
static int signal_list_group_members(struct call *call, struct signal_group_work *work)
{
	do {
		if (!array_reserve(&work->pid, work->count, &work->room))
			return -ENOMEM;
		work->count = task_table_list_processes(call->sandbox->tree, work->pid, work->room);
	} while (work->count > work->room);
	return 0;
}

static bool signal_was_sent_to(const struct signal_group_work *work, pid_t pid)
{
	for (size_t i = 0; i < work->done_count; i++)
		if (work->done[i] == pid)
			return true;
	return false;
}

/* Signals one process. target_open_pidfd() checks again that it is in the run, because the list may be outdated. */
static void signal_send_to_group_member(struct call *call, struct signal_group_work *work, pid_t pid, int sig)
{
	_cleanup_close_ int pidfd = target_open_pidfd(call, pid, false);

	if (pidfd < 0)
		return;
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		work->last_error = -errno;
	else
		work->was_sent = true;
}

static bool signal_targets_process(const struct call *call, const struct signal_group_work *work, pid_t pid)
{
	return work->is_whole_run ? pid != call->task->tgid : signal_read_process_group(pid) == work->group;
}

/*
 * Signals the members of the group that were not signalled yet. True: there were some, so new ones may have appeared.
 */
static bool signal_send_to_new_members(struct call *call, struct signal_group_work *work, int sig)
{
	bool fresh = false;

	for (size_t i = 0; i < work->count; i++) {
		pid_t pid = work->pid[i];

		if (signal_was_sent_to(work, pid) || !signal_targets_process(call, work, pid))
			continue;
		if (!array_reserve(&work->done, work->done_count, &work->done_room))
			return false;
		work->done[work->done_count++] = pid;
		signal_send_to_group_member(call, work, pid, sig);
		fresh = true;
	}
	return fresh;
}

static bool signal_has_any_target(const struct call *call, const struct signal_group_work *work)
{
	for (size_t i = 0; i < work->count; i++)
		if (signal_targets_process(call, work, work->pid[i]))
			return true;
	return false;
}

/* Sends the signal to each process of the group, again for those that were forked meanwhile. */
static void signal_send_to_members(struct call *call, struct signal_group_work *work, int sig)
{
	int r = signal_list_group_members(call, work);

	if (r == 0 && !signal_has_any_target(call, work)) {
		target_refuse_pid_outside_run(call);
		return;
	}
	target_allow_without_rule(call);
	/*
	 * The kernel signals all members in one step, with the right sender. Not for pid -1: the result would tell
	 * whether there are processes outside the run.
	 */
	if (r == 0 && call->sandbox->kernel_confines_signals && !work->is_whole_run) {
		call_continue(call);
		return;
	}
	if (r < 0)
		call_fail(call, r);
	if (r < 0 || call_commit_record(call) < 0)
		return;
	for (int i = 0; i < SIGNAL_GROUP_ROUNDS_MAX && signal_send_to_new_members(call, work, sig); i++)
		if (sig == 0 || signal_list_group_members(call, work) < 0)
			break;
	/* kill(2) succeeds if at least one process was signalled. */
	call_return_result(call, work->was_sent ? 0 : work->last_error);
}

/*
 * Sends the signal to a group or to all. which: the pid of kill(2). 0: the caller's group; -1: every process; below -1:
 * the group -which.
 */
static void signal_send_to_group_or_all(struct call *call, pid_t which, int sig)
{
	struct signal_group_work work = {.is_whole_run = which == -1, .last_error = -ESRCH};

	if (which == 0)
		work.group = signal_read_process_group(call->task->tgid);
	else if (which < -1 && which != INT_MIN) /* -INT_MIN does not exist: kernel/signal.c, kill_something_info() */
		work.group = -which;
	else if (which != -1)
		work.group = -ESRCH;
	if (work.group < 0)
		target_refuse_pid_outside_run(call);
	else
		signal_send_to_members(call, &work, sig);
	free(work.pid);
	free(work.done);
}

/* ---- signals to one process or thread ---- */

/*
 * Whether the kernel may send the signal itself: to the caller's own process (`own`), or to another process of the run
 * if the kernel confines signals to the run.
 */
static bool signal_may_continue(const struct call *call, pid_t own, pid_t pid)
{
	return pid == own || (pid > 0 && call->sandbox->kernel_confines_signals &&
			      task_table_pid_is_in_run(call->sandbox->tree, pid));
}

/*
 * Copies a siginfo that does not claim to be the kernel's or kill(2)'s: do_rt_sigqueueinfo(). False: the outcome is
 * set.
 */
static bool signal_copy_info(struct call *call, unsigned arg, siginfo_t *info)
{
	int r = decode_struct(call, arg, info, sizeof(*info));

	if (r == 0 && (info->si_code >= 0 || info->si_code == SI_TKILL))
		r = -EPERM;
	if (r < 0)
		target_allow_but_fail(call, r);
	return r == 0;
}

/* Sends the signal to one process. info: from rt_sigqueueinfo(2); NULL: as kill(2) does. */
static void signal_send_to_process(struct call *call, pid_t pid, int sig, const siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open_pidfd(call, pid, false);

	if (pidfd == -ESRCH) {
		target_refuse_pid_outside_run(call);
	} else if (pidfd < 0) {
		target_allow_but_fail(call, pidfd);
	} else {
		target_allow_without_rule(call);
		if (call_commit_record(call) == 0)
			call_return_result(call, syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0) < 0 ? -errno : 0);
	}
}

/*
 * Sends the signal to one thread. tgid 0: a thread of any process, as for tkill(2). info: from rt_tgsigqueueinfo(2);
 * NULL: as tgkill(2) does.
 */
static void signal_send_to_thread(struct call *call, pid_t tgid, pid_t tid, int sig, siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open_pidfd(call, tid, true);
	/*
	 * the owner is read after the pidfd was opened: it is that of the same thread, or of a later thread with a
	 * reused tid
	 */
	long r, owner = task_table_read_status_number(tid, "Tgid", 10);
	bool by_number = pidfd == -EINVAL; /* before Linux 6.9, where threads have no pidfds */

	/* Without a pidfd, the thread is checked to be in the run right before the signal is sent by its number. */
	if (pidfd == -ESRCH || owner <= 0 || (tgid && owner != tgid) ||
	    (by_number && !task_table_pid_is_in_run(call->sandbox->tree, tid))) {
		target_refuse_pid_outside_run(call);
		return;
	}
	if (pidfd < 0 && !by_number) {
		target_allow_but_fail(call, pidfd);
		return;
	}
	target_allow_without_rule(call);
	if (call_commit_record(call) < 0)
		return;
	if (!by_number)
		r = syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0);
	else if (info)
		r = syscall(SYS_rt_tgsigqueueinfo, (pid_t)owner, tid, sig, info);
	else
		r = syscall(SYS_tgkill, (pid_t)owner, tid, sig);
	call_return_result(call, r < 0 ? -errno : 0);
}

/* kill(2), or rt_sigqueueinfo(2) if info_arg is not 0: the index of its siginfo argument. */
static void signal_judge_kill_call(struct call *call, unsigned info_arg)
{
	pid_t pid = call_get_int(call, 0);
	int sig = call_get_int(call, 1);
	siginfo_t info;

	if (signal_may_continue(call, call->task->tgid, pid)) { /* the kernel checks the siginfo */
		target_allow_continue(call);
	} else if (!info_arg && pid <= 0) {
		signal_send_to_group_or_all(call, pid, sig);
	} else if (!info_arg) {
		signal_send_to_process(call, pid, sig, NULL);
	} else if (signal_copy_info(call, info_arg, &info)) {
		info.si_signo = sig;
		signal_send_to_process(call, pid, sig, &info);
	}
}

/* tgkill(2), or rt_tgsigqueueinfo(2) if info_arg is not 0: the index of its siginfo argument. */
static void signal_perform_tgkill(struct call *call, unsigned info_arg)
{
	pid_t tgid = call_get_int(call, 0), tid = call_get_int(call, 1);
	int sig = call_get_int(call, 2);
	siginfo_t info;

	if (tgid <= 0 || tid <= 0) {
		target_allow_but_fail(call, -EINVAL);
	} else if (signal_may_continue(call, call->task->tgid, tgid)) { /* the kernel checks that tid belongs to tgid */
		target_allow_continue(call);
	} else if (!info_arg) {
		signal_send_to_thread(call, tgid, tid, sig, NULL);
	} else if (signal_copy_info(call, info_arg, &info)) {
		info.si_signo = sig;
		signal_send_to_thread(call, tgid, tid, sig, &info);
	}
}

HANDLER(sys_kill, signal_judge_kill_call(call, 0))
HANDLER(sys_rt_sigqueueinfo, signal_judge_kill_call(call, 2))
HANDLER(sys_tgkill, signal_perform_tgkill(call, 0))
HANDLER(sys_rt_tgsigqueueinfo, signal_perform_tgkill(call, 3))

void sys_tkill(struct call *call)
{
	pid_t tid = call_get_int(call, 0);

	if (tid <= 0)
		target_allow_but_fail(call, -EINVAL);
	else if (signal_may_continue(call, call->tid, tid))
		target_allow_continue(call);
	else
		signal_send_to_thread(call, 0, tid, call_get_int(call, 1), NULL);
}

/* ---- pidfds ---- */

#define PIDFD_OPEN_FLAGS (O_NONBLOCK | O_EXCL) /* PIDFD_NONBLOCK, PIDFD_THREAD */

void sys_pidfd_open(struct call *call)
{
	pid_t pid = call_get_int(call, 0);
	unsigned flags = call_get_uint(call, 1);
	_cleanup_close_ int fd = -1;

	if (pid <= 0 || flags & ~(unsigned)PIDFD_OPEN_FLAGS) {
		target_allow_but_fail(call, -EINVAL);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, pid, flags);
	if (fd < 0)
		fd = -errno;
	if (!task_table_pid_is_in_run(call->sandbox->tree,
			    /*
			     * membership is checked after the pidfd is open, so that the pid cannot be reused in
			     * between
			     */
			    pid)) {
		target_refuse_pid_outside_run(call);
		return;
	}
	target_allow_without_rule(call);
	call_return_fd(call, fd < 0 ? fd : steal_fd(&fd), true);
}

/*
 * The process of a descriptor of /proc/PID, which pidfd_send_signal(2) accepts as well. -1: the process has been
 * reaped; 0: not such a descriptor.
 */
static pid_t pidfd_read_pid_of_proc_dir(const struct call *call, int fd)
{
	char link[64], text[48];
	ssize_t len;
	pid_t pid;
	int end = 0;

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->tid, fd);
	len = readlink(link, text, sizeof(text) - 1);
	if (len < 0)
		return 0;
	text[len] = '\0';
	if (sscanf(text, "/proc/%d%n", &pid, &end) != 1 || pid <= 0)
		return 0;
	if (strcmp(text + end, " (deleted)") == 0)
		return -1; /* reaped */
	return text[end] == '\0' ? pid : 0;
}

/* The process or thread id of the target's pidfd. -EBADF: not a pidfd; -ESRCH: the task is dead. */
static pid_t pidfd_read_pid(const struct call *call, int fd, bool *ret_thread)
{
	struct fdinfo info;

	if (fdinfo_read(call->tid, fd, &info) < 0)
		return -EBADF;
	if (info.pid == 0)
		info.pid = info.open_flags & O_PATH ? 0 : pidfd_read_pid_of_proc_dir(call, fd);
	if (info.pid == 0)
		return -EBADF;
	*ret_thread = info.open_flags & O_EXCL;
	return info.pid > 0 ? info.pid : -ESRCH;
}

static void pidfd_send_signal_to(struct call *call, pid_t pid, int sig, bool to_thread)
{
	siginfo_t info = {0}, *given = call->arg[2] ? &info : NULL;

	/* the kernel does not set si_signo here: a wrong one is EINVAL */
	if (given && !signal_copy_info(call, 2, &info))
		return;
	if (to_thread)
		signal_send_to_thread(call, 0, pid, sig, given);
	else
		signal_send_to_process(call, pid, sig, given);
}

void sys_pidfd_send_signal(struct call *call)
{
	int sig = call_get_int(call, 1);
	unsigned flags = call_get_uint(call, 3);
	bool of_thread = false, bad_flags = flags & (flags - 1) || flags > PIDFD_SIGNAL_PROCESS_GROUP;
	pid_t pid = bad_flags ? -EINVAL : pidfd_read_pid(call, call_get_int(call, 0), &of_thread);

	if (pid < 0)
		target_allow_but_fail(call, pid);
	/* the kernel confines signals even if a thread replaces the descriptor */
	else if (signal_may_continue(call, -1, pid))
		target_allow_continue(call);
	else if (flags == PIDFD_SIGNAL_PROCESS_GROUP)
		signal_send_to_group_or_all(call, -pid, sig);
	else
		pidfd_send_signal_to(call, pid, sig, flags ? flags & PIDFD_SIGNAL_THREAD : of_thread);
}
