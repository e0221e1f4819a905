/*
 * Shared by placement.c (when to pin the run), affinity.c (how to pin it) and delay.c (run-queue delay while pinned).
 */
#ifndef CALLGATE_SUPERVISOR_CPU_PRIVATE_H
#define CALLGATE_SUPERVISOR_CPU_PRIVATE_H

#include <sched.h>

#include "supervisor/cpu/cpu.h"
#include "view/tree.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* ---- affinity.c ---- */

/* The CPU affinity masks of the run and of the supervisor thread. */
struct affinity {
	struct task_table *tasks;
	int loadavg_fd;   /* owned */
	cpu_set_t widest_mask;     /* the widest mask that the supervisor thread can have */
	cpu_set_t pinned_mask;     /* the CPU to which the run is pinned */
	cpu_set_t supervisor_mask; /* the supervisor thread's original mask */
	cpu_set_t run_mask;        /* the mask of all tasks of the run before they were pinned */
	cpu_set_t ever_pinned_to;  /* CPUs to which the run has ever been pinned */
	pid_t pid_max;    /* kernel.pid_max; 0: unknown */
	/* pids may have been reused, so unpinning looks at every pid, unless pid_max makes that too many */
	bool unpinning_scans_every_pid;
	pid_t newest_pid_before_pinning;       /* tasks with higher pids may have inherited the pinned mask */
	/* the value of newest_pid_before_pinning before the last scan, because a new task may become visible late */
	pid_t newest_pid_before_last_scan;
	bool moves_tasks_off_cpu;       /* unpinning moves all running tasks except the first to other CPUs */
	bool first_task_stays_on_cpu;   /* the next running task is not moved */
	unsigned rescans_left; /* number of scans for inherited masks that are still due after unpinning */
	uint64_t late_ns, late_step_ns;
};

/* What /proc/loadavg tells. */
struct machine_load {
	pid_t newest_pid;             /* the newest pid; -1: unknown */
	unsigned long runnable;       /* how many tasks are runnable on the whole machine */
};

/* Borrows the tasks and takes loadavg_fd, which the caller closes at the end. 0 or -errno. */
int affinity_init(struct affinity *affinity, struct task_table *tasks, int loadavg_fd);
struct machine_load affinity_read_load(const struct affinity *affinity);
bool affinity_task_is_running(pid_t tid);
/* Whether so many tasks may have been created within this time that pids began again with low ones. */
bool affinity_pids_may_be_reused(const struct affinity *affinity, uint64_t within_ns);

/* Pins the supervisor thread to the CPU where it runs. 0 or -errno. */
int affinity_pin_self(struct affinity *affinity);
void affinity_unpin_self(const struct affinity *affinity);
/* Pins a task of the run that still has the run's mask. 0 or -errno. */
int affinity_pin_task(const struct affinity *affinity, const struct task *task);
/* Like affinity_pin_task(), by the pid of a task that cannot have been reaped. */
int affinity_pin_pid(const struct affinity *affinity, pid_t tid);
/* Tasks with pids above `last` may inherit the pinned mask from now on. */
void affinity_set_newest_unpinned_pid(struct affinity *affinity, pid_t last);

/* Restores all masks. affinity_rescan_if_due() must be called afterwards. spread: see struct affinity. */
void affinity_unpin_run(struct affinity *affinity, bool spread);
/* Restores the masks of tasks that inherited a pinned mask and were created since the last scan but one. */
void affinity_unpin_new_tasks(struct affinity *affinity);
/* Repeats affinity_unpin_new_tasks() when it is due. Returns the milliseconds until it is due again; -1: never. */
int affinity_rescan_if_due(struct affinity *affinity, uint64_t now_ns);

/* ---- delay.c ---- */

#define RUN_QUEUE_DELAY_THREADS_MAX 8u /* calling threads whose run-queue delay is read */

/* A thread that makes judged calls, and how long it has waited for a CPU. */
struct calling_thread {
	pid_t tid;
	bool called_since_sample;       /* the thread has made a call since the last sample */
	uint64_t run_queue_delay_ns; /* the thread's run-queue delay from its creation to the last sample */
	int fd;            /* /proc/TID/schedstat; -1: not opened yet */
};

/* Some of the threads that made calls. A few are enough, because all share one CPU. */
struct run_queue_delays {
	pid_t since; /* threads with higher pids were created after pinning */
	uint64_t own_cpu_ns_at_last_sample; /* CPU time of the supervisor thread at the last sample */
	/* CPU time of the supervisor thread before the last sample that was not subtracted from a delay yet */
	uint64_t own_cpu_ns_without_waiting;
	struct calling_thread calling_threads[RUN_QUEUE_DELAY_THREADS_MAX];
};

/* Prepares for measuring. False: the kernel does not report run-queue delays. */
bool delays_init(struct run_queue_delays *delays);
/* Begins to sample a run that is pinned now. Threads with pids above `since` were created after pinning. */
void delays_start_measuring(struct run_queue_delays *delays, pid_t since);
/* Notes that the thread made a call. True: the thread was unknown, and was created before the run was pinned. */
bool delays_note_calling_thread(struct run_queue_delays *delays, pid_t tid);
/*
 * Returns the run-queue delay of the calling threads in the last window_ns, minus the CPU time of the supervisor
 * thread: after a call, its thread waits until the supervisor thread has left the CPU. How long that takes depends on
 * the machine, and on a virtual one on whether the hypervisor lets it run. 0 where the supervisor thread took most of
 * the time: calls wait for it then, whichever CPU their threads have.
 */
uint64_t delays_sum_delays_of_callers(struct run_queue_delays *delays, uint64_t window_ns);
/* Forgets all threads and closes their descriptors. */
void delays_forget_callers(struct run_queue_delays *delays);

#endif
