/* Signals reach members of the run only: the handlers with a made-up run over real processes. Threats 8, 9. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc/stat.h"
#include "syscalls/call/call.h"
#include "syscalls/table/handlers.h"
#include "tests/unit/syscalls/stub-call.h"
#include "tests/unit/unit.h"

/* ---- processes ---- */

static pid_t member, outsider;

static pid_t start(pid_t group)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(setpgid(pid, group), 0);
	return pid;
}

static void set_up(void)
{
	(void)signal(SIGTERM, SIG_DFL); /* check's handler, inherited, would signal the parent */
	member = start(0);
	outsider = start(member); /* in the same process group */
	members[0] = member;
	members[1] = getpid();
	member_count = 2;
	commit_error = 0;
	commits = 0;
}

static void tear_down(void)
{
	(void)kill(member, SIGKILL);
	(void)kill(outsider, SIGKILL);
	while (wait(NULL) > 0)
		continue;
}

static bool ended(pid_t pid)
{
	for (int i = 0; i < 20000; i++) { /* far more than it takes */
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		(void)usleep(1000);
	}
	return false;
}

static bool lives(pid_t pid)
{
	(void)usleep(20000);
	return waitpid(pid, NULL, WNOHANG) == 0;
}

START_TEST(an_outsider_does_not_exist)
{
	siginfo_t info = {.si_code = SI_QUEUE};

	run(sys_kill, UNSIGNED(outsider), SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_kill, UNSIGNED(outsider), 0, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_tkill, UNSIGNED(outsider), SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_tgkill, UNSIGNED(outsider), UNSIGNED(outsider), SIGKILL, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_rt_sigqueueinfo, UNSIGNED(outsider), SIGKILL, (uintptr_t)&info, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_rt_tgsigqueueinfo, UNSIGNED(outsider), UNSIGNED(outsider), SIGKILL, (uintptr_t)&info);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_pidfd_open, UNSIGNED(outsider), 0, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	ck_assert_uint_eq(commits, 0);
	ck_assert(lives(outsider));
}
END_TEST

