/* A divided run: each of its tasks that call is at home on a CPU of its own. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "tests/unit/handoff-rig.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

/* Calls that show a mask. */
static const int showing[] = {SYS_sched_getaffinity, SYS_sched_setaffinity};

/* Somebody computes, so that nobody is brought together; he has no home himself. */
static pid_t divided(void)
{
	pid_t made = grandchild_that("c");

	call(made, SYS_openat);
	handoff_release(handoff);
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), 1);
	ck_assert(is_mask(0, &full));
	ck_assert(is_mask(made, &full));
	return made;
}

static bool is_apart(pid_t one, pid_t other)
{
	cpu_set_t a, b;

	return sched_getaffinity(one, sizeof(a), &a) == 0 && CPU_COUNT(&a) == 1 &&
	       sched_getaffinity(other, sizeof(b), &b) == 0 && CPU_COUNT(&b) == 1 && !CPU_EQUAL(&a, &b);
}

START_TEST(gives_homes_to_who_computes)
{
	pid_t made[2] = {divided()};

	made[1] = grandchild_that("c");
	call(made[0], SYS_openat);
	call(made[1], SYS_openat);
	ck_assert(is_apart(made[0], made[1]));
	turns(40); /* they go on computing */
	ck_assert(is_apart(made[0], made[1]));
	ck_assert(is_mask(task.tid, &full)); /* it waits for something else by now */
	handoff_release(handoff);
	ck_assert(is_mask(made[0], &full) && is_mask(made[1], &full));
	finish(made[0]);
	finish(made[1]);
}
END_TEST

START_TEST(divides_homes_again)
{
	pid_t made[2] = {divided()};

	made[1] = grandchild_that("c");
	(void)kill(made[0], SIGSTOP);
	(void)kill(made[1], SIGSTOP);
	turns(2);
	call(made[0], SYS_openat);
	call(made[1], SYS_openat);
	(void)kill(made[0], SIGCONT);
	(void)kill(made[1], SIGCONT);
	for (int i = 0; i < 50 && !is_apart(made[0], made[1]); i++) {
		call(made[0], SYS_openat);
		call(made[1], SYS_openat);
		turns(5);
	}
	ck_assert(is_apart(made[0], made[1]));
	finish(made[0]);
	finish(made[1]);
}
END_TEST

START_TEST(shows_nobody_a_home)
{
	pid_t busy = divided(), heir = grandchild();

	handoff_call(handoff, heir, showing[_i]);
	ck_assert(is_mask(task.tid, &full));
	ck_assert(is_mask(heir, &full));
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), showing[_i] == SYS_sched_getaffinity ? 1 : CPU_COUNT(&full));
	ck_assert(is_mask(heir, &full));
	finish(busy);
}
END_TEST

START_TEST(gives_back_what_a_home_left_behind)
{
	pid_t busy = divided(), heir = grandchild();

	turns(30);
	ck_assert(is_mask(heir, &full));
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), 1);
	heir = grandchild();
	handoff_forget(handoff, tree_task(tree, task.tid)); /* it died */
	ck_assert(is_mask(heir, &full));
	finish(busy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handoff: homes");
	TCase *tcase = tcase_create("homes");

	if (!handoff_possible()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, rig_setup, rig_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, gives_homes_to_who_computes);
	tcase_add_test(tcase, divides_homes_again);
	tcase_add_loop_test(tcase, shows_nobody_a_home, 0, 2);
	tcase_add_test(tcase, gives_back_what_a_home_left_behind);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
