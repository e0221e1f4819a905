/* Which masks are changed and put back: those of the run, also where they were inherited, and no others. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/cpu/private.h"
#include "tests/unit/supervisor/cpu-rig.h"
#include "tests/unit/unit.h"

START_TEST(knows_when_pids_may_be_reused)
{
	struct affinity affinity = {.pid_max = 301};

	ck_assert(!affinity_pids_may_be_reused(&affinity, 20 * MS));
	ck_assert(affinity_pids_may_be_reused(&affinity, 21 * MS));
	affinity.pid_max = 32768;
	ck_assert(!affinity_pids_may_be_reused(&affinity, 80 * MS));
	ck_assert(affinity_pids_may_be_reused(&affinity, 100 * MS));
	affinity.pid_max = 4194304;
	ck_assert(!affinity_pids_may_be_reused(&affinity, 10000 * MS));
	ck_assert(affinity_pids_may_be_reused(&affinity, 11000 * MS));
}
END_TEST

START_TEST(unpins_heirs)
{
	pid_t first, second_one;

	pin(NULL);
	first = grandchild();
	second_one = grandchild();
	ck_assert_int_eq(cpus(first), 1);
	call(first, SYS_openat);
	ck_assert_int_eq(cpus(first), 1);
	cpu_unpin_run(cpu);
	ck_assert_free();
	ck_assert(is_mask(first, &full));
	ck_assert(is_mask(second_one, &full));
	(void)kill(first, SIGKILL);
	(void)kill(second_one, SIGKILL);
}
END_TEST

/* As if it had been under way when its maker was let go: it gets its number after that. */
START_TEST(unpins_heirs_that_come_late)
{
	cpu_set_t pinned;
	pid_t late[3];

	pin(&pinned);
	cpu_unpin_run(cpu);
	now = io_read_clock_ns();
	for (int i = 0; i < 3; i++) {
		late[i] = grandchild();
		ck_assert_int_eq(sched_setaffinity(late[i], sizeof(pinned), &pinned), 0);
		now += 600 * MS;
		set_runnable(2 * (unsigned)CPU_COUNT(&full) + 1); /* a call pins nothing */
		if (i == 1)
			call(late[i], SYS_openat);
		else
			(void)cpu_update_placement_after_wait(cpu, now);
		ck_assert(is_mask(late[i], &full));
	}
	for (int i = 0; i < 3; i++)
		(void)kill(late[i], SIGKILL);
}
END_TEST

/* As if it had its number at the first look already, but its mask, which is its maker's, only after that. */
START_TEST(looks_twice_at_each_number)
{
	cpu_set_t pinned;
	pid_t made;

	pin(&pinned);
	made = grandchild();
	ck_assert_int_eq(sched_setaffinity(made, sizeof(full), &full), 0);
	cpu_unpin_run(cpu);
	ck_assert_int_eq(sched_setaffinity(made, sizeof(pinned), &pinned), 0);
	now = io_read_clock_ns() + 600 * MS;
	(void)cpu_update_placement_after_wait(cpu, now);
	ck_assert(is_mask(made, &full));
	(void)kill(made, SIGKILL);
}
END_TEST

