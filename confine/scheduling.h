/*
 * CPU affinity and scheduling policy while a run starts. With two CPUs, keeper, supervisor and program compete.
 *
 * A new task is moved to another CPU than its maker's, so that both run at once. The kernel does so itself where it
 * finds an idle CPU. In a virtual machine it takes halted CPUs for busy ones; the new task then waits up to 3 ms, until
 * its maker sleeps or its time slice ends.
 *
 * Everything here is best effort: on failure the kernel's own choice stays.
 */
#ifndef CALLGATE_CONFINE_SCHEDULING_H
#define CALLGATE_CONFINE_SCHEDULING_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct scheduling_moved {
	pid_t tid;
	bool moved;
	cpu_set_t before; /* the caller's affinity, and so the new task's */
};

/* Excludes the CPU that the caller is on from the affinity of the task. */
void scheduling_move_task_away(pid_t tid, struct scheduling_moved *ret_moved);
/* Sets its affinity back. */
void scheduling_restore_task(const struct scheduling_moved *moved);

/* As scheduling_move_task_away, for a thread of this process. */
void scheduling_move_thread_away(pthread_t thread);
void scheduling_restore_thread(pthread_t thread);

/* SCHED_BATCH: the caller preempts no other task when it wakes up. True: scheduling_set_normal() is to undo it. */
bool scheduling_set_batch(void);
void scheduling_set_normal(void);

#endif
