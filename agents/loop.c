#include "agents/loop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/times.h"

#define LOOP_EVENTS_PER_TURN_MAX 64

/* A descriptor that the loop watches. */
struct loop_source {
	struct loop *loop;
	int fd;
	uint32_t watched_events; /* the EPOLL… events that are watched for; 0: fd is not in the epoll set */
	bool is_removed; /* loop_remove_source() was called: the source is freed at the end of the turn */
	loop_on_event *on_event;
	void *data;
	/* in loop.sources or loop.removed_sources; link: the pointer to this source */
	struct loop_source *next, **link;
};

/* A timer of the loop, which expires once. */
struct loop_timer {
	struct loop *loop;
	uint64_t due_ms;
	size_t heap_index; /* index in loop.timers */
	loop_on_time *on_time;
	void *data;
};

/* The event loop of callgate-agents. */
struct loop {
	int epoll_fd;
	bool is_stopped;
	uint64_t now_ms;
	struct loop_source *sources, *removed_sources;
	struct loop_timer **timers; /* binary heap: timers[0] is due first */
	size_t timer_count, timer_capacity;
	struct loop_timer *unused_timer_for_reuse; /* memory of a former timer, which the next one gets; NULL: none */
};

/* Reads the clock for all timers of this round of the loop. */
static void loop_update_now(struct loop *loop)
{
	loop->now_ms = io_read_clock_ns() / NS_PER_MS;
}

int loop_create(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	(void)signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe or socket then fails with EPIPE */
	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		free(loop);
		return -errno;
	}
	loop_update_now(loop);
	*ret_loop = loop;
	return 0;
}

static void loop_free_sources(struct loop_source *source)
{
	while (source) {
		struct loop_source *next = source->next;

		free(source);
		source = next;
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	loop_free_sources(loop->sources);
	loop_free_sources(loop->removed_sources);
	for (size_t i = 0; i < loop->timer_count; i++)
		free(loop->timers[i]);
	free(loop->timers);
	free(loop->unused_timer_for_reuse);
	cleanup_close(&loop->epoll_fd);
	free(loop);
}

uint64_t loop_get_now_ms(const struct loop *loop)
{
	return loop->now_ms;
}

void loop_stop(struct loop *loop)
{
	loop->is_stopped = true;
}

/* ---- descriptors ---- */

/* Puts a source at the start of a list. */
static void loop_link_source(struct loop_source *source, struct loop_source **list)
{
	source->next = *list;
	source->link = list;
	if (*list)
		(*list)->link = &source->next;
	*list = source;
}

static void loop_unlink_source(struct loop_source *source)
{
	*source->link = source->next;
	if (source->next)
		source->next->link = source->link;
}

int loop_set_events(struct loop_source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};
	const int op = events == 0 ? EPOLL_CTL_DEL : source->watched_events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (events == source->watched_events)
		return 0;
	if (epoll_ctl(source->loop->epoll_fd, op, source->fd, &event) < 0)
		return -errno;
	source->watched_events = events;
	return 0;
}

struct loop_source *loop_add_source(struct loop *loop, int fd, uint32_t events, loop_on_event *on_event, void *data)
{
	struct loop_source *source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return NULL;
	*source = (struct loop_source){.loop = loop, .fd = fd, .on_event = on_event, .data = data};
	r = loop_set_events(source, events);
	if (r < 0) {
		free(source);
		errno = -r;
		return NULL;
	}
	loop_link_source(source, &loop->sources);
	return source;
}

void loop_remove_source(struct loop_source *source)
{
	if (!source)
		return;
	(void)loop_set_events(source, 0); /* fails only if the caller has closed the descriptor before */
	loop_unlink_source(source);
	source->is_removed = true;
	loop_link_source(source, &source->loop->removed_sources);
}

/* ---- timers ---- */

/* Puts a timer at a place of the heap, which the timer remembers. */
static void timer_put_in_heap(struct loop *loop, struct loop_timer *timer, size_t heap_index)
{
	loop->timers[heap_index] = timer;
	timer->heap_index = heap_index;
}

/* Moves a timer towards the root of the heap until its parent is due earlier. */
static void timer_sift_up(struct loop *loop, struct loop_timer *timer, size_t heap_index)
{
	for (; heap_index > 0 && loop->timers[(heap_index - 1) / 2]->due_ms > timer->due_ms;
	     heap_index = (heap_index - 1) / 2)
		timer_put_in_heap(loop, loop->timers[(heap_index - 1) / 2], heap_index);
	timer_put_in_heap(loop, timer, heap_index);
}

