/* Attempts of locked egress processes, with the filter and with Landlock alone. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/landlock.h"
#include "confine/selffilter.h"
#include "supervisor/gateway/lockdown.h"
#include "tests/unit/unit.h"

#define MARK "the keeper's own"

static char secret[] = MARK; /* in the parent's memory, at the same place */
static pid_t parent;
static struct sockaddr_in server;
static char own_mem[32];

/* Each returns true when it succeeds. */
static bool opens(const char *path, int flags)
{
	return open(path, flags, 0600) >= 0;
}

static bool reads_a_file(void)
{
	return opens("/etc/passwd", O_RDONLY);
}

static bool lists_a_directory(void)
{
	return opens("/", O_RDONLY | O_DIRECTORY);
}

static bool writes_a_file(void)
{
	return opens("/tmp/callgate-test-confine", O_WRONLY | O_CREAT) || opens("/dev/null", O_WRONLY);
}

static bool opens_by_openat2(void)
{
	uint64_t how[3] = {O_RDONLY, 0, 0};

	return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof(how)) >= 0;
}

static bool opens_memory_file(void)
{
	return opens(own_mem, O_RDWR);
}

static bool removes_a_file(void)
{
	return unlink("/tmp/callgate-test-confine-victim") == 0 || errno == ENOENT;
}

static bool reads_memory(void)
{
	char copy[sizeof(secret)];
	struct iovec here = {copy, sizeof(copy)}, there = {secret, sizeof(secret)};

	return process_vm_readv(parent, &here, 1, &there, 1, 0) > 0;
}

static bool writes_memory(void)
{
	char copy[] = "overwritten";
	struct iovec here = {copy, sizeof(copy)}, there = {secret, sizeof(copy)};

	return process_vm_writev(parent, &here, 1, &there, 1, 0) > 0;
}

static bool traces(void)
{
	return ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0;
}

static bool signals(void)
{
	return kill(parent, 0) == 0 || syscall(SYS_tgkill, parent, parent, 0) == 0;
}

static bool opens_a_pidfd(void)
{
	return syscall(SYS_pidfd_open, parent, 0) >= 0;
}

static bool forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool listens(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(20000 + (uint16_t)getpid() % 10000)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0 && listen(fd, 1) == 0;
}

static bool has_family(int family, int type)
{
	return socket(family, type, 0) >= 0;
}

static bool speaks_unix(void)
{
	return has_family(AF_UNIX, SOCK_STREAM);
}

static bool speaks_netlink(void)
{
	return has_family(AF_NETLINK, SOCK_RAW);
}

static bool speaks_raw(void)
{
	return has_family(AF_INET, SOCK_RAW) || has_family(AF_PACKET, SOCK_RAW);
}

static bool maps_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool becomes_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

static bool is_dumpable(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
}

static bool raises_limits(void)
{
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_CORE, &none) == 0;
}

static bool connects(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)&server, sizeof(server)) == 0;
}

static bool resolves(void)
{
	struct addrinfo *found = NULL;

	return getaddrinfo("localhost", NULL, NULL, &found) == 0 && found;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static bool makes_threads(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static bool has_secret_variable(void)
{
	return getenv("CALLGATE_TEST_SECRET") != NULL;
}

#define E SELF_EGRESS
#define R SELF_RESOLVER

static const struct {
	const char *name;
	bool (*attempt)(void);
	unsigned may; /* roles it works for */
	int landlock; /* the Landlock ABI that refuses it without a filter; 0: none */
} attempts[] = {
	{"read a file", reads_a_file, R, 1},
	{"list a directory", lists_a_directory, R, 1},
	{"write a file", writes_a_file, 0, 1},
	{"openat2", opens_by_openat2, 0, 0}, /* the resolver has no use for it */
	{"open memory", opens_memory_file, 0, 0},
	{"remove a file", removes_a_file, 0, 0},
	{"read memory", reads_memory, 0, 1},
	{"write memory", writes_memory, 0, 1},
	{"trace", traces, 0, 1},
	{"signal", signals, 0, 6},
	{"open a pidfd", opens_a_pidfd, 0, 0},
	{"fork", forks, 0, 0},
	{"listen", listens, 0, 4},
	{"speak unix", speaks_unix, R, 0},
	{"speak netlink", speaks_netlink, R, 0},
	{"speak raw", speaks_raw, 0, 0},
	{"map code", maps_code, 0, 0},
	{"become dumpable", becomes_dumpable, 0, 0},
	{"be dumpable", is_dumpable, 0, 0},
	{"raise limits", raises_limits, 0, 0},
	{"connect", connects, E | R, 0},
	{"resolve", resolves, R, 0},
	{"make threads", makes_threads, R, 0},
	{"see the environment", has_secret_variable, 0, 0},
};
#define ATTEMPTS (sizeof(attempts) / sizeof(attempts[0]))

static int serve(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(server);

	server = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&server, sizeof(server)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&server, &len), 0);
	return fd;
}

