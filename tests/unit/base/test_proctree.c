/* Descendants: in made-up lists, and among real processes. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc/stat.h"
#include "base/proc/tree.h"
#include "tests/unit/unit.h"

#define ROOT 50
#define B PROCTREE_DESCENDANT
#define E PROCTREE_NOT_DESCENDANT

struct case_entry {
	pid_t pid, parent;
	enum proctree_place place;
};

struct mark_case {
	struct case_entry entry[8];
};

static const struct mark_case marks[] = {
	{{{1, 0, E}, {2, 0, E}, {40, 1, E}, {50, 40, E}, {51, 50, B}, {52, 51, B}, {53, 40, E}}},
	{{{1, 0, E}, {5, 60, B}, {7, 5, B}, {50, 1, E}, {60, 50, B}, {61, 7, B}}}, /* pids have wrapped around */
	{{{1, 0, E}, {51, 50, B}, {52, 51, B}, {99, 77, E}}}, /* the root and 77 are missing */
	{{{3, 4, E}, {4, 5, E}, {5, 3, E}, {6, 5, E}, {50, 51, E}, {51, 50, B}, {52, 51, B}}}, /* circular chains */
	{{{7, 7, E}, {50, 50, E}}},
	{{{0, 0, E}}},
};

/* In a pid namespace, of which process 1 is the root, /proc does not show 5, which is undumpable. */
START_TEST(marks_descendants_of_unseen_parents)
{
	static const struct case_entry made[] = {{1, 0, E}, {2, 1, B}, {6, 5, B}, {7, 6, B}, {9, 0, E}, {10, 9, E}};
	struct proctree_entry entry[sizeof(made) / sizeof(made[0])];
	struct proctree tree = {.entry = entry, .entry_count = sizeof(made) / sizeof(made[0])};

	for (size_t i = 0; i < tree.entry_count; i++)
		entry[i] = (struct proctree_entry){.pid = made[i].pid, .parent = made[i].parent};
	proctree_mark_descendants(&tree, 1);
	for (size_t i = 0; i < tree.entry_count; i++)
		ck_assert_int_eq(entry[i].place, made[i].place);
}
END_TEST

START_TEST(marks_descendants)
{
	struct proctree_entry entry[8];
	struct proctree tree = {.entry = entry};

	for (const struct case_entry *c = marks[_i].entry; tree.entry_count < 8 && c->pid > 0; c++)
		entry[tree.entry_count++] = (struct proctree_entry){.pid = c->pid, .parent = c->parent};
	for (int round = 0; round < 2; round++) { /* the second time with places already set */
		proctree_mark_descendants(&tree, ROOT);
		for (size_t i = 0; i < tree.entry_count; i++)
			ck_assert_int_eq(entry[i].place, marks[_i].entry[i].place);
	}
	proctree_mark_descendants(&tree, 12345);
	for (size_t i = 0; i < tree.entry_count; i++)
		ck_assert_int_eq(entry[i].place, PROCTREE_NOT_DESCENDANT);
}
END_TEST

/* The longest possible chain, in both orders: a quadratic algorithm would take minutes. */
START_TEST(marks_crowds)
{
	const size_t count = 400000;
	struct proctree tree = {.entry = calloc(count, sizeof(*tree.entry)), .entry_count = count};

	ck_assert_ptr_nonnull(tree.entry);
	for (size_t i = 0; i < count; i++) {
		pid_t pid = (pid_t)i + 100;

		tree.entry[i].pid = pid;
		tree.entry[i].parent = _i == 0 ? pid - 1 : i + 1 == count ? 99 : pid + 1;
	}
	proctree_mark_descendants(&tree, 99);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(tree.entry[i].place, PROCTREE_DESCENDANT);
	proctree_release(&tree);
	ck_assert_uint_eq(tree.entry_count, 0);
}
END_TEST

static const struct proctree_entry *entry_of(const struct proctree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->entry_count; i++)
		if (tree->entry[i].pid == pid)
			return &tree->entry[i];
	return NULL;
}

