#include "egress/conn/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/io.h"

#include "base/banned.h"

#define EVENTS 64

struct loop {
	int fd;
	bool stopped;
	uint64_t now_ns;
	struct epoll_event event[EVENTS];
	int events, at; /* events of this round; those in [at, events) are not handled yet */
	struct timer **heap; /* min-heap by due_ns; timer->slot is the position */
	size_t timers, room;
	struct task_later *later, **later_end;
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
	loop->now_ns = io_now_ns();
	loop->later_end = &loop->later;
	*ret_loop = loop;
	return 0;
}

uint64_t loop_now_ns(const struct loop *loop)
{
	return loop->now_ns;
}

/* ---- watches ---- */

static int loop_control(const struct loop *loop, int what, struct watch *watch, unsigned interest)
{
	struct epoll_event event = {.events = interest, .data.ptr = watch};

	return epoll_ctl(loop->fd, what, watch->fd, &event) < 0 ? -errno : 0;
}

/* A watch without interest is not in the epoll set: EPOLLERR and EPOLLHUP cannot be masked and would repeat. */
int loop_add(struct loop *loop, struct watch *watch, unsigned interest)
{
	watch->interest = interest;
	return interest ? loop_control(loop, EPOLL_CTL_ADD, watch, interest) : 0;
}

void loop_set(struct loop *loop, struct watch *watch, unsigned interest)
{
	int what = EPOLL_CTL_MOD;

	if (watch->fd < 0 || watch->interest == interest)
		return;
	if (!interest)
		what = EPOLL_CTL_DEL;
	else if (!watch->interest)
		what = EPOLL_CTL_ADD;
	/* Adding can fail without memory; then the owner's timer ends the wait. */
	if (loop_control(loop, what, watch, interest) == 0)
		watch->interest = interest;
}

void loop_remove(struct loop *loop, struct watch *watch)
{
	if (watch->fd >= 0 && watch->interest)
		(void)loop_control(loop, EPOLL_CTL_DEL, watch, 0);
	watch->interest = 0;
	for (int i = loop->at; i < loop->events; i++)
		if (loop->event[i].data.ptr == watch)
			loop->event[i].data.ptr = NULL;
}

/* ---- timers ---- */

static void heap_place(struct loop *loop, size_t slot, struct timer *timer)
{
	loop->heap[slot] = timer;
	timer->slot = slot;
}

static void heap_sift_up(struct loop *loop, size_t slot)
{
	struct timer *timer = loop->heap[slot];

	for (; slot > 0 && loop->heap[(slot - 1) / 2]->due_ns > timer->due_ns; slot = (slot - 1) / 2)
		heap_place(loop, slot, loop->heap[(slot - 1) / 2]);
	heap_place(loop, slot, timer);
}

static void heap_sift_down(struct loop *loop, size_t slot)
{
	struct timer *timer = loop->heap[slot];

	for (;;) {
		size_t child = 2 * slot + 1;

		if (child + 1 < loop->timers && loop->heap[child + 1]->due_ns < loop->heap[child]->due_ns)
			child++;
		if (child >= loop->timers || loop->heap[child]->due_ns >= timer->due_ns)
			break;
		heap_place(loop, slot, loop->heap[child]);
		slot = child;
	}
	heap_place(loop, slot, timer);
}

static int heap_grow(struct loop *loop)
{
	size_t room = loop->room ? loop->room * 2 : 256;
	struct timer **heap;

	if (loop->timers < loop->room)
		return 0;
	heap = reallocarray(loop->heap, room, sizeof(struct timer *));
	if (!heap)
		return -ENOMEM;
	loop->heap = heap;
	loop->room = room;
	return 0;
}

int loop_timer_set(struct loop *loop, struct timer *timer, uint64_t ms)
{
	uint64_t due_ns = loop->now_ns + ms * NS_PER_MS;

	if (!timer->due_ns) {
		if (heap_grow(loop) < 0)
			return -ENOMEM;
		timer->due_ns = due_ns;
		heap_place(loop, loop->timers++, timer);
	} else {
		timer->due_ns = due_ns;
	}
	heap_sift_up(loop, timer->slot);
	heap_sift_down(loop, timer->slot);
	return 0;
}

void loop_timer_clear(struct loop *loop, struct timer *timer)
{
	size_t slot = timer->slot;
	struct timer *last;

	if (!timer->due_ns)
		return;
	timer->due_ns = 0;
	last = loop->heap[--loop->timers];
	if (last == timer)
		return;
	heap_place(loop, slot, last);
	heap_sift_up(loop, slot);
	heap_sift_down(loop, last->slot);
}

static int wait_ms(const struct loop *loop)
{
	uint64_t ms;

	if (loop->later)
		return 0;
	if (!loop->timers)
		return -1;
	if (loop->heap[0]->due_ns <= loop->now_ns)
		return 0;
	ms = (loop->heap[0]->due_ns - loop->now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void fire_timers(struct loop *loop)
{
	/* At most as many as there are now: a timer that re-arms itself for "at once" must not starve the others. */
	for (size_t n = loop->timers; n > 0 && loop->timers && loop->heap[0]->due_ns <= loop->now_ns; n--) {
		struct timer *timer = loop->heap[0];

		loop_timer_clear(loop, timer);
		timer->fire(timer);
	}
}

/* ---- the rest ---- */

void loop_later(struct loop *loop, struct task_later *task)
{
	task->next = NULL;
	*loop->later_end = task;
	loop->later_end = &task->next;
}

static void run_later(struct loop *loop)
{
	struct task_later *task = loop->later;

	loop->later = NULL;
	loop->later_end = &loop->later;
	while (task) {
		struct task_later *next = task->next;

		task->run(task);
		task = next;
	}
}

static void dispatch_events(struct loop *loop)
{
	for (loop->at = 0; loop->at < loop->events;) {
		const struct epoll_event *event = &loop->event[loop->at++];
		struct watch *watch = event->data.ptr;

		if (watch)
			watch->ready(watch, event->events);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->later)
		run_later(loop);
	(void)close(loop->fd);
	free(loop->heap);
	free(loop);
}

int loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		int count = epoll_wait(loop->fd, loop->event, EVENTS, wait_ms(loop));

		if (count < 0 && errno != EINTR)
			return -errno;
		loop->now_ns = io_now_ns();
		loop->events = count > 0 ? count : 0;
		dispatch_events(loop);
		fire_timers(loop);
		run_later(loop);
	}
	loop->stopped = false; /* loop_run may be called again */
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
