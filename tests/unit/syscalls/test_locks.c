/* Whose locks count, by tables as the kernel shows them; and when the room ends. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscalls/account/limits/locks.h"
#include "tests/unit/unit.h"

static char path[] = "/tmp/test_locks.XXXXXX";
static pid_t child, gone;

static pid_t start(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		(void)pause();
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void setup(void)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	child = start();
	gone = start();
	end(gone);
}

static void teardown(void)
{
	end(child);
	(void)unlink(path);
}

static void put(FILE *file, const char *before, const char *kind, pid_t pid)
{
	ck_assert_int_gt(fprintf(file, "%s%s ADVISORY  WRITE %d 08:01:4711 0 EOF\n", before, kind, pid), 0);
}

START_TEST(those_of_the_run_count)
{
	uint64_t of_processes = 99, of_files = 99;
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	put(file, "1: ", "POSIX ", child);
	put(file, "1: -> ", "POSIX ", child);
	put(file, "1:  -> ", "POSIX ", child);
	put(file, "2: ", "POSIX ", getpid()); /* the supervisor's own, and others' */
	put(file, "3: ", "POSIX ", 1);
	put(file, "4: ", "POSIX ", gone); /* it cannot be told */
	put(file, "5: ", "POSIX ", -7); /* of another machine */
	put(file, "6: ", "FLOCK ", child);
	put(file, "7: ", "LEASE ", child);
	put(file, "8: ", "OFDLCK", -1);
	put(file, "9: -> ", "OFDLCK", -1);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert(locks_count_in_proc_locks(open(path, O_RDONLY | O_CLOEXEC), -1, getpid(), &of_processes, &of_files));
	ck_assert_uint_eq(of_processes, 4);
	ck_assert_uint_eq(of_files, 2);
}
END_TEST

START_TEST(what_cannot_be_read_is_not_counted)
{
	uint64_t of_processes, of_files;
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < PROC_LOCKS_LINES_MAX; i++)
		put(file, "1: ", "POSIX ", 1);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert(!locks_count_in_proc_locks(open(path, O_RDONLY | O_CLOEXEC), -1, getpid(), &of_processes, &of_files));
	ck_assert(!locks_count_in_proc_locks(-1, -1, getpid(), &of_processes, &of_files));
}
END_TEST

START_TEST(which_commands_count)
{
	ck_assert(locks_command_needs_admission(F_SETLK) && locks_command_needs_admission(F_SETLKW) &&
		  locks_command_needs_admission(F_OFD_SETLK) && locks_command_needs_admission(F_OFD_SETLKW));
	ck_assert(locks_command_needs_admission(F_SETLK | UINT64_C(1) << 40)); /* the kernel takes an unsigned */
	ck_assert(!locks_command_needs_admission(F_GETLK) && !locks_command_needs_admission(F_OFD_GETLK) &&
		  !locks_command_needs_admission(F_DUPFD));
}
END_TEST

/* This machine's own table: without locks of the run there is always room again. */
START_TEST(room_is_found_again)
{
	struct locks locks;

	locks_init(&locks, -1);
	for (unsigned i = 0; i < 4 * LOCKS_OF_RUN_MAX; i++)
		ck_assert(locks_admit_fcntl(&locks, F_SETLK, i));
	ck_assert_uint_eq(locks.file_locks_max, 0);
	/* Held when they were counted last, a moment ago: not counted again. */
	locks = (struct locks){.proc_fd = -1, .root = getpid(), .locks_at_last_count = LOCKS_OF_RUN_MAX - 1};
	ck_assert(!locks_admit_fcntl(&locks, F_OFD_SETLK, 1000));
	ck_assert_uint_eq(locks.file_locks_max, 0);
	ck_assert(locks_admit_fcntl(&locks, F_OFD_SETLK, UINT64_C(1000000000)));
	ck_assert_uint_gt(locks.file_locks_max, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("locks");
	TCase *counting = tcase_create("counting");

	tcase_add_checked_fixture(counting, setup, teardown);
	tcase_add_test(counting, those_of_the_run_count);
	tcase_add_test(counting, what_cannot_be_read_is_not_counted);
	tcase_add_test(counting, which_commands_count);
	tcase_add_test(counting, room_is_found_again);
	suite_add_tcase(suite, counting);
	return unit_run(suite);
}
