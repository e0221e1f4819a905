/* Who calls: processes, threads, the dead; with and without what newer kernels tell of a pidfd and of a mapping. */
#include <check.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/exec/execve.h"
#include "tests/unit/old-kernel.h"
#include "tests/unit/unit.h"
#include "view/tree.h"

static struct task_table *tree;
static int epoll_fd;

static void setup(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	ck_assert_int_ge(epoll_fd, 0);
	ck_assert_int_eq(task_table_create(getpid(), NULL, epoll_fd, &tree), 0);
}

static void teardown(void)
{
	task_table_free(tree);
	(void)close(epoll_fd);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	(void)alarm(300);
	for (;;)
		(void)pause();
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

START_TEST(knows_a_process)
{
	pid_t pid = start_sleeper();
	struct task *task;

	if (_i)
		be_old();
	task = task_table_find_task(tree, pid);
	ck_assert_ptr_nonnull(task);
	ck_assert_int_eq(task->tid, pid);
	ck_assert_int_eq(task->tgid, pid);
	ck_assert_int_eq(task->ppid, getpid());
	ck_assert_int_ge(task->pidfd, 0);
	ck_assert_str_ne(task->exe, "");
	ck_assert_ptr_eq(task_table_find_task(tree, pid), task);
	ck_assert_uint_eq(task_table_count_processes_seen(tree), 1);
	end(pid);
}
END_TEST

/* The number in another namespace, which here is the same one: there is only one for the test. */
START_TEST(knows_the_host_number)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int pidns_fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	pid_t pid = start_sleeper();
	struct task *task;

	ck_assert(proc_fd >= 0 && pidns_fd >= 0);
	if (_i == 1)
		be_old();
	task_table_set_host_pidns(tree, _i == 2 ? -1 : proc_fd, pidns_fd);
	task = task_table_find_task(tree, pid);
	ck_assert_ptr_nonnull(task);
	ck_assert_int_eq(task->host_pid, _i == 2 ? 0 : pid);
	end(pid);
}
END_TEST

static int ready[2];

static void *sleep_in_thread(void *arg)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)arg;
	ck_assert_int_eq(write(ready[1], &tid, sizeof(tid)), (ssize_t)sizeof(tid));
	for (;;)
		(void)pause();
}

/* A thread is itself, of its process, which is counted once. */
START_TEST(knows_a_thread)
{
	const struct task *task, *leader;
	pthread_t thread;
	pid_t tid;

	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_in_thread, NULL), 0);
	ck_assert_int_eq(read(ready[0], &tid, sizeof(tid)), (ssize_t)sizeof(tid));
	if (_i)
		be_old();
	task = task_table_find_task(tree, tid);
	ck_assert_ptr_nonnull(task);
	ck_assert_int_eq(task->tid, tid);
	ck_assert_int_eq(task->tgid, getpid());
	ck_assert_int_eq(task->ppid, getppid());
	leader = task_table_find_task(tree, getpid());
	ck_assert_ptr_nonnull(leader);
	ck_assert_int_eq(leader->tgid, getpid());
	ck_assert_uint_eq(task_table_count_processes_seen(tree), 1);
}
END_TEST

static int sleep_in_child(void *arg)
{
	(void)arg;
	return pause();
}

/* A child that shares its parent's memory has its executable, whatever /proc says of it; one with its own has not. */
START_TEST(knows_the_image_of_shared_memory)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t sharer = clone(sleep_in_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL), other = start_sleeper();
	const struct task *task;

	ck_assert_int_ge(sharer, 0);
	ck_assert_ptr_nonnull(task_table_find_task(tree, getpid()));
	task_table_set_exe(tree, getpid(), "/noted");
	task = task_table_find_task(tree, sharer);
	ck_assert_ptr_nonnull(task);
	if (syscall(SYS_kcmp, sharer, getpid(), KCMP_VM, 0, 0) == 0)
		ck_assert_str_eq(task->exe, "/noted");
	task = task_table_find_task(tree, other);
	ck_assert_ptr_nonnull(task);
	ck_assert_str_ne(task->exe, "/noted");
	end(sharer);
	end(other);
}
END_TEST

/* A child that was forked before an exec keeps the arguments of then; without keep_commands there are none. */
START_TEST(keeps_commands)
{
	pid_t before, after;
	const char *command;
	size_t len = 0;

	task_table_set_command(tree, getpid(), "not\0kept", 9);
	ck_assert_ptr_null(task_table_find_command(tree, getpid(), &len));
	task_table_keep_commands(tree);
	task_table_set_command(tree, getpid(), "first\0a", 8);
	before = start_sleeper();
	task_table_set_command(tree, getpid(), "second", 7);
	after = start_sleeper();
	command = task_table_find_command(tree, before, &len);
	ck_assert_uint_eq(len, 8);
	ck_assert_mem_eq(command, "first\0a", 8);
	command = task_table_find_command(tree, after, &len);
	ck_assert_uint_eq(len, 7);
	ck_assert_mem_eq(command, "second", 7);
	task_table_set_command(tree, after, "", 0);
	ck_assert_ptr_null(task_table_find_command(tree, after, &len));
	end(before);
	end(after);
}
END_TEST

