/*
 * The event loop of callgate-agents: one thread, epoll(7) and timers. All callbacks are called from loop_run(), which
 * the process calls once.
 */
#ifndef CALLGATE_AGENTS_LOOP_H
#define CALLGATE_AGENTS_LOOP_H

#include <stdint.h>

struct loop;
struct loop_source; /* a watched descriptor */
struct loop_timer;

/*
 * Called when a watched descriptor is ready. `events` as of epoll_wait(2). May remove any source, also the ready one.
 */
typedef void loop_on_event(void *data, uint32_t events);
typedef void loop_on_time(void *data);

/* Makes a loop. Also ignores SIGPIPE in this process: writing to a closed pipe or socket is EPIPE. 0 or -errno. */
int loop_create(struct loop **ret_loop);
/* Frees the loop with its sources and timers. NULL is fine. */
void loop_free(struct loop *loop);
/* Runs until loop_stop() is called. 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Returns the time of CLOCK_MONOTONIC, in milliseconds, as read at the beginning of the current turn of the loop. */
uint64_t loop_get_now_ms(const struct loop *loop);

/*
 * Calls on_event when one of `events` (EPOLL…) happens on fd, which is borrowed until loop_remove_source(). Returns
 * NULL with errno on failure.
 */
struct loop_source *loop_add_source(struct loop *loop, int fd, uint32_t events, loop_on_event *on_event, void *data);
/* Changes the events that are watched for. With 0, not even EPOLLHUP and EPOLLERR are reported. 0 or -errno. */
int loop_set_events(struct loop_source *source, uint32_t events);
/* Stops watching, and frees the source. Its callback is not called afterwards. NULL is fine. */
void loop_remove_source(struct loop_source *source);

/*
 * Adds a timer: on_time is called once, delay_ms from now. The timer is freed just before that call, or by
 * loop_cancel_timer(). NULL: out of memory. The first timer that on_time adds, and the first after a timer was
 * cancelled, get the memory of the old timer. So adding a timer cannot fail where it only repeats or moves one.
 */
struct loop_timer *loop_add_timer(struct loop *loop, uint64_t delay_ms, loop_on_time *on_time, void *data);
/* Cancels and frees a timer whose callback was not called yet. NULL is fine. */
void loop_cancel_timer(struct loop_timer *timer);

#endif
