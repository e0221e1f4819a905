#include "syscalls/account/limits/forks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/proc/stat.h"
#include "base/proc/tree.h"
#include "syscalls/call/call.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/*
 * Counting tasks means listing /proc, and the end of a task is not notified. So tasks are counted only when the last
 * count and the forks admitted since exceed the limit.
 *
 * An admitted fork is pending until the thread is known to have made it, because the thread may not run for long after
 * the supervisor's response. The fork is over when the thread asks for another one, or when pending_fork_is_over() says
 * so.
 */
#define FORK_COUNTS_AS_DONE_AFTER_CPU_NS UINT64_C(2000000)
/* an admitted fork counts as made if its thread has not run so long */
#define FORK_COUNTS_AS_DONE_AFTER_WAIT_NS UINT64_C(20000000)
/* interval of counts while the number of tasks is far below the limit, so that the reported peak is about right */
#define FORKS_RECOUNT_INTERVAL_NS UINT64_C(50000000)

/* A fork that was admitted and may not have been made yet. */
struct pending_fork {
	pid_t tid;
	uint64_t ns; /* when the fork was admitted */
	/* CPU time of the thread when it was first seen runnable after the fork was admitted; 0: not seen yet */
	uint64_t thread_cpu_ns_when_first_runnable;
};

/* The number of tasks of the run, and its limit. */
struct forks {
	uint64_t max;
	pid_t root;
	uint64_t counted, counted_ns;    /* number of tasks at the last count; time of that count */
	uint64_t forks_since_last_count; /* forks admitted since the last count */
	uint64_t peak, refused;
	struct pending_fork *pending;
	size_t pending_forks, cap;
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

uint64_t forks_get_peak_task_count(const struct forks *forks)
{
	return forks->peak;
}

uint64_t forks_get_refused_count(const struct forks *forks)
{
	return forks->refused;
}

/* Reads the CPU time of a thread from /proc/TID/schedstat. False: no such thread or file. */
static bool forks_read_cpu_ns(pid_t tid, uint64_t *ret_ns)
{
	char path[40], text[64];
	_cleanup_close_ int fd = -1;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", tid); /* always fits, because the tid is an int */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	*ret_ns = strtoull(text, NULL, 10);
	return true;
}

/*
 * The response makes the thread runnable. If it sleeps or is stopped, it has run since: it has forked, or it will ask
 * again, because the kernel restarts a fork that a signal interrupts (copy_process: ERESTARTNOINTR). In uninterruptible
 * sleep it may wait for a lock or for its vfork. If it is runnable, it must have run for longer than a fork takes.
 */
static bool pending_fork_is_over(struct pending_fork *pending, uint64_t now_ns)
{
	bool waited = now_ns - pending->ns > FORK_COUNTS_AS_DONE_AFTER_WAIT_NS;
	struct procstat stat;
	uint64_t run_ns;

	if (procstat_read(pending->tid, &stat) < 0 || stat.state == 'D')
		return waited;
	if (stat.state != 'R')
		return true;
	if (!forks_read_cpu_ns(pending->tid, &run_ns))
		return waited;
	if (!pending->thread_cpu_ns_when_first_runnable)
		pending->thread_cpu_ns_when_first_runnable = run_ns;
	return run_ns > pending->thread_cpu_ns_when_first_runnable + FORK_COUNTS_AS_DONE_AFTER_CPU_NS;
}

/*
 * Removes pending forks: that of `tid`, which asks again, and with `all` each fork that is over (pending_fork_is_over).
 */
static void forks_forget_finished(struct forks *forks, pid_t tid, uint64_t now_ns, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < forks->pending_forks; i++)
		if (forks->pending[i].tid != tid && !(all && pending_fork_is_over(&forks->pending[i], now_ns)))
			forks->pending[kept++] = forks->pending[i];
	forks->pending_forks = kept;
}

/* Notes that a fork was admitted. False: no memory. */
static bool forks_add_pending_fork(struct forks *forks, pid_t tid, uint64_t now_ns)
{
	if (!array_reserve(&forks->pending, forks->pending_forks, &forks->cap))
		return false;
	forks->pending[forks->pending_forks++] = (struct pending_fork){.tid = tid, .ns = now_ns};
	return true;
}

/* Counts the tasks of the run. False: /proc could not be read. */
static bool forks_count_tasks(struct forks *forks, uint64_t now_ns)
{
	struct proctree tree;
	bool listed = proctree_read(&tree) == 0;
	uint64_t tasks = 0;

	proctree_mark_descendants(&tree, forks->root);
	for (size_t i = 0; i < tree.entry_count; i++) {
		struct procstat stat;

		if (tree.entry[i].place == PROCTREE_DESCENDANT && procstat_read(tree.entry[i].pid, &stat) == 0)
			tasks += stat.threads;
	}
	proctree_release(&tree);
	if (!listed)
		return false;
	forks->counted = tasks;
	forks->counted_ns = now_ns;
	forks->forks_since_last_count =
		forks->pending_forks; /* a pending fork may be counted twice: the limit still holds */
	if (tasks > forks->peak)
		forks->peak = tasks;
	return true;
}

bool forks_admit_fork_of_thread(struct forks *forks, pid_t tid, uint64_t now_ns)
{
	uint64_t members = forks->counted + forks->forks_since_last_count;
	bool room = members < forks->max;

	forks_forget_finished(forks, tid, now_ns, forks->pending_forks == forks->cap);
	if (!room || (members >= forks->peak && now_ns - forks->counted_ns > FORKS_RECOUNT_INTERVAL_NS)) {
		/*
		 * Forgets the forks that are over before tasks are counted, because the count includes the tasks that
		 * these forks have made.
		 */
		forks_forget_finished(forks, tid, now_ns, true);
		room = forks_count_tasks(forks, now_ns);
		room = room && forks->counted + forks->forks_since_last_count < forks->max;
	}
	if (!room || !forks_add_pending_fork(forks, tid, now_ns)) {
		forks->refused++;
		return false;
	}
	forks->forks_since_last_count++;
	if (forks->counted + 1 > forks->peak)
		forks->peak = forks->counted + 1;
	return true;
}

/*
 * Judges a fork. It is notified only if the supervisor limits forks or memory (RUN_LIMITS_TASKS, RUN_SAMPLES_MEMORY).
 */
static void forks_judge_call(struct call *call)
{
	if (!table_row_allows(call->row, call->arg) || (!call->sandbox->forks && !call->sandbox->memfds))
		call_refuse(call, -EPERM, NULL, "refused_syscall");
	else if (call->sandbox->forks && !forks_admit_fork_of_thread(call->sandbox->forks, call->tid, call->start_ns))
		call_refuse(call, -EAGAIN, NULL, "pids_limit");
	else
		target_allow_continue(call);
}

void sys_clone(struct call *call)
{
	unsigned flags = call_get_uint(call, 0);

	/* Where memory is sampled, a vfork without CLONE_VM and a process that shares descriptors are refused. */
	if (call->sandbox->memfds &&
	    ((flags & CLONE_VFORK && !(flags & CLONE_VM)) || (flags & CLONE_FILES && !(flags & CLONE_THREAD))))
		call_refuse(call, -EINVAL, NULL, "refused_syscall");
	else
		forks_judge_call(call);
}

HANDLER(sys_fork, forks_judge_call(call))
HANDLER(sys_vfork, forks_judge_call(call))