/* A child that reports its own child's pid; both wait to be killed. */
static pid_t start_two(pid_t *ret_inner)
{
	int ends[2];
	pid_t outer;

	ck_assert_int_eq(pipe(ends), 0);
	outer = fork();
	if (outer == 0) {
		pid_t inner = fork();

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (inner > 0 && write(ends[1], &inner, sizeof(inner)) < 0)
			_exit(1);
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(outer, 0);
	ck_assert_int_eq(read(ends[0], ret_inner, sizeof(*ret_inner)), sizeof(*ret_inner));
	(void)close(ends[0]);
	(void)close(ends[1]);
	return outer;
}

START_TEST(reads_processes)
{
	pid_t inner, outer = start_two(&inner);
	const struct proctree_entry *entry;
	struct proctree tree;

	ck_assert_int_eq(proctree_read(&tree), 0);
	for (size_t i = 1; i < tree.entry_count; i++)
		ck_assert_int_gt(tree.entry[i].pid, tree.entry[i - 1].pid);
	proctree_mark_descendants(&tree, getpid());
	entry = entry_of(&tree, outer);
	ck_assert(entry && entry->parent == getpid() && entry->place == PROCTREE_DESCENDANT);
	entry = entry_of(&tree, inner);
	ck_assert(entry && entry->parent == outer && entry->place == PROCTREE_DESCENDANT);
	entry = entry_of(&tree, getpid());
	ck_assert(entry && entry->parent == getppid() && entry->place == PROCTREE_NOT_DESCENDANT);
	entry = entry_of(&tree, getppid());
	ck_assert(!entry || entry->place == PROCTREE_NOT_DESCENDANT);
	proctree_mark_descendants(&tree, outer);
	ck_assert_int_eq(entry_of(&tree, outer)->place, PROCTREE_NOT_DESCENDANT);
	ck_assert_int_eq(entry_of(&tree, inner)->place, PROCTREE_DESCENDANT);
	proctree_release(&tree);
	(void)kill(inner, SIGKILL);
	(void)kill(outer, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
}
END_TEST

/* 51 and 53 are zombies, and were in the list before; 53 lived then. */
START_TEST(knows_what_may_be_missing)
{
	struct proctree_entry old[] = {{.pid = 51, .is_zombie = true}, {.pid = 53}};
	struct proctree_entry same[] = {{.pid = 51, .is_zombie = true}, {.pid = 52}};
	struct proctree_entry died[] = {{.pid = 51, .is_zombie = true}, {.pid = 53, .is_zombie = true}};
	const struct proctree before = {old, 2, .newest_before = 50, .newest_after = 60};
	const struct proctree unchanged = {same, 2, .newest_before = 60, .newest_after = 60};
	const struct proctree more = {same, 2, .newest_before = 60, .newest_after = 61};
	const struct proctree anew = {same, 2, .newest_before = 60, .newest_after = 59};
	const struct proctree anew_between = {same, 2, .newest_before = 59, .newest_after = 59};
	const struct proctree unknown = {same, 2, .newest_before = -1, .newest_after = -1};
	const struct proctree missed = {same, 2, .has_missed_processes = true, .newest_before = 60, .newest_after = 60};
	const struct proctree ended = {died, 2, .newest_before = 60, .newest_after = 60};

	ck_assert(!proctree_may_miss_descendants(&before, &unchanged));
	ck_assert(!proctree_may_miss_descendants(&before, &more)); /* this process is not process 1 */
	ck_assert(proctree_may_miss_descendants(&before, &anew));
	ck_assert(proctree_may_miss_descendants(&before, &anew_between)); /* 51 may be another process */
	ck_assert(proctree_may_miss_descendants(&before, &unknown));
	ck_assert(proctree_may_miss_descendants(&before, &missed));
	ck_assert(proctree_may_miss_descendants(&before, &ended));
	ck_assert(proctree_may_miss_descendants(&(struct proctree){.newest_after = 60}, &unchanged));
	died[1].place = PROCTREE_NOT_DESCENDANT;
	ck_assert(!proctree_may_miss_descendants(&before, &ended));
}
END_TEST

/* A child that has ended is a zombie, and the newest pid is at least its pid. */
START_TEST(reads_zombies_and_the_newest_pid)
{
	pid_t child = fork();
	siginfo_t info;
	struct proctree tree;

	if (child == 0)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(proctree_read_exactly(-1, &tree), 0);
	ck_assert(entry_of(&tree, child) && entry_of(&tree, child)->is_zombie);
	ck_assert(entry_of(&tree, getpid()) && !entry_of(&tree, getpid())->is_zombie);
	ck_assert_int_gt(tree.newest_before, 0);
	ck_assert_int_gt(tree.newest_after, 0);
	proctree_release(&tree);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

/* Its parent may have been a descendant that ended before its turn. One that hidepid hides lives. */
START_TEST(knows_lost_parents)
{
	struct proctree_entry entry = {.place = PROCTREE_NOT_DESCENDANT};
	const struct proctree none = {.newest_after = 60};
	const struct proctree tree = {&entry, 1, .newest_before = 60, .newest_after = 60};

	entry.pid = getpid();
	entry.parent = getppid();
	ck_assert(!proctree_may_miss_descendants(&none, &tree));
	entry.parent = getpid() + 1;
	ck_assert(proctree_may_miss_descendants(&none, &tree));
	entry.parent = entry.pid; /* is in the list */
	ck_assert(!proctree_may_miss_descendants(&none, &tree));
	entry.parent = 0; /* outside the pid namespace */
	ck_assert(!proctree_may_miss_descendants(&none, &tree));
}
END_TEST

/* As containers have them: /proc/sys is mounted over itself, and lxcfs has a loadavg of its own. */
START_TEST(reads_the_newest_pid_in_containers)
{
	char name[] = "/tmp/proctree-XXXXXX";
	int fd = mkstemp(name);
	struct proctree tree;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "0.00 0.00 0.00 1/80 7\n", 22), 22);
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount(name, "/proc/loadavg", NULL, MS_BIND, NULL) == 0 &&
	    mount("/proc/sys", "/proc/sys", NULL, MS_BIND | MS_REC, NULL) == 0) {
		ck_assert_int_eq(proctree_read_exactly(-1, &tree), 0);
		ck_assert_int_gt(tree.newest_before, 7);
		proctree_release(&tree);
		ck_assert_int_eq(mount("none", "/proc/sys", "tmpfs", 0, NULL), 0);
		ck_assert_int_eq(proctree_read_exactly(-1, &tree), 0);
		ck_assert_int_eq(tree.newest_before, -1);
		proctree_release(&tree);
	}
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(unlink(name), 0);
}
END_TEST

static void *wait_for_end(void *unused)
{
	(void)pause();
	return unused;
}

START_TEST(counts_threads_that_a_list_lacks)
{
	int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_t thread;

	ck_assert(!procstat_has_more_threads(dir, 1));
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_end, NULL), 0);
	ck_assert(procstat_has_more_threads(dir, 1));
	ck_assert(!procstat_has_more_threads(dir, 2));
	ck_assert_int_eq(close(dir), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("proctree");
	TCase *tcase = tcase_create("proctree");

	tcase_add_loop_test(tcase, marks_descendants, 0, sizeof(marks) / sizeof(marks[0]));
	tcase_add_test(tcase, marks_descendants_of_unseen_parents);
	tcase_add_loop_test(tcase, marks_crowds, 0, 2);
	tcase_add_test(tcase, reads_processes);
	tcase_add_test(tcase, knows_what_may_be_missing);
	tcase_add_test(tcase, reads_zombies_and_the_newest_pid);
	tcase_add_test(tcase, knows_lost_parents);
	tcase_add_test(tcase, reads_the_newest_pid_in_containers);
	tcase_add_test(tcase, counts_threads_that_a_list_lacks);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
