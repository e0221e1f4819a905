/*
 * Signals: kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_open and pidfd_send_signal. Signals to the
 * own process are continued. So are signals to a member of the run where the kernel confines signals to the run: then
 * the thread id may be reused in between. Elsewhere the signal is sent through a pidfd that was found to be a member's.
 * Its sender (si_pid) is the supervisor: the kernel allows no other sender with SI_USER.
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
#include "base/fdinfo.h"
#include "base/procstat.h"
#include "syscalls/call/decode.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* linux/pidfd.h, Linux 6.9. */
#ifndef PIDFD_SIGNAL_THREAD
#define PIDFD_SIGNAL_THREAD (1U << 0)
#define PIDFD_SIGNAL_THREAD_GROUP (1U << 1)
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

/* ---- process groups, and every process ---- */

/*
 * The kernel signals a group in one step. Here the members are listed again until all are signalled, because one may
 * fork in between. The limit is for handlers that fork on each signal.
 */
#define ROUNDS_MAX 8

static pid_t read_process_group(pid_t pid)
{
	struct procstat stat;

	return procstat_read(pid, &stat) < 0 ? -ESRCH : stat.group;
}

struct round {
	bool everyone; /* all but the calling process */
	pid_t group;
	pid_t *pid; /* present members of the run */
	size_t count, room;
	pid_t *done; /* members that were signalled */
	size_t done_count, done_room;
	int last_error;
	bool sent;
};

/* Lists the members of the run. 0 or -ENOMEM. */
static int signal_list_members(struct call *call, struct round *round)
{
	do {
		if (!array_reserve(&round->pid, round->count, &round->room))
			return -ENOMEM;
		round->count = tree_list_processes(call->sandbox->tree, round->pid, round->room);
	} while (round->count > round->room);
	return 0;
}

static bool signal_was_sent_to(const struct round *round, pid_t pid)
{
	for (size_t i = 0; i < round->done_count; i++)
		if (round->done[i] == pid)
			return true;
	return false;
}

/* target_open_pidfd() checks membership again: the list may be outdated. */
static void signal_member(struct call *call, struct round *round, pid_t pid, int sig)
{
	_cleanup_close_ int pidfd = target_open_pidfd(call, pid, false);

	if (pidfd < 0)
		return;
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		round->last_error = -errno;
	else
		round->sent = true;
}

static bool signal_addresses_process(const struct call *call, const struct round *round, pid_t pid)
{
	return round->everyone ? pid != call->task->tgid : read_process_group(pid) == round->group;
}

/* Signals members that had not been signalled. True: such members were found. */
static bool signal_new_members(struct call *call, struct round *round, int sig)
{
	bool fresh = false;

	for (size_t i = 0; i < round->count; i++) {
		pid_t pid = round->pid[i];

		if (signal_was_sent_to(round, pid) || !signal_addresses_process(call, round, pid))
			continue;
		if (!array_reserve(&round->done, round->done_count, &round->done_room))
			return false;
		round->done[round->done_count++] = pid;
		signal_member(call, round, pid, sig);
		fresh = true;
	}
	return fresh;
}

static bool signal_addresses_any(const struct call *call, const struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		if (signal_addresses_process(call, round, round->pid[i]))
			return true;
	return false;
}

static void signal_members(struct call *call, struct round *round, int sig)
{
	int r = signal_list_members(call, round);

	if (r == 0 && !signal_addresses_any(call, round)) {
		target_refuse_outsider(call);
		return;
	}
	target_allow_call(call);
	/* One step, with the right sender. Not for -1, whose result would reveal processes outside the run. */
	if (r == 0 && call->sandbox->signals_bounded && !round->everyone) {
		call_continue(call);
		return;
	}
	if (r < 0)
		call_fail(call, r);
	if (r < 0 || call_commit_record(call) < 0)
		return;
	for (int i = 0; i < ROUNDS_MAX && signal_new_members(call, round, sig); i++)
		if (sig == 0 || signal_list_members(call, round) < 0)
			break;
	/* kill(2) succeeds if at least one process was signalled. */
	call_return_result(call, round->sent ? 0 : round->last_error);
}

