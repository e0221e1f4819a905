/* Who may make one more task: with real children that sleep, run, or are gone. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc/stat.h"
#include "syscalls/account/limits/forks.h"
#include "tests/unit/unit.h"

static struct forks *forks;
static pid_t sleeper, runner;

/* A child that dies with us. */
static pid_t start(bool runs)
{
	pid_t pid = fork();
	volatile bool always = true;

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	(void)alarm(300);
	while (always)
		if (!runs)
			(void)pause();
	_exit(0);
}

static void wait_for(pid_t pid, char state)
{
	struct procstat stat;

	do
		ck_assert_int_eq(procstat_read(pid, &stat), 0);
	while (stat.state != state && usleep(1000) == 0);
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void setup(void)
{
	sleeper = start(false);
	runner = start(true);
	wait_for(sleeper, 'S');
	wait_for(runner, 'R');
	ck_assert_int_eq(forks_create(4, getpid(), &forks), 0);
}

static void teardown(void)
{
	end(sleeper);
	end(runner);
	forks_free(forks);
}

/* The count from the beginning, one, and what was admitted since; then the two that there are. */
START_TEST(counts_what_is_there)
{
	for (int i = 0; i < 100; i++)
		ck_assert(forks_admit_fork_of_thread(forks, sleeper, io_read_clock_ns()));
	ck_assert_uint_eq(forks_get_task_count(forks), 2);
	ck_assert_uint_eq(forks_get_refused_count(forks), 0);
}
END_TEST

/* Two, and the fork of the one that sleeps is done: nothing of it is to come. */
START_TEST(asleep_is_done)
{
	for (int i = 0; i < 10; i++) {
		ck_assert(forks_admit_fork_of_thread(forks, sleeper, io_read_clock_ns()));
		ck_assert(forks_admit_fork_of_thread(forks, getpid(), io_read_clock_ns()));
	}
}
END_TEST

/* Four: two tasks, and one that each of them is about to make. Whether a third thread's fork is refused then. */
static bool third_is_refused(void)
{
	forks_free(forks);
	ck_assert_int_eq(forks_create(4, getpid(), &forks), 0);
	ck_assert(forks_admit_fork_of_thread(forks, runner, io_read_clock_ns()));
	ck_assert(forks_admit_fork_of_thread(forks, sleeper, io_read_clock_ns()));
	return !forks_admit_fork_of_thread(forks, getppid(), io_read_clock_ns());
}

/* Runnable, and not seen to have run: its fork may still come, and there is room for one. */
START_TEST(starved_is_reserved)
{
	unsigned tries = 0;
	bool admitted;

	end(sleeper);
	sleeper = start(true);
	/* The two may run for long between two of our lines, on a machine that is busy. */
	while (!third_is_refused())
		ck_assert_uint_lt(++tries, 1000);
	ck_assert_uint_eq(forks_get_refused_count(forks), 1);
	tries = 0;
	/* ... until they have run for longer than that takes */
	do
		admitted = usleep(1000) == 0 && forks_admit_fork_of_thread(forks, getppid(), io_read_clock_ns());
	while (!admitted && ++tries < 5000);
	ck_assert(admitted);
}
END_TEST

/* Who asks again has not made what it asked for before, or has, and that is counted. */
START_TEST(asks_again)
{
	for (int i = 0; i < 10; i++)
		ck_assert(forks_admit_fork_of_thread(forks, runner, io_read_clock_ns()));
	ck_assert_uint_eq(forks_get_refused_count(forks), 0);
}
END_TEST

START_TEST(gone_is_done)
{
	pid_t gone = start(false);
	uint64_t later;

	ck_assert(forks_admit_fork_of_thread(forks, gone, io_read_clock_ns()));
	end(gone);
	later = io_read_clock_ns() + 1000000000u;
	for (int i = 0; i < 10; i++)
		ck_assert(forks_admit_fork_of_thread(forks, sleeper, later));
	ck_assert_uint_eq(forks_get_task_count(forks), 2);
}
END_TEST

START_TEST(many_are_remembered)
{
	struct forks *wide;
	pid_t child[40];

	ck_assert_int_eq(forks_create(1000, getpid(), &wide), 0);
	for (size_t i = 0; i < 40; i++)
		child[i] = start(true);
	for (size_t i = 0; i < 40; i++)
		ck_assert(forks_admit_fork_of_thread(wide, child[i], 1));
	for (size_t i = 0; i < 40; i++)
		end(child[i]);
	ck_assert(forks_admit_fork_of_thread(wide, sleeper, io_read_clock_ns()));
	forks_free(wide);
}
END_TEST

START_TEST(full_is_refused)
{
	struct forks *narrow;

	ck_assert_int_eq(forks_create(2, getpid(), &narrow), 0);
	for (int i = 0; i < 3; i++)
		ck_assert(!forks_admit_fork_of_thread(narrow, sleeper, io_read_clock_ns()));
	ck_assert_uint_eq(forks_get_refused_count(narrow), 3);
	end(runner);
	ck_assert(forks_admit_fork_of_thread(narrow, sleeper, io_read_clock_ns()));
	runner = start(true);
	forks_free(narrow);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("forks");
	TCase *tcase = tcase_create("forks");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, counts_what_is_there);
	tcase_add_test(tcase, asleep_is_done);
	tcase_add_test(tcase, starved_is_reserved);
	tcase_add_test(tcase, asks_again);
	tcase_add_test(tcase, gone_is_done);
	tcase_add_test(tcase, many_are_remembered);
	tcase_add_test(tcase, full_is_refused);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