START_TEST(leaves_processes_outside_the_run)
{
	cpu_set_t pinned;
	pid_t stranger;

	pin(&pinned);
	stranger = fork();
	if (stranger == 0) {
		pid_t pid = fork();

		if (pid == 0) /* init's, or a subreaper's: not ours any more */
			for (;;)
				(void)pause();
		(void)sched_setaffinity(pid, sizeof(pinned), &pinned);
		_exit(write(told[1], &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? 0 : 1);
	}
	(void)waitpid(stranger, NULL, 0);
	ck_assert_int_eq(read(told[0], &stranger, sizeof(stranger)), (ssize_t)sizeof(stranger));
	set_runnable(1);
	cpu_unpin_run(cpu);
	ck_assert_free();
	ck_assert(is_mask(stranger, &pinned));
	(void)kill(stranger, SIGKILL);
}
END_TEST

START_TEST(stops_when_the_run_sets_a_mask)
{
	cpu_set_t pinned;
	pid_t own;

	pin(&pinned);
	call(task.tid, SYS_sched_setaffinity);
	call(task.tid, SYS_openat);
	ck_assert_free();
	own = grandchild();
	ck_assert_int_eq(sched_setaffinity(own, sizeof(pinned), &pinned), 0);
	for (int i = 0; i < 5; i++) {
		now += 600 * MS;
		(void)cpu_update_placement_after_wait(cpu, now);
		call(own, SYS_openat);
	}
	ck_assert(is_mask(own, &pinned));
	(void)kill(own, SIGKILL);
	now += 5000 * MS;
	call(task.tid, SYS_openat);
	ck_assert_free();
}
END_TEST

static void first_of(const cpu_set_t *mask, cpu_set_t *ret_one)
{
	CPU_ZERO(ret_one);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(ret_one) == 0; i++)
		if (CPU_ISSET(i, mask))
			CPU_SET(i, ret_one);
}

START_TEST(leaves_alone_what_has_one_cpu)
{
	cpu_set_t one;

	first_of(&full, &one);
	ck_assert_int_eq(sched_setaffinity(task.tid, sizeof(one), &one), 0);
	cpu_pin_program(cpu, task.tid);
	ck_assert(is_mask(0, &full));
	call(task.tid, SYS_openat);
	ck_assert(is_mask(task.tid, &one));
}
END_TEST

START_TEST(leaves_a_mask_that_another_process_set)
{
	cpu_set_t pinned, other;

	pin(&pinned);
	CPU_XOR(&pinned, &pinned, &full);
	first_of(&pinned, &other);
	ck_assert_int_eq(sched_setaffinity(task.tid, sizeof(other), &other), 0);
	cpu_unpin_run(cpu);
	ck_assert(is_mask(task.tid, &other));
	ck_assert(is_mask(0, &full));
}
END_TEST

/* As if the number of a task of the run had been used again by a process outside it. */
START_TEST(leaves_a_process_with_a_number_used_again)
{
	struct task *known = task_table_find_task(tree, task.tid);
	pid_t dead = task.tid, stranger = child();
	cpu_set_t pinned;

	set_runnable(1);
	call(dead, SYS_openat); /* all tasks with higher numbers would be the run's */
	ck_assert_int_eq(sched_getaffinity(dead, sizeof(pinned), &pinned), 0);
	ck_assert_int_eq(CPU_COUNT(&pinned), 1);
	ck_assert_int_eq(sched_setaffinity(stranger, sizeof(pinned), &pinned), 0);
	finish(dead);
	known->tid = task.tid = stranger;
	set_runnable(1);
	cpu_unpin_run(cpu);
	ck_assert(is_mask(stranger, &pinned));
	ck_assert(is_mask(0, &full));
	ck_assert_int_eq(sched_setaffinity(stranger, sizeof(full), &full), 0);
	call_of(known, SYS_openat);
	ck_assert(is_mask(stranger, &full));
	known->tid = dead;
}
END_TEST

START_TEST(knows_loadavg)
{
	int fd = cpu_open_loadavg(-1);
	char text[128];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text)), 0);
	(void)close(fd);
	fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	ck_assert_int_lt(cpu_open_loadavg(fd), 0);
	(void)close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu affinity");
	TCase *tcase = tcase_create("affinity");

	if (!cpu_can_pin()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, rig_setup, rig_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, knows_when_pids_may_be_reused);
	tcase_add_test(tcase, unpins_heirs);
	tcase_add_test(tcase, unpins_heirs_that_come_late);
	tcase_add_test(tcase, looks_twice_at_each_number);
	tcase_add_test(tcase, leaves_processes_outside_the_run);
	tcase_add_test(tcase, stops_when_the_run_sets_a_mask);
	tcase_add_test(tcase, leaves_alone_what_has_one_cpu);
	tcase_add_test(tcase, leaves_a_mask_that_another_process_set);
	tcase_add_test(tcase, leaves_a_process_with_a_number_used_again);
	tcase_add_test(tcase, knows_loadavg);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
