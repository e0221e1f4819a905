#include "syscalls/account/forks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/procstat.h"
#include "base/proctree.h"
#include "syscalls/call/call.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/*
 * Counting lists /proc. So tasks are counted only when the last count and the forks admitted since exceed the limit;
 * until then it does not matter that the ends of tasks are not notified.
 *
 * An admitted fork is pending until the thread is known to have made it: the thread may be starved between our response
 * and its fork. It is over when the thread asks again, or when fork_is_over() says so.
 */
#define FORK_RUN_NS UINT64_C(2000000)
#define FORK_WAIT_NS UINT64_C(20000000)
#define RECOUNT_NS UINT64_C(50000000) /* keeps the peak about right far below the limit */

struct pending {
	pid_t tid;
	uint64_t ns;     /* when it was admitted */
	uint64_t run_ns; /* CPU time of the thread when it was first seen running since; 0: not yet */
};

struct forks {
	uint64_t max;
	pid_t root;
	uint64_t counted, counted_ns; /* the last count, and when */
	uint64_t admitted;            /* since the last count */
	uint64_t peak, refused;
	struct pending *pending;
	size_t pendings, cap;
};

int forks_create(uint64_t max, pid_t root, struct forks **ret_forks)
{
	struct forks *forks = calloc(1, sizeof(*forks));

	if (!forks)
		return -ENOMEM;
	forks->max = max;
	forks->root = root;
	forks->counted = forks->peak = 1; /* the program */
	*ret_forks = forks;
	return 0;
}

void forks_free(struct forks *forks)
{
	if (!forks)
		return;
	free(forks->pending);
	free(forks);
}

uint64_t forks_get_task_count(const struct forks *forks)
{
	return forks->counted;
}

uint64_t forks_get_peak(const struct forks *forks)
{
	return forks->peak;
}

uint64_t forks_get_refused(const struct forks *forks)
{
	return forks->refused;
}

/* CPU time of a thread, from /proc/TID/schedstat. False: no thread, or no such file. */
static bool read_cpu_ns(pid_t tid, uint64_t *ret_ns)
{
	char path[40], text[64];
	_cleanup_close_ int fd = -1;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", tid); /* bounded by an int */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	*ret_ns = strtoull(text, NULL, 10);
	return true;
}

/*
 * The response makes the thread runnable. If it sleeps or is stopped, it has run since: it has forked, or will ask
 * again, because the kernel restarts a fork that a signal interrupts (copy_process: ERESTARTNOINTR). In uninterruptible
 * sleep it may wait for a lock or its vfork. If runnable, it must have run for longer than a fork takes.
 */
static bool fork_is_over(struct pending *pending, uint64_t now_ns)
{
	bool waited = now_ns - pending->ns > FORK_WAIT_NS;
	struct procstat stat;
	uint64_t run_ns;

	if (procstat_read(pending->tid, &stat) < 0 || stat.state == 'D')
		return waited;
	if (stat.state != 'R')
		return true;
	if (!read_cpu_ns(pending->tid, &run_ns))
		return waited;
	if (!pending->run_ns)
		pending->run_ns = run_ns;
	return run_ns > pending->run_ns + FORK_RUN_NS;
}

/* Removes pending forks that are done: that of `tid`, which asks again; with `all` each one that fork_is_over(). */
static void forks_forget_finished(struct forks *forks, pid_t tid, uint64_t now_ns, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < forks->pendings; i++)
		if (forks->pending[i].tid != tid && !(all && fork_is_over(&forks->pending[i], now_ns)))
			forks->pending[kept++] = forks->pending[i];
	forks->pendings = kept;
}

static bool forks_add_pending(struct forks *forks, pid_t tid, uint64_t now_ns)
{
	if (!array_reserve(&forks->pending, forks->pendings, &forks->cap))
		return false;
	forks->pending[forks->pendings++] = (struct pending){.tid = tid, .ns = now_ns};
	return true;
}

/* Counts the tasks of the run. False: /proc cannot be listed. */
static bool count_tasks(struct forks *forks, uint64_t now_ns)
{
	struct proctree tree;
	bool listed = proctree_read(&tree) == 0;
	uint64_t tasks = 0;

	proctree_mark_descendants(&tree, forks->root);
	for (size_t i = 0; i < tree.count; i++) {
		struct procstat stat;

		if (tree.entry[i].place == PROCTREE_BELOW && procstat_read(tree.entry[i].pid, &stat) == 0)
			tasks += stat.threads;
	}
	proctree_release(&tree);
	if (!listed)
		return false;
	forks->counted = tasks;
	forks->counted_ns = now_ns;
	forks->admitted = forks->pendings; /* some may be counted twice, which is on the safe side */
	if (tasks > forks->peak)
		forks->peak = tasks;
	return true;
}

bool forks_admit_thread(struct forks *forks, pid_t tid, uint64_t now_ns)
{
	uint64_t members = forks->counted + forks->admitted;
	bool room = members < forks->max;

	forks_forget_finished(forks, tid, now_ns, forks->pendings == forks->cap);
	if (!room || (members >= forks->peak && now_ns - forks->counted_ns > RECOUNT_NS)) {
		forks_forget_finished(forks, tid, now_ns, true); /* first: counting counts their tasks */
		room = count_tasks(forks, now_ns);
		room = room && forks->counted + forks->admitted < forks->max;
	}
	if (!room || !forks_add_pending(forks, tid, now_ns)) {
		forks->refused++;
		return false;
	}
	forks->admitted++;
	if (forks->counted + 1 > forks->peak)
		forks->peak = forks->counted + 1;
	return true;
}

/* A fork is notified only where forks or memory are limited here (RUN_FORKS, RUN_MEMORY). */
static void forks_judge_call(struct call *call)
{
	if (!table_row_allows(call->row, call->arg) || (!call->sandbox->forks && !call->sandbox->memfds))
		call_refuse(call, -EPERM, NULL, "refused_syscall");
	else if (call->sandbox->forks && !forks_admit_thread(call->sandbox->forks, call->tid, call->start_ns))
		call_refuse(call, -EAGAIN, NULL, "pids_limit");
	else
		target_allow_continue(call);
}

void sys_clone(struct call *call)
{
	unsigned flags = call_get_uint(call, 0);

	/* Refused where memory is sampled: a vfork without shared memory, a process that shares descriptors. */
	if (call->sandbox->memfds &&
	    ((flags & CLONE_VFORK && !(flags & CLONE_VM)) || (flags & CLONE_FILES && !(flags & CLONE_THREAD))))
		call_refuse(call, -EINVAL, NULL, "refused_syscall");
	else
		forks_judge_call(call);
}

HANDLER(sys_fork, forks_judge_call(call))
HANDLER(sys_vfork, forks_judge_call(call))