START_TEST(a_member_is_signalled)
{
	run(sys_kill, UNSIGNED(member), 0, 0, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(lives(member));
	run(sys_kill, UNSIGNED(member) | UINT64_C(0x10000000000), SIGTERM, 0, 0); /* pid_t is the low word */
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(ended(member));
	ck_assert_uint_eq(commits, 2);
}
END_TEST

START_TEST(threads_of_members_are_signalled)
{
	run(sys_tgkill, UNSIGNED(member), UNSIGNED(outsider), SIGTERM, 0); /* no thread of it */
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_tgkill, UNSIGNED(member), UNSIGNED(member), SIGTERM, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(ended(member));
}
END_TEST

START_TEST(the_own_process_is_continued)
{
	run(sys_kill, UNSIGNED(getpid()), SIGTERM, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_tgkill, UNSIGNED(getpid()), UNSIGNED(outsider), SIGTERM, 0); /* the kernel's ESRCH */
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_tkill, UNSIGNED(getpid()), SIGTERM, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_rt_sigqueueinfo, UNSIGNED(getpid()), SIGTERM, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
}
END_TEST

START_TEST(a_member_is_continued_where_the_kernel_bounds_signals)
{
	int to_outsider = (int)syscall(SYS_pidfd_open, outsider, 0),
	    to_member = (int)syscall(SYS_pidfd_open, member, 0);

	sandbox.kernel_confines_signals = true;
	run(sys_kill, UNSIGNED(member), SIGTERM, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_kill, UNSIGNED(-member), SIGTERM, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_tgkill, UNSIGNED(member), UNSIGNED(member), SIGTERM, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_rt_sigqueueinfo, UNSIGNED(member), SIGTERM, 8, 0); /* the kernel's EFAULT */
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_pidfd_send_signal, (uint64_t)to_member, SIGTERM, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	/* outsiders are told on record all the same, and everyone is the run's processes one by one */
	run(sys_kill, UNSIGNED(outsider), SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_tkill, UNSIGNED(outsider), SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_pidfd_send_signal, (uint64_t)to_outsider, SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	ck_assert(lives(member));
	run(sys_kill, UNSIGNED(-1), SIGTERM, 0, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(ended(member));
	ck_assert(lives(outsider));
	sandbox.kernel_confines_signals = false;
}
END_TEST

START_TEST(bad_arguments_give_the_native_errno)
{
	siginfo_t info = {.si_code = SI_USER};

	run(sys_tkill, 0, SIGTERM, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_tgkill, UNSIGNED(-1), 1, SIGTERM, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_kill, UNSIGNED(member), 65, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_kill, UNSIGNED(INT_MIN), SIGTERM, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_rt_sigqueueinfo, UNSIGNED(member), SIGTERM, (uintptr_t)&info, 0); /* pretends to be kill(2) */
	expect(OUTCOME_ERROR, -EPERM, VERDICT_ALLOW);
	run(sys_rt_sigqueueinfo, UNSIGNED(member), SIGTERM, 8, 0);
	expect(OUTCOME_ERROR, -EFAULT, VERDICT_ALLOW);
	run(sys_pidfd_open, UNSIGNED(member), 1, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_pidfd_open, 0, 0, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	ck_assert(lives(member));
}
END_TEST

START_TEST(a_group_is_its_members_of_the_run)
{
	run(sys_kill, UNSIGNED(-member), SIGTERM, 0, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(ended(member));
	ck_assert(lives(outsider)); /* of the same process group */
}
END_TEST

START_TEST(a_group_without_members_does_not_exist)
{
	member_count = 0;
	run(sys_kill, UNSIGNED(-member), SIGTERM, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_kill, UNSIGNED(-1), SIGTERM, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	ck_assert(lives(member));
}
END_TEST

START_TEST(everyone_is_the_run_but_the_caller)
{
	run(sys_kill, UNSIGNED(-1), SIGTERM, 0, 0); /* it would end this process */
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(ended(member));
	ck_assert(lives(outsider));
}
END_TEST

START_TEST(nothing_is_sent_without_a_record)
{
	commit_error = -ENOSPC;
	run(sys_kill, UNSIGNED(member), SIGTERM, 0, 0);
	ck_assert_int_eq(call.outcome.value, -ENOSPC);
	run(sys_kill, UNSIGNED(-member), SIGTERM, 0, 0);
	ck_assert_int_eq(call.outcome.value, -ENOSPC);
	ck_assert(lives(member));
}
END_TEST

START_TEST(pidfds_lead_to_members_only)
{
	int to_outsider = (int)syscall(SYS_pidfd_open, outsider, 0);
	siginfo_t info = {.si_code = SI_QUEUE, .si_signo = SIGTERM};

	run(sys_pidfd_send_signal, (uint64_t)to_outsider, SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_pidfd_send_signal, 999, SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -EBADF, VERDICT_ALLOW);
	run(sys_pidfd_send_signal, 2, SIGKILL, 0, 0);
	expect(OUTCOME_ERROR, -EBADF, VERDICT_ALLOW);
	run(sys_pidfd_send_signal, (uint64_t)to_outsider, SIGKILL, 0, 3);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	ck_assert(lives(outsider));
	run(sys_pidfd_open, UNSIGNED(member), 0, 0, 0);
	ck_assert_int_eq(call.outcome.kind, OUTCOME_FD);
	ck_assert(call.outcome.fd_is_cloexec);
	run(sys_pidfd_send_signal, (uint64_t)call.outcome.fd, SIGUSR1, (uintptr_t)&info, 0); /* si_signo differs */
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_pidfd_open, UNSIGNED(member), 0, 0, 0);
	run(sys_pidfd_send_signal, (uint64_t)call.outcome.fd, SIGTERM, (uintptr_t)&info, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert(ended(member));
}
END_TEST

static int group_of_text(const char *text)
{
	struct procstat stat;
	int r = procstat_parse(text, &stat);

	return r < 0 ? r : stat.group;
}

START_TEST(a_name_cannot_forge_the_group)
{
	ck_assert_int_eq(group_of_text("7 (sh) S 1 42 42 0 -1"), 42);
	ck_assert_int_eq(group_of_text("7 (x) R 1 1 1) S 1 42 42"), 42);
	ck_assert_int_eq(group_of_text("7 () ) ) S 1 0 0"), 0);
	ck_assert_int_eq(group_of_text(""), -ESRCH);
	ck_assert_int_eq(group_of_text("7 (sh"), -ESRCH);
	ck_assert_int_eq(group_of_text("7 (sh) S"), -ESRCH);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("signal");
	TCase *tcase = tcase_create("signal");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, an_outsider_does_not_exist);
	tcase_add_test(tcase, a_member_is_signalled);
	tcase_add_test(tcase, threads_of_members_are_signalled);
	tcase_add_test(tcase, the_own_process_is_continued);
	tcase_add_test(tcase, a_member_is_continued_where_the_kernel_bounds_signals);
	tcase_add_test(tcase, bad_arguments_give_the_native_errno);
	tcase_add_test(tcase, a_group_is_its_members_of_the_run);
	tcase_add_test(tcase, a_group_without_members_does_not_exist);
	tcase_add_test(tcase, everyone_is_the_run_but_the_caller);
	tcase_add_test(tcase, nothing_is_sent_without_a_record);
	tcase_add_test(tcase, pidfds_lead_to_members_only);
	tcase_add_test(tcase, a_name_cannot_forge_the_group);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