/* Moves a timer away from the root of the heap until its children are due later. */
static void timer_sift_down(struct loop *loop, struct loop_timer *timer, size_t heap_index)
{
	for (size_t child; (child = 2 * heap_index + 1) < loop->timer_count; heap_index = child) {
		if (child + 1 < loop->timer_count && loop->timers[child + 1]->due_ms < loop->timers[child]->due_ms)
			child++;
		if (loop->timers[child]->due_ms >= timer->due_ms)
			break;
		timer_put_in_heap(loop, loop->timers[child], heap_index);
	}
	timer_put_in_heap(loop, timer, heap_index);
}

static void timer_remove_from_heap(struct loop_timer *timer)
{
	struct loop *loop = timer->loop;
	struct loop_timer *last = loop->timers[--loop->timer_count];
	const size_t heap_index = timer->heap_index;

	if (last == timer)
		return;
	timer_sift_up(loop, last, heap_index);
	timer_sift_down(loop, last, last->heap_index);
}

struct loop_timer *loop_add_timer(struct loop *loop, uint64_t delay_ms, loop_on_time *on_time, void *data)
{
	struct loop_timer *timer = loop->unused_timer_for_reuse ? loop->unused_timer_for_reuse
								: calloc(1, sizeof(*timer)),
			  **grown;

	loop->unused_timer_for_reuse = NULL;
	if (timer && loop->timer_count == loop->timer_capacity) {
		size_t capacity = loop->timer_capacity ? 2 * loop->timer_capacity : 64;

		grown = reallocarray(loop->timers, capacity, sizeof(struct loop_timer *));
		if (!grown) {
			free(timer);
			return NULL;
		}
		loop->timers = grown;
		loop->timer_capacity = capacity;
	}
	if (!timer)
		return NULL;
	loop_update_now(loop); /* a callback that ran for long has made now_ms old */
	*timer = (struct loop_timer){.loop = loop, .on_time = on_time, .data = data};
	if (__builtin_add_overflow(loop->now_ms, delay_ms, &timer->due_ms))
		timer->due_ms = UINT64_MAX;
	timer_sift_up(loop, timer, loop->timer_count++);
	return timer;
}

void loop_cancel_timer(struct loop_timer *timer)
{
	if (!timer)
		return;
	timer_remove_from_heap(timer);
	free(timer->loop->unused_timer_for_reuse);
	timer->loop->unused_timer_for_reuse = timer;
}

/*
 * Calls the timers whose time had come when the turn began. Timers that callbacks add must not starve the descriptors.
 */
static void loop_call_due_timers(struct loop *loop)
{
	const uint64_t now_ms = loop->now_ms;

	while (!loop->is_stopped && loop->timer_count > 0 && loop->timers[0]->due_ms <= now_ms) {
		struct loop_timer due = *loop->timers[0];

		loop_cancel_timer(loop->timers[0]);
		due.on_time(due.data);
	}
}

/* ---- the loop ---- */

/* Returns the timeout for epoll_wait(2): milliseconds until the first timer is due; -1: no timer. */
static int loop_get_epoll_timeout_ms(const struct loop *loop)
{
	uint64_t due_ms = loop->timer_count > 0 ? loop->timers[0]->due_ms : UINT64_MAX;

	if (due_ms == UINT64_MAX)
		return -1;
	if (due_ms <= loop->now_ms)
		return 0;
	return due_ms - loop->now_ms < INT_MAX ? (int)(due_ms - loop->now_ms) : INT_MAX;
}

int loop_run(struct loop *loop)
{
	struct epoll_event event[LOOP_EVENTS_PER_TURN_MAX];

	loop->is_stopped = false;
	while (!loop->is_stopped) {
		int count;

		loop_update_now(loop);
		count = epoll_wait(loop->epoll_fd, event, LOOP_EVENTS_PER_TURN_MAX, loop_get_epoll_timeout_ms(loop));
		if (count < 0 && errno != EINTR)
			return -errno;
		loop_update_now(loop);
		for (int i = 0; i < count && !loop->is_stopped; i++) {
			struct loop_source *source = event[i].data.ptr;

			if (!source->is_removed && event[i].events & (source->watched_events | EPOLLERR | EPOLLHUP) &&
			    source->watched_events)
				source->on_event(source->data, event[i].events);
		}
		loop_call_due_timers(loop);
		loop_free_sources(loop->removed_sources);
		loop->removed_sources = NULL;
	}
	return 0;
}
