/* When a task is kept on the receiver's CPU, when it is let go, and that every mask is afterwards what it was. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/handoff-rig.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

START_TEST(keeps_when_it_costs_enough)
{
	give_many(3, SLOW);
	ck_assert_free();
	give(SLOW);
	ck_assert_int_eq(cpus(task.tid), 1);
	ck_assert_int_eq(cpus(0), 1);
	give_many(100, FAST);
	ck_assert(handoff_keeps(handoff, task.tid));
	handoff_release(handoff);
	ck_assert_free();
}
END_TEST

START_TEST(leaves_alone_what_is_quick_or_rare)
{
	give_many(100, FAST);
	ck_assert_free();
	for (int i = 0; i < 20; i++) {
		give_many(2, SLOW);
		give(FAST);
	}
	ck_assert_free();
	for (int i = 0; i < 20; i++) {
		give(SLOW);
		now += 3 * MS;
	}
	ck_assert_free();
}
END_TEST

static const int releasing[] = {SYS_execve, SYS_execveat, SYS_sched_getaffinity, SYS_sched_setaffinity};

START_TEST(lets_go_before_calls_about_masks)
{
	keep();
	handoff_call(handoff, task.tid, SYS_newfstatat);
	ck_assert(handoff_keeps(handoff, task.tid));
	handoff_call(handoff, task.tid, releasing[_i]);
	ck_assert_free();
}
END_TEST

START_TEST(lets_go_before_somebody_elses_call)
{
	keep();
	handoff_call(handoff, getpid(), SYS_openat);
	ck_assert_free();
}
END_TEST

START_TEST(lets_go_when_idle)
{
	keep();
	ck_assert_int_eq(handoff_tick(handoff, now + MS), HANDOFF_IDLE_MS);
	ck_assert(handoff_keeps(handoff, task.tid));
	ck_assert_int_eq(handoff_tick(handoff, now + (HANDOFF_IDLE_MS + 1) * MS), HANDOFF_IDLE_MS);
	(void)handoff_tick(handoff, now + 2 * (HANDOFF_IDLE_MS + 1) * MS); /* what it returns depends on the real clock */
	ck_assert_free();
}
END_TEST

START_TEST(lets_go_now_and_then)
{
	keep();
	for (uint64_t until = now + 100 * MS; now < until && handoff_keeps(handoff, task.tid);)
		give(FAST);
	ck_assert_free();
	keep(); /* at once again, if it is as slow as before */
}
END_TEST

START_TEST(gives_up_when_it_does_not_help)
{
	uint64_t pause = 0;

	for (int round = 0; round < 3; round++) {
		uint64_t begin, before = pause;

		keep();
		give_many(10, SLOW);
		ck_assert_free();
		for (begin = now; !handoff_keeps(handoff, task.tid) && now < begin + 2000 * MS;)
			give(SLOW);
		pause = now - begin;
		ck_assert_uint_ge(pause, 40 * MS);
		ck_assert_uint_ge(pause, before + before / 2);
		give_many(10, SLOW);
		now += 2000 * MS;
	}
}
END_TEST

START_TEST(lets_go_of_a_cpu_that_others_want)
{
	keep();
	give(2 * MS);
	ck_assert_free();
	give_many(50, SLOW);
	ck_assert_free();
	for (int i = 0; i < 1000 && !handoff_keeps(handoff, task.tid); i++)
		give(SLOW);
	ck_assert(handoff_keeps(handoff, task.tid));
}
END_TEST

START_TEST(keeps_out_of_the_way_while_masks_are_read)
{
	keep();
	handoff_pause(handoff, now);
	ck_assert_free();
	give_many(100, SLOW);
	ck_assert_free();
}
END_TEST

static void first_of(const cpu_set_t *mask, cpu_set_t *ret_one)
{
	CPU_ZERO(ret_one);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(ret_one) == 0; cpu++)
		if (CPU_ISSET(cpu, mask))
			CPU_SET(cpu, ret_one);
}

START_TEST(leaves_alone_what_has_one_cpu)
{
	cpu_set_t one;

	first_of(&full, &one);
	ck_assert_int_eq(sched_setaffinity(task.tid, sizeof(one), &one), 0);
	give_many(100, SLOW);
	ck_assert(!handoff_keeps(handoff, task.tid));
	ck_assert(is_mask(task.tid, &one));
	ck_assert(is_mask(0, &full));
}
END_TEST

