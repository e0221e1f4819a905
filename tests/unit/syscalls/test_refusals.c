/* Calls on other processes and on sockets: what is judged, what is refused, and with which errno. Threats 8, 34-37. */
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "syscalls/call/descriptor.h"
#include "syscalls/call/work.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/unix-peers.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/table/handlers.h"
#include "tests/unit/syscalls/stub-call.h"
#include "tests/unit/unit.h"

#define OUTSIDER 1
#define MEMBER 4242
#define LISTENER 4243
#define CLIENT 4244

/* What the view would find: -1 with the outcome set, or an object. And where a name would be made. */
static const char *pin_object;
static int pin_error;
static char directory[] = "/tmp/callgate-test-XXXXXX";
static int directory_fd;

int file_pin_path(struct call *pinned, unsigned i, unsigned want, unsigned follow, int open_flags)
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

int file_pin_parent_of_new_name(struct call *pinned, unsigned i, const char **ret_name)
{
	(void)i;
	*ret_name = "name";
	if (!pin_object) {
		call_refuse(pinned, pin_error, NULL, "not_granted");
		return -1;
	}
	pinned->decision.verdict = VERDICT_ALLOW;
	return fcntl(directory_fd, F_DUPFD_CLOEXEC, 0);
}

int file_set_umask_of_target(struct call *pinned)
{
	(void)pinned;
	return 0;
}

int file_record_before_change(struct call *begun, unsigned i)
{
	(void)i;
	return call_commit_record(begun);
}

int file_get_outcome_error(const struct call *failed)
{
	return failed->outcome.kind == OUTCOME_ERROR ? (int)failed->outcome.value : 0;
}

void file_end_call(struct call *ended, long result)
{
	if (result < 0)
		call_fail(ended, -errno);
	else
		call_return(ended, result);
}

/* The caller is this process: its descriptors are ours. */
bool descriptor_pidfd_getfd_works(void)
{
	return true;
}

int descriptor_copy_second_of_call(struct call *copied, int fd)
{
	return descriptor_copy(copied, fd);
}

int descriptor_copy(struct call *copied, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		call_fail(copied, -errno);
	return copy;
}

/* Not kept: descriptor_copy() above duplicates again. */
void descriptor_keep_fetched_copy(struct call *kept, int copy)
{
	(void)kept;
	(void)close(copy);
}

static void set_up(void)
{
	members[0] = MEMBER;
	member_count = 1;
	ck_assert_ptr_nonnull(mkdtemp(directory));
	directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(directory_fd, 0);
	ck_assert_int_eq(sockets_create(directory_fd, false, &sandbox.unix_sockets), 0);
	ck_assert_int_eq(peers_create(&sandbox.unix_peers), 0);
}

static void tear_down(void)
{
	sockets_free(sandbox.unix_sockets);
	peers_free(sandbox.unix_peers);
	(void)unlinkat(directory_fd, "name", 0);
	(void)unlinkat(directory_fd, "sockets", AT_REMOVEDIR);
	(void)close(directory_fd);
	ck_assert_int_eq(rmdir(directory), 0); /* nothing is left of what was bound */
}

#define NUMBER(value) ((uint64_t)(int64_t)(value))
#define ADDRESS(object) ((uint64_t)(uintptr_t)(object))

