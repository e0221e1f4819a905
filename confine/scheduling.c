#include "confine/scheduling.h"

/*
 * Gets the other CPUs. False when there is no other CPU, or when the machine has more CPUs than a cpu_set_t holds: then
 * some CPU is idle anyway.
 */
static bool scheduling_get_other_cpus(cpu_set_t *ret_all, cpu_set_t *ret_others)
{
	int here = sched_getcpu();

	if (here < 0 || sched_getaffinity(0, sizeof(*ret_all), ret_all) < 0)
		return false;
	*ret_others = *ret_all;
	CPU_CLR((size_t)here, ret_others);
	return CPU_COUNT(ret_others) > 0;
}

void scheduling_move_task_off_this_cpu(pid_t tid, struct scheduling_saved_affinity *ret_moved)
{
	cpu_set_t others;

	*ret_moved = (struct scheduling_saved_affinity){.tid = tid};
	ret_moved->was_moved = scheduling_get_other_cpus(&ret_moved->before, &others) &&
			       sched_setaffinity(tid, sizeof(others), &others) == 0;
}

void scheduling_restore_task(const struct scheduling_saved_affinity *moved)
{
	if (moved->was_moved)
		(void)sched_setaffinity(moved->tid, sizeof(moved->before), &moved->before); /* ESRCH: the task ended */
}

void scheduling_move_self_off_this_cpu(pthread_t thread)
{
	cpu_set_t all, others;

	if (scheduling_get_other_cpus(&all, &others))
		(void)pthread_setaffinity_np(thread, sizeof(others), &others);
}

void scheduling_restore_thread(pthread_t thread)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) == 0)
		(void)pthread_setaffinity_np(thread, sizeof(all), &all); /* no effect on a thread that has ended */
}

/* Changes nothing when the user has set another policy than SCHED_OTHER. */
bool scheduling_set_sched_batch(void)
{
	const struct sched_param none = {.sched_priority = 0};

	return sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &none) == 0;
}

void scheduling_set_sched_other(void)
{
	const struct sched_param none = {.sched_priority = 0};

	(void)sched_setscheduler(0, SCHED_OTHER, &none); /* always permitted for a SCHED_BATCH thread */
}
