#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/stat.h"
#include "base/proc/tree.h"
#include "supervisor/ask/question-list.h"
#include "supervisor/closing/private.h"

#define FREEZE_TIMEOUT_NS UINT64_C(3000000000)      /* how long it may take until all threads of the run have stopped */
#define FREEZE_KILL_TIMEOUT_NS UINT64_C(2000000000) /* how long killed threads are waited for */
/* after this time a thread that has not stopped may be in a vfork(2) */
#define FREEZE_CHECKS_FOR_VFORK_AFTER_NS UINT64_C(5000000)
#define FREEZE_SIGNALS_PER_THREAD_MAX 64u    /* signals that a thread may get before it stops */
#define FREEZE_TID_NUMBERS_END 4194304u      /* one above all thread ids: PID_MAX_LIMIT of the kernel */
#define FREEZE_POLL_PAUSE_NS 100000     /* between checks whether all threads have stopped */

/* Whether the thread is in the list of threads already. */
static bool freeze_tid_was_seen(const struct freeze *freeze, pid_t tid)
{
	return (unsigned)tid < FREEZE_TID_NUMBERS_END &&
	       freeze->seen_tid_bits[(unsigned)tid / 64] >> ((unsigned)tid % 64) & 1;
}

/* Notes that the thread is now in the list of threads, or no longer. */
static void freeze_toggle_seen_bit(struct freeze *freeze, pid_t tid)
{
	freeze->seen_tid_bits[(unsigned)tid / 64] ^= UINT64_C(1) << ((unsigned)tid % 64);
}