/* `which` is the pid argument of kill(2): 0 the own group, -1 everyone, less than -1 the group -which. */
static void signal_group(struct call *call, pid_t which, int sig)
{
	struct round round = {.everyone = which == -1, .last_error = -ESRCH};

	if (which == 0)
		round.group = read_process_group(call->task->tgid);
	else if (which < -1 && which != INT_MIN) /* -INT_MIN does not exist: kernel/signal.c, kill_something_info() */
		round.group = -which;
	else if (which != -1)
		round.group = -ESRCH;
	if (round.group < 0)
		target_refuse_outsider(call);
	else
		signal_members(call, &round, sig);
	free(round.pid);
	free(round.done);
}

/* ---- one process or thread ---- */

/* Whether the kernel may send the signal: see the top. */
static bool signal_may_continue(const struct call *call, pid_t own, pid_t pid)
{
	return pid == own ||
	       (pid > 0 && call->sandbox->signals_bounded && tree_pid_is_in_run(call->sandbox->tree, pid));
}

/* False: the outcome is set. The siginfo must not claim to be from the kernel or kill(2): do_rt_sigqueueinfo(). */
static bool signal_copy_info(struct call *call, unsigned arg, siginfo_t *info)
{
	int r = decode_struct(call, arg, info, sizeof(*info));

	if (r == 0 && (info->si_code >= 0 || info->si_code == SI_TKILL))
		r = -EPERM;
	if (r < 0)
		target_fail_call(call, r);
	return r == 0;
}

/* info NULL: as kill(2). */
static void send_to_process(struct call *call, pid_t pid, int sig, const siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open_pidfd(call, pid, false);

	if (pidfd == -ESRCH) {
		target_refuse_outsider(call);
	} else if (pidfd < 0) {
		target_fail_call(call, pidfd);
	} else {
		target_allow_call(call);
		if (call_commit_record(call) == 0)
			call_return_result(call, syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0) < 0 ? -errno : 0);
	}
}

