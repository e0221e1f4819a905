#include "egress/conn/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/io.h"

#include "base/banned.h"

#define EVENTS 64
#define NS_PER_MS 1000000u

struct loop {
	int fd;
	bool stopped;
	uint64_t now_ns;
	struct epoll_event event[EVENTS];
	int events, at; /* those of this round still to be told: [at, events) */
	struct timer **heap; /* the earliest first; timer->slot is its place */
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

static int control(const struct loop *loop, int what, struct watch *watch, unsigned interest)
{
	struct epoll_event event = {.events = interest, .data.ptr = watch};

	return epoll_ctl(loop->fd, what, watch->fd, &event) < 0 ? -errno : 0;
}

/* One without interest is not in the set at all: EPOLLERR and EPOLLHUP cannot be masked, and would come again and again. */
int loop_add(struct loop *loop, struct watch *watch, unsigned interest)
{
	watch->interest = interest;
	return interest ? control(loop, EPOLL_CTL_ADD, watch, interest) : 0;
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
	/* Adding can fail for want of memory; the owner's timer then ends what would wait for ever. */
	if (control(loop, what, watch, interest) == 0)
		watch->interest = interest;
}

void loop_remove(struct loop *loop, struct watch *watch)
{
	if (watch->fd >= 0 && watch->interest)
		(void)control(loop, EPOLL_CTL_DEL, watch, 0);
	watch->interest = 0;
	for (int i = loop->at; i < loop->events; i++)
		if (loop->event[i].data.ptr == watch)
			loop->event[i].data.ptr = NULL;
}

/* ---- timers ---- */

static void place(struct loop *loop, size_t slot, struct timer *timer)
{
	loop->heap[slot] = timer;
	timer->slot = slot;
}

static void sift_up(struct loop *loop, size_t slot)
{
	struct timer *timer = loop->heap[slot];

	for (; slot > 0 && loop->heap[(slot - 1) / 2]->due_ns > timer->due_ns; slot = (slot - 1) / 2)
		place(loop, slot, loop->heap[(slot - 1) / 2]);
	place(loop, slot, timer);
}

static void sift_down(struct loop *loop, size_t slot)
{
	struct timer *timer = loop->heap[slot];

	for (;;) {
		size_t child = 2 * slot + 1;

		if (child + 1 < loop->timers && loop->heap[child + 1]->due_ns < loop->heap[child]->due_ns)
			child++;
		if (child >= loop->timers || loop->heap[child]->due_ns >= timer->due_ns)
			break;
		place(loop, slot, loop->heap[child]);
		slot = child;
	}
	place(loop, slot, timer);
}

static int make_room(struct loop *loop)
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
		if (make_room(loop) < 0)
			return -ENOMEM;
		timer->due_ns = due_ns;
		place(loop, loop->timers++, timer);
	} else {
		timer->due_ns = due_ns;
	}
	sift_up(loop, timer->slot);
	sift_down(loop, timer->slot);
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
	place(loop, slot, last);
	sift_up(loop, slot);
	sift_down(loop, last->slot);
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

static void fire(struct loop *loop)
{
	/* As many as are there now: one that sets itself to "at once" has to let the others go first. */
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

static void tell(struct loop *loop)
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
		tell(loop);
		fire(loop);
		run_later(loop);
	}
	loop->stopped = false; /* it may be run again */
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