static int freeze_add_thread(struct freeze *freeze, pid_t tid, pid_t tgid, enum frozen_state state)
{
	if ((unsigned)tid >= FREEZE_TID_NUMBERS_END)
		return -ERANGE;
	if (freeze->count == freeze->room) {
		size_t room = freeze->room ? 2 * freeze->room : 64;
		struct frozen_thread *more = reallocarray(freeze->thread, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		freeze->thread = more;
		freeze->room = room;
	}
	freeze->thread[freeze->count++] = (struct frozen_thread){.tid = tid, .tgid = tgid, .state = state};
	freeze_toggle_seen_bit(freeze, tid);
	return 0;
}

/*
 * Whether the thread has exited, or is about to be reaped: then it runs no instruction and holds no descriptor any
 * more.
 */
static bool freeze_thread_is_dead(pid_t tid)
{
	struct procstat stat;

	return procstat_read(tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X';
}

/* ---- asking threads to stop ---- */

/*
 * Seizes a thread, unless it is seized already, and interrupts it. A thread that another process traces is killed, or
 * is an error: -EBUSY. PTRACE_INTERRUPT succeeds for seized threads of this process alone, such as a thread that was
 * FROZEN_STOPS_WHEN_CALL_ENDS the last time, and waits still.
 */
static int freeze_seize_and_interrupt(struct freeze *freeze, const struct tracer *tracer, pid_t tid, pid_t tgid)
{
	if (!trace_has_thread(tracer, tid) && ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_EXITKILL) < 0 &&
	    (errno == ESRCH || ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)) {
		if (freeze_thread_is_dead(tid))
			return 0;
		if (freeze->mode == FREEZE_FAILS_ON_ALREADY_TRACED)
			return -EBUSY;
		(void)kill(tgid, SIGKILL);
		return freeze_add_thread(freeze, tid, tgid, FROZEN_KILLED);
	}
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return 0; /* dead */
	return freeze_add_thread(freeze, tid, tgid, FROZEN_ASKED_TO_STOP);
}

/*
 * Interrupts the threads of a process that are not in freeze->thread yet, and adds them. *ret_new: at least one thread
 * was new, also if it had ended when it was to be interrupted, since it may have made another one before.
 */
static int freeze_interrupt_process(struct freeze *freeze, const struct tracer *tracer,
				    const struct proctree_entry *process, bool *ret_new)
{
	const pid_t tgid = process->pid;
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	char path[48];
	size_t listed = 0;
	int r;

	if (process->is_zombie && !process->has_other_threads)
		return 0;
	*ret_new |= !process->is_zombie && !freeze_tid_was_seen(freeze, tgid);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	dir = opendir(path);
	r = dir || errno == ENOENT ? 0 : -errno; /* ENOENT: it has ended */
	while (dir && r == 0 && (entry = io_read_entry(dir, &r))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		listed += tid > 0;
		if (tid <= 0 || freeze_tid_was_seen(freeze, tid))
			continue;
		*ret_new |= tid != tgid || !process->is_zombie;
		r = freeze_seize_and_interrupt(freeze, tracer, tid, tgid);
	}
	*ret_new |= dir && procstat_has_more_threads(dirfd(dir), listed);
	return r;
}

/*
 * Whether the process is a descendant of this one. The chain of parents may end at a hidden process of a session: these
 * are undumpable, so that a /proc with hidepid=invisible does not show them.
 */
static bool freeze_process_is_in_run(const struct proctree *tree, const struct proctree_entry *entry,
				     const struct view *view)
{
	for (size_t steps = 0; entry && steps <= tree->entry_count; steps++) {
		if (entry->place == PROCTREE_DESCENDANT || view_hides_process(view, entry->parent))
			return true;
		entry = proctree_find_entry(tree, entry->parent);
	}
	return false;
}

/*
 * *ret_new: there were new threads, or may be some that /proc did not show. The hidden processes of a session run no
 * code of a program, and hold no file that a program has opened.
 */
static int freeze_interrupt_new_threads(struct freeze *freeze, const struct closing_options *options, bool *ret_new)
{
	const struct view *view = options->sandbox->view;
	struct proctree tree;
	int r = proctree_read_exactly(options->sandbox->machine_proc_fd, &tree);

	proctree_mark_descendants(&tree, getpid());
	*ret_new = proctree_may_miss_descendants(&freeze->processes, &tree);
	/* The newest first: it may be about to fork and to end. */
	for (size_t i = tree.entry_count; r == 0 && i > 0; i--)
		if (!view_hides_process(view, tree.entry[i - 1].pid) &&
		    freeze_process_is_in_run(&tree, &tree.entry[i - 1], view))
			r = freeze_interrupt_process(freeze, options->tracer, &tree.entry[i - 1], ret_new);
	proctree_release(&freeze->processes);
	freeze->processes = tree;
	return r;
}

/* ---- waiting until all threads have stopped ---- */

/*
 * Whether the thread waits for its vfork child, in a wait that only SIGKILL ends. Such a thread holds no lock or buffer
 * of a file.
 */
static bool freeze_thread_waits_for_vfork_child(pid_t tid)
{
	unsigned long long flags = 0;
	long nr = -1;
	char text[256];

	if (procstat_read_file(tid, "syscall", text, sizeof(text)) <= 0 || sscanf(text, "%ld 0x%llx", &nr, &flags) != 2)
		return false;
#ifdef SYS_vfork
	if (nr == SYS_vfork)
		return true;
#endif
	return nr == SYS_clone && flags & UINT64_C(0x4000); /* CLONE_VFORK */
}

/*
 * Delivers the signal that a thread was about to get, and makes the thread stop before the first instruction of the
 * handler. Keeping the signal for later would lose what comes with it (the address of a fault).
 */
static void freeze_pass_signal(struct frozen_thread *thread, int number)
{
	thread->delivered_signal_count++;
	(void)ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	(void)ptrace(PTRACE_CONT, thread->tid, 0, (long)number);
}

/* Collects the ptrace stop of a thread, if it has stopped. Exits are left to the loop, which reaps. */
static void freeze_collect_stop(struct freeze *freeze, struct frozen_thread *thread)
{
	siginfo_t info = {0};
	int status;

	if (waitid(P_PID, (id_t)thread->tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0) {
		thread->state = FROZEN_EXITED;
		freeze_toggle_seen_bit(freeze, thread->tid);
		return;
	}
	if (info.si_pid != thread->tid) {
		if (freeze_thread_is_dead(thread->tid))
			thread->state = FROZEN_EXITED;
		return;
	}
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
		thread->state = FROZEN_EXITED;
		return;
	}
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL) < 0 || info.si_pid != thread->tid)
		return;
	status = W_STOPCODE(info.si_status);
	if (status >> 16 == 0 && thread->delivered_signal_count < FREEZE_SIGNALS_PER_THREAD_MAX) {
		freeze_pass_signal(thread, WSTOPSIG(status));
		return;
	}
	thread->state = FROZEN_STOPPED;
	thread->wait_status = status;
}

