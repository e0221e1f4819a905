/* The epoll loop of the egress process, with timers: the only place where it waits. */
#ifndef CALLGATE_EGRESS_CONN_LOOP_H
#define CALLGATE_EGRESS_CONN_LOOP_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS 1000000u

struct loop;

/* The owner of a member that is embedded in it. */
#define owner_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Embedded in its owner. fd -1: not watched. */
struct watch {
	int fd;
	unsigned interest; /* EPOLL*; level-triggered */
	void (*ready)(struct watch *watch); /* reading and writing tell why it was called */
};

/* Embedded in its owner. Timers are kept in a heap of linked nodes, so that none is ever refused for lack of memory. */
struct timer {
	uint64_t due_ns; /* 0: not armed */
	void (*fire)(struct timer *timer); /* once; may re-arm the timer or free its owner */
	struct timer *child, *next, *prev; /* of the heap: first child; siblings; prev of a first child: the parent */
};

int loop_create(struct loop **ret_loop);
/* First fires the timers that are due, because some owners are freed by one. */
void loop_free(struct loop *loop);

/* Adds a watch whose fd and ready the caller has set. 0 or -errno. */
int loop_add_watch(struct loop *loop, struct watch *watch, unsigned interest);
/* Changes what is waited for: EPOLLIN, EPOLLOUT. No system call if it is unchanged. */
void loop_set_interest(struct loop *loop, struct watch *watch, unsigned interest);
/* To be called before watch->fd is closed. Drops the watch's pending events of this round. */
void loop_remove_watch(struct loop *loop, struct watch *watch);
/* Removes a watch and closes its descriptor, if it has one. */
void loop_close_watch(struct loop *loop, struct watch *watch);

/*
 * (Re-)arms a timer, ms milliseconds from now. 0: it fires from the loop, with no callback of the current event on the
 * stack, for example to free what is in use there.
 */
void loop_set_timer(struct loop *loop, struct timer *timer, uint64_t ms);
void loop_clear_timer(struct loop *loop, struct timer *timer);

/* Runs until loop_stop. 0 or -errno of epoll_wait(2). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
uint64_t loop_get_now_ns(const struct loop *loop); /* CLOCK_MONOTONIC at the start of this round */

#endif