START_TEST(limits_of_members_only)
{
	static syscall_fn *const by_pid[] = {sys_prlimit64, sys_sched_setaffinity, sys_sched_setattr,
					     sys_sched_setparam, sys_sched_setscheduler};

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
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	run(sys_prctl, PR_SET_DUMPABLE | UINT64_C(0x100000000), 0, 0, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	run(sys_prctl, PR_SET_DUMPABLE, 2, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_prctl, PR_SET_MM, 0, 0, 0);
	expect(OUTCOME_ERROR, -EPERM, VERDICT_DENY);
	run(sys_prctl, PR_SET_PTRACER, 1, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_DENY);
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
		expect(OUTCOME_ERROR, -EINVAL, VERDICT_DENY);
	}
	run(sys_listen, NUMBER(fd), 1, 0, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_sendto, NUMBER(fd), 0, 0, 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
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
	ck_assert_uint_eq(call.path_count, 1);
	ck_assert_str_eq(call.path[0].text, "/run/nscd/socket");
	pin_object = "/dev/null";
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_ALLOW);
	run(sys_connect, NUMBER(fd), ADDRESS(&abstract), sizeof(abstract), 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_DENY);
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name.sun_family), 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name) + 1, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	ck_assert_uint_eq(call.path_count, 0);
	pin_object = NULL;
	pin_error = -EROFS;
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	ck_assert_int_eq(call.decision.error, EACCES);
	/* No NUL within the address: the path ends with it. */
	memset(full.sun_path, 'a', sizeof(full.sun_path));
	run(sys_bind, NUMBER(fd), ADDRESS(&full), sizeof(full), 0);
	expect(OUTCOME_ERROR, -EROFS, VERDICT_DENY);
	ck_assert_uint_eq(call.path[0].len, sizeof(full.sun_path));
	ck_assert_uint_eq(strlen(call.path[0].text), sizeof(full.sun_path));
}
END_TEST

START_TEST(an_outsiders_socket_is_refused)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/name", directory);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	pin_object = name.sun_path;
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -EACCES, VERDICT_DENY);
	ck_assert_str_eq(call.decision.reason, "unix_socket_not_granted");
	/* No process is there any more: natively the same, and a sign to servers that they may take the name. */
	(void)close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	run(sys_connect, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_ALLOW);
}
END_TEST

static void expect_peer(int fd, pid_t pid)
{
	struct ucred told = {0};
	socklen_t len = sizeof(told) + 1;

	fifth_argument = ADDRESS(&len);
	run(sys_getsockopt, NUMBER(fd), SOL_SOCKET, SO_PEERCRED, ADDRESS(&told));
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert_int_eq(told.pid, pid);
	ck_assert_uint_eq(told.uid, getuid());
	ck_assert_uint_eq(len, sizeof(told));
}

START_TEST(other_options_are_refused)
{
	struct ucred told;
	socklen_t len = sizeof(told);
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	fifth_argument = ADDRESS(&len);
	run(sys_getsockopt, NUMBER(pair[0]), SOL_SOCKET, SO_PEERSEC, ADDRESS(&told));
	expect(OUTCOME_ERROR, -ENOPROTOOPT, VERDICT_DENY);
	run(sys_getsockopt, NUMBER(socket(AF_INET, SOCK_STREAM, 0)), SOL_SOCKET, SO_PEERCRED, ADDRESS(&told));
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW);
	run(sys_getsockopt, 999, SOL_SOCKET, SO_PEERCRED, ADDRESS(&told));
	expect(OUTCOME_ERROR, -EBADF, VERDICT_ALLOW);
	/* Of a pair the kernel names this process, which has not connected it for a process of the run. */
	run(sys_getsockopt, NUMBER(pair[0]), SOL_SOCKET, SO_PEERCRED, ADDRESS(&told));
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert_int_eq(told.pid, 0);
	len = (socklen_t)-1;
	run(sys_getsockopt, NUMBER(pair[0]), SOL_SOCKET, SO_PEERCRED, ADDRESS(&told));
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW);
	len = sizeof(told);
	run(sys_getsockopt, NUMBER(pair[0]), SOL_SOCKET, SO_PEERCRED, 8);
	expect(OUTCOME_ERROR, -EFAULT, VERDICT_ALLOW);
	fifth_argument = 8;
	run(sys_getsockopt, NUMBER(pair[0]), SOL_SOCKET, SO_PEERCRED, ADDRESS(&told));
	expect(OUTCOME_ERROR, -EFAULT, VERDICT_ALLOW);
}
END_TEST

