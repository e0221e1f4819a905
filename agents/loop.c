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

#define LOOP_EVENTS_PER_TURN_MAX 64
#define NS_PER_MS UINT64_C(1000000)

struct loop_source {
	struct loop *loop;
	int fd;
	uint32_t events;  /* 0: it is not in the epoll set */
	bool is_removed;  /* loop_remove_source() was called; freed at the end of the turn */
	loop_on_event *on_event;
	void *data;
	struct loop_source *next, **at; /* list of the living, or of the dead */
};

struct loop_timer {
	struct loop *loop;
	uint64_t due_ms;
	size_t heap_index; /* index in loop.timer */
	loop_on_time *on_time;
	void *data;
};

struct loop {
	int epoll_fd;
	bool is_stopped;
	uint64_t now_ms;
	struct loop_source *source, *dead;
	struct loop_timer **timer; /* binary heap: the first one is due first */
	size_t timer_count, timer_room;
};

static void loop_update_now(struct loop *loop)
{
	loop->now_ms = io_read_clock_ns() / NS_PER_MS;
}

int loop_create(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	(void)signal(SIGPIPE, SIG_IGN); /* a program that has closed its stdin, or a client that is gone: EPIPE */
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
	loop_free_sources(loop->source);
	loop_free_sources(loop->dead);
	for (size_t i = 0; i < loop->timer_count; i++)
		free(loop->timer[i]);
	free(loop->timer);
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

static void source_insert(struct loop_source *source, struct loop_source **list)
{
	source->next = *list;
	source->at = list;
	if (*list)
		(*list)->at = &source->next;
	*list = source;
}

static void source_remove(struct loop_source *source)
{
	*source->at = source->next;
	if (source->next)
		source->next->at = source->at;
}

int loop_set_events(struct loop_source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};
	const int op = events == 0 ? EPOLL_CTL_DEL : source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (events == source->events)
		return 0;
	if (epoll_ctl(source->loop->epoll_fd, op, source->fd, &event) < 0)
		return -errno;
	source->events = events;
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
	source_insert(source, &loop->source);
	return source;
}

void loop_remove_source(struct loop_source *source)
{
	if (!source)
		return;
	(void)loop_set_events(source, 0); /* can only fail when the descriptor was closed, against the rules */
	source_remove(source);
	source->is_removed = true;
	source_insert(source, &source->loop->dead);
}

/* ---- timers ---- */

static void timer_put_in_heap(struct loop *loop, struct loop_timer *timer, size_t place)
{
	loop->timer[place] = timer;
	timer->heap_index = place;
}

/* Moves the timer towards the root until its parent is due before it. */
static void timer_sift_up(struct loop *loop, struct loop_timer *timer, size_t place)
{
	for (; place > 0 && loop->timer[(place - 1) / 2]->due_ms > timer->due_ms; place = (place - 1) / 2)
		timer_put_in_heap(loop, loop->timer[(place - 1) / 2], place);
	timer_put_in_heap(loop, timer, place);
}

/* Moves the timer away from the root until its children are due after it. */
static void timer_sift_down(struct loop *loop, struct loop_timer *timer, size_t place)
{
	for (size_t child; (child = 2 * place + 1) < loop->timer_count; place = child) {
		if (child + 1 < loop->timer_count && loop->timer[child + 1]->due_ms < loop->timer[child]->due_ms)
			child++;
		if (loop->timer[child]->due_ms >= timer->due_ms)
			break;
		timer_put_in_heap(loop, loop->timer[child], place);
	}
	timer_put_in_heap(loop, timer, place);
}

static void timer_remove_from_heap(struct loop_timer *timer)
{
	struct loop *loop = timer->loop;
	struct loop_timer *last = loop->timer[--loop->timer_count];
	const size_t place = timer->heap_index;

	if (last == timer)
		return;
	timer_sift_up(loop, last, place);
	timer_sift_down(loop, last, last->heap_index);
}

struct loop_timer *loop_add_timer(struct loop *loop, uint64_t delay_ms, loop_on_time *on_time, void *data)
{
	struct loop_timer *timer = calloc(1, sizeof(*timer)), **larger;

	if (timer && loop->timer_count == loop->timer_room) {
		size_t room = loop->timer_room ? 2 * loop->timer_room : 64;

		larger = reallocarray(loop->timer, room, sizeof(struct loop_timer *));
		if (!larger) {
			free(timer);
			return NULL;
		}
		loop->timer = larger;
		loop->timer_room = room;
	}
	if (!timer)
		return NULL;
	loop_update_now(loop); /* a callback may have computed for a while */
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
	free(timer);
}

/* Calls what was due at the beginning of the turn: timers that callbacks make must not keep descriptors waiting. */
static void loop_call_due_timers(struct loop *loop)
{
	const uint64_t now_ms = loop->now_ms;

	while (!loop->is_stopped && loop->timer_count > 0 && loop->timer[0]->due_ms <= now_ms) {
		struct loop_timer due = *loop->timer[0];

		loop_cancel_timer(loop->timer[0]);
		due.on_time(due.data);
	}
}

/* ---- the loop ---- */

/* Milliseconds until the first timer is due, for epoll_wait(2). */
static int loop_get_epoll_timeout_ms(const struct loop *loop)
{
	uint64_t due_ms = loop->timer_count > 0 ? loop->timer[0]->due_ms : UINT64_MAX;

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

			if (!source->is_removed && event[i].events & (source->events | EPOLLERR | EPOLLHUP) &&
			    source->events)
				source->on_event(source->data, event[i].events);
		}
		loop_call_due_timers(loop);
		loop_free_sources(loop->dead);
		loop->dead = NULL;
	}
	return 0;
}
