/* The epoll loop of the egress process, with timers: the only place where it waits. */
#ifndef CALLGATE_EGRESS_CONN_LOOP_H
#define CALLGATE_EGRESS_CONN_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS 1000000u

struct loop;

/* Embedded in its owner (container_of). fd -1: not watched. */
struct watch {
	int fd;
	unsigned interest; /* EPOLL*; level-triggered */
	void (*ready)(struct watch *watch, unsigned events);
};

struct timer {
	uint64_t due_ns; /* 0: not armed */
	size_t slot;
	void (*fire)(struct timer *timer); /* once; may re-arm the timer */
};

int loop_create(struct loop **ret_loop);
void loop_free(struct loop *loop);

/* The caller sets watch->fd and watch->ready. 0 or -errno. */
int loop_add(struct loop *loop, struct watch *watch, unsigned interest);
/* No system call when the interest is unchanged. */
void loop_set(struct loop *loop, struct watch *watch, unsigned interest);
/* To be called before fd is closed. Pending events of this round are dropped. */
void loop_remove(struct loop *loop, struct watch *watch);

/* (Re-)arms a timer, ms milliseconds from now. 0 or -ENOMEM, which a timer that is armed already never gets. */
int loop_timer_set(struct loop *loop, struct timer *timer, uint64_t ms);
void loop_timer_clear(struct loop *loop, struct timer *timer);

/* Calls run later from the loop, with no callback of the current event on the stack: to free what is in use there. */
struct task_later {
	struct task_later *next;
	void (*run)(struct task_later *task);
};
void loop_later(struct loop *loop, struct task_later *task);

/* Runs until loop_stop. 0 or -errno of epoll_wait(2). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
uint64_t loop_now_ns(const struct loop *loop); /* CLOCK_MONOTONIC at the start of this round */

#endif