START_TEST(what_the_run_binds_it_connects_to)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/virtual/\xc3\xa4/name"}, told = {0};
	struct sockaddr_un real = {.sun_family = AF_UNIX};
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(told);

	pin_object = directory;
	run(sys_getsockname, NUMBER(server), ADDRESS(&told), ADDRESS(&len), 0);
	expect(OUTCOME_CONTINUE, 0, VERDICT_ALLOW); /* no name needs translation yet */
	run(sys_bind, NUMBER(server), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	run(sys_bind, NUMBER(server), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW); /* it has a name */
	run(sys_bind, NUMBER(client), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_ERROR, -EADDRINUSE, VERDICT_ALLOW);
	caller = LISTENER;
	run(sys_listen, NUMBER(server), 1, 0, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	caller = CLIENT;
	/* No other process finds it there. */
	(void)snprintf(real.sun_path, sizeof(real.sun_path), "%s/name", directory);
	ck_assert_int_lt(connect(client, (struct sockaddr *)&real, sizeof(real)), 0);
	ck_assert_int_eq(errno, ECONNREFUSED);
	pin_object = real.sun_path;
	run(sys_connect, NUMBER(client), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	run(sys_getpeername, NUMBER(client), ADDRESS(&told), ADDRESS(&len), 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert_str_eq(told.sun_path, name.sun_path);
	ck_assert_uint_eq(len, offsetof(struct sockaddr_un, sun_path) + strlen(name.sun_path) + 1);
	/* The kernel names this process, which has performed both calls; the process that called them is told. */
	expect_peer(client, LISTENER);
	expect_peer(accept(server, NULL, NULL), CLIENT);
	expect_peer(server, LISTENER);
	/* One that may wait is left to a thread, with descriptors of its own. */
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	run(sys_connect, NUMBER(client), ADDRESS(&name), sizeof(name), 0);
	expect(OUTCOME_BLOCKING_WORK, 0, VERDICT_ALLOW);
	ck_assert_int_eq(call.outcome.blocking_work->run(call.outcome.blocking_work, call.outcome.fd, NULL, NULL), 0);
	call.outcome.blocking_work->free(call.outcome.blocking_work);
}
END_TEST

/* Binds a new socket of a type to the abstract name of len bytes; 0: to one that is chosen. */
static int bind_abstract(int type, const char *text, size_t len, int result)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	memcpy(name.sun_path, text, len);
	run(sys_bind, NUMBER(fd), ADDRESS(&name), offsetof(struct sockaddr_un, sun_path) + len, 0);
	expect(result ? OUTCOME_ERROR : OUTCOME_VALUE, result, VERDICT_ALLOW);
	return fd;
}

static void expect_name(int fd, const char *text, size_t len)
{
	struct sockaddr_un told;
	socklen_t told_len = sizeof(told);

	run(sys_getsockname, NUMBER(fd), ADDRESS(&told), ADDRESS(&told_len), 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert_uint_eq(told_len, offsetof(struct sockaddr_un, sun_path) + len);
	ck_assert_int_eq(memcmp(told.sun_path, text, len), 0);
}

START_TEST(abstract_names_are_in_a_table_of_the_run)
{
	static const char name[] = "\0a/b\0c";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const socklen_t len = offsetof(struct sockaddr_un, sun_path) + sizeof(name);
	int server = bind_abstract(SOCK_STREAM, name, sizeof(name), 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	int packets;

	memcpy(address.sun_path, name, sizeof(name));
	/* The kernel does not know the name. */
	ck_assert_int_lt(connect(client, (struct sockaddr *)&address, len), 0);
	ck_assert_int_eq(errno, ECONNREFUSED);
	expect_name(server, name, sizeof(name));
	run(sys_bind, NUMBER(server), ADDRESS(&address), len, 0);
	expect(OUTCOME_ERROR, -EINVAL, VERDICT_ALLOW); /* it has a name */
	(void)close(bind_abstract(SOCK_STREAM, name, sizeof(name), -EADDRINUSE));
	packets = bind_abstract(SOCK_SEQPACKET, name, sizeof(name), 0); /* another type: another name */
	(void)close(bind_abstract(SOCK_STREAM, name, sizeof(name) - 1, 0)); /* without the last NUL: another one, too */
	ck_assert_int_eq(fcntl(client, F_SETFL, O_NONBLOCK), 0);
	run(sys_connect, NUMBER(client), ADDRESS(&address), len, 0);
	expect(OUTCOME_ERROR, -ECONNREFUSED, VERDICT_ALLOW); /* it does not listen yet */
	run(sys_listen, NUMBER(server), 1, 0, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	run(sys_connect, NUMBER(client), ADDRESS(&address), len, 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	/* The name is free when its socket is closed. */
	(void)close(server);
	(void)close(client);
	(void)close(bind_abstract(SOCK_STREAM, name, sizeof(name), 0));
	(void)close(packets);
}
END_TEST

START_TEST(the_longest_abstract_name_keeps_its_length)
{
	char name[108];

	memset(name, '/', sizeof(name));
	name[0] = name[107] = '\0';
	expect_name(bind_abstract(SOCK_STREAM, name, sizeof(name), 0), name, sizeof(name));
}
END_TEST

START_TEST(names_are_chosen)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX}, told;
	socklen_t len = sizeof(told);
	int fd = bind_abstract(SOCK_STREAM, "", 0, 0), other = bind_abstract(SOCK_STREAM, "", 0, 0);
	char text[8];

	run(sys_getsockname, NUMBER(fd), ADDRESS(&told), ADDRESS(&len), 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
	ck_assert_uint_eq(len, offsetof(struct sockaddr_un, sun_path) + 6);
	ck_assert_int_eq(told.sun_path[0], '\0');
	memcpy(text, told.sun_path + 1, 5);
	text[5] = '\0';
	ck_assert_uint_eq(strspn(text, "0123456789abcdef"), 5);
	run(sys_getsockname, NUMBER(other), ADDRESS(&name), ADDRESS(&len), 0);
	ck_assert_int_ne(memcmp(name.sun_path, told.sun_path, 6), 0);
	run(sys_bind, NUMBER(fd), ADDRESS(&name), sizeof(name.sun_family), 0);
	expect(OUTCOME_VALUE, 0, VERDICT_ALLOW); /* it keeps its name */
	expect_name(fd, told.sun_path, 6);
}
END_TEST

START_TEST(names_that_are_gone_make_room)
{
	char path[sizeof(directory) + 8];

	pin_object = directory;
	(void)snprintf(path, sizeof(path), "%s/name", directory);
	for (int i = 0; i < SOCKETS_BOUND_MAX * 2; i++) {
		struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "name"};
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		run(sys_bind, NUMBER(fd), ADDRESS(&name), sizeof(name), 0);
		expect(OUTCOME_VALUE, 0, VERDICT_ALLOW);
		/* Either the file goes or the socket; the latter's place is then found free as well. */
		if (i % 2)
			ck_assert_int_eq(unlink(path), 0);
		(void)close(fd);
		if (i % 2 == 0)
			ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refusals");
	TCase *tcase = tcase_create("refusals");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, limits_of_members_only);
	tcase_add_test(tcase, priorities_of_single_members_only);
	tcase_add_test(tcase, prctl_tells_forbidden_from_absent);
	tcase_add_test(tcase, families);
	tcase_add_test(tcase, addresses_fail_as_natively_before_they_are_judged);
	tcase_add_test(tcase, unix_paths_are_looked_up_in_the_view);
	tcase_add_test(tcase, an_outsiders_socket_is_refused);
	tcase_add_test(tcase, what_the_run_binds_it_connects_to);
	tcase_add_test(tcase, other_options_are_refused);
	tcase_add_test(tcase, abstract_names_are_in_a_table_of_the_run);
	tcase_add_test(tcase, the_longest_abstract_name_keeps_its_length);
	tcase_add_test(tcase, names_are_chosen);
	tcase_add_test(tcase, names_that_are_gone_make_room);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
