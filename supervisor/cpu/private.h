/* Shared by placement.c (when the run is pinned), affinity.c (how) and delay.c (what it costs its tasks). */
#ifndef CALLGATE_SUPERVISOR_CPU_PRIVATE_H
#define CALLGATE_SUPERVISOR_CPU_PRIVATE_H

#include <sched.h>

#include "supervisor/cpu/cpu.h"
#include "view/tree.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* ---- affinity.c ---- */

struct affinity {
	struct tree *tree;
	int loadavg_fd;   /* owned */
	cpu_set_t whole;  /* the widest mask that the supervisor thread can have */
	cpu_set_t cpu;    /* the CPU to which the run is pinned */
	cpu_set_t own;    /* the mask of the supervisor thread, to be put back */
	cpu_set_t theirs; /* the mask of all tasks of the run, likewise */
	cpu_set_t used;   /* CPUs to which the run has ever been pinned */
	pid_t numbers;    /* pid_max, where it is so small that all numbers may be used within moments; else 0 */
	bool all_numbers; /* that may have happened: unpinning looks at each number */
	pid_t from;       /* tasks with higher numbers may have inherited a mask of ours */
	pid_t from_before; /* the same at the look before: a new task is found by its number a moment late */
	bool spread;       /* unpinning moves running tasks to other CPUs, all but the first */
	bool first_stays;
	unsigned late; /* looks for inherited masks still to come */
	uint64_t late_ns, late_step_ns;
};

struct load {
	pid_t last;             /* the newest task number; -1: unknown */
	unsigned long runnable; /* tasks of the whole machine */
};

/* Takes loadavg_fd. 0 or -errno. */
int affinity_init(struct affinity *affinity, struct tree *tree, int loadavg_fd);
void affinity_done(struct affinity *affinity);
struct load affinity_load(const struct affinity *affinity);
bool affinity_is_running(pid_t tid);

/* Pins the supervisor thread to the CPU where it runs. 0 or -errno. */
int affinity_pin_self(struct affinity *affinity);
void affinity_unpin_self(const struct affinity *affinity);
/* Pins a task of the run that still has the run's mask. 0 or -errno. */
int affinity_pin_task(const struct affinity *affinity, const struct task *task);
/* The same by number, for a task that cannot have been reaped. */
int affinity_pin_number(const struct affinity *affinity, pid_t tid);
/* From now on, tasks with a number above this one may have inherited a mask. */
void affinity_new_from(struct affinity *affinity, pid_t last);

/* Puts back all masks, and has affinity_look_late find those that are inherited meanwhile. spread: see there. */
void affinity_unpin(struct affinity *affinity, bool spread);
/* Puts back the masks of tasks that were made since the last time, or the time before, and inherited one of ours. */
void affinity_unpin_heirs(struct affinity *affinity);
/* The same when it is due. Returns the milliseconds until it is due again, or -1. */
int affinity_look_late(struct affinity *affinity, uint64_t now_ns);

/* ---- delay.c ---- */

#define CALLERS_MAX 8u

struct caller {
	pid_t tid;
	bool called;       /* since the last sample */
	uint64_t delay_ns; /* its run-queue delay at that time, in its whole life */
	int fd;            /* /proc/TID/schedstat; -1: not opened yet */
};

/* The last threads that made calls. More of them than fit say no more about the CPU that they share. */
struct delays {
	pid_t since; /* threads with higher numbers were made after pinning */
	struct caller caller[CALLERS_MAX];
};

/* False where the kernel does not tell run-queue delays. */
bool delays_init(struct delays *delays);
/* The thread made a call. True when it is new here and older than the pinning. */
bool delays_note(struct delays *delays, pid_t tid);
/*
 * The run-queue delay of the threads that called since the last sample, less what each of so many calls explains: after
 * a call its thread waits until the supervisor thread has left the CPU.
 */
uint64_t delays_sample(struct delays *delays, unsigned calls);
/* Forgets all threads and closes their descriptors. */
void delays_forget(struct delays *delays);

#endif
