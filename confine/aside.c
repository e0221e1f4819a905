#include "confine/aside.h"

#include "base/banned.h"

/* False: there are none, or more than fit, and of those enough are idle. */
static bool others_than_here(cpu_set_t *ret_ours, cpu_set_t *ret_others)
{
	int here = sched_getcpu();

	if (here < 0 || sched_getaffinity(0, sizeof(*ret_ours), ret_ours) < 0)
		return false;
	*ret_others = *ret_ours;
	CPU_CLR((size_t)here, ret_others);
	return CPU_COUNT(ret_others) > 0;
}

void aside_move(pid_t tid, struct aside *ret_aside)
{
	cpu_set_t others;

	*ret_aside = (struct aside){.tid = tid};
	ret_aside->moved =
		others_than_here(&ret_aside->before, &others) && sched_setaffinity(tid, sizeof(others), &others) == 0;
}

void aside_return(const struct aside *aside)
{
	if (aside->moved)
		(void)sched_setaffinity(aside->tid, sizeof(aside->before), &aside->before); /* ESRCH: it has ended */
}

void aside_move_thread(pthread_t thread)
{
	cpu_set_t ours, others;

	if (others_than_here(&ours, &others))
		(void)pthread_setaffinity_np(thread, sizeof(others), &others);
}

void aside_return_thread(pthread_t thread)
{
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours) == 0)
		(void)pthread_setaffinity_np(thread, sizeof(ours), &ours); /* of one that has ended it is our own */
}

/* Whoever has another policy was given it by the user. */
bool aside_step_back(void)
{
	const struct sched_param none = {.sched_priority = 0};

	return sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &none) == 0;
}

void aside_step_forward(void)
{
	const struct sched_param none = {.sched_priority = 0};

	(void)sched_setscheduler(0, SCHED_OTHER, &none); /* as before, so permitted */
}
