#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "supervisor/watchdog.h"

#include "base/banned.h"

struct watchdog {
	pthread_t watched;
	pthread_t thread;
	_Atomic uint64_t turn; /* odd: a notification is being handled; each one has its own number */
	pthread_mutex_t lock;
	pthread_cond_t stopping;
	bool stop;
};

/* Sleeps one period. False when the run is over. */
static bool sleep_period(struct watchdog *watchdog)
{
	struct timespec until;
	bool stop;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WATCHDOG_PERIOD_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	(void)pthread_mutex_lock(&watchdog->lock);
	if (!watchdog->stop)
		(void)pthread_cond_timedwait(&watchdog->stopping, &watchdog->lock, &until);
	stop = watchdog->stop;
	(void)pthread_mutex_unlock(&watchdog->lock);
	return !stop;
}

static void *watch_turns(void *argument)
{
	struct watchdog *watchdog = argument;
	uint64_t last = 0;

	while (sleep_period(watchdog)) {
		uint64_t turn = atomic_load(&watchdog->turn);

		if (turn & 1 && turn == last)
			(void)pthread_kill(watchdog->watched, SIGUSR1);
		last = turn;
	}
	return NULL;
}

int watchdog_create(struct watchdog **ret_watchdog)
{
	struct watchdog *watchdog = calloc(1, sizeof(*watchdog));

	if (!watchdog)
		return -ENOMEM;
	watchdog->watched = pthread_self();
	if (pthread_mutex_init(&watchdog->lock, NULL) != 0 || pthread_cond_init(&watchdog->stopping, NULL) != 0 ||
	    pthread_create(&watchdog->thread, NULL, watch_turns, watchdog) != 0) {
		free(watchdog);
		return -EAGAIN;
	}
	*ret_watchdog = watchdog;
	return 0;
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	(void)pthread_mutex_lock(&watchdog->lock);
	watchdog->stop = true;
	(void)pthread_cond_signal(&watchdog->stopping);
	(void)pthread_mutex_unlock(&watchdog->lock);
	(void)pthread_join(watchdog->thread, NULL);
	(void)pthread_cond_destroy(&watchdog->stopping);
	(void)pthread_mutex_destroy(&watchdog->lock);
	free(watchdog);
}

void watchdog_busy(struct watchdog *watchdog)
{
	atomic_fetch_add_explicit(&watchdog->turn, 1, memory_order_relaxed);
}

void watchdog_idle(struct watchdog *watchdog)
{
	atomic_fetch_add_explicit(&watchdog->turn, 1, memory_order_relaxed);
}
