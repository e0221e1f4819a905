/*
 * Signals: kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_open and pidfd_send_signal. Signals to the
 * own process are continued. So are signals to a member of the run where the kernel confines signals to the run: then
 * the thread id may be reused in between. Elsewhere the signal is sent through a pidfd that was found to be a member's.
 * Its sender (si_pid) is the supervisor: the kernel allows no other sender with SI_USER.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "base/procstat.h"
#include "syscalls/call/decode.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

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

static pid_t group_of(pid_t pid)
{
	struct procstat stat;

	return procstat_read(pid, &stat) < 0 ? -ESRCH : stat.group;
}

struct round {
	bool everyone; /* all but the calling process */
	pid_t group;
	pid_t *pid; /* present members */
	size_t count;
	pid_t *done; /* members that were signalled */
	size_t done_count;
	size_t done_cap;
	int last_error;
	bool sent;
};

/* Lists the members of the run. 0 or -ENOMEM. */
static int round_list(struct call *call, struct round *round)
{
	size_t cap = 256;

	for (;;) {
		pid_t *more = reallocarray(round->pid, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		round->pid = more;
		round->count = tree_list(call->sandbox->tree, round->pid, cap);
		if (round->count <= cap)
			return 0;
		cap = round->count * 2;
	}
}

static bool round_has_done(const struct round *round, pid_t pid)
{
	for (size_t i = 0; i < round->done_count; i++)
		if (round->done[i] == pid)
			return true;
	return false;
}

static int round_add_done(struct round *round, pid_t pid)
{
	if (round->done_count == round->done_cap) {
		size_t cap = round->done_cap ? round->done_cap * 2 : 64;
		pid_t *more = reallocarray(round->done, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		round->done = more;
		round->done_cap = cap;
	}
	round->done[round->done_count++] = pid;
	return 0;
}

/* target_open() checks membership again: the list may be outdated. */
static void round_signal(struct call *call, struct round *round, pid_t pid, int sig)
{
	_cleanup_close_ int pidfd = target_open(call, pid, false);

	if (pidfd < 0)
		return;
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		round->last_error = -errno;
	else
		round->sent = true;
}

static bool round_includes(const struct call *call, const struct round *round, pid_t pid)
{
	return round->everyone ? pid != call->task->tgid : group_of(pid) == round->group;
}

/* True: members were found that had not been signalled. */
static bool round_step(struct call *call, struct round *round, int sig)
{
	bool fresh = false;

	for (size_t i = 0; i < round->count; i++) {
		pid_t pid = round->pid[i];

		if (round_has_done(round, pid) || !round_includes(call, round, pid))
			continue;
		if (round_add_done(round, pid) < 0)
			return false;
		round_signal(call, round, pid, sig);
		fresh = true;
	}
	return fresh;
}

static bool round_has_targets(const struct call *call, const struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		if (round_includes(call, round, round->pid[i]))
			return true;
	return false;
}

static void round_run(struct call *call, struct round *round, int sig)
{
	int r = round_list(call, round);

	if (r == 0 && !round_has_targets(call, round)) {
		target_refuse(call);
		return;
	}
	target_allow(call);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	/* In one step, and with the right sender. Not -1: its result would reveal processes outside the run. */
	if (call->sandbox->signals_bounded && !round->everyone) {
		call_continue(call);
		return;
	}
	if (call_commit(call) < 0)
		return;
	for (int i = 0; i < ROUNDS_MAX && round_step(call, round, sig); i++)
		if (sig == 0 || round_list(call, round) < 0)
			break;
	/* kill(2) succeeds if at least one process was signalled. */
	call_end(call, round->sent ? 0 : round->last_error);
}

/* `which` is the pid argument of kill(2): 0 the own group, -1 everyone, less than -1 the group -which. */
static void signal_group(struct call *call, pid_t which, int sig)
{
	struct round round = {.everyone = which == -1, .last_error = -ESRCH};

	if (which == 0)
		round.group = group_of(call->task->tgid);
	else if (which < -1 && which != INT_MIN) /* -INT_MIN does not exist: kernel/signal.c, kill_something_info() */
		round.group = -which;
	else if (which != -1)
		round.group = -ESRCH;
	if (round.group < 0)
		target_refuse(call);
	else
		round_run(call, &round, sig);
	free(round.pid);
	free(round.done);
}

/* ---- one process or thread ---- */

/* info NULL: as kill(2). */
static void send_recorded(struct call *call, int pidfd, int sig, const siginfo_t *info)
{
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	call_end(call, syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0) < 0 ? -errno : 0);
}

static void continue_call(struct call *call)
{
	target_allow(call);
	call_continue(call);
}

/* Whether the kernel may send the signal: see the top. */
static bool may_continue(const struct call *call, pid_t own, pid_t pid)
{
	return pid == own || (pid > 0 && call->sandbox->signals_bounded && tree_holds(call->sandbox->tree, pid));
}

static void send_process(struct call *call, pid_t pid, int sig, const siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open(call, pid, false);

	if (pidfd == -ESRCH)
		target_refuse(call);
	else if (pidfd < 0)
		target_fail(call, pidfd);
	else
		send_recorded(call, pidfd, sig, info);
}

void sys_kill(struct call *call)
{
	pid_t pid = call_int(call, 0);
	int sig = call_int(call, 1);

	if (may_continue(call, call->task->tgid, pid))
		continue_call(call);
	else if (pid > 0)
		send_process(call, pid, sig, NULL);
	else
		signal_group(call, pid, sig);
}

/* Before Linux 6.9 threads have no pidfds: sent by thread id, right after it was found to be a member's. */
static void send_thread_by_number(struct call *call, pid_t tgid, pid_t tid, int sig, siginfo_t *info)
{
	long r;

	if (!tree_holds(call->sandbox->tree, tid)) {
		target_refuse(call);
		return;
	}
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	r = info ? syscall(SYS_rt_tgsigqueueinfo, tgid, tid, sig, info) : syscall(SYS_tgkill, tgid, tid, sig);
	call_end(call, r < 0 ? -errno : 0);
}

/* tgid 0: a thread of any process (tkill). */
static void send_thread(struct call *call, pid_t tgid, pid_t tid, int sig, siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open(call, tid, true);
	long owner = tree_status(tid, "Tgid", 10); /* after the pidfd: of that thread or a later member */

	if (pidfd == -ESRCH || owner <= 0 || (tgid && owner != tgid))
		target_refuse(call);
	else if (pidfd == -EINVAL)
		send_thread_by_number(call, (pid_t)owner, tid, sig, info);
	else if (pidfd < 0)
		target_fail(call, pidfd);
	else
		send_recorded(call, pidfd, sig, info);
}

void sys_tkill(struct call *call)
{
	pid_t tid = call_int(call, 0);

	if (tid <= 0)
		target_fail(call, -EINVAL);
	else if (may_continue(call, call->tid, tid))
		continue_call(call);
	else
		send_thread(call, 0, tid, call_int(call, 1), NULL);
}

void sys_tgkill(struct call *call)
{
	pid_t tgid = call_int(call, 0);
	pid_t tid = call_int(call, 1);

	if (tgid <= 0 || tid <= 0)
		target_fail(call, -EINVAL);
	else if (may_continue(call, call->task->tgid, tgid)) /* the kernel checks that tid belongs to it */
		continue_call(call);
	else
		send_thread(call, tgid, tid, call_int(call, 2), NULL);
}

/* False: the outcome is set. A queued signal must not claim to be from the kernel or kill(2): do_rt_sigqueueinfo(). */
static bool copy_info(struct call *call, unsigned arg, siginfo_t *info)
{
	int r = decode_struct(call, arg, info, sizeof(*info));

	if (r == 0 && (info->si_code >= 0 || info->si_code == SI_TKILL))
		r = -EPERM;
	if (r < 0)
		target_fail(call, r);
	return r == 0;
}

void sys_rt_sigqueueinfo(struct call *call)
{
	pid_t tgid = call_int(call, 0);
	int sig = call_int(call, 1);
	siginfo_t info;

	if (may_continue(call, call->task->tgid, tgid)) /* the kernel checks the siginfo */
		continue_call(call);
	else if (copy_info(call, 2, &info)) {
		info.si_signo = sig;
		send_process(call, tgid, sig, &info);
	}
}

void sys_rt_tgsigqueueinfo(struct call *call)
{
	pid_t tgid = call_int(call, 0);
	pid_t tid = call_int(call, 1);
	int sig = call_int(call, 2);
	siginfo_t info;

	if (tgid <= 0 || tid <= 0)
		target_fail(call, -EINVAL);
	else if (may_continue(call, call->task->tgid, tgid))
		continue_call(call);
	else if (copy_info(call, 3, &info)) {
		info.si_signo = sig;
		send_thread(call, tgid, tid, sig, &info);
	}
}

/* ---- pidfds ---- */

#define PIDFD_OPEN_FLAGS (O_NONBLOCK | O_EXCL) /* PIDFD_NONBLOCK, PIDFD_THREAD */

void sys_pidfd_open(struct call *call)
{
	pid_t pid = call_int(call, 0);
	unsigned flags = call_uint(call, 1);
	_cleanup_close_ int fd = -1;
	int error;

	if (pid <= 0 || flags & ~(unsigned)PIDFD_OPEN_FLAGS) {
		target_fail(call, -EINVAL);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, pid, flags);
	error = errno;
	if (!tree_holds(call->sandbox->tree, pid)) { /* after the descriptor is open, so that the pid is not reused */
		target_refuse(call);
		return;
	}
	if (fd < 0) {
		target_fail(call, -error);
		return;
	}
	target_allow(call);
	call_give_fd(call, steal_fd(&fd), true);
}

/* A pidfd of the target. */
struct pidfd_info {
	pid_t pid;
	bool thread;
};

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

/* 0; -EBADF: not a pidfd; -ESRCH: of a task that is dead. */
static int read_pidfd(const struct call *call, int fd, struct pidfd_info *ret_info)
{
	struct fdinfo info;

	if (fdinfo_read(call->tid, fd, &info) < 0)
		return -EBADF;
	if (info.pid == 0)
		info.pid = info.flags & O_PATH ? 0 : read_directory(call, fd);
	if (info.pid == 0)
		return -EBADF;
	*ret_info = (struct pidfd_info){.pid = info.pid, .thread = info.flags & O_EXCL};
	return info.pid > 0 ? 0 : -ESRCH;
}

static void send_by_pidfd(struct call *call, const struct pidfd_info *target, int sig, unsigned flags)
{
	bool thread = flags ? flags & PIDFD_SIGNAL_THREAD : target->thread;
	siginfo_t info, *given = NULL;

	if (call->arg[2]) {
		if (!copy_info(call, 2, &info))
			return;
		given = &info; /* this call does not set si_signo: a wrong one is EINVAL */
	}
	if (thread)
		send_thread(call, 0, target->pid, sig, given);
	else
		send_process(call, target->pid, sig, given);
}

void sys_pidfd_send_signal(struct call *call)
{
	int sig = call_int(call, 1);
	unsigned flags = call_uint(call, 3);
	struct pidfd_info target;
	int r;

	if (flags & (flags - 1) || flags > PIDFD_SIGNAL_PROCESS_GROUP) {
		target_fail(call, -EINVAL);
		return;
	}
	r = read_pidfd(call, call_int(call, 0), &target);
	if (r < 0)
		target_fail(call, r);
	else if (may_continue(call, -1, target.pid)) /* confined even if the descriptor is replaced */
		continue_call(call);
	else if (flags == PIDFD_SIGNAL_PROCESS_GROUP)
		signal_group(call, -target.pid, sig);
	else
		send_by_pidfd(call, &target, sig, flags);
}
