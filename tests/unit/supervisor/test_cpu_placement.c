/* When the run is pinned to one CPU with the supervisor thread, and when it is unpinned. */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/supervisor/cpu-rig.h"
#include "tests/unit/unit.h"

/* Calls that show a mask. */
static const int showing[] = {SYS_sched_getaffinity, SYS_sched_setaffinity};

/* Every task has the expected mask: one CPU, or all. */
static bool all_have(int count, const pid_t *tid, unsigned tids)
{
	bool good = cpus(0) == count && cpus(task.tid) == count;

	for (unsigned i = 0; i < tids; i++)
		good = good && cpus(tid[i]) == count;
	return good;
}

START_TEST(pins_from_the_program_on)
{
	pid_t made[2];

	pin(NULL);
	made[0] = grandchild();
	call(task.tid, SYS_execve);
	call(made[0], SYS_openat);
	made[1] = grandchild();
	ck_assert(all_have(1, made, 2));
	cpu_unpin_run(cpu);
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	ck_assert(is_mask(made[1], &full));
}
END_TEST

START_TEST(hides_masks_from_affinity_calls)
{
	pid_t made[2];

	pin(NULL);
	made[0] = grandchild();
	call(made[0], SYS_openat);
	made[1] = grandchild();
	call(made[0], showing[_i]);
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	/* It is being told, for as long as it has not called again. */
	for (int tries = 0; tries < 500; tries++) { /* a machine that is busy just then has it pinned later */
		(void)usleep(3000);
		call(task.tid, SYS_openat);
		if (showing[_i] == SYS_sched_setaffinity || cpus(task.tid) == 1)
			break;
	}
	ck_assert_int_eq(cpus(task.tid), showing[_i] == SYS_sched_getaffinity ? 1 : CPU_COUNT(&full));
	ck_assert(is_mask(made[0], &full));
}
END_TEST

START_TEST(hides_masks_from_a_status_file)
{
	pid_t made;

	pin(NULL);
	made = grandchild();
	call_opening(task.tid, "/proc/self/statuses");
	ck_assert(all_have(1, &made, 1));
	call_opening(task.tid, "/proc/1/task/1/status");
	ck_assert(all_have(CPU_COUNT(&full), &made, 1));
	for (int i = 0; i < 10; i++)
		call(task.tid, SYS_openat);
	ck_assert(all_have(CPU_COUNT(&full), &made, 1));
}
END_TEST

static unsigned long waited_ns(pid_t pid)
{
	char path[64];
	unsigned long ran, waited = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	ck_assert(file && fscanf(file, "%lu %lu", &ran, &waited) == 2);
	(void)fclose(file);
	return waited;
}

/* Whether others took a CPU from it for long enough to let it go, as on a busy machine. */
static bool has_waited(pid_t pid)
{
	return waited_ns(pid) >= 800 * 1000;
}

static unsigned long own_cpu_ns(void)
{
	struct timespec used;

	ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
	return (unsigned long)used.tv_sec * 1000000000 + (unsigned long)used.tv_nsec;
}

/* What happened since the turn before. */
struct turn_costs {
	unsigned long clock_ns, own_cpu_ns, waited_ns;
	unsigned long waited_for_others_ns; /* the sum of all turns */
	bool late;			    /* a turn came so late that numbers of threads may have been used again */
};

static void costs_add_turn(struct turn_costs *costs, pid_t made)
{
	unsigned long clock_ns = io_read_clock_ns(), used_ns = own_cpu_ns(), delay_ns = waited_ns(made);
	unsigned long own_ns = used_ns - costs->own_cpu_ns, delayed_ns = delay_ns - costs->waited_ns;

	costs->late |= clock_ns - costs->clock_ns > 20 * MS;
	costs->waited_for_others_ns += delayed_ns > own_ns ? delayed_ns - own_ns : 0;
	costs->clock_ns = clock_ns;
	costs->own_cpu_ns = used_ns;
	costs->waited_ns = delay_ns;
}

/* As on a slow machine, or where a hypervisor takes the CPU while the supervisor thread has it. */
START_TEST(stays_pinned_while_only_the_supervisor_takes_the_cpu)
{
	struct turn_costs costs = {0};
	unsigned long round_ns;
	pid_t made;

	pin(NULL);
	costs.clock_ns = io_read_clock_ns();
	costs.own_cpu_ns = own_cpu_ns();
	made = grandchild_that("c");
	set_runnable(2);
	for (int i = 0; i < 10 && cpus(0) == 1; i++) {
		call(made, SYS_openat);
		round_ns = own_cpu_ns();
		while (own_cpu_ns() < round_ns + 2 * MS)
			;
		turn();
		costs_add_turn(&costs, made);
	}
	ck_assert(costs.waited_ns > 1 * MS || cpus(0) != 1);
	ck_assert(cpus(0) == 1 || costs.late || costs.waited_for_others_ns > 400 * 1000);
	(void)kill(made, SIGKILL);
}
END_TEST

