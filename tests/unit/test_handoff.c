/* When a task is kept on the receiver's CPU, when it is let go, and that every mask is afterwards what it was. */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/handoff.h"
#include "syscalls/tree.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SLOW (60 * US)
#define FAST (2 * US)
#define GAP (20 * US)

static struct handoff *handoff;
static struct task task;
static cpu_set_t full;
static uint64_t now; /* a clock of the test's own, which starts at the real one */

static int ask[2], told[2];
static struct tree *tree;
static int epoll_fd;

/* Makes a process of its own for each byte: one that computes, for a 'c'. */
static void make_children(void)
{
	pid_t pid;
	char byte;

	while (read(ask[0], &byte, 1) == 1) {
		pid = fork();
		while (pid == 0)
			if (byte != 'c')
				(void)pause();
		if (write(told[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
			break;
	}
	_exit(0);
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		make_children();
	return pid;
}

static int loadavg_fd; /* the kernel's, but for the tasks that can run */

static void set_runnable(unsigned count)
{
	int fd = open("/proc/loadavg", O_RDONLY);
	char text[128], made_up[160];
	ssize_t len = read(fd, text, sizeof(text) - 1);

	ck_assert_int_gt(len, 0);
	text[len] = '\0';
	(void)close(fd);
	len = snprintf(made_up, sizeof(made_up), "0.00 0.01 0.05 %u/80%s", count, strrchr(text, ' '));
	ck_assert_int_eq(ftruncate(loadavg_fd, 0), 0);
	ck_assert_int_eq(pwrite(loadavg_fd, made_up, (size_t)len, 0), len);
}

static pid_t grandchild_that(const char *does)
{
	pid_t pid = -1;

	ck_assert_int_eq(write(ask[1], does, 1), 1);
	ck_assert_int_eq(read(told[0], &pid, sizeof(pid)), (ssize_t)sizeof(pid));
	set_runnable(1);
	return pid;
}

static pid_t grandchild(void)
{
	return grandchild_that("x");
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void setup(void)
{
	now = io_now_ns();
	ck_assert_int_eq(sched_getaffinity(0, sizeof(full), &full), 0);
	ck_assert_int_eq(pipe(ask), 0);
	ck_assert_int_eq(pipe(told), 0);
	epoll_fd = epoll_create1(0);
	ck_assert_int_eq(tree_create(getpid(), NULL, epoll_fd, &tree), 0);
	loadavg_fd = memfd_create("loadavg", MFD_CLOEXEC);
	ck_assert_int_eq(handoff_create(tree, fcntl(loadavg_fd, F_DUPFD_CLOEXEC, 3), &handoff), 0);
	task.tid = task.tgid = child();
	ck_assert_int_gt(task.tid, 0);
	task.pidfd = (int)syscall(SYS_pidfd_open, task.tid, 0);
	ck_assert_int_ge(task.pidfd, 0);
	set_runnable(1);
}

static void teardown(void)
{
	handoff_free(handoff);
	tree_free(tree);
	(void)close(epoll_fd);
	(void)close(loadavg_fd);
	if (task.tid > 0)
		end(task.tid);
	(void)close(task.pidfd);
}

static bool is_mask(pid_t tid, const cpu_set_t *expected)
{
	cpu_set_t mask;

	return sched_getaffinity(tid, sizeof(mask), &mask) == 0 && CPU_EQUAL(&mask, expected);
}

static int cpus(pid_t tid)
{
	cpu_set_t mask;

	return sched_getaffinity(tid, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : -1;
}

static void give_to(const struct task *taker, uint64_t gap, uint64_t took)
{
	now += gap;
	handoff_call(handoff, taker->tid, SYS_openat);
	handoff_before(handoff, taker, now);
	now += took;
	handoff_after(handoff, took, now);
	(void)handoff_tick(handoff, now);
}

static void give(uint64_t took)
{
	give_to(&task, GAP, took);
}

static void give_many(unsigned count, uint64_t took)
{
	while (count--)
		give(took);
}

static void keep(void)
{
	give_many(4, SLOW);
	ck_assert(handoff_keeps(handoff, task.tid));
	ck_assert_int_eq(cpus(task.tid), 1);
	ck_assert_int_eq(cpus(0), 1);
}

static void ck_assert_free(void)
{
	ck_assert(!handoff_keeps(handoff, task.tid));
	ck_assert(is_mask(task.tid, &full));
	ck_assert(is_mask(0, &full));
}

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

static struct task second;

static void setup_second(void)
{
	setup();
	second.tid = second.tgid = child();
	second.pidfd = (int)syscall(SYS_pidfd_open, second.tid, 0);
	ck_assert_int_ge(second.pidfd, 0);
}

static void teardown_second(void)
{
	teardown();
	end(second.tid);
	(void)close(second.pidfd);
}

static void take_turns(unsigned count, uint64_t gap, uint64_t took)
{
	while (count--) {
		give_to(&task, gap, took);
		give_to(&second, gap, took);
	}
}

START_TEST(keeps_several_who_do_little_else)
{
	take_turns(20, GAP, SLOW);
	take_turns(20, GAP, FAST);
	ck_assert(handoff_keeps(handoff, task.tid) && handoff_keeps(handoff, second.tid));
	ck_assert_int_eq(cpus(task.tid), 1);
	ck_assert_int_eq(cpus(second.tid), 1);
	take_turns(200, GAP, FAST);
	ck_assert(handoff_keeps(handoff, task.tid) && handoff_keeps(handoff, second.tid));
	handoff_call(handoff, getpid(), SYS_newfstatat); /* neither passes on nor shows what they have */
	ck_assert(handoff_keeps(handoff, task.tid));
	handoff_call(handoff, getpid(), SYS_sched_getaffinity);
	ck_assert_free();
	ck_assert(is_mask(second.tid, &full));
}
END_TEST

START_TEST(leaves_alone_several_who_compute)
{
	take_turns(200, 100 * US, SLOW);
	ck_assert_free();
	ck_assert(is_mask(second.tid, &full));
}
END_TEST

START_TEST(lets_several_go_when_it_is_no_quicker)
{
	take_turns(6, GAP, SLOW);
	ck_assert(handoff_keeps(handoff, task.tid));
	take_turns(100, GAP + SLOW, FAST);
	ck_assert_free();
	ck_assert(is_mask(second.tid, &full));
	take_turns(100, GAP, SLOW);
	ck_assert_free();
}
END_TEST

START_TEST(lets_each_go_that_calls_no_more)
{
	take_turns(20, GAP, SLOW);
	ck_assert(handoff_keeps(handoff, second.tid));
	while (handoff_keeps(handoff, second.tid)) {
		give(FAST);
		ck_assert(handoff_keeps(handoff, task.tid));
	}
	ck_assert(is_mask(second.tid, &full));
	handoff_release(handoff);
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
	end(task.tid);
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
	end(dead);
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

/* ---- all together ---- */

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

static void call(pid_t tid, int nr)
{
	handoff_call(handoff, tid, nr);
	handoff_known(handoff, tree_task(tree, tid), nr, io_now_ns());
}

/* As the loop does; time is real here, as the kernel's is. */
static void turn(void)
{
	now = io_now_ns();
	(void)handoff_tick(handoff, now);
}

static void turns(unsigned ms)
{
	for (uint64_t until = io_now_ns() + ms * MS; io_now_ns() < until; turn())
		(void)usleep(1000);
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
	handoff_call(handoff, made[0], releasing[2 + _i]);
	ck_assert(all_have(CPU_COUNT(&full), made, 2));
	/* It is being told, for as long as it has not called again. */
	(void)usleep(3000);
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), releasing[2 + _i] == SYS_sched_getaffinity ? 1 : CPU_COUNT(&full));
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

/* ---- divided: each at home ---- */

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
	end(made[0]);
	end(made[1]);
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
	end(made[0]);
	end(made[1]);
}
END_TEST

START_TEST(shows_nobody_a_home)
{
	pid_t busy = divided(), heir = grandchild();

	handoff_call(handoff, heir, releasing[2 + _i]);
	ck_assert(is_mask(task.tid, &full));
	ck_assert(is_mask(heir, &full));
	call(task.tid, SYS_openat);
	ck_assert_int_eq(cpus(task.tid), releasing[2 + _i] == SYS_sched_getaffinity ? 1 : CPU_COUNT(&full));
	ck_assert(is_mask(heir, &full));
	end(busy);
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
	end(busy);
}
END_TEST

START_TEST(begins_where_a_cpu_is_free)
{
	set_runnable(2 * (unsigned)CPU_COUNT(&full) + 1);
	handoff_begin(handoff, task.tid);
	ck_assert_free();
	call(task.tid, SYS_openat);
	ck_assert_free();
	set_runnable(1);
	call(task.tid, SYS_openat); /* not at once */
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
	end(task.tid);
	handoff_forget(handoff, &task);
	task.tid = 0;
	handoff_release(handoff);
	ck_assert(is_mask(0, &full));
	(void)kill(made, SIGKILL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handoff");
	TCase *tcase = tcase_create("handoff"), *several = tcase_create("several"), *all = tcase_create("together");

	if (!handoff_possible()) {
		puts("SKIP: one CPU");
		return 77;
	}
	tcase_add_checked_fixture(tcase, setup, teardown);
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
	tcase_add_test(tcase, finds_who_inherited);
	tcase_add_test(tcase, finds_who_comes_late);
	tcase_add_test(tcase, leaves_strangers_who_are_like_that);
	tcase_add_test(tcase, leaves_a_run_alone_that_sets_masks);
	tcase_add_test(tcase, is_off_without_one);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(several, setup_second, teardown_second);
	tcase_set_timeout(several, 60);
	tcase_add_test(several, keeps_several_who_do_little_else);
	tcase_add_test(several, leaves_alone_several_who_compute);
	tcase_add_test(several, lets_several_go_when_it_is_no_quicker);
	tcase_add_test(several, lets_each_go_that_calls_no_more);
	suite_add_tcase(suite, several);
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 60);
	tcase_add_test(all, begins_with_the_program);
	tcase_add_loop_test(all, shows_nobody_a_mask_of_ours, 0, 2);
	tcase_add_test(all, is_apart_for_a_moment);
	tcase_add_test(all, lets_those_go_who_compute);
	tcase_add_test(all, lets_callers_go_who_wait_for_each_other);
	tcase_add_test(all, begins_again_at_a_call);
	tcase_add_test(all, begins_for_nobody_beside_one_who_computes);
	tcase_add_test(all, begins_where_a_cpu_is_free);
	tcase_add_test(all, gives_homes_to_who_computes);
	tcase_add_test(all, divides_homes_again);
	tcase_add_loop_test(all, shows_nobody_a_home, 0, 2);
	tcase_add_test(all, gives_back_what_a_home_left_behind);
	tcase_add_test(all, leaves_a_thread_that_takes_a_number);
	tcase_add_test(all, is_off_when_the_run_sets_masks);
	tcase_add_test(all, has_taken_the_dead);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
