/* A call that blocks is interrupted, and no signal is left for the next one. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/io.h"
#include "supervisor/watchdog.h"
#include "tests/unit/unit.h"

#define LONG_MS (5 * WATCHDOG_CHECK_INTERVAL_MS)

static struct watchdog *watchdog;
static atomic_int signals;
static _Atomic uint64_t copying_until_ns;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

static void setup(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	ck_assert_int_eq(watchdog_create(&copying_until_ns, &watchdog), 0);
	signals = 0;
}

static void teardown(void)
{
	watchdog_free(watchdog);
}

/* True when it was interrupted. */
static bool blocks(int ms)
{
	return poll(NULL, 0, ms) < 0 && errno == EINTR;
}

START_TEST(interrupts_what_blocks)
{
	watchdog_begin_notification(watchdog);
	ck_assert(blocks(LONG_MS));
	watchdog_end_notification(watchdog);
	ck_assert_int_ge(signals, 1); /* more where this thread gets no CPU for so long */
}
END_TEST

START_TEST(goes_on_while_it_blocks)
{
	watchdog_begin_notification(watchdog);
	ck_assert(blocks(LONG_MS));
	ck_assert(blocks(LONG_MS));
	watchdog_end_notification(watchdog);
	ck_assert_int_ge(signals, 2);
}
END_TEST

START_TEST(waits_for_copies)
{
	watchdog_begin_notification(watchdog);
	atomic_store(&copying_until_ns, io_read_clock_ns() + 2 * LONG_MS * UINT64_C(1000000));
	ck_assert(!blocks(LONG_MS));
	ck_assert(blocks(60 * 1000)); /* once it should have ended */
	atomic_store(&copying_until_ns, UINT64_MAX);
	watchdog_end_notification(watchdog);
	watchdog_begin_notification(watchdog);
	ck_assert(blocks(60 * 1000)); /* the next one copies nothing */
	watchdog_end_notification(watchdog);
}
END_TEST

START_TEST(leaves_the_idle_alone)
{
	watchdog_begin_notification(watchdog);
	watchdog_end_notification(watchdog);
	ck_assert(!blocks(LONG_MS));
	ck_assert_int_eq(signals, 0);
}
END_TEST

/* Notifications end at any moment of the period. A signal comes before the end of its notification, or not at all. */
START_TEST(sends_nothing_late)
{
	for (int ms = WATCHDOG_CHECK_INTERVAL_MS - 2; ms < 2 * WATCHDOG_CHECK_INTERVAL_MS; ms += 9) {
		int before;

		watchdog_begin_notification(watchdog);
		(void)blocks(ms);
		watchdog_end_notification(watchdog);
		before = signals;
		for (int i = 0; i < 20000; i++)
			ck_assert_int_eq(signals, before);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watchdog");
	TCase *tcase = tcase_create("watchdog");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, interrupts_what_blocks);
	tcase_add_test(tcase, goes_on_while_it_blocks);
	tcase_add_test(tcase, waits_for_copies);
	tcase_add_test(tcase, leaves_the_idle_alone);
	tcase_add_test(tcase, sends_nothing_late);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
