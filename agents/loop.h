/*
 * The event loop of callgate-agents: one thread, epoll(7) and timers. Every callback is called from loop_run(), which
 * its one caller calls once.
 */
#ifndef CALLGATE_AGENTS_LOOP_H
#define CALLGATE_AGENTS_LOOP_H

#include <stdint.h>

struct loop;
struct loop_source; /* a watched descriptor */
struct loop_timer;

/* `events` as of epoll_wait(2). May unwatch its own source and any other. */
typedef void loop_on_event(void *data, uint32_t events);
typedef void loop_on_time(void *data);

/* Ignores SIGPIPE, too: writing to what nothing reads is EPIPE. 0 or -errno. */
int loop_create(struct loop **ret_loop);
/* Frees the loop with its sources and timers. NULL is fine. */
void loop_free(struct loop *loop);
/* Runs until loop_stop() is called. 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Returns the milliseconds of CLOCK_MONOTONIC, as of the beginning of this turn of the loop. */
uint64_t loop_get_now_ms(const struct loop *loop);

/* Watches fd, which stays the caller's and must stay open until loop_remove_source(). NULL: failed; errno says why. */
struct loop_source *loop_add_source(struct loop *loop, int fd, uint32_t events, loop_on_event *on_event, void *data);
/* Changes what is watched for. With 0, EPOLLHUP and EPOLLERR are not reported either. 0 or -errno. */
int loop_set_events(struct loop_source *source, uint32_t events);
/* NULL is fine. No callback is called afterwards. */
void loop_remove_source(struct loop_source *source);

/*
 * Calls on_time once, delay_ms from now. The timer is freed before the call, or by loop_cancel_timer(). NULL: out of
 * memory.
 */
struct loop_timer *loop_add_timer(struct loop *loop, uint64_t delay_ms, loop_on_time *on_time, void *data);
/* Only for timers whose callback was not called yet. NULL is fine. */
void loop_cancel_timer(struct loop_timer *timer);

#endif
