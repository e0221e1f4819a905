/* Who may trace whom: the handlers with a made-up run over real processes. Threat 44. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscalls/call/call.h"
#include "syscalls/table/handlers.h"
#include "syscalls/table/table.h"
#include "tests/unit/syscalls/stub-call.h"
#include "tests/unit/unit.h"

static pid_t member, other, outsider;

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void set_up(void)
{
	member = start();
	other = start();
	outsider = start();
	members[0] = member;
	members[1] = other;
	members[2] = getpid();
	member_count = 3;
	sandbox.kernel_confines_ptrace = true;
	sandbox.ptrace_attachments.count = 0;
	sandbox.ptrace_attachments.run_may_write_memory = false;
	tracer_of_all = 0;
}

static void tear_down(void)
{
	(void)kill(member, SIGKILL);
	(void)kill(other, SIGKILL);
	(void)kill(outsider, SIGKILL);
	while (wait(NULL) > 0)
		continue;
}

static void attach(pid_t pid)
{
	run(sys_ptrace, PTRACE_ATTACH, UNSIGNED(pid), 0, 0);
}

START_TEST(members_are_attached_to)
{
	attach(member);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_ptrace, PTRACE_SEIZE, UNSIGNED(other), 0, PTRACE_O_TRACEEXIT);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	ck_assert_uint_eq(sandbox.ptrace_attachments.count, 1); /* one entry a thread */
	run(sys_process_vm_readv, UNSIGNED(member), 0, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
}
END_TEST

/* What is permitted once may be performed later, so it counts for the rest of the run. */
START_TEST(writing_memory_is_remembered)
{
	run(sys_process_vm_readv, UNSIGNED(member), 0, 0, 0);
	ck_assert(!ptrace_run_may_write_memory(&sandbox));
	if (_i == 0)
		run(sys_process_vm_writev, UNSIGNED(member), 0, 0, 0);
	else if (_i == 1)
		attach(member);
	else
		run(sys_process_vm_writev, UNSIGNED(getpid()), 0, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	ck_assert(ptrace_run_may_write_memory(&sandbox));
}
END_TEST

START_TEST(outsiders_do_not_exist)
{
	attach(outsider);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_process_vm_writev, UNSIGNED(outsider), 0, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_prctl, PR_SET_PTRACER, UNSIGNED(outsider), 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_DENY);
	attach(0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	ck_assert_uint_eq(sandbox.ptrace_attachments.count, 0);
	ck_assert(!ptrace_run_may_write_memory(&sandbox));
}
END_TEST

START_TEST(nothing_is_traced_where_nothing_bounds_it)
{
	sandbox.kernel_confines_ptrace = false;
	attach(member);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_process_vm_readv, UNSIGNED(member), 0, 0, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
}
END_TEST

START_TEST(a_tracer_is_not_traced)
{
	/* The other process has attached to the member, or is about to. */
	sandbox.ptrace_attachments.attachment[0] = (struct ptrace_attachment){other, other, member, member};
	sandbox.ptrace_attachments.count = 1;
	attach(other);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	ck_assert_str_eq(call.decision.reason, "target_traces");
	attach(member); /* the kernel's EPERM if it is traced */
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
}
END_TEST

START_TEST(a_tracee_does_not_trace)
{
	sandbox.ptrace_attachments.attachment[0] = (struct ptrace_attachment){other, other, getpid(), getpid()};
	sandbox.ptrace_attachments.count = 1;
	attach(member);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	ck_assert_str_eq(call.decision.reason, "tracer_is_traced");
	sandbox.ptrace_attachments.count = 0;
	tracer_of_all = other; /* from birth, unknown to the supervisor */
	attach(member);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	tracer_of_all = getpid(); /* the supervisor itself */
	attach(member);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
}
END_TEST

START_TEST(a_dead_tracer_is_forgotten)
{
	sandbox.ptrace_attachments.attachment[0] = (struct ptrace_attachment){other, other, getpid(), getpid()};
	sandbox.ptrace_attachments.count = 1;
	(void)kill(other, SIGKILL);
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
	attach(member);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	ck_assert_uint_eq(sandbox.ptrace_attachments.count, 1);
}
END_TEST

START_TEST(a_full_table_refuses)
{
	for (unsigned i = 0; i < PTRACE_ATTACHMENTS_MAX; i++)
		sandbox.ptrace_attachments.attachment[i] = (struct ptrace_attachment){other, other, member, member};
	sandbox.ptrace_attachments.count = PTRACE_ATTACHMENTS_MAX;
	attach(member);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	ck_assert_str_eq(call.decision.reason, "tracers_limit");
}
END_TEST

START_TEST(nobody_traces_by_a_parent_outside)
{
	run(sys_ptrace, PTRACE_TRACEME, 0, 0, 0); /* the parent is check's runner */
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	members[member_count++] = getppid();
	run(sys_ptrace, PTRACE_TRACEME, 0, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	attach(member); /* and never traces */
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
}
END_TEST

START_TEST(requests_about_filters_are_refused)
{
	const uint64_t suspend = UINT64_C(1) << 21;
	const struct syscall_row *row = table_find_row(SYS_ptrace);

	run(sys_ptrace, PTRACE_SEIZE, UNSIGNED(member), 0, suspend);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_ptrace, 0x420c, UNSIGNED(member), 0, 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	run(sys_ptrace, 0x4210, UNSIGNED(member), 0, 0);
	expect(OUTCOME_ERROR, -EIO, VERDICT_DENY);
	ck_assert(table_row_allows(row, (const uint64_t[6]){PTRACE_SETOPTIONS, 1, 0, PTRACE_O_TRACEEXIT}));
	ck_assert(!table_row_allows(row, (const uint64_t[6]){PTRACE_SETOPTIONS, 1, 0, suspend}));
	ck_assert(!table_row_allows(row, (const uint64_t[6]){PTRACE_TRACEME}));
	ck_assert(!table_row_allows(row, (const uint64_t[6]){PTRACE_ATTACH, 1}));
	ck_assert(!table_row_allows(row, (const uint64_t[6]){PTRACE_SEIZE, 1}));
	ck_assert(!table_row_allows(row, (const uint64_t[6]){PTRACE_CONT | UINT64_C(1) << 32, 1}));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptrace");
	TCase *tcase = tcase_create("ptrace");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, members_are_attached_to);
	tcase_add_loop_test(tcase, writing_memory_is_remembered, 0, 3);
	tcase_add_test(tcase, outsiders_do_not_exist);
	tcase_add_test(tcase, nothing_is_traced_where_nothing_bounds_it);
	tcase_add_test(tcase, a_tracer_is_not_traced);
	tcase_add_test(tcase, a_tracee_does_not_trace);
	tcase_add_test(tcase, a_dead_tracer_is_forgotten);
	tcase_add_test(tcase, a_full_table_refuses);
	tcase_add_test(tcase, nobody_traces_by_a_parent_outside);
	tcase_add_test(tcase, requests_about_filters_are_refused);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
