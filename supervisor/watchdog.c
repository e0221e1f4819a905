#include <errno.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/watchdog.h"

#include "base/banned.h"

/*
 * One word, so that of a signal and the end of a turn one comes first: whoever marks it keeps the other from doing so
 * until the mark is gone.
 */
#define TURN_BUSY 1u    /* a notification is being handled */
#define TURN_SENDING 2u /* a signal is being sent; the watcher's */
#define TURN_SENT 4u    /* one was, and may not have been delivered yet; the watched thread takes it away */
#define TURN_NEXT 8u    /* each notification has a number of its own */

struct watchdog {
	pthread_t watched;
	pthread_t thread;
	_Atomic uint64_t turn;
	_Atomic uint32_t stop;
};

/* Sleeps one period. False when the run is over. */
static bool sleep_period(struct watchdog *watchdog)
{
	static const struct timespec period = {.tv_nsec = WATCHDOG_PERIOD_MS * 1000000L};

	(void)syscall(SYS_futex, &watchdog->stop, FUTEX_WAIT_PRIVATE, 0u, &period, NULL, 0u);
	return !atomic_load(&watchdog->stop);
}

/* Unless the turn is over by now. */
static void interrupt(struct watchdog *watchdog, uint64_t turn)
{
	if (!atomic_compare_exchange_strong(&watchdog->turn, &turn, turn | TURN_SENDING))
		return;
	(void)pthread_kill(watchdog->watched, SIGUSR1);
	atomic_fetch_or(&watchdog->turn, TURN_SENT);
	atomic_fetch_and(&watchdog->turn, ~(uint64_t)TURN_SENDING);
}

static void *watch_turns(void *argument)
{
	struct watchdog *watchdog = argument;
	uint64_t last = 0;

	/*
	 * A table of descriptors that two threads share has the kernel count each file in and out at every call on it;
	 * alone the receiver is spared that. Nothing is opened or closed here, so none is needed.
	 */
	(void)syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE);
	while (sleep_period(watchdog)) {
		uint64_t turn = atomic_load(&watchdog->turn);

		if (turn & TURN_BUSY && turn / TURN_NEXT == last)
			interrupt(watchdog, turn);
		last = turn / TURN_NEXT;
	}
	return NULL;
}

int watchdog_create(struct watchdog **ret_watchdog)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));

	if (!watchdog)
		return -ENOMEM;
	watchdog->watched = pthread_self();
	if (pthread_create(&watchdog->thread, NULL, watch_turns, watchdog) != 0) {
		free(watchdog);
		return -EAGAIN;
	}
	*ret_watchdog = watchdog;
	return 0;
}

/*
 * A futex by itself: a condition's lock would make its waiter wait once more, and each takes a wake-up of an idle
 * processor.
 */
void watchdog_stop(struct watchdog *watchdog)
{
	atomic_store(&watchdog->stop, 1);
	(void)syscall(SYS_futex, &watchdog->stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0u);
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	watchdog_stop(watchdog);
	(void)pthread_join(watchdog->thread, NULL);
	free(watchdog);
}

/*
 * Takes away and sets bits, with no signal on its way afterwards that was sent because of how they were before: one
 * that is marked as sent is pending for this thread, and is delivered at the latest when its next system call returns,
 * which is sched_yield here; one that is being sent is waited for; and none is begun once the bits are changed.
 */
static void change(struct watchdog *watchdog, uint64_t remove, uint64_t add)
{
	uint64_t turn = atomic_load(&watchdog->turn);

	for (;;) {
		if (turn & (TURN_SENDING | TURN_SENT))
			(void)sched_yield();
		if (turn & TURN_SENDING)
			turn = atomic_load(&watchdog->turn);
		else if (atomic_compare_exchange_weak(&watchdog->turn, &turn, (turn & ~(remove | TURN_SENT)) + add))
			return;
	}
}

void watchdog_busy(struct watchdog *watchdog)
{
	change(watchdog, 0, TURN_BUSY);
}

void watchdog_idle(struct watchdog *watchdog)
{
	change(watchdog, TURN_BUSY, TURN_NEXT);
}
