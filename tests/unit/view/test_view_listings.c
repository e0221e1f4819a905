/* What the view lists: granted names, processes of the run, its terminals. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/unit/view/view-rig.h"
#include "view/tree.h"

START_TEST(listings_show_what_is_granted)
{
	static struct place place;
	_cleanup_close_ int fd = -1;

	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/globs", 0, &place), 0);
	ck_assert(view_has_standin(&place));
	fd = view_open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(faccessat(fd, "a.csv", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "deep", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(fd, "secret.txt", F_OK, 0), 0);
	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/globs/secret.txt", 0, &place), 0);
	ck_assert_int_eq(view_open_place(&place, O_RDONLY, 0), -ENOENT);
	ck_assert_int_eq(view_judge_place(view_rig.view, NULL, &place, POLICY_READ).error, ENOENT);
}
END_TEST

/* A number in the stand-in of /proc whose process is not the run's (any more) goes, even if another has it now. */
START_TEST(proc_lists_the_run)
{
	static struct place place;
	_cleanup_close_ int fd = -1;
	char mine[16], parent[16];
	struct task_table *tree;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(pid, 0);
	(void)snprintf(mine, sizeof(mine), "%d", pid);
	(void)snprintf(parent, sizeof(parent), "%d", getppid());
	ck_assert_int_eq(task_table_create(getpid(), NULL, -1, &tree), 0);
	view_set_supervisor_pid(view_rig.view, getpid());
	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", "/proc", 0, &place), 0);
	fd = view_open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(faccessat(fd, mine, F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "meminfo", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(fd, parent, F_OK, 0), 0);
	ck_assert_int_eq(mkdirat(fd, parent, 0755), 0);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	(void)close(fd);
	fd = view_open_place(&place, O_RDONLY | O_DIRECTORY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(faccessat(fd, mine, F_OK, 0), 0);
	ck_assert_int_lt(faccessat(fd, parent, F_OK, 0), 0);
	ck_assert_int_eq(faccessat(fd, "meminfo", F_OK, 0), 0);
	view_set_supervisor_pid(view_rig.view, 0);
	task_table_free(tree);
}
END_TEST

/* Opens a name of /dev/pts, or says what view_judge_place or view_open_place says. */
static int open_terminal(const char *name, int flags)
{
	static struct place place;
	struct policy_decision decision;

	ck_assert_int_eq(view_locate_path(view_rig.view, NULL, "/", name, VIEW_FOLLOW_LAST_LINK, &place), 0);
	decision = view_judge_place(view_rig.view, NULL, &place, POLICY_READ | POLICY_WRITE);
	return decision.verdict == VERDICT_DENY ? -decision.error : view_open_place(&place, flags, 0);
}

static unsigned terminal_number(int master)
{
	unsigned number = 0;
	int unlocked = 0;

	ck_assert_int_eq(ioctl(master, TIOCGPTN, &number), 0);
	ck_assert_int_eq(ioctl(master, TIOCSPTLCK, &unlocked), 0);
	return number;
}

/* Where there is no devpts of the run's own: of the host's pairs those that the view has made, and no others. */
START_TEST(terminals_are_the_runs)
{
	int foreign = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), own, slave;
	char name[32], path[64];
	struct stat first, second;

	if (foreign < 0)
		return; /* there is no devpts here */
	(void)snprintf(name, sizeof(name), "/dev/pts/%u", terminal_number(foreign));
	ck_assert_int_eq(open_terminal(name, O_RDWR), -ENOENT);
	ck_assert_int_eq(open_terminal(name, O_PATH), -ENOENT);
	ck_assert_int_eq(open_terminal("/dev/pts/99999", O_RDWR), -ENOENT);
	ck_assert_int_eq(open_terminal("/dev/pts", O_RDONLY), -EROFS);
	own = open_terminal("/dev/ptmx", O_RDWR);
	ck_assert_int_ge(own, 0);
	(void)snprintf(name, sizeof(name), "/dev/pts/%u", terminal_number(own));
	slave = open_terminal(name, O_RDWR);
	ck_assert_int_ge(slave, 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", slave);
	ck_assert_int_eq(stat(path, &first), 0);
	ck_assert_int_eq(stat(name, &second), 0);
	ck_assert_uint_eq(first.st_rdev, second.st_rdev);
	ck_assert_int_eq(write(slave, "x", 1), 1);
	(void)close(slave);
	(void)close(own);
	ck_assert_int_eq(open_terminal(name, O_RDWR), -ENOENT);
	(void)close(foreign);
	/* The number goes to another process: its name still leads nowhere. */
	for (int i = 0; i < 4; i++) {
		foreign = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
		(void)terminal_number(foreign);
		ck_assert_int_eq(open_terminal(name, O_RDWR), -ENOENT);
	}
	ck_assert_int_eq(view_open_terminal(view_rig.view, 4000, O_RDWR), -ENXIO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("view listings");
	TCase *tests = tcase_create("view listings");

	tcase_add_checked_fixture(tests, view_rig_set_up, view_rig_tear_down);
	tcase_add_test(tests, listings_show_what_is_granted);
	tcase_add_test(tests, proc_lists_the_run);
	tcase_add_test(tests, terminals_are_the_runs);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
