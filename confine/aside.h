/*
 * Who runs where, and who first, while a run starts: with two processors, keeper, supervisor and program are one too
 * many.
 *
 * aside_move() puts a task that was just made on another processor than the caller's, so that both run at once. The
 * kernel does so by itself where it finds one idle, but takes the halted processors of a virtual machine for busy ones,
 * and then the new task waits until its maker sleeps or its time is up (up to 3 ms).
 */
#ifndef CALLGATE_CONFINE_ASIDE_H
#define CALLGATE_CONFINE_ASIDE_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct aside {
	pid_t tid;
	bool moved;
	cpu_set_t before; /* the caller's processors, and so the task's */
};

/* Best effort: a task that cannot be moved runs where the kernel likes. */
void aside_move(pid_t tid, struct aside *ret_aside);
/* Gives the task all its processors back. */
void aside_return(const struct aside *aside);

/* The same for a thread of ours. */
void aside_move_thread(pthread_t thread);
void aside_return_thread(pthread_t thread);

/*
 * The caller interrupts nobody when it is woken, until it steps forward again: what it is woken for can wait until the
 * processor is free. True when that could be had.
 */
bool aside_step_back(void);
void aside_step_forward(void);

#endif
