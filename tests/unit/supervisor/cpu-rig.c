/* See cpu-rig.h. */
#include <check.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "syscalls/call/call.h"
#include "syscalls/table/handlers.h"
#include "tests/unit/supervisor/cpu-rig.h"

struct cpu *cpu;
struct task_table *tree;
struct task task;
cpu_set_t full;
uint64_t now;
int told[2];

static int ask[2];
static int epoll_fd;
static int loadavg_fd; /* the kernel's, but for the tasks that can run */

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

pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		make_children();
	return pid;
}

void set_runnable(unsigned count)
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

pid_t grandchild_that(const char *does)
{
	pid_t pid = -1;

	ck_assert_int_eq(write(ask[1], does, 1), 1);
	ck_assert_int_eq(read(told[0], &pid, sizeof(pid)), (ssize_t)sizeof(pid));
	set_runnable(1);
	return pid;
}

pid_t grandchild(void)
{
	return grandchild_that("x");
}

void finish(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

void rig_setup(void)
{
	now = io_read_clock_ns();
	ck_assert_int_eq(sched_getaffinity(0, sizeof(full), &full), 0);
	ck_assert_int_eq(pipe(ask), 0);
	ck_assert_int_eq(pipe(told), 0);
	epoll_fd = epoll_create1(0);
	ck_assert_int_eq(task_table_create(getpid(), NULL, epoll_fd, &tree), 0);
	loadavg_fd = memfd_create("loadavg", MFD_CLOEXEC);
	ck_assert_int_eq(cpu_create(tree, fcntl(loadavg_fd, F_DUPFD_CLOEXEC, 3), &cpu), 0);
	task.tid = task.tgid = child();
	ck_assert_int_gt(task.tid, 0);
	task.pidfd = (int)syscall(SYS_pidfd_open, task.tid, 0);
	ck_assert_int_ge(task.pidfd, 0);
	set_runnable(1);
}

void rig_teardown(void)
{
	cpu_free(cpu);
	task_table_free(tree);
	(void)close(epoll_fd);
	(void)close(loadavg_fd);
	if (task.tid > 0)
		finish(task.tid);
	(void)close(task.pidfd);
}

bool is_mask(pid_t tid, const cpu_set_t *expected)
{
	cpu_set_t mask;

	return sched_getaffinity(tid, sizeof(mask), &mask) == 0 && CPU_EQUAL(&mask, expected);
}

int cpus(pid_t tid)
{
	cpu_set_t mask;

	return sched_getaffinity(tid, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : -1;
}

void ck_assert_free(void)
{
	ck_assert(is_mask(task.tid, &full));
	ck_assert(is_mask(0, &full));
}

void pin(cpu_set_t *ret_mask)
{
	cpu_pin_program(cpu, task.tid);
	ck_assert_int_eq(cpus(0), 1);
	ck_assert_int_eq(cpus(task.tid), 1);
	if (ret_mask)
		ck_assert_int_eq(sched_getaffinity(task.tid, sizeof(*ret_mask), ret_mask), 0);
}

static void respond(struct task *caller, enum outcome_kind kind, const char *virt)
{
	static struct call call; /* large */

	call.task = caller;
	call.tid = caller->tid;
	call.start_ns = io_read_clock_ns();
	call.outcome.kind = kind;
	call.resolved_place[0].virt_len = strlen(virt);
	(void)snprintf(call.resolved_place[0].virt, sizeof(call.resolved_place[0].virt), "%s", virt);
	cpu_update_placement_before_response(cpu, &call);
}

void call_of(struct task *caller, int nr)
{
	const struct seccomp_notif notification = {.pid = (uint32_t)caller->tid, .data.nr = nr};

	if (!cpu_unpin_before_affinity_call(cpu, table_find_row(nr), &notification))
		respond(caller, nr == SYS_execve ? OUTCOME_EXEC : OUTCOME_VALUE, "");
}

void call(pid_t tid, int nr)
{
	call_of(task_table_find_task(tree, tid), nr);
}

void call_opening(pid_t tid, const char *virt)
{
	respond(task_table_find_task(tree, tid), OUTCOME_FD, virt);
}

void turn(void)
{
	now = io_read_clock_ns();
	(void)cpu_update_placement_after_wait(cpu, now);
}

void turns(unsigned ms)
{
	for (uint64_t until = io_read_clock_ns() + ms * MS; io_read_clock_ns() < until; turn())
		(void)usleep(1000);
}
