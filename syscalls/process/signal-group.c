#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/procstat.h"
#include "syscalls/process/signal-group.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

/*
 * The kernel signals a group in one step; here members are listed anew until none is left unsignalled, because one may
 * fork while we walk. A handler that forks in answer to each signal must not keep us here.
 */
#define ROUNDS_MAX 8

static pid_t group_of(pid_t pid)
{
	struct procstat stat;

	return procstat_read(pid, &stat) < 0 ? -ESRCH : stat.group;
}

struct round {
	bool everyone; /* but the caller's process */
	pid_t group;
	pid_t *pid; /* members now */
	size_t count;
	pid_t *done; /* members signalled already */
	size_t done_count;
	size_t done_cap;
	int last_error;
	bool sent;
};

/* Lists the run. 0 or -ENOMEM. */
static int list_members(struct call *call, struct round *round)
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

static bool is_done(const struct round *round, pid_t pid)
{
	for (size_t i = 0; i < round->done_count; i++)
		if (round->done[i] == pid)
			return true;
	return false;
}

static int add_done(struct round *round, pid_t pid)
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

/* Membership once more and by pidfd: the list is a moment old. */
static void signal_member(struct call *call, struct round *round, pid_t pid, int sig)
{
	_cleanup_close_ int pidfd = target_open(call, pid, false);

	if (pidfd < 0)
		return;
	if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		round->last_error = -errno;
	else
		round->sent = true;
}

static bool is_meant(const struct call *call, const struct round *round, pid_t pid)
{
	return round->everyone ? pid != call->task->tgid : group_of(pid) == round->group;
}

/* True when it met members it had not signalled yet. */
static bool run_round(struct call *call, struct round *round, int sig)
{
	bool fresh = false;

	for (size_t i = 0; i < round->count; i++) {
		pid_t pid = round->pid[i];

		if (is_done(round, pid) || !is_meant(call, round, pid))
			continue;
		if (add_done(round, pid) < 0)
			return false;
		signal_member(call, round, pid, sig);
		fresh = true;
	}
	return fresh;
}

static bool has_meant(const struct call *call, const struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		if (is_meant(call, round, round->pid[i]))
			return true;
	return false;
}

static void signal_members(struct call *call, struct round *round, int sig)
{
	int r = list_members(call, round);

	if (r == 0 && !has_meant(call, round)) {
		target_absent(call);
		return;
	}
	target_allow(call);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	/*
	 * In one step, and with the caller as its sender. To everyone is left to us: who else is there is not its
	 * business.
	 */
	if (call->sandbox->signals_bounded && !round->everyone) {
		call_continue(call);
		return;
	}
	if (call_commit(call) < 0)
		return;
	for (int i = 0; i < ROUNDS_MAX && run_round(call, round, sig); i++)
		if (sig == 0 || list_members(call, round) < 0)
			break;
	/* kill(2): success when at least one was signalled. */
	if (round->sent)
		call_return(call, 0);
	else
		call_fail(call, round->last_error);
}

void signal_group(struct call *call, pid_t who, int sig)
{
	struct round round = {.everyone = who == -1, .last_error = -ESRCH};

	if (who == 0)
		round.group = group_of(call->task->tgid);
	else if (who < -1 && who != INT_MIN) /* -INT_MIN is none: kernel/signal.c, kill_something_info() */
		round.group = -who;
	else if (who != -1)
		round.group = -ESRCH;
	if (round.group < 0)
		target_absent(call);
	else
		signal_members(call, &round, sig);
	free(round.pid);
	free(round.done);
}