START_TEST(unpins_tasks_that_compute)
{
	pid_t made[2];
	uint64_t pinned_ns = 0;

	pin(NULL);
	made[0] = grandchild_that("c");
	set_runnable(2);
	turns(15);
	ck_assert(all_have(1, made, 1) || has_waited(made[0])); /* one is welcome */
	made[1] = grandchild_that("c");
	set_runnable(3);
	for (int i = 0; i < 50 && cpus(0) == 1; i++) {
		pinned_ns = io_read_clock_ns();
		turns(10);
	}
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	call(task.tid, SYS_openat);
	if (io_read_clock_ns() < pinned_ns + 50 * MS) /* the pause */
		ck_assert(all_have(CPU_COUNT(&full), made, 2));
	(void)kill(made[0], SIGKILL);
	(void)kill(made[1], SIGKILL);
}
END_TEST

START_TEST(unpins_calling_tasks_that_wait_for_the_cpu)
{
	pid_t made[2];

	pin(NULL);
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

START_TEST(pins_again_at_a_call)
{
	pid_t made;

	pin(NULL);
	made = grandchild();
	call(made, SYS_openat);
	turns(200); /* no call is made */
	ck_assert(all_have(CPU_COUNT(&full), &made, 1));
	call(task.tid, SYS_openat);
	ck_assert(all_have(1, &made, 1));
	cpu_unpin_run(cpu);
	ck_assert(all_have(CPU_COUNT(&full), &made, 1));
}
END_TEST

START_TEST(pins_nothing_beside_a_task_that_computes)
{
	pid_t made = grandchild_that("c");

	set_runnable(2);
	call(made, SYS_openat);
	cpu_unpin_run(cpu);
	for (int i = 0; i < 100; i++) {
		call(task.tid, SYS_openat);
		ck_assert(is_mask(0, &full));
		ck_assert(is_mask(made, &full));
		turns(1);
	}
	(void)kill(made, SIGKILL);
}
END_TEST

START_TEST(pins_where_a_cpu_is_free)
{
	uint64_t crowded_ns = io_read_clock_ns();

	set_runnable(2 * (unsigned)CPU_COUNT(&full) + 1);
	cpu_pin_program(cpu, task.tid);
	ck_assert_free();
	call(task.tid, SYS_openat);
	ck_assert_free();
	set_runnable(1);
	call(task.tid, SYS_openat); /* not at once, unless we ourselves had no CPU for so long */
	if (io_read_clock_ns() < crowded_ns + 10 * MS)
		ck_assert_free();
	(void)usleep(15000);
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), 1);
}
END_TEST

START_TEST(unpins_before_an_exec_in_a_thread)
{
	struct task thread = task;

	pin(NULL);
	thread.tgid = getpid();
	call_of(&thread, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), 1);
	call_of(&thread, SYS_execve);
	/* It is in no list of known ones, but its number says when it was made. */
	ck_assert_free();
}
END_TEST

START_TEST(is_off_when_the_run_sets_masks)
{
	pin(NULL);
	call(task.tid, SYS_sched_setaffinity);
	(void)usleep(3000);
	for (int i = 0; i < 10; i++) {
		call(task.tid, SYS_openat);
		turns(1);
	}
	ck_assert_free();
}
END_TEST

START_TEST(outlives_a_dead_task)
{
	pid_t made;

	pin(NULL);
	made = grandchild();
	call(task.tid, SYS_openat);
	finish(task.tid);
	task.tid = 0;
	cpu_unpin_run(cpu);
	ck_assert(is_mask(0, &full));
	(void)kill(made, SIGKILL);
}
END_TEST

START_TEST(is_off_without_one)
{
	cpu_pin_program(NULL, task.tid);
	ck_assert(!cpu_unpin_before_affinity_call(NULL, NULL, NULL));
	cpu_update_placement_before_response(NULL, NULL);
	cpu_unpin_run(NULL);
	ck_assert_int_eq(cpu_update_placement_after_wait(NULL, now), -1);
	cpu_free(NULL);
	ck_assert_free();
}
END_TEST

START_TEST(is_off_without_loadavg)
{
	cpu_free(cpu);
	ck_assert_int_eq(cpu_create(tree, -ENODEV, &cpu), 0);
	cpu_pin_program(cpu, task.tid);
	call(task.tid, SYS_openat);
	call(task.tid, SYS_sched_getaffinity);
	call(task.tid, SYS_openat);
	turns(10);
	ck_assert_free();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu placement");
	TCase *tcase = tcase_create("placement");

	if (!cpu_can_pin()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, rig_setup, rig_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, pins_from_the_program_on);
	tcase_add_loop_test(tcase, hides_masks_from_affinity_calls, 0, 2);
	tcase_add_test(tcase, hides_masks_from_a_status_file);
	tcase_add_test(tcase, stays_pinned_while_only_the_supervisor_takes_the_cpu);
	tcase_add_test(tcase, unpins_tasks_that_compute);
	tcase_add_test(tcase, unpins_calling_tasks_that_wait_for_the_cpu);
	tcase_add_test(tcase, pins_again_at_a_call);
	tcase_add_test(tcase, pins_nothing_beside_a_task_that_computes);
	tcase_add_test(tcase, pins_where_a_cpu_is_free);
	tcase_add_test(tcase, unpins_before_an_exec_in_a_thread);
	tcase_add_test(tcase, is_off_when_the_run_sets_masks);
	tcase_add_test(tcase, outlives_a_dead_task);
	tcase_add_test(tcase, is_off_without_one);
	tcase_add_test(tcase, is_off_without_loadavg);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
