#include "egress/conn/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define LOOP_EVENTS_PER_EPOLL_WAIT_MAX 64

/* The event loop of egress. */
struct loop {
	int fd;
	bool is_stopped;
	uint64_t now_ns;
	struct epoll_event ready_event[LOOP_EVENTS_PER_EPOLL_WAIT_MAX];
	int events, at;                /* number of events of this round; index of the next to be handled */
	struct timer *timer_heap_root; /* root of a pairing heap ordered by due_ns: no child is due before its parent */
	size_t timer_count;
};

int loop_create(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->fd < 0) {
		int error = -errno;

		free(loop);
		return error;
	}
	loop->now_ns = io_read_clock_ns();
	*ret_loop = loop;
	return 0;
}

uint64_t loop_get_now_ns(const struct loop *loop)
{
	return loop->now_ns;
}

static int loop_epoll_ctl(const struct loop *loop, int what, struct watch *watch, unsigned interest)
{
	struct epoll_event event = {.events = interest, .data.ptr = watch};

	return epoll_ctl(loop->fd, what, watch->fd, &event) < 0 ? -errno : 0;
}

/* A watch without interest is not in the epoll set, because EPOLLERR and EPOLLHUP cannot be masked and would repeat. */
int loop_add_watch(struct loop *loop, struct watch *watch, unsigned interest)
{
	watch->interest = interest;
	return interest ? loop_epoll_ctl(loop, EPOLL_CTL_ADD, watch, interest) : 0;
}

void loop_set_interest(struct loop *loop, struct watch *watch, unsigned interest)
{
	int what = EPOLL_CTL_MOD;

	if (watch->fd < 0 || watch->interest == interest)
		return;
	if (!interest)
		what = EPOLL_CTL_DEL;
	else if (!watch->interest)
		what = EPOLL_CTL_ADD;
	/* epoll_ctl(2) can fail for lack of memory. Then the owner of the watch waits until its own timer expires. */
	if (loop_epoll_ctl(loop, what, watch, interest) == 0)
		watch->interest = interest;
}

void loop_remove_watch(struct loop *loop, struct watch *watch)
{
	if (watch->fd >= 0 && watch->interest)
		(void)loop_epoll_ctl(loop, EPOLL_CTL_DEL, watch, 0);
	watch->interest = 0;
	for (int i = loop->at; i < loop->events; i++)
		if (loop->ready_event[i].data.ptr == watch)
			loop->ready_event[i].data.ptr = NULL;
}

void loop_close_watch(struct loop *loop, struct watch *watch)
{
	loop_remove_watch(loop, watch);
	close_fd(&watch->fd);
}

/* Joins two heaps, either of which may be NULL. The root that is due later becomes the other root's first child. */
static struct timer *loop_join_timer_heaps(struct timer *a, struct timer *b)
{
	struct timer *root, *child;

	if (!a || !b)
		return a ? a : b;
	root = b->due_ns < a->due_ns ? b : a;
	child = root == a ? b : a;
	child->prev = root;
	child->next = root->child;
	if (root->child)
		root->child->prev = child;
	root->child = child;
	return root;
}

/* Joins a list of sibling heaps: in pairs first, then the pairs, so that removing a root costs O(log n). */
static struct timer *loop_join_timer_siblings(struct timer *list)
{
	struct timer *pairs = NULL, *root = NULL;

	while (list) {
		struct timer *a = list, *b = list->next, *pair;

		list = b ? b->next : NULL;
		pair = loop_join_timer_heaps(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct timer *next = pairs->next;

		root = loop_join_timer_heaps(root, pairs);
		pairs = next;
	}
	return root;
}

void loop_clear_timer(struct loop *loop, struct timer *timer)
{
	struct timer *below = loop_join_timer_siblings(timer->child);

	if (!timer->due_ns)
		return;
	if (timer->next)
		timer->next->prev = timer->prev;
	if (timer == loop->timer_heap_root)
		loop->timer_heap_root = NULL;
	else if (timer->prev->child == timer)
		timer->prev->child = timer->next;
	else
		timer->prev->next = timer->next;
	timer->due_ns = 0;
	timer->child = timer->next = timer->prev = NULL;
	loop->timer_heap_root = loop_join_timer_heaps(loop->timer_heap_root, below);
	if (loop->timer_heap_root)
		loop->timer_heap_root->next = loop->timer_heap_root->prev = NULL;
	loop->timer_count--;
}

void loop_set_timer(struct loop *loop, struct timer *timer, uint64_t ms)
{
	loop_clear_timer(loop, timer);
	timer->due_ns = loop->now_ns + ms * NS_PER_MS;
	loop->timer_heap_root = loop_join_timer_heaps(loop->timer_heap_root, timer);
	loop->timer_count++;
}

/* The time until the first timer is due, for epoll_wait(2). -1: there is no timer. */
static int loop_get_wait_ms(const struct loop *loop)
{
	uint64_t ms;

	if (!loop->timer_heap_root)
		return -1;
	if (loop->timer_heap_root->due_ns <= loop->now_ns)
		return 0;
	ms = (loop->timer_heap_root->due_ns - loop->now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Calls the handlers of all timers that are due. */
static void loop_fire_timers(struct loop *loop)
{
	/* At most as many as there are now: a timer that is set again for "at once" must not starve the others. */
	for (size_t n = loop->timer_count;
	     n > 0 && loop->timer_heap_root && loop->timer_heap_root->due_ns <= loop->now_ns; n--) {
		struct timer *timer = loop->timer_heap_root;

		loop_clear_timer(loop, timer);
		timer->fire(timer);
	}
}

/* Calls the handlers of all descriptors that epoll has reported. */
static void loop_dispatch_events(struct loop *loop)
{
	while (loop->at < loop->events) {
		struct watch *watch = loop->ready_event[loop->at++].data.ptr;

		if (watch)
			watch->ready(watch);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	loop_fire_timers(loop);
	(void)close(loop->fd);
	free(loop);
}

int loop_run(struct loop *loop)
{
	while (!loop->is_stopped) {
		int count =
			epoll_wait(loop->fd, loop->ready_event, LOOP_EVENTS_PER_EPOLL_WAIT_MAX, loop_get_wait_ms(loop));

		if (count < 0 && errno != EINTR)
			return -errno;
		loop->now_ns = io_read_clock_ns();
		loop->events = count > 0 ? count : 0;
		loop->at = 0;
		loop_dispatch_events(loop);
		loop_fire_timers(loop);
	}
	loop->is_stopped = false; /* so that loop_run may be called again */
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->is_stopped = true;
}
