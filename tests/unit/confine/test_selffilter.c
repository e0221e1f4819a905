/*
 * What the filters of keeper, supervisor, custodian, egress and resolver allow: their decisions, and real calls.
 */
#include <check.h>
#include <errno.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/selffilter.h"
#include "syscalls/arch/arch.h"
#include "tests/unit/confine/bpf-run.h"
#include "tests/unit/row-named.h"
#include "tests/unit/unit.h"

#define ALLOWED SECCOMP_RET_ALLOW
#define KILLED SECCOMP_RET_KILL_PROCESS
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)

static const unsigned roles[] = {SELF_KEEPER, SELF_SUPERVISOR, SELF_CUSTODIAN,
				 SELF_EGRESS, SELF_RESOLVER,   SELF_SUPERVISOR | SELF_SUPERVISOR_WITH_NETWORK};
#define ROLES (sizeof(roles) / sizeof(roles[0]))

static uint32_t verdict(unsigned role, uint32_t arch, uint32_t nr, uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data data = {.arch = arch, .nr = (int)nr, .args = {a, b, c}};
	struct sock_fprog program;
	unsigned steps;
	uint32_t result;

	ck_assert_int_eq(selffilter_build(role, &program), 0);
	result = bpf_run(&program, &data, &steps);
	ck_assert_uint_ne(result, BPF_RUN_BAD);
	free(program.filter);
	return result;
}

static bool has_terms(const struct syscall_row *row, unsigned role)
{
	for (const struct self_terms *self = row->self_terms; self && self->roles; self++)
		if (self->roles & role)
			return true;
	return false;
}

START_TEST(each_role_gets_its_own)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	for (size_t r = 0; r < ROLES; r++)
		for (size_t i = 0; i < count; i++) {
			uint32_t got;

			if (rows[i].nr < 0 || has_terms(&rows[i], roles[r]))
				continue;
			got = verdict(roles[r], arch_get_audit_arch(), (uint32_t)rows[i].nr, 0, 0, 0);
			ck_assert_msg(got == (rows[i].self_roles == SELF_ROLE_OF_NO_PROCESS ? KILLED
					      : (rows[i].self_roles & roles[r])             ? ALLOWED
											    : UNKNOWN),
				      "%s for role %u: %#x", rows[i].name, roles[r], got);
		}
}
END_TEST

/* Hand-written: what an attacker in one of these processes would try first. */
START_TEST(what_attackers_want_kills)
{
	static const char *const names[] = {
		"execve",     "execveat",          "fork",           "vfork",      "mount",
		"open_tree",  "move_mount",        "setns",          "pivot_root", "chroot",
		"bpf",        "userfaultfd",       "io_uring_setup", "keyctl",     "init_module",
		"kexec_load", "open_by_handle_at", "perf_event_open"};

	for (size_t r = 0; r < ROLES; r++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			int nr = row_named(names[i])->nr;

			ck_assert_msg(nr < 0 ||
					      verdict(roles[r], arch_get_audit_arch(), (uint32_t)nr, 0, 0, 0) == KILLED,
				      "%s", names[i]);
		}
}
END_TEST

START_TEST(unlisted_and_foreign_numbers)
{
	for (size_t r = 0; r < ROLES; r++) {
		ck_assert_uint_eq(verdict(roles[r], arch_get_audit_arch(), 511, 0, 0, 0), UNKNOWN);
		ck_assert_uint_eq(verdict(roles[r], arch_get_audit_arch(), 512, 0, 0, 0), KILLED);
		ck_assert_uint_eq(verdict(roles[r], arch_get_audit_arch(), 0x40000000 | SYS_read, 0, 0, 0), KILLED);
		ck_assert_uint_eq(verdict(roles[r], AUDIT_ARCH_I386, 0, 0, 0, 0), KILLED);
	}
}
END_TEST

START_TEST(registers_are_looked_at)
{
	const uint32_t arch = arch_get_audit_arch();
	const uint64_t thread = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_FS;

	for (size_t r = 0; r < ROLES; r++) {
		const bool loads = roles[r] == SELF_RESOLVER; /* from files: the flags are 0 here */

		ck_assert_uint_eq(verdict(roles[r], arch, SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE), ALLOWED);
		ck_assert_uint_eq(verdict(roles[r], arch, SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC),
				  loads ? ALLOWED : REFUSED);
		ck_assert_uint_eq(verdict(roles[r], arch, SYS_mmap, 0, 4096, PROT_WRITE | PROT_EXEC), REFUSED);
		ck_assert_uint_eq(verdict(roles[r], arch, SYS_mprotect, 0, 4096, PROT_EXEC | 1ULL << 40), REFUSED);
	}
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_clone, thread, 0, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_clone, SIGCHLD, 0, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_clone, thread | CLONE_NEWUSER, 0, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_KEEPER, arch, SYS_clone, thread, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_ptrace, PTRACE_SEIZE, 0, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_ptrace, PTRACE_ATTACH, 0, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_ptrace, PTRACE_TRACEME, 0, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_KEEPER, arch, SYS_ptrace, PTRACE_SEIZE, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_socket, AF_UNIX, SOCK_STREAM, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_socket, AF_INET, SOCK_STREAM, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_socket, AF_NETLINK, SOCK_RAW, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_KEEPER, arch, SYS_socket, AF_UNIX, SOCK_STREAM, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_unshare, CLONE_FS, 0, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_unshare, CLONE_FS | CLONE_NEWUSER, 0, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_ioctl, 3, SECCOMP_IOCTL_NOTIF_RECV, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_KEEPER, arch, SYS_ioctl, 0, 0x5412 /* TIOCSTI */, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_ioctl, 0, 0x5412, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_prctl, PR_SET_DUMPABLE, 1, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_KEEPER, arch, SYS_process_vm_readv, 0, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_KEEPER, arch, SYS_process_vm_writev, 0, 0, 0), UNKNOWN);
}
END_TEST