START_TEST(knows_no_dead)
{
	pid_t pid = start_sleeper();

	end(pid);
	if (_i)
		be_old();
	ck_assert_ptr_null(task_table_find_task(tree, pid));
	ck_assert_uint_eq(task_table_count_processes_seen(tree), 0);
}
END_TEST

/* The pidfd tells, so that the number, used again, is another entry. */
START_TEST(is_told_of_an_end)
{
	pid_t pid = start_sleeper();
	struct task *task = task_table_find_task(tree, pid);
	struct epoll_event event;

	ck_assert_ptr_nonnull(task);
	ck_assert_int_eq(epoll_wait(epoll_fd, &event, 1, 0), 0);
	end(pid);
	ck_assert_int_eq(epoll_wait(epoll_fd, &event, 1, 5000), 1);
	ck_assert_ptr_eq(event.data.ptr, task);
	task_table_forget_task(tree, task);
	ck_assert_ptr_null(task_table_find_task(tree, pid));
}
END_TEST

/* The same answer of an old kernel and of a new one: here for the mapping of a file, of nothing, and for no mapping. */
/* What a task was seen to change is known again once it makes its next call, or is gone; meanwhile it is unknown. */
START_TEST(changes_are_waited_for)
{
	struct task first = {.tid = 1, .pidfd = 3}, second = {.tid = 2, .pidfd = 4}, unheld = {.tid = 3, .pidfd = -1};
	struct task_table *own;
	unsigned before, said;

	ck_assert_int_eq(task_table_create(getpid(), NULL, -1, &own), 0);
	before = task_table_get_nofile_limit_version(own, &first);
	ck_assert_uint_ne(before, 0);
	said = task_table_begin_rlimit_nofile_change(own, &first);
	ck_assert_uint_ne(said, before);
	ck_assert_uint_eq(task_table_get_nofile_limit_version(own, &second), 0);
	task_table_end_rlimit_nofile_change(&second);
	ck_assert_uint_eq(task_table_get_nofile_limit_version(own, &second), 0);
	ck_assert_uint_eq(task_table_begin_rlimit_nofile_change(own, &second), said + 1);
	(void)task_table_begin_rlimit_nofile_change(own, &first);
	task_table_end_rlimit_nofile_change(&first);
	ck_assert_uint_eq(task_table_get_nofile_limit_version(own, &first), 0);
	task_table_end_rlimit_nofile_change(&second);
	ck_assert_uint_eq(task_table_get_nofile_limit_version(own, &first), said + 2);
	ck_assert_uint_eq(task_table_get_nofile_limit_version(own, &unheld), 0);
	ck_assert_uint_eq(task_table_begin_rlimit_nofile_change(own, &unheld), 0);
	ck_assert_uint_eq(task_table_get_nofile_limit_version(own, &first), 0);
	task_table_free(own);
}
END_TEST

START_TEST(finds_a_mapping)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *file = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
	char *nothing = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct exec_image now = {0}, old = {0}, none = {.maps_ino = 77};
	struct stat st;
	pid_t pid;

	ck_assert(file != MAP_FAILED && nothing != MAP_FAILED);
	ck_assert_int_eq(fstat(fd, &st), 0);
	pid = start_sleeper();
	for (int round = 0; round < 2; round++) {
		struct exec_image *image = round ? &old : &now;

		if (round)
			be_old();
		ck_assert_int_eq(exec_maps_find_mapping(pid, (uint64_t)(uintptr_t)file, image), 0);
		ck_assert_int_eq(exec_maps_find_mapping(pid, (uint64_t)(uintptr_t)file + 4096, &none), -ENOENT);
		ck_assert_int_eq(exec_maps_find_mapping(pid, (uint64_t)(uintptr_t)nothing, &none), -ENOENT);
		ck_assert_int_eq(exec_maps_find_mapping(pid, 4096, &none), -ENOENT);
		ck_assert_uint_eq(none.maps_ino, 77);
	}
	ck_assert_uint_eq(now.maps_ino, st.st_ino);
	ck_assert_uint_eq(now.maps_ino, old.maps_ino);
	ck_assert_uint_eq(now.maps_major, old.maps_major);
	ck_assert_uint_eq(now.maps_minor, old.maps_minor);
	end(pid);
	ck_assert_int_lt(exec_maps_find_mapping(pid, (uint64_t)(uintptr_t)file, &none), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tree");
	TCase *tcase = tcase_create("tree");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, knows_a_process, 0, 2);
	tcase_add_loop_test(tcase, knows_the_host_number, 0, 3);
	tcase_add_loop_test(tcase, knows_a_thread, 0, 2);
	tcase_add_test(tcase, knows_the_image_of_shared_memory);
	tcase_add_test(tcase, keeps_commands);
	tcase_add_loop_test(tcase, knows_no_dead, 0, 2);
	tcase_add_test(tcase, is_told_of_an_end);
	tcase_add_test(tcase, finds_a_mapping);
	tcase_add_test(tcase, changes_are_waited_for);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
