/* A run whose tasks are all on the receiver's CPU. */
#include <check.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/handoff-rig.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

/* Calls that show a mask. */
static const int showing[] = {SYS_sched_getaffinity, SYS_sched_setaffinity};

static void together(void)
{
	handoff_begin(handoff, task.tid);
	ck_assert_int_eq(cpus(0), 1);
	ck_assert_int_eq(cpus(task.tid), 1);
}

/* Everybody has what he should have: one CPU, or all. */
static bool all_have(int count, const pid_t *tid, unsigned tids)
{
	bool good = cpus(0) == count && cpus(task.tid) == count;

	for (unsigned i = 0; i < tids; i++)
		good = good && cpus(tid[i]) == count;
	return good;
}

static bool all_but_caller_have(const cpu_set_t *mask, const pid_t *tid, unsigned tids)
{
	bool good = true;

	for (unsigned i = 0; i < tids; i++)
		good = good && is_mask(tid[i], mask);
	return good;
}

START_TEST(begins_with_the_program)
{
	pid_t made[2];

	together();
	made[0] = grandchild();
	call(task.tid, SYS_execve);
	call(made[0], SYS_openat);
	made[1] = grandchild();
	ck_assert(all_have(1, made, 2));
	handoff_release(handoff);
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	ck_assert(is_mask(made[1], &full));
}
END_TEST

START_TEST(shows_nobody_a_mask_of_ours)
{
	pid_t made[2];

	together();
	made[0] = grandchild();
	call(made[0], SYS_openat);
	made[1] = grandchild();
	handoff_call(handoff, made[0], showing[_i]);
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	/* It is being told, for as long as it has not called again. */
	(void)usleep(3000);
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), showing[_i] == SYS_sched_getaffinity ? 1 : CPU_COUNT(&full));
	ck_assert(is_mask(made[0], &full));
}
END_TEST

START_TEST(is_apart_for_a_moment)
{
	together();
	handoff_apart(handoff);
	ck_assert(is_mask(0, &full));
	ck_assert_int_eq(cpus(task.tid), 1);
	handoff_again(handoff);
	ck_assert_int_eq(cpus(0), 1);
	handoff_pause(handoff, now);
	ck_assert_free();
	handoff_apart(handoff);
	handoff_again(handoff);
	call(task.tid, SYS_openat);
	ck_assert_free();
}
END_TEST

/* Whether others took a CPU from it for long enough to let it go, as on a busy machine. */
static bool has_waited(pid_t pid)
{
	char path[64];
	unsigned long ran, waited = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	ck_assert(file && fscanf(file, "%lu %lu", &ran, &waited) == 2);
	(void)fclose(file);
	return waited >= 800 * US;
}

START_TEST(lets_those_go_who_compute)
{
	pid_t made[2];

	together();
	made[0] = grandchild_that("c");
	set_runnable(2);
	turns(15);
	ck_assert(all_have(1, made, 1) || has_waited(made[0])); /* one is welcome */
	made[1] = grandchild_that("c");
	set_runnable(3);
	for (int i = 0; i < 50 && cpus(0) == 1; i++)
		turns(10);
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	call(task.tid, SYS_openat); /* a pause: it is not here but at home */
	ck_assert(is_mask(0, &full));
	ck_assert(all_but_caller_have(&full, made, 2));
	(void)kill(made[0], SIGKILL);
	(void)kill(made[1], SIGKILL);
}
END_TEST

START_TEST(lets_callers_go_who_wait_for_each_other)
{
	pid_t made[2];

	together();
	made[0] = grandchild_that("c");
	made[1] = grandchild_that("c");
	for (int i = 0; i < 500 && cpus(0) == 1; i++) {
		call(made[i % 2], SYS_newfstatat);
		turns(2);
	}
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	(void)kill(made[0], SIGKILL);
	(void)kill(made[1], SIGKILL);
}
END_TEST

START_TEST(begins_again_at_a_call)
{
	pid_t made;

	together();
	made = grandchild();
	call(made, SYS_openat);
	turns(200); /* nobody calls */
	ck_assert(all_have(CPU_COUNT(&full), &made, 1));
	call(task.tid, SYS_openat);
	ck_assert(all_have(1, &made, 1));
	handoff_release(handoff);
	ck_assert(all_have(CPU_COUNT(&full), &made, 1));
}
END_TEST

START_TEST(begins_for_nobody_beside_one_who_computes)
{
	pid_t made = grandchild_that("c");

	set_runnable(2);
	call(made, SYS_openat);
	handoff_release(handoff);
	for (int i = 0; i < 100; i++) {
		call(task.tid, SYS_openat);
		ck_assert(is_mask(0, &full));
		ck_assert(is_mask(made, &full));
		turns(1);
	}
	(void)kill(made, SIGKILL);
}
END_TEST

START_TEST(begins_where_a_cpu_is_free)
{
	uint64_t crowded_ns = io_now_ns();

	set_runnable(2 * (unsigned)CPU_COUNT(&full) + 1);
	handoff_begin(handoff, task.tid);
	ck_assert_free();
	call(task.tid, SYS_openat);
	ck_assert_free();
	set_runnable(1);
	call(task.tid, SYS_openat); /* not at once, unless we ourselves had no CPU for so long */
	if (io_now_ns() < crowded_ns + 10 * MS)
		ck_assert_free();
	(void)usleep(15000);
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), 1);
}
END_TEST

START_TEST(leaves_a_thread_that_takes_a_number)
{
	struct task thread = task;

	together();
	thread.tgid = getpid();
	handoff_known(handoff, &thread, SYS_openat, now);
	ck_assert_int_eq(cpus(task.tid), 1);
	handoff_known(handoff, &thread, SYS_execve, now);
	/* It is in no list of known ones, but its number says when it was made. */
	ck_assert_free();
}
END_TEST

START_TEST(is_off_when_the_run_sets_masks)
{
	together();
	handoff_call(handoff, task.tid, SYS_sched_setaffinity);
	(void)usleep(3000);
	for (int i = 0; i < 10; i++) {
		call(task.tid, SYS_openat);
		turns(1);
	}
	ck_assert_free();
}
END_TEST

START_TEST(has_taken_the_dead)
{
	pid_t made;

	together();
	made = grandchild();
	call(task.tid, SYS_openat);
	finish(task.tid);
	handoff_forget(handoff, &task);
	task.tid = 0;
	handoff_release(handoff);
	ck_assert(is_mask(0, &full));
	(void)kill(made, SIGKILL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handoff: all together");
	TCase *tcase = tcase_create("together");

	if (!handoff_possible()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, rig_setup, rig_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, begins_with_the_program);
	tcase_add_loop_test(tcase, shows_nobody_a_mask_of_ours, 0, 2);
	tcase_add_test(tcase, is_apart_for_a_moment);
	tcase_add_test(tcase, lets_those_go_who_compute);
	tcase_add_test(tcase, lets_callers_go_who_wait_for_each_other);
	tcase_add_test(tcase, begins_again_at_a_call);
	tcase_add_test(tcase, begins_for_nobody_beside_one_who_computes);
	tcase_add_test(tcase, begins_where_a_cpu_is_free);
	tcase_add_test(tcase, leaves_a_thread_that_takes_a_number);
	tcase_add_test(tcase, is_off_when_the_run_sets_masks);
	tcase_add_test(tcase, has_taken_the_dead);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
