/*
 * CPU affinity and scheduling policy while a run starts, when keeper, supervisor and program compete for two CPUs.
 *
 * A new task is moved away from the CPU of its maker, so that both run at once. Where the kernel finds an idle CPU, it
 * does that itself. In a virtual machine it takes halted CPUs for busy ones. Then the new task waits up to 3 ms, until
 * its maker sleeps or its time slice ends.
 *
 * All functions ignore failures: the task then runs where the kernel lets it.
 */
#ifndef CALLGATE_CONFINE_SCHEDULING_H
#define CALLGATE_CONFINE_SCHEDULING_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* The CPU affinity of a new task that was moved to another CPU for its start. */
struct scheduling_saved_affinity {
	pid_t tid;
	bool was_moved;   /* `before` is to be restored */
	cpu_set_t before; /* affinity before: that of the caller, which the new task inherited */
};

/* Excludes the CPU of the caller from the affinity of a task. */
void scheduling_move_task_off_this_cpu(pid_t tid, struct scheduling_saved_affinity *ret_moved);
/* Restores the affinity of a task. */
void scheduling_restore_task(const struct scheduling_saved_affinity *moved);

/* As scheduling_move_task_off_this_cpu, for a thread of this process. */
void scheduling_move_self_off_this_cpu(pthread_t thread);
void scheduling_restore_thread(pthread_t thread);

/* Sets SCHED_BATCH: waking up, the caller preempts no other task. True: scheduling_set_sched_other() must undo it. */
bool scheduling_set_sched_batch(void);
void scheduling_set_sched_other(void);

#endif