START_TEST(sockets_by_role)
{
	const uint32_t arch = arch_get_audit_arch();
	const unsigned network = SELF_SUPERVISOR | SELF_SUPERVISOR_WITH_NETWORK;
	const uint64_t stream = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_socket, AF_INET, stream, IPPROTO_TCP), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_socket, AF_INET6, SOCK_DGRAM, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP), REFUSED);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_socket, AF_UNIX, SOCK_STREAM, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_socket, AF_NETLINK, SOCK_RAW, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_socket, AF_PACKET, SOCK_RAW, 0), REFUSED);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_clone, SIGCHLD, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_kill, 1, 9, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_process_vm_readv, 1, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_ptrace, PTRACE_SEIZE, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_openat, 0, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_EGRESS, arch, SYS_listen, 0, 0, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_RESOLVER, arch, SYS_socket, AF_UNIX, SOCK_STREAM, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_RESOLVER, arch, SYS_socket, AF_NETLINK, SOCK_RAW, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_RESOLVER, arch, SYS_socket, AF_NETLINK, SOCK_RAW, 4), REFUSED);
	ck_assert_uint_eq(verdict(SELF_RESOLVER, arch, SYS_kill, 1, 9, 0), UNKNOWN);
	ck_assert_uint_eq(verdict(SELF_RESOLVER, arch, SYS_clone, SIGCHLD, 0, 0), REFUSED);
	ck_assert_uint_eq(verdict(network, arch, SYS_socket, AF_INET, stream, 0), ALLOWED);
	ck_assert_uint_eq(verdict(network, arch, SYS_socket, AF_UNIX, SOCK_DGRAM, 0), ALLOWED);
	ck_assert_uint_eq(verdict(network, arch, SYS_socket, AF_NETLINK, SOCK_DGRAM, 4 /* sock_diag */), REFUSED);
	ck_assert_uint_eq(verdict(network, arch, SYS_socket, AF_NETLINK, SOCK_RAW, 0 /* routes */), REFUSED);
	ck_assert_uint_eq(verdict(network, arch, SYS_ptrace, PTRACE_SEIZE, 0, 0), ALLOWED);
	ck_assert_uint_eq(verdict(SELF_SUPERVISOR, arch, SYS_setsockopt, 0, 0, 0), UNKNOWN);
}
END_TEST

/* ---- in the kernel ---- */

static void *do_nothing(void *arg)
{
	return arg;
}

static int try_execve(void)
{
	return (int)syscall(SYS_execve, "/bin/true", NULL, NULL);
}

static int try_mount(void)
{
	return (int)syscall(SYS_mount, "none", "/", NULL, 1UL << 18, NULL);
}

static int try_bpf(void)
{
	return (int)syscall(SYS_bpf, 0, NULL, 0);
}

static int try_setns(void)
{
	return (int)syscall(SYS_setns, 0, 0);
}

static int try_keyctl(void)
{
	return (int)syscall(SYS_keyctl, 0, 0);
}

/* Runs it in a child under the supervisor's filter. Returns the wait status. */
static int in_child(int (*try)(void))
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || selffilter_install(SELF_SUPERVISOR) < 0)
			_exit(99);
		(void)try();
		_exit(98);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(what_is_nobodys_kills)
{
	int (*const tries[])(void) = {try_execve, try_mount, try_bpf, try_setns, try_keyctl};
	const char *why;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]) && selffilter_works_in_this_build(&why); i++) {
		int status = in_child(tries[i]);

		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%zu: %#x", i, (unsigned)status);
	}
}
END_TEST

static int try_threads(void)
{
	pthread_t thread;

	/* glibc asks for clone3 first, which is ENOSYS, and falls back */
	if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
		_exit(1);
	if (fork() >= 0 || errno != EPERM)
		_exit(2);
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		_exit(3);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EPERM)
		_exit(4);
	if (syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS)
		_exit(5);
	_exit(0);
}

/* The filter applies to existing threads as well. */
static int sibling_pipe[2];

static void *exec_when_told(void *arg)
{
	char byte;

	(void)arg;
	if (read(sibling_pipe[0], &byte, 1) == 1)
		(void)try_execve();
	_exit(6);
}

static int try_sibling(void)
{
	if (write(sibling_pipe[1], "", 1) != 1)
		_exit(7);
	for (;;)
		(void)pause(); /* ENOSYS: no role has it */
}

START_TEST(threads_are_made_and_held)
{
	const char *why;
	pid_t pid;
	int status;

	if (!selffilter_works_in_this_build(&why))
		return;
	status = in_child(try_threads);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x", (unsigned)status);
	ck_assert_int_eq(pipe(sibling_pipe), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, exec_when_told, NULL) != 0 ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || selffilter_install(SELF_SUPERVISOR) < 0)
			_exit(99);
		(void)try_sibling();
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%#x", (unsigned)status);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("selffilter");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, each_role_gets_its_own);
	tcase_add_test(tcase, what_attackers_want_kills);
	tcase_add_test(tcase, unlisted_and_foreign_numbers);
	tcase_add_test(tcase, registers_are_looked_at);
	tcase_add_test(tcase, sockets_by_role);
	tcase_add_test(tcase, what_is_nobodys_kills);
	tcase_add_test(tcase, threads_are_made_and_held);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
