/* Calls on other processes and on sockets: what is judged, what is refused, and with which errno. Threats 8, 34-37. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "syscalls/file.h"
#include "syscalls/handlers.h"
#include "tests/unit/stub-call.h"

#include "base/banned.h"

#define OUTSIDER 1
#define MEMBER 4242

/* What the view would find: -1 with the outcome set, or an object. */
static const char *pin_object;
static int pin_error;

int file_pin(struct call *pinned, unsigned i, unsigned want, unsigned follow, int open_flags)
{
	(void)i;
	(void)want;
	(void)follow;
	if (!pin_object) {
		call_refuse(pinned, pin_error, NULL, "not_granted");
		return -1;
	}
	pinned->decision.verdict = VERDICT_ALLOW;
	return open(pin_object, open_flags | O_CLOEXEC);
}

static void set_up(void)
{
	members[0] = MEMBER;
	member_count = 1;
}

#define NUMBER(value) ((uint64_t)(int64_t)(value))
#define ADDRESS(object) ((uint64_t)(uintptr_t)(object))

START_TEST(limits_of_members_only)
{
	static syscall_fn *const by_pid[] = {sys_prlimit64, sys_sched_setaffinity, sys_sched_setattr, sys_sched_setparam,
					     sys_sched_setscheduler};

	for (size_t i = 0; i < sizeof(by_pid) / sizeof(by_pid[0]); i++) {
		run(by_pid[i], OUTSIDER, 0, 0, 0);
		expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
		run(by_pid[i], NUMBER(getppid()), 0, 0, 0);
		expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
		run(by_pid[i], MEMBER, 0, 0, 0);
		expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
		run(by_pid[i], NUMBER(getpid()), 0, 0, 0);
		expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	}
}
END_TEST

START_TEST(priorities_of_single_members_only)
{
	run(sys_setpriority, PRIO_PROCESS, OUTSIDER, 19, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_setpriority, PRIO_PROCESS, MEMBER, 19, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_setpriority, PRIO_PGRP, 0, 19, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_setpriority, PRIO_USER, 0, 19, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_setpriority, 3, 0, 19, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_ioprio_set, 1, OUTSIDER, 0, 0);
	expect(OUTCOME_ERROR, -ESRCH, VERDICT_DENY);
	run(sys_ioprio_set, 1, MEMBER, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_ioprio_set, 3, 0, 0, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
}
END_TEST

START_TEST(prctl_tells_forbidden_from_absent)
{
	run(sys_prctl, PR_SET_DUMPABLE, 0, 0, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_prctl, PR_SET_DUMPABLE | UINT64_C(0x100000000), 0, 0, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_prctl, 4096, 0, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_DENY);
}
END_TEST

START_TEST(families)
{
	run(sys_socket, AF_INET, SOCK_STREAM, 0, 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	run(sys_socket, AF_INET6, SOCK_DGRAM, 0, 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	run(sys_socket, AF_UNIX, SOCK_DGRAM, 0, 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	for (int family = 0; family <= 50; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6)
			continue;
		run(sys_socket, NUMBER(family), SOCK_RAW, 0, 0);
		expect(OUTCOME_ERROR, -EAFNOSUPPORT, VERDICT_DENY);
		run(sys_socketpair, NUMBER(family), SOCK_RAW, 0, 0);
		expect(OUTCOME_ERROR, -EAFNOSUPPORT, VERDICT_DENY);
	}
}
END_TEST

START_TEST(addresses_fail_as_natively_before_they_are_judged)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_in inet = {.sin_family = AF_INET};
	static syscall_fn *const calls[] = {sys_connect, sys_bind};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		run(calls[i], 999, ADDRESS(&inet), sizeof(inet), 0);
		expect(OUTCOME_ERROR, -EBADF, VERDICT_ALLOW);
		run(calls[i], NUMBER(-1), ADDRESS(&inet), sizeof(inet), 0);
		expect(OUTCOME_ERROR, -EBADF, VERDICT_ALLOW);
		run(calls[i], NUMBER(open("/dev/null", O_RDONLY)), ADDRESS(&inet), sizeof(inet), 0);
		expect(OUTCOME_ERROR, -ENOTSOCK, VERDICT_ALLOW);
		run(calls[i], NUMBER(fd), 8, sizeof(inet), 0);
		expect(OUTCOME_ERROR, -EFAULT, VERDICT_ALLOW);
		run(calls[i], NUMBER(fd), ADDRESS(&inet), 129, 0);
		expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
		run(calls[i], NUMBER(fd), ADDRESS(&inet), NUMBER(-1), 0);
		expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
		run(calls[i], NUMBER(fd), ADDRESS(&inet), sizeof(inet), 0);
		expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	}
	run(sys_listen, NUMBER(fd), 1, 0, 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	run(sys_sendto, NUMBER(fd), 0, 0, 0);
	expect(OUTCOME_ERROR, -EISCONN, VERDICT_DENY);
	run(sys_sendto, NUMBER(fd), 0, 0, MSG_FASTOPEN);
	expect(OUTCOME_ERROR, -EOPNOTSUPP, VERDICT_DENY);
}
END_TEST

START_TEST(unix_paths_are_looked_up_in_the_view)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un full = {.sun_family = AF_UNIX};
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/nscd/socket"};
	struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0x"};

	pin_object = NULL;
	pin_error = -ENOENT;
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -ENOENT, VERDICT_DENY);
	ck_assert_uint_eq(call.paths, 1);
	ck_assert_str_eq(call.path[0].text, "/run/nscd/socket");
	pin_object = "/dev/null";
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_ALLOW);
	run(sys_connect, NUMBER(fd), ADDRESS(&abstract), sizeof(abstract), 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_DENY);
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name.sun_family), 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_DENY);
	ck_assert_uint_eq(call.paths, 0);
	/* No NUL within the address: the path ends with it. */
	memset(full.sun_path, 'a', sizeof(full.sun_path));
	run(sys_bind, NUMBER(fd), ADDRESS(&full), sizeof(full), 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	ck_assert_uint_eq(call.path[0].len, sizeof(full.sun_path));
	ck_assert_uint_eq(strlen(call.path[0].text), sizeof(full.sun_path));
}
END_TEST

START_TEST(a_unix_socket_in_the_view_is_refused)
{
	char path[] = "/tmp/callgate-test-XXXXXX";
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_ptr_nonnull(mkdtemp(path));
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	pin_object = name.sun_path;
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	(void)unlink(name.sun_path);
	(void)rmdir(path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refusals");
	TCase *tcase = tcase_create("refusals");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, limits_of_members_only);
	tcase_add_test(tcase, priorities_of_single_members_only);
	tcase_add_test(tcase, prctl_tells_forbidden_from_absent);
	tcase_add_test(tcase, families);
	tcase_add_test(tcase, addresses_fail_as_natively_before_they_are_judged);
	tcase_add_test(tcase, unix_paths_are_looked_up_in_the_view);
	tcase_add_test(tcase, a_unix_socket_in_the_view_is_refused);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
