/*
 * Signals to one task. Those to the own process rest on registers alone and are continued; so are those to a member of
 * the run where the kernel itself keeps them inside, in case the number comes to mean an outsider in between. Elsewhere
 * they are performed through a pidfd that was found to be a member's. What is performed arrives with the supervisor as
 * its sender (si_pid); the kernel lets nobody name another one for SI_USER.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "syscalls/call/decode.h"
#include "syscalls/process/signal-group.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

/* linux/pidfd.h, Linux 6.9. */
#ifndef PIDFD_SIGNAL_THREAD
#define PIDFD_SIGNAL_THREAD (1U << 0)
#define PIDFD_SIGNAL_THREAD_GROUP (1U << 1)
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

/* Records, sends and answers. info NULL: as kill(2). */
static void send_recorded(struct call *call, int pidfd, int sig, const siginfo_t *info)
{
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, info, 0) < 0)
		call_fail(call, -errno);
	else
		call_return(call, 0);
}

static void allow_failure(struct call *call, int error)
{
	target_allow(call);
	call_fail(call, error);
}

static void continue_call(struct call *call)
{
	target_allow(call);
	call_continue(call);
}

/* The kernel may do it: see above. */
static bool may_continue(const struct call *call, pid_t own, pid_t pid)
{
	return pid == own || (pid > 0 && call->sandbox->signals_bounded && tree_holds(call->sandbox->tree, pid));
}

static void send_process(struct call *call, pid_t pid, int sig, const siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open(call, pid, false);

	if (pidfd == -ESRCH)
		target_absent(call);
	else if (pidfd < 0)
		allow_failure(call, pidfd);
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

/* Before Linux 6.9 there are no pidfds of threads: by number, right after it was found to be a member's. */
static void send_thread_by_number(struct call *call, pid_t tgid, pid_t tid, int sig, siginfo_t *info)
{
	long r;

	if (!tree_holds(call->sandbox->tree, tid)) {
		target_absent(call);
		return;
	}
	target_allow(call);
	if (call_commit(call) < 0)
		return;
	r = info ? syscall(SYS_rt_tgsigqueueinfo, tgid, tid, sig, info) : syscall(SYS_tgkill, tgid, tid, sig);
	if (r < 0)
		call_fail(call, -errno);
	else
		call_return(call, 0);
}

/* tgid 0: of whichever process (tkill). */
static void send_thread(struct call *call, pid_t tgid, pid_t tid, int sig, siginfo_t *info)
{
	_cleanup_close_ int pidfd = target_open(call, tid, true);
	long owner = tree_status(tid, "Tgid", 10); /* after the pidfd, so of that thread or of a later member */

	if (pidfd == -ESRCH || owner <= 0 || (tgid && owner != tgid))
		target_absent(call);
	else if (pidfd == -EINVAL)
		send_thread_by_number(call, (pid_t)owner, tid, sig, info);
	else if (pidfd < 0)
		allow_failure(call, pidfd);
	else
		send_recorded(call, pidfd, sig, info);
}

void sys_tkill(struct call *call)
{
	pid_t tid = call_int(call, 0);

	if (tid <= 0)
		allow_failure(call, -EINVAL);
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
		allow_failure(call, -EINVAL);
	else if (may_continue(call, call->task->tgid, tgid)) /* the kernel checks that tid is one of it */
		continue_call(call);
	else
		send_thread(call, tgid, tid, call_int(call, 2), NULL);
}

/* False: the outcome is set. To others nobody may pretend to be the kernel or kill(2): do_rt_sigqueueinfo(). */
static bool copy_info(struct call *call, unsigned arg, siginfo_t *info)
{
	int r = decode_struct(call, arg, info, sizeof(*info));

	if (r == 0 && (info->si_code >= 0 || info->si_code == SI_TKILL))
		r = -EPERM;
	if (r < 0)
		allow_failure(call, r);
	return r == 0;
}

void sys_rt_sigqueueinfo(struct call *call)
{
	pid_t tgid = call_int(call, 0);
	int sig = call_int(call, 1);
	siginfo_t info;

	if (may_continue(call, call->task->tgid, tgid)) /* what it tells in the struct is not judged, but by the kernel */
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
		allow_failure(call, -EINVAL);
	else if (may_continue(call, call->task->tgid, tgid))
		continue_call(call);
	else if (copy_info(call, 3, &info)) {
		info.si_signo = sig;
		send_thread(call, tgid, tid, sig, &info);
	}
}

#define PIDFD_OPEN_FLAGS (O_NONBLOCK | O_EXCL) /* PIDFD_NONBLOCK, PIDFD_THREAD */

void sys_pidfd_open(struct call *call)
{
	pid_t pid = call_int(call, 0);
	unsigned flags = call_uint(call, 1);
	_cleanup_close_ int fd = -1;
	int error;

	if (pid <= 0 || flags & ~(unsigned)PIDFD_OPEN_FLAGS) {
		allow_failure(call, -EINVAL);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, pid, flags);
	error = errno;
	if (!tree_holds(call->sandbox->tree, pid)) { /* asked after the descriptor holds it */
		target_absent(call);
		return;
	}
	if (fd < 0) {
		allow_failure(call, -error);
		return;
	}
	target_allow(call);
	call_give_fd(call, steal_fd(&fd), true);
}

/* A pidfd of the program. */
struct pidfd_info {
	pid_t pid;
	bool thread;
};

/* 0; -EBADF: no descriptor or no pidfd; -ESRCH: of a task that is gone. */
static int read_pidfd(const struct call *call, int fd, struct pidfd_info *ret_info)
{
	struct fdinfo info;

	if (fdinfo_read(call->tid, fd, &info) < 0 || info.pid == 0)
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
		given = &info; /* unlike the others, this call does not set si_signo: a wrong one is EINVAL */
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
		allow_failure(call, -EINVAL);
		return;
	}
	r = read_pidfd(call, call_int(call, 0), &target);
	if (r < 0)
		allow_failure(call, r);
	else if (may_continue(call, -1, target.pid)) /* whatever the descriptor is by then, the kernel keeps it inside */
		continue_call(call);
	else if (flags == PIDFD_SIGNAL_PROCESS_GROUP)
		signal_group(call, -target.pid, sig);
	else
		send_by_pidfd(call, &target, sig, flags);
}
