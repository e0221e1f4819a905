/* Several who take turns: they are kept on one CPU while that is quicker, and each is let go. */
#include <check.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/handoff-rig.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

static struct task second;

static void setup_second(void)
{
	rig_setup();
	second.tid = second.tgid = child();
	second.pidfd = (int)syscall(SYS_pidfd_open, second.tid, 0);
	ck_assert_int_ge(second.pidfd, 0);
}

static void teardown_second(void)
{
	rig_teardown();
	finish(second.tid);
	(void)close(second.pidfd);
}

static void take_turns(unsigned count, uint64_t gap, uint64_t took)
{
	while (count--) {
		give_to(&task, gap, took);
		give_to(&second, gap, took);
	}
}

START_TEST(keeps_several_who_do_little_else)
{
	take_turns(20, GAP, SLOW);
	take_turns(20, GAP, FAST);
	ck_assert(handoff_keeps(handoff, task.tid) && handoff_keeps(handoff, second.tid));
	ck_assert_int_eq(cpus(task.tid), 1);
	ck_assert_int_eq(cpus(second.tid), 1);
	take_turns(200, GAP, FAST);
	ck_assert(handoff_keeps(handoff, task.tid) && handoff_keeps(handoff, second.tid));
	handoff_call(handoff, getpid(), SYS_newfstatat); /* neither passes on nor shows what they have */
	ck_assert(handoff_keeps(handoff, task.tid));
	handoff_call(handoff, getpid(), SYS_sched_getaffinity);
	ck_assert_free();
	ck_assert(is_mask(second.tid, &full));
}
END_TEST

START_TEST(leaves_alone_several_who_compute)
{
	take_turns(200, 100 * US, SLOW);
	ck_assert_free();
	ck_assert(is_mask(second.tid, &full));
}
END_TEST

START_TEST(lets_several_go_when_it_is_no_quicker)
{
	take_turns(6, GAP, SLOW);
	ck_assert(handoff_keeps(handoff, task.tid));
	take_turns(100, GAP + SLOW, FAST);
	ck_assert_free();
	ck_assert(is_mask(second.tid, &full));
	take_turns(100, GAP, SLOW);
	ck_assert_free();
}
END_TEST

START_TEST(lets_each_go_that_calls_no_more)
{
	take_turns(20, GAP, SLOW);
	ck_assert(handoff_keeps(handoff, second.tid));
	while (handoff_keeps(handoff, second.tid)) {
		give(FAST);
		ck_assert(handoff_keeps(handoff, task.tid));
	}
	ck_assert(is_mask(second.tid, &full));
	handoff_release(handoff);
	ck_assert_free();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handoff: several");
	TCase *tcase = tcase_create("several");

	if (!handoff_possible()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, setup_second, teardown_second);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, keeps_several_who_do_little_else);
	tcase_add_test(tcase, leaves_alone_several_who_compute);
	tcase_add_test(tcase, lets_several_go_when_it_is_no_quicker);
	tcase_add_test(tcase, lets_each_go_that_calls_no_more);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