START_TEST(leaves_a_mask_that_somebody_else_set)
{
	cpu_set_t kept, other;

	keep();
	ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(kept), &kept), 0);
	CPU_XOR(&kept, &kept, &full);
	first_of(&kept, &other);
	ck_assert_int_eq(sched_setaffinity(task.tid, sizeof(other), &other), 0);
	handoff_release(handoff);
	ck_assert(is_mask(task.tid, &other));
	ck_assert(is_mask(0, &full));
}
END_TEST

START_TEST(forgets_the_dead)
{
	keep();
	finish(task.tid);
	handoff_forget(handoff, &task);
	task.tid = 0;
	ck_assert(!handoff_keeps(handoff, task.tid));
	ck_assert(is_mask(0, &full));
}
END_TEST

/* As if the number had been used again: a stranger who is where the dead was kept. */
START_TEST(touches_no_stranger)
{
	pid_t dead, stranger = child();
	cpu_set_t kept;

	keep();
	ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(kept), &kept), 0);
	ck_assert_int_eq(sched_setaffinity(stranger, sizeof(kept), &kept), 0);
	dead = task.tid;
	finish(dead);
	task.tid = stranger;
	handoff_release(handoff);
	ck_assert(is_mask(stranger, &kept));
	ck_assert(is_mask(0, &full));

	/* … and one who has it before the dead could be kept again. */
	ck_assert_int_eq(sched_setaffinity(stranger, sizeof(full), &full), 0);
	give_many(10, SLOW);
	ck_assert(!handoff_keeps(handoff, task.tid));
	ck_assert(is_mask(stranger, &full));
	ck_assert(is_mask(0, &full));
}
END_TEST

START_TEST(keeps_nobody_where_all_is_busy)
{
	set_runnable(2 * (unsigned)CPU_COUNT(&full) + 1);
	give_many(100, SLOW);
	ck_assert_free();
	set_runnable(1);
	now += 20 * MS;
	keep();
	set_runnable(2 * (unsigned)CPU_COUNT(&full) + 1);
	for (int i = 0; i < 300; i++)
		give(FAST);
	ck_assert_free();
}
END_TEST

START_TEST(knows_loadavg)
{
	int fd = handoff_loadavg(-1);
	char text[128];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text)), 0);
	(void)close(fd);
	fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	ck_assert_int_lt(handoff_loadavg(fd), 0);
	(void)close(fd);
}
END_TEST

START_TEST(is_off_without_one)
{
	handoff_call(NULL, 1, SYS_execve);
	handoff_before(NULL, &task, now);
	handoff_after(NULL, SLOW, now);
	handoff_pause(NULL, now);
	handoff_release(NULL);
	handoff_forget(NULL, &task);
	ck_assert_int_eq(handoff_tick(NULL, now), -1);
	ck_assert(!handoff_keeps(NULL, task.tid));
	handoff_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handoff");
	TCase *tcase = tcase_create("handoff");

	if (!handoff_possible()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, rig_setup, rig_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, keeps_when_it_costs_enough);
	tcase_add_test(tcase, leaves_alone_what_is_quick_or_rare);
	tcase_add_loop_test(tcase, lets_go_before_calls_about_masks, 0,
			    (int)(sizeof(releasing) / sizeof(releasing[0])));
	tcase_add_test(tcase, lets_go_before_somebody_elses_call);
	tcase_add_test(tcase, lets_go_when_idle);
	tcase_add_test(tcase, lets_go_now_and_then);
	tcase_add_test(tcase, gives_up_when_it_does_not_help);
	tcase_add_test(tcase, lets_go_of_a_cpu_that_others_want);
	tcase_add_test(tcase, keeps_out_of_the_way_while_masks_are_read);
	tcase_add_test(tcase, leaves_alone_what_has_one_cpu);
	tcase_add_test(tcase, leaves_a_mask_that_somebody_else_set);
	tcase_add_test(tcase, forgets_the_dead);
	tcase_add_test(tcase, touches_no_stranger);
	tcase_add_test(tcase, keeps_nobody_where_all_is_busy);
	tcase_add_test(tcase, knows_loadavg);
	tcase_add_test(tcase, is_off_without_one);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
