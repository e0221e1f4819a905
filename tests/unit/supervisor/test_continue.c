/* Which calls answer.c continues for any caller, on a real listener. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/answer.h"
#include "supervisor/notify.h"
#include "tests/unit/unit.h"

/* In the child: makes the call that is notified, and exits with its errno. */
static void play(volatile int *shared)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(255);
	*shared = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	_exit(syscall(SYS_getpriority, 0, 0, 0) < 0 ? errno : 0);
}

/* The result of the child's call, and of answer_continue or, with terms, answer_continue_after_hook. */
static int result_of(const struct syscall_row *row, int reason, int *ret_answer)
{
	volatile int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct seccomp_notif notification;
	int status;
	pid_t pid;

	ck_assert(shared != MAP_FAILED);
	*shared = -1;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		play(shared);
	while (*shared < 0)
		(void)usleep(1000);
	ck_assert_int_eq(notify_receive(*shared, &notification), 0);
	*ret_answer = row && row->allowed_if
			      ? answer_continue_after_hook(*shared, &notification, row)
			      : answer_continue(*shared, notification.id, row, (enum continue_reason)reason);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(close(*shared), 0);
	ck_assert_int_eq(munmap((void *)(uintptr_t)shared, 4096), 0);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(only_what_does_not_rest_on_memory_is_continued)
{
	static const struct {
		enum row_basis basis;
		bool may[CONTINUE_EXEC_VERIFIED + 1];
	} expected[] = {
		{BASIS_REGS, {true, true, true}},      {BASIS_MOUNTNS, {false, true, false}},
		{BASIS_MEMORY, {false, false, false}}, {BASIS_EXEC, {false, false, true}},
		{BASIS_NETNS, {false, true, false}},   {(enum row_basis)99, {false, false, false}},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		for (int reason = 0; reason <= CONTINUE_EXEC_VERIFIED; reason++) {
			const struct syscall_row row = {.class = ROW_NOTIFY, .basis = expected[i].basis};
			bool may = expected[i].may[reason];
			int answer;

			ck_assert_int_eq(result_of(&row, reason, &answer), may ? 0 : EPERM);
			ck_assert_int_eq(answer, may ? 0 : -EPERM);
		}
}
END_TEST

START_TEST(an_unlisted_call_is_not_continued)
{
	int answer;

	ck_assert_int_eq(result_of(NULL, CONTINUE_EXEC_VERIFIED, &answer), EPERM);
	ck_assert_int_eq(answer, -EPERM);
}
END_TEST

START_TEST(what_passes_is_what_the_row_says)
{
	static const struct row_term zero[] = {{1, {{0, UINT32_MAX, 0}}}, {0, {{0, 0, 0}}}},
				     one[] = {{1, {{0, UINT32_MAX, 1}}}, {0, {{0, 0, 0}}}};
	const struct syscall_row row[] = {{.class = ROW_FILTER, .basis = BASIS_MEMORY, .allowed_if = zero},
					  {.class = ROW_FILTER, .basis = BASIS_MEMORY, .allowed_if = one},
					  {.class = ROW_NOTIFY, .basis = BASIS_MEMORY, .allowed_if = zero}};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int answer;

		ck_assert_int_eq(result_of(&row[i], CONTINUE_REGISTERS_JUDGED, &answer), i == 0 ? 0 : EPERM);
		ck_assert_int_eq(answer, i == 0 ? 0 : -EPERM);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("continue");
	TCase *tcase = tcase_create("continue");

	tcase_add_test(tcase, only_what_does_not_rest_on_memory_is_continued);
	tcase_add_test(tcase, an_unlisted_call_is_not_continued);
	tcase_add_test(tcase, what_passes_is_what_the_row_says);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
