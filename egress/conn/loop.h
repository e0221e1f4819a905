/* One epoll loop with timers: the only place of the egress process that waits. */
#ifndef CALLGATE_EGRESS_CONN_LOOP_H
#define CALLGATE_EGRESS_CONN_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

/* Embedded in what it belongs to (container_of by the callback's owner). fd -1: not watched. */
struct watch {
	int fd;
	unsigned interest; /* EPOLL*; level-triggered */
	void (*ready)(struct watch *watch, unsigned events);
};

struct timer {
	uint64_t due_ns; /* 0: not set */
	size_t slot;
	void (*fire)(struct timer *timer); /* once; may set itself again */
};

int loop_create(struct loop **ret_loop);
void loop_free(struct loop *loop);

/* watch->fd and ->ready are set by the caller. 0 or -errno. */
int loop_add(struct loop *loop, struct watch *watch, unsigned interest);
/* Makes no system call when nothing changes. */
void loop_set(struct loop *loop, struct watch *watch, unsigned interest);
/* To be called before fd is closed. Events of this round that are still to come for it are dropped. */
void loop_remove(struct loop *loop, struct watch *watch);

/* Fires in that many milliseconds; replaces what was set. Room for all timers is made when they are first set: 0 or -ENOMEM. */
int loop_timer_set(struct loop *loop, struct timer *timer, uint64_t ms);
void loop_timer_clear(struct loop *loop, struct timer *timer);

/* Calls later, from the loop, when nothing of the present event is on the stack: for freeing what is in use there. */
struct task_later {
	struct task_later *next;
	void (*run)(struct task_later *task);
};
void loop_later(struct loop *loop, struct task_later *task);

/* Until loop_stop. 0 or -errno of epoll_wait(2). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
uint64_t loop_now_ns(const struct loop *loop); /* of this round */

#endif
