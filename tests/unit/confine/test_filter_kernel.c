/*
 * The filter in the kernel: a child under it tries every number that is not native, x32 and int 0x80, and a tiny
 * supervisor responds to each notification with an errno that no system call returns. Another result means that the
 * call was executed.
 */
#include <check.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/filter.h"
#include "syscalls/table/table.h"
#include "tests/unit/unit.h"

#define MARK 3999 /* below MAX_ERRNO (4095), above every errno */

struct shared {
	volatile int listener; /* -1 until installed */
	volatile int ready;
	volatile unsigned notified[1024]; /* by number, as the supervisor saw it */
	volatile unsigned foreign;
	volatile int failures;
	volatile int first_failure;
};

static struct shared *shared;

static void note_failure(int nr)
{
	if (shared->failures++ == 0)
		shared->first_failure = nr;
}

static long try_number(long nr)
{
	errno = 0;
	/* Arguments that match no FILTER term: all bits set. */
	return syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L) == -1 ? errno : 0;
}

/* Terms that all-ones satisfies (personality's query): these are natively allowed, harmlessly. */
static bool ones_match(const struct syscall_row *row)
{
	for (const struct row_term *term = row->allowed_if; term->compare_count; term++) {
		bool all = true;

		for (unsigned i = 0; i < term->compare_count; i++)
			all &= term->compare[i].mask == term->compare[i].value;
		if (all)
			return true;
	}
	return false;
}

static void sweep_native(void)
{
	for (int nr = 0; nr < 1024; nr++) {
		const struct syscall_row *row = table_find_row(nr);
		long error, want = MARK;

		if (row && (row->class == ROW_NATIVE || (row->class == ROW_FILTER && ones_match(row))))
			continue;
		/* uretprobe, uprobe: exempted by the kernel (seccomp.c: seccomp_uprobe_exception) */
		if (nr == 335 || nr == 336)
			continue;
		if (row && row->class == ROW_REFUSE_UNRECORDED)
			want = row->error;
		error = try_number(nr);
		if (error != want)
			note_failure(nr);
	}
}

static void sweep_x32(void)
{
#if defined(__x86_64__)
	for (int nr = 0; nr < 1024; nr++)
		if (try_number(0x40000000 | nr) != MARK)
			note_failure(0x40000000 | nr);
#endif
}

#if defined(__x86_64__)
static long int80(long nr)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(nr), "b"(0), "c"(0), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void no_ia32(int sig)
{
	(void)sig;
	_exit(0); /* a kernel without 32-bit emulation: there is nothing to refuse */
}
#endif

static void sweep_int80(void)
{
#if defined(__x86_64__)
	(void)signal(SIGSEGV, no_ia32);
	for (int nr = 0; nr < 512; nr++)
		if ((int)int80(nr) != -MARK)
			note_failure(-nr - 1);
#endif
}

static int child_main(void (*sweep)(void), const struct sock_fprog *program)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	shared->listener = filter_install(program);
	if (shared->listener < 0)
		return 2;
	shared->ready = 1;
	sweep();
	return 0;
}

static void answer(int listener)
{
	struct seccomp_notif request = {0};
	struct seccomp_notif_resp response = {.error = -MARK};

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return;
	if (request.data.nr >= 0 && request.data.nr < 1024)
		shared->notified[request.data.nr]++;
	response.id = request.id;
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Runs `sweep` in a child under the filter and answers until it ends. */
static void run_sweep(void (*sweep)(void))
{
	struct sock_fprog program;
	struct pollfd poller = {.events = POLLIN};
	int status;
	pid_t pid;

	ck_assert_int_eq(filter_build_program(RUN_SAMPLES_MEMORY, &program), 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	shared->listener = -1;
	/* CLONE_FILES: the listener's descriptor is valid here too. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(child_main(sweep, &program));
	ck_assert_int_gt(pid, 0);
	while (!shared->ready && waitpid(pid, &status, WNOHANG) == 0)
		(void)poll(NULL, 0, 1);
	ck_assert_msg(shared->ready, "the filter could not be installed: %d", shared->listener);
	poller.fd = shared->listener;
	while (waitpid(pid, &status, WNOHANG) == 0)
		if (poll(&poller, 1, 10) > 0 && poller.revents & POLLIN)
			answer(poller.fd);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", (unsigned)status);
	ck_assert_msg(shared->failures == 0, "%d numbers reached the kernel, the first: %d", shared->failures,
		      shared->first_failure);
	(void)close(shared->listener);
	free(program.filter);
}

START_TEST(only_native_numbers_reach_the_kernel)
{
	run_sweep(sweep_native);
	ck_assert_uint_eq(shared->notified[1000], 1);
	ck_assert_uint_eq(shared->notified[SYS_openat], 1);
	ck_assert_uint_eq(shared->notified[SYS_ptrace], 1);
	ck_assert_uint_eq(shared->notified[SYS_clone3], 0);
}
END_TEST

START_TEST(no_x32_number_reaches_the_kernel)
{
	run_sweep(sweep_x32);
}
END_TEST

START_TEST(no_int80_reaches_the_kernel)
{
	run_sweep(sweep_int80);
}
END_TEST

/* sendmsg is native because of this: a name given on a connected unix socket reaches no other process (threat 36). */
static void send_named(int type, int error)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0callgate-canary"};
	char byte = 'x';
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_name = &name, .msg_namelen = sizeof(name), .msg_iov = &part, .msg_iovlen = 1};
	int canary = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
	int pair[2];
	ssize_t sent;

	ck_assert_int_ge(canary, 0);
	ck_assert_int_eq(bind(canary, (struct sockaddr *)&name, sizeof(name)), 0);
	ck_assert_int_eq(listen(canary, 1), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, pair), 0);
	sent = sendmsg(pair[0], &message, MSG_NOSIGNAL);
	if (error) {
		ck_assert_int_eq(sent, -1);
		ck_assert_int_eq(errno, error);
	} else {
		ck_assert_int_eq(sent, 1);
		ck_assert_int_eq(recv(pair[1], &byte, 1, MSG_DONTWAIT), 1); /* the peer has it */
	}
	ck_assert_int_eq(accept(canary, NULL, NULL), -1);
	ck_assert_int_eq(errno, EAGAIN);
	/* An unconnected one cannot send either. */
	(void)close(pair[0]);
	pair[0] = socket(AF_UNIX, type, 0);
	ck_assert_int_eq(sendmsg(pair[0], &message, MSG_NOSIGNAL), -1);
	ck_assert_int_eq(accept(canary, NULL, NULL), -1);
	(void)close(pair[0]);
	(void)close(pair[1]);
	(void)close(canary);
}

START_TEST(a_named_message_reaches_only_the_peer)
{
	send_named(SOCK_STREAM, EISCONN);
	send_named(SOCK_SEQPACKET, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("filter in the kernel");
	TCase *tcase = tcase_create("sweep");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, only_native_numbers_reach_the_kernel);
	tcase_add_test(tcase, no_x32_number_reaches_the_kernel);
	tcase_add_test(tcase, no_int80_reaches_the_kernel);
	tcase_add_test(tcase, a_named_message_reaches_only_the_peer);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