/* tgid 0: a thread of any process (tkill). info NULL: as tgkill(2). */
static void send_to_thread(struct call *call, pid_t tgid, pid_t tid, int sig, siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open_pidfd(call, tid, true);
	long r, owner = tree_read_status(tid, "Tgid", 10); /* read after the pidfd: that thread's or a later one's */
	bool by_number = pidfd == -EINVAL; /* before Linux 6.9, where threads have no pidfds */

	/* Sent by its number, the signal is sent right after the thread was found to be a member's. */
	if (pidfd == -ESRCH || owner <= 0 || (tgid && owner != tgid) ||
	    (by_number && !tree_pid_is_in_run(call->sandbox->tree, tid))) {
		target_refuse_outsider(call);
		return;
	}
	if (pidfd < 0 && !by_number) {
		target_fail_call(call, pidfd);
		return;
	}
	target_allow_call(call);
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

/* kill(2); with info_arg, the number of its siginfo argument, rt_sigqueueinfo(2). */
static void signal_process(struct call *call, unsigned info_arg)
{
	pid_t pid = call_get_int(call, 0);
	int sig = call_get_int(call, 1);
	siginfo_t info;

	if (signal_may_continue(call, call->task->tgid, pid)) { /* the kernel checks the siginfo */
		target_allow_continue(call);
	} else if (!info_arg && pid <= 0) {
		signal_group(call, pid, sig);
	} else if (!info_arg) {
		send_to_process(call, pid, sig, NULL);
	} else if (signal_copy_info(call, info_arg, &info)) {
		info.si_signo = sig;
		send_to_process(call, pid, sig, &info);
	}
}

/* tgkill(2); with info_arg, the number of its siginfo argument, rt_tgsigqueueinfo(2). */
static void signal_thread(struct call *call, unsigned info_arg)
{
	pid_t tgid = call_get_int(call, 0), tid = call_get_int(call, 1);
	int sig = call_get_int(call, 2);
	siginfo_t info;

	if (tgid <= 0 || tid <= 0) {
		target_fail_call(call, -EINVAL);
	} else if (signal_may_continue(call, call->task->tgid, tgid)) { /* the kernel checks that tid belongs to tgid */
		target_allow_continue(call);
	} else if (!info_arg) {
		send_to_thread(call, tgid, tid, sig, NULL);
	} else if (signal_copy_info(call, info_arg, &info)) {
		info.si_signo = sig;
		send_to_thread(call, tgid, tid, sig, &info);
	}
}

HANDLER(sys_kill, signal_process(call, 0))
HANDLER(sys_rt_sigqueueinfo, signal_process(call, 2))
HANDLER(sys_tgkill, signal_thread(call, 0))
HANDLER(sys_rt_tgsigqueueinfo, signal_thread(call, 3))

void sys_tkill(struct call *call)
{
	pid_t tid = call_get_int(call, 0);

	if (tid <= 0)
		target_fail_call(call, -EINVAL);
	else if (signal_may_continue(call, call->tid, tid))
		target_allow_continue(call);
	else
		send_to_thread(call, 0, tid, call_get_int(call, 1), NULL);
}

/* ---- pidfds ---- */

#define PIDFD_OPEN_FLAGS (O_NONBLOCK | O_EXCL) /* PIDFD_NONBLOCK, PIDFD_THREAD */

void sys_pidfd_open(struct call *call)
{
	pid_t pid = call_get_int(call, 0);
	unsigned flags = call_get_uint(call, 1);
	_cleanup_close_ int fd = -1;

	if (pid <= 0 || flags & ~(unsigned)PIDFD_OPEN_FLAGS) {
		target_fail_call(call, -EINVAL);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, pid, flags);
	if (fd < 0)
		fd = -errno;
	if (!tree_pid_is_in_run(call->sandbox->tree,
			    pid)) { /* asked after the descriptor is open, so that the pid is not reused */
		target_refuse_outsider(call);
		return;
	}
	target_allow_call(call);
	call_return_fd(call, fd < 0 ? fd : steal_fd(&fd), true);
}

/*
 * The process of a descriptor of its directory in /proc, which pidfd_send_signal(2) takes as well. -1: it has been
 * reaped; 0: the descriptor is of something else.
 */
static pid_t read_directory(const struct call *call, int fd)
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

/* The number of the process or thread of the target's pidfd. -EBADF: not a pidfd; -ESRCH: of a task that is dead. */
static pid_t read_pidfd(const struct call *call, int fd, bool *ret_thread)
{
	struct fdinfo info;

	if (fdinfo_read(call->tid, fd, &info) < 0)
		return -EBADF;
	if (info.pid == 0)
		info.pid = info.flags & O_PATH ? 0 : read_directory(call, fd);
	if (info.pid == 0)
		return -EBADF;
	*ret_thread = info.flags & O_EXCL;
	return info.pid > 0 ? info.pid : -ESRCH;
}

static void send_by_pidfd(struct call *call, pid_t pid, int sig, bool to_thread)
{
	siginfo_t info = {0}, *given = call->arg[2] ? &info : NULL;

	if (given && !signal_copy_info(call, 2, &info)) /* this call does not set si_signo: a wrong one is EINVAL */
		return;
	if (to_thread)
		send_to_thread(call, 0, pid, sig, given);
	else
		send_to_process(call, pid, sig, given);
}

void sys_pidfd_send_signal(struct call *call)
{
	int sig = call_get_int(call, 1);
	unsigned flags = call_get_uint(call, 3);
	bool of_thread = false, bad_flags = flags & (flags - 1) || flags > PIDFD_SIGNAL_PROCESS_GROUP;
	pid_t pid = bad_flags ? -EINVAL : read_pidfd(call, call_get_int(call, 0), &of_thread);

	if (pid < 0)
		target_fail_call(call, pid);
	else if (signal_may_continue(call, -1, pid)) /* confined even if the descriptor is replaced */
		target_allow_continue(call);
	else if (flags == PIDFD_SIGNAL_PROCESS_GROUP)
		signal_group(call, -pid, sig);
	else
		send_by_pidfd(call, pid, sig, flags ? flags & PIDFD_SIGNAL_THREAD : of_thread);
}
