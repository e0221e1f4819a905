/* Masks of ours that children were made with: they are found and put back, and nobody else's are. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/handoff-rig.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

START_TEST(finds_who_inherited)
{
	pid_t first, second_one;

	keep();
	first = grandchild();
	second_one = grandchild();
	ck_assert_int_eq(cpus(first), 1);
	handoff_call(handoff, first, SYS_openat);
	ck_assert_free();
	ck_assert(is_mask(first, &full));
	ck_assert(is_mask(second_one, &full));
	(void)kill(first, SIGKILL);
	(void)kill(second_one, SIGKILL);
}
END_TEST

/* As if it had been under way when its maker was let go: it gets its number after that. */
START_TEST(finds_who_comes_late)
{
	cpu_set_t kept;
	pid_t late[3];

	keep();
	ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(kept), &kept), 0);
	handoff_release(handoff);
	now = io_now_ns();
	for (int i = 0; i < 3; i++) {
		late[i] = grandchild();
		ck_assert_int_eq(sched_setaffinity(late[i], sizeof(kept), &kept), 0);
		now += 600 * MS;
		if (i == 1)
			handoff_call(handoff, late[i], SYS_openat);
		else
			(void)handoff_tick(handoff, now);
		ck_assert(is_mask(late[i], &full));
	}
	for (int i = 0; i < 3; i++)
		(void)kill(late[i], SIGKILL);
}
END_TEST

/* As if it had its number at the first look already, but its mask, which is its maker's, only after that. */
START_TEST(looks_twice_at_each_number)
{
	cpu_set_t kept;
	pid_t made;

	keep();
	ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(kept), &kept), 0);
	made = grandchild();
	ck_assert_int_eq(sched_setaffinity(made, sizeof(full), &full), 0);
	handoff_release(handoff);
	ck_assert_int_eq(sched_setaffinity(made, sizeof(kept), &kept), 0);
	now = io_now_ns() + 600 * MS;
	(void)handoff_tick(handoff, now);
	ck_assert(is_mask(made, &full));
	(void)kill(made, SIGKILL);
}
END_TEST

START_TEST(leaves_strangers_who_are_like_that)
{
	cpu_set_t kept;
	pid_t stranger;

	keep();
	ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(kept), &kept), 0);
	stranger = fork();
	if (stranger == 0) {
		pid_t pid = fork();

		if (pid == 0) /* init's, or a subreaper's: not ours any more */
			for (;;)
				(void)pause();
		(void)sched_setaffinity(pid, sizeof(kept), &kept);
		_exit(write(told[1], &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? 0 : 1);
	}
	(void)waitpid(stranger, NULL, 0);
	ck_assert_int_eq(read(told[0], &stranger, sizeof(stranger)), (ssize_t)sizeof(stranger));
	set_runnable(1);
	handoff_release(handoff);
	ck_assert_free();
	ck_assert(is_mask(stranger, &kept));
	(void)kill(stranger, SIGKILL);
}
END_TEST

START_TEST(leaves_a_run_alone_that_sets_masks)
{
	cpu_set_t kept;
	pid_t own;

	keep();
	ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(kept), &kept), 0);
	handoff_call(handoff, getpid(), SYS_sched_setaffinity);
	give_many(100, SLOW);
	ck_assert_free();
	own = grandchild();
	ck_assert_int_eq(sched_setaffinity(own, sizeof(kept), &kept), 0);
	for (int i = 0; i < 5; i++) {
		now += 600 * MS;
		(void)handoff_tick(handoff, now);
		handoff_call(handoff, own, SYS_openat);
	}
	ck_assert(is_mask(own, &kept));
	(void)kill(own, SIGKILL);
	now += 5000 * MS;
	give_many(100, SLOW);
	ck_assert_free();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handoff: inherited masks");
	TCase *tcase = tcase_create("inherit");

	if (!handoff_possible()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, rig_setup, rig_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, finds_who_inherited);
	tcase_add_test(tcase, finds_who_comes_late);
	tcase_add_test(tcase, looks_twice_at_each_number);
	tcase_add_test(tcase, leaves_strangers_who_are_like_that);
	tcase_add_test(tcase, leaves_a_run_alone_that_sets_masks);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