/* In a child that is confined so: a byte for each attempt through the pipe. */
static _Noreturn void try_all(struct egress_sandbox *lockdown, int report_fd, int abi)
{
	static const char *const variables[] = {NULL};
	const struct privs_user same = {.set = false};
	int keep[] = {report_fd, lockdown->landlock_fd};
	const bool filter = lockdown->self_filter;

	if (lockdown_drop_privileges(lockdown, &same, parent, variables, keep, 2) < 0 ||
	    lockdown_enter_sandbox(lockdown) < 0)
		_exit(90);
	for (size_t i = 0; i < ATTEMPTS; i++) {
		char got = '-';

		/* Without the filter: only what Landlock refuses. */
		if (filter || (attempts[i].landlock && attempts[i].landlock <= abi))
			got = attempts[i].attempt() ? 'y' : 'n';
		if (write(report_fd, &got, 1) != 1)
			_exit(91);
	}
	_exit(0);
}

static void check_role(unsigned role, bool self_filter)
{
	int pipe_fd[2], listener = serve(), status, abi = landlock_get_abi();
	struct egress_sandbox lockdown;
	char got;
	pid_t pid;

	parent = getpid();
	(void)snprintf(own_mem, sizeof(own_mem), "/proc/%d/mem", parent);
	ck_assert_int_eq(setenv("CALLGATE_TEST_SECRET", "x", 1), 0);
	ck_assert_int_eq(lockdown_build_domain(role, self_filter, true, &lockdown), 0);
	ck_assert_int_eq(pipe(pipe_fd), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		try_all(&lockdown, pipe_fd[1], abi);
	(void)close(pipe_fd[1]);
	for (size_t i = 0; i < ATTEMPTS; i++) {
		ck_assert_msg(read(pipe_fd[0], &got, 1) == 1, "role %u: it ended at: %s", role, attempts[i].name);
		if (got != '-')
			ck_assert_msg((got == 'y') == !!(attempts[i].may & role), "role %u, filter %d: %s: %c", role,
				      self_filter, attempts[i].name, got);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x", (unsigned)status);
	ck_assert_str_eq(secret, MARK);
	(void)close(pipe_fd[0]);
	(void)close(listener);
	lockdown_release(&lockdown);
}

START_TEST(egress_is_locked)
{
	const char *why;

	if (selffilter_works_in_this_build(&why))
		check_role(SELF_EGRESS, true);
}
END_TEST

START_TEST(resolver_is_locked)
{
	const char *why;

	if (selffilter_works_in_this_build(&why))
		check_role(SELF_RESOLVER, true);
}
END_TEST

START_TEST(landlock_holds_alone)
{
	const char *why;

	if (selffilter_works_in_this_build(&why)) {
		check_role(SELF_EGRESS, false);
		check_role(SELF_RESOLVER, false);
	}
}
END_TEST

START_TEST(exec_kills)
{
	static const unsigned roles[] = {SELF_EGRESS, SELF_RESOLVER};
	const char *why;

	for (size_t i = 0; i < 2 && selffilter_works_in_this_build(&why); i++) {
		struct egress_sandbox lockdown;
		int status;
		pid_t pid;

		ck_assert_int_eq(lockdown_build_domain(roles[i], true, true, &lockdown), 0);
		pid = fork();
		if (pid == 0) {
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || lockdown_enter_sandbox(&lockdown) < 0)
				_exit(90);
			(void)execl("/bin/true", "true", (char *)NULL);
			_exit(91);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%#x", (unsigned)status);
		lockdown_release(&lockdown);
	}
}
END_TEST

/* The pipe's writing end is the confined process's alone when its parent is dead: the end of file is its end. */
START_TEST(it_dies_with_its_keeper)
{
	static const char *const variables[] = {NULL};
	int pipe_fd[2], ready[2], status;
	char byte;
	pid_t keeper;

	ck_assert_int_eq(pipe(pipe_fd), 0);
	ck_assert_int_eq(pipe(ready), 0);
	keeper = fork();
	if (keeper == 0) {
		pid_t self = getpid();

		if (fork() == 0) {
			const struct egress_sandbox lockdown = {.landlock_fd = -1};
			const struct privs_user same = {.set = false};
			int keep[] = {pipe_fd[1], ready[1]};

			if (lockdown_drop_privileges(&lockdown, &same, self, variables, keep, 2) < 0 ||
			    write(ready[1], "", 1) != 1)
				_exit(1);
			for (;;)
				(void)pause();
		}
		for (;;)
			(void)pause();
	}
	(void)close(pipe_fd[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(kill(keeper, SIGKILL), 0);
	ck_assert_int_eq(waitpid(keeper, &status, 0), keeper);
	ck_assert_int_eq(read(pipe_fd[0], &byte, 1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("confine");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, egress_is_locked);
	tcase_add_test(tcase, resolver_is_locked);
	tcase_add_test(tcase, landlock_holds_alone);
	tcase_add_test(tcase, exec_kills);
	tcase_add_test(tcase, it_dies_with_its_keeper);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
