/* The event loop: the order of timers, and sources that go while events of theirs are reported. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/loop.h"
#include "tests/unit/unit.h"

static struct loop *loop;
static char order[64];
static struct loop_source *source[2];
static int pipes[2][2];

/* calloc(3) and reallocarray(3) of the loop, which the linker leads here. */
static bool is_out_of_memory;
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return is_out_of_memory ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return is_out_of_memory ? NULL : __real_reallocarray(old, count, size);
}

static void begin(void)
{
	ck_assert_int_eq(loop_create(&loop), 0);
	order[0] = '\0';
}

static void end(void)
{
	loop_free(loop);
}

static void note(void *data)
{
	const size_t len = strlen(order);

	ck_assert_uint_lt(len, sizeof(order) - 1);
	order[len] = *(const char *)data;
	order[len + 1] = '\0';
	if (*(const char *)data == '.')
		loop_stop(loop);
}

static void note_more(void *data)
{
	note(data);
	ck_assert_ptr_nonnull(loop_add_timer(loop, 0, note, "f"));
	ck_assert_ptr_nonnull(loop_add_timer(loop, 400, note, "."));
	ck_assert_ptr_nonnull(loop_add_timer(loop, 20, note, "d"));
}

START_TEST(test_timers)
{
	struct loop_timer *cancelled[3];
	uint64_t before = loop_get_now_ms(loop);

	/* On a busy machine there may be tens of milliseconds between two of these lines. */
	cancelled[0] = loop_add_timer(loop, 1, note, "x");
	ck_assert_ptr_nonnull(loop_add_timer(loop, 400, note_more, "c"));
	cancelled[1] = loop_add_timer(loop, 410, note, "x");
	ck_assert_ptr_nonnull(loop_add_timer(loop, 0, note, "a"));
	ck_assert_ptr_nonnull(loop_add_timer(loop, 200, note, "b"));
	cancelled[2] = loop_add_timer(loop, UINT64_MAX, note, "x");
	for (int i = 0; i < 3; i++)
		loop_cancel_timer(cancelled[i]);
	loop_cancel_timer(NULL);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(order, "abcfd.");
	ck_assert_uint_ge(loop_get_now_ms(loop), before + 800);
}
END_TEST

START_TEST(test_many_timers)
{
	static struct loop_timer *timer[1000];

	for (size_t i = 0; i < 1000; i++)
		timer[i] = loop_add_timer(loop, 20 + i * 7919 % 1000, note, "x");
	for (size_t i = 0; i < 1000; i++)
		loop_cancel_timer(timer[i * 617 % 1000]);
	ck_assert_ptr_nonnull(loop_add_timer(loop, 30, note, "."));
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(order, ".");
}
END_TEST

static void remove_both(void *data, uint32_t events)
{
	ck_assert_uint_eq(events & EPOLLIN, EPOLLIN);
	note(data);
	for (int i = 0; i < 2; i++) {
		loop_remove_source(source[i]);
		(void)close(pipes[i][0]);
	}
	ck_assert_ptr_nonnull(loop_add_timer(loop, 5, note, "."));
}

START_TEST(test_unwatched_during_its_turn)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pipe(pipes[i]), 0);
		ck_assert_int_eq(write(pipes[i][1], "x", 1), 1);
		source[i] = loop_add_source(loop, pipes[i][0], EPOLLIN, remove_both, "r");
		ck_assert_ptr_nonnull(source[i]);
	}
	loop_remove_source(NULL);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(order, "r.");
}
END_TEST

static void never(void *data, uint32_t events)
{
	(void)data;
	ck_abort_msg("events %x of a source that watches for none", events);
}

START_TEST(test_no_events)
{
	ck_assert_int_eq(pipe(pipes[0]), 0);
	(void)close(pipes[0][1]); /* EPOLLHUP at once */
	source[0] = loop_add_source(loop, pipes[0][0], EPOLLIN, never, NULL);
	ck_assert_int_eq(loop_set_events(source[0], 0), 0);
	ck_assert_ptr_nonnull(loop_add_timer(loop, 10, note, "."));
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_ptr_null(loop_add_source(loop, 999, EPOLLIN, never, NULL));
	ck_assert_int_eq(errno, EBADF);
}
END_TEST

static void repeat(void *data)
{
	note(strlen(order) < 8 ? data : ".");
	ck_assert_ptr_nonnull(loop_add_timer(loop, 0, repeat, data));
	ck_assert_ptr_null(loop_add_timer(loop, 0, repeat, data));
}

/* A timer that is added again in its callback, or moved, as those of quotas and of the ends of sandboxes are. */
START_TEST(test_timers_go_on_without_memory)
{
	struct loop_timer *moved;

	ck_assert_ptr_nonnull(loop_add_timer(loop, 0, repeat, "r"));
	moved = loop_add_timer(loop, UINT64_MAX, note, "m");
	for (int i = 2; i < 64; i++) /* as many as the loop has room for at first */
		ck_assert_ptr_nonnull(loop_add_timer(loop, UINT64_MAX, note, "x"));
	is_out_of_memory = true;
	loop_cancel_timer(moved);
	moved = loop_add_timer(loop, 0, note, "m");
	ck_assert_ptr_nonnull(moved);
	ck_assert_ptr_null(loop_add_timer(loop, 0, note, "x"));
	ck_assert_int_eq(loop_run(loop), 0);
	is_out_of_memory = false;
	ck_assert_uint_eq(strlen(order), 9);
	ck_assert_ptr_nonnull(strchr(order, 'm'));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loop");
	TCase *all = tcase_create("all");

	tcase_add_checked_fixture(all, begin, end);
	tcase_add_test(all, test_timers);
	tcase_add_test(all, test_many_timers);
	tcase_add_test(all, test_unwatched_during_its_turn);
	tcase_add_test(all, test_no_events);
	tcase_add_test(all, test_timers_go_on_without_memory);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
