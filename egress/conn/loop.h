/* The epoll loop of the egress process, with timers. It is the only place where egress waits. */
#ifndef CALLGATE_EGRESS_CONN_LOOP_H
#define CALLGATE_EGRESS_CONN_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/times.h"

struct loop;

/* container_of: the structure of a type that contains a member, by a pointer to the member. */
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* A descriptor that the loop watches. Embedded in its owner. fd -1: not watched. */
struct watch {
	int fd;
	unsigned interest; /* events to wait for: EPOLLIN, EPOLLOUT; level-triggered */
	void (*ready)(struct watch *watch); /* called when fd is ready for an event of `interest`, or has failed */
};

/* A timer, embedded in its owner. Timers are linked to a heap, so that setting one never fails for lack of memory. */
struct timer {
	uint64_t due_ns; /* when the timer fires; 0: not set */
	void (*fire)(struct timer *timer); /* called once; may set the timer again or free its owner */
	struct timer *child, *next, *prev; /* in the heap: first child; siblings; prev of a first child: its parent */
};

int loop_create(struct loop **ret_loop);
/* Frees the loop. First fires the timers that are due, because some owners are freed by their timer. */
void loop_free(struct loop *loop);

/* Adds a watch, whose fd and ready the caller has set. 0 or -errno. */
int loop_add_watch(struct loop *loop, struct watch *watch, unsigned interest);
/* Changes what is waited for: EPOLLIN, EPOLLOUT. Makes no system call if nothing changes. */
void loop_set_interest(struct loop *loop, struct watch *watch, unsigned interest);
/* To be called before watch->fd is closed. Drops the pending events of the watch in this round. */
void loop_remove_watch(struct loop *loop, struct watch *watch);
/* Removes a watch and closes its descriptor, if it has one. */
void loop_close_watch(struct loop *loop, struct watch *watch);

/*
 * Sets a timer, or sets it anew, to fire in `ms` milliseconds. With 0 it fires in this round, when no callback of an
 * event is on the stack, so that its owner can be freed.
 */
void loop_set_timer(struct loop *loop, struct timer *timer, uint64_t ms);
void loop_clear_timer(struct loop *loop, struct timer *timer);

/* Runs until loop_stop. 0 or -errno of epoll_wait(2). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
uint64_t loop_get_now_ns(const struct loop *loop); /* CLOCK_MONOTONIC at the start of this round of the loop */

#endif