/* Whether no thread is left that was asked to stop and may still run. */
static bool freeze_all_have_stopped(struct freeze *freeze, const struct closing_options *options, pid_t caller,
				    bool late)
{
	bool all = true;

	for (size_t i = 0; i < freeze->count; i++) {
		struct frozen_thread *thread = &freeze->thread[i];

		if (thread->state == FROZEN_ASKED_TO_STOP)
			freeze_collect_stop(freeze, thread);
		if (thread->state == FROZEN_ASKED_TO_STOP && thread->tid != caller &&
		    (blocking_serves_thread(options->blocking, thread->tid) ||
		     copies_serve_thread(options->copies, thread->tid) ||
		     (options->egress && egress_client_serves_thread(options->egress, thread->tid)) ||
		     (options->asker && question_list_serves_thread(options->asker, thread->tid)) ||
		     (late && freeze_thread_waits_for_vfork_child(thread->tid))))
			thread->state = FROZEN_STOPS_WHEN_CALL_ENDS;
		all = all && thread->state != FROZEN_ASKED_TO_STOP;
	}
	return all;
}

/*
 * Asks all threads to stop, until no new thread appears and all have stopped or wait: true. False: the time is over, no
 * memory, or -EBUSY of freeze_seize_and_interrupt().
 */
static bool freeze_try_until_none_runs(struct freeze *freeze, const struct closing_options *options, pid_t caller,
			 void (*asked)(void *ctx, pid_t tid), void *ctx)
{
	const struct timespec pause = {.tv_nsec = FREEZE_POLL_PAUSE_NS};
	uint64_t begin_ns = io_read_clock_ns(), now_ns = begin_ns;
	bool fresh = true, stopped = false;

	for (unsigned round = 0; (fresh || !stopped) && now_ns < freeze->deadline_ns; round++) {
		/*
		 * A stopped thread makes no new threads. So only a list of threads that was begun after all known
		 * threads had stopped proves that there are no others.
		 */
		if (freeze_interrupt_new_threads(freeze, options, &fresh) < 0)
			return false;
		if (asked && freeze_tid_was_seen(freeze, caller)) {
			asked(ctx, caller);
			asked = NULL;
		}
		fresh = fresh || !stopped;
		stopped = freeze_all_have_stopped(freeze, options, caller,
						  now_ns - begin_ns > FREEZE_CHECKS_FOR_VFORK_AFTER_NS);
		if (!stopped && round > 2)
			(void)nanosleep(&pause, NULL);
		now_ns = io_read_clock_ns();
	}
	return stopped && !fresh;
}

bool freeze_all_threads(struct freeze *freeze, const struct closing_options *options, enum freeze_mode mode,
			pid_t caller, void (*asked)(void *ctx, pid_t tid), void *ctx)
{
	*freeze = (struct freeze){.mode = mode,
				  .seen_tid_bits = calloc(FREEZE_TID_NUMBERS_END / 64, sizeof(*freeze->seen_tid_bits)),
				  .deadline_ns = io_read_clock_ns() + FREEZE_TIMEOUT_NS};
	return freeze->seen_tid_bits && freeze_try_until_none_runs(freeze, options, caller, asked, ctx);
}

/* ---- letting the threads go on, or killing them ---- */

void freeze_kill_process(struct freeze *freeze, pid_t tgid)
{
	(void)kill(tgid, SIGKILL); /* its threads are seized, so the pid is not reused */
	for (size_t i = 0; i < freeze->count; i++)
		if (freeze->thread[i].tgid == tgid && freeze->thread[i].state != FROZEN_EXITED)
			freeze->thread[i].state = FROZEN_KILLED;
}

bool freeze_await_killed_threads(struct freeze *freeze)
{
	const struct timespec pause = {.tv_nsec = FREEZE_POLL_PAUSE_NS};
	uint64_t until_ns = io_read_clock_ns() + FREEZE_KILL_TIMEOUT_NS;
	bool alive = true;

	while (alive && io_read_clock_ns() < until_ns) {
		alive = false;
		for (size_t i = 0; i < freeze->count; i++)
			alive = alive || (freeze->thread[i].state == FROZEN_KILLED &&
					  !freeze_thread_is_dead(freeze->thread[i].tid));
		if (alive)
			(void)nanosleep(&pause, NULL);
	}
	return !alive;
}

void freeze_release(struct freeze *freeze)
{
	free(freeze->thread);
	free(freeze->seen_tid_bits);
	proctree_release(&freeze->processes);
	*freeze = (struct freeze){.count = 0};
}

void freeze_hand_stops_to_tracer(struct freeze *freeze, struct tracer *tracer)
{
	for (size_t i = 0; i < freeze->count; i++)
		if (freeze->thread[i].state == FROZEN_STOPPED)
			(void)trace_on_wait_status(tracer, freeze->thread[i].tid, freeze->thread[i].wait_status);
	freeze_release(freeze);
}
