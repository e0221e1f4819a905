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

#include "base/io.h"
#include "supervisor/watchdog.h"

/*
 * The bits of watchdog.turn: the state of the watched thread. They share one word, so that one atomic operation orders
 * the start of a signal and the end of a notification.
 */
#define WATCHDOG_NOTIFICATION_HANDLED 1u    /* a notification is being handled */
#define WATCHDOG_SENDING_SIGNAL 2u /* set and cleared by the watching thread while it sends a signal */
#define WATCHDOG_SIGNAL_SENT 4u    /* a signal was sent and may be pending; cleared by the watched thread */
#define WATCHDOG_NOTIFICATION_COUNT_UNIT 8u    /* the bits from this one on count notifications */

/* The thread that interrupts the supervisor thread in a call that waits against expectation. */
struct watchdog {
	pthread_t watched;
	pthread_t thread;
	_Atomic uint64_t turn;
	_Atomic uint32_t stop;
	_Atomic uint64_t *copying_until_ns; /* borrowed */
};

/* Sleeps for one period. False after watchdog_stop(). */
static bool watchdog_sleep(struct watchdog *watchdog)
{
	static const struct timespec period = {.tv_nsec = WATCHDOG_CHECK_INTERVAL_MS * 1000000L};

	(void)syscall(SYS_futex, &watchdog->stop, FUTEX_WAIT_PRIVATE, 0u, &period, NULL, 0u);
	return !atomic_load(&watchdog->stop);
}

/* Sends the signal to the watched thread, unless the notification of `turn` has ended. */
static void watchdog_interrupt_thread(struct watchdog *watchdog, uint64_t turn)
{
	if (!atomic_compare_exchange_strong(&watchdog->turn, &turn, turn | WATCHDOG_SENDING_SIGNAL))
		return;
	(void)pthread_kill(watchdog->watched, SIGUSR1);
	atomic_fetch_or(&watchdog->turn, WATCHDOG_SIGNAL_SENT);
	atomic_fetch_and(&watchdog->turn, ~(uint64_t)WATCHDOG_SENDING_SIGNAL);
}

static void *watchdog_run_thread(void *argument)
{
	struct watchdog *watchdog = argument;
	uint64_t last = 0;

	/*
	 * A system call takes a reference of its file if the descriptor table is shared. This thread needs no
	 * descriptors, so it gets its own table, which spares the supervisor thread that cost.
	 */
	(void)syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE);
	while (watchdog_sleep(watchdog)) {
		uint64_t turn = atomic_load(&watchdog->turn);

		if (turn & WATCHDOG_NOTIFICATION_HANDLED && turn / WATCHDOG_NOTIFICATION_COUNT_UNIT == last &&
		    io_read_clock_ns() >= atomic_load(watchdog->copying_until_ns))
			watchdog_interrupt_thread(watchdog, turn);
		last = turn / WATCHDOG_NOTIFICATION_COUNT_UNIT;
	}
	return NULL;
}

int watchdog_create(_Atomic uint64_t *copying_until_ns, struct watchdog **ret_watchdog)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));

	if (!watchdog)
		return -ENOMEM;
	watchdog->watched = pthread_self();
	watchdog->copying_until_ns = copying_until_ns;
	if (pthread_create(&watchdog->thread, NULL, watchdog_run_thread, watchdog) != 0) {
		free(watchdog);
		return -EAGAIN;
	}
	*ret_watchdog = watchdog;
	return 0;
}

/* Uses a futex: the waiter of a condition variable would wait for its lock too, at the cost of another wake-up. */
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
 * Clears `remove` and adds `add`. Afterwards no signal is under way that was sent for the old state:
 *
 *   one being sent (WATCHDOG_SENDING_SIGNAL)  is waited for
 *   one that was sent (WATCHDOG_SIGNAL_SENT)  is delivered when the next system call returns: sched_yield
 *   a new one                      cannot begin once the bits have changed
 */
static void watchdog_change_state_of_thread(struct watchdog *watchdog, uint64_t remove, uint64_t add)
{
	uint64_t turn = atomic_load(&watchdog->turn);

	for (;;) {
		if (turn & (WATCHDOG_SENDING_SIGNAL | WATCHDOG_SIGNAL_SENT))
			(void)sched_yield();
		if (turn & WATCHDOG_SENDING_SIGNAL)
			turn = atomic_load(&watchdog->turn);
		else if (atomic_compare_exchange_weak(&watchdog->turn, &turn,
						      (turn & ~(remove | WATCHDOG_SIGNAL_SENT)) + add))
			return;
	}
}

void watchdog_begin_notification(struct watchdog *watchdog)
{
	watchdog_change_state_of_thread(watchdog, 0, WATCHDOG_NOTIFICATION_HANDLED);
}

void watchdog_end_notification(struct watchdog *watchdog)
{
	watchdog_change_state_of_thread(watchdog, WATCHDOG_NOTIFICATION_HANDLED, WATCHDOG_NOTIFICATION_COUNT_UNIT);
	atomic_store_explicit(watchdog->copying_until_ns, 0, memory_order_relaxed); /* no other thread writes it */
}
