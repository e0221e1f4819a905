/* cases-second-lock: connections, other processes, and what Landlock leaves alone. See second-lock.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/cases/second-lock.h"

#define HELLO "second lock"
#define PROTOCOL_MPTCP 262

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int connect_inet(int port, int type, int protocol)
{
	struct sockaddr_in to = loopback(port);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, protocol), ret;

	ret = connect(fd, (const struct sockaddr *)&to, sizeof(to));
	if (ret == 0)
		(void)!write(fd, HELLO, sizeof(HELLO));
	(void)close(fd);
	return ret;
}

static int connect_inet6(int port)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	/* v4-mapped: another form of the same address. */
	if (inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr) != 1)
		return -1;
	ret = connect(fd, (const struct sockaddr *)&to, sizeof(to));
	(void)close(fd);
	return ret;
}

static int bind_inet(int type)
{
	struct sockaddr_in any = loopback(0);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	int ret = bind(fd, (const struct sockaddr *)&any, sizeof(any));

	(void)close(fd);
	return ret;
}

/* With a leading NUL when abstract. */
static int connect_unix(const char *name, bool abstract)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	if (len + 1 >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path + abstract, name, len);
	ret = connect(fd, (const struct sockaddr *)&to,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + len));
	(void)close(fd);
	return ret;
}

void try_net(const struct second_lock *lock)
{
	if (lock->abi >= 4) {
		got(connect_inet(lock->tcp_port, SOCK_STREAM, 0), "tcp", "connect");
		got(connect_inet6(lock->tcp_port), "tcp", "connect-v6");
		got(bind_inet(SOCK_STREAM), "tcp", "bind");
	}
	if (lock->abi >= 6)
		got(connect_unix(lock->abstract, true), "abstract", "connect");
	if (lock->abi >= 9)
		got(connect_unix(lock->path, false), "unix", "connect");
	if (lock->abi >= 10)
		got(connect_inet(lock->udp_port, SOCK_DGRAM, 0), "udp", "connect");
}

/* SIGIO by way of a pipe's owner: no process calls kill. The canary tells whether it came. */
static void try_sigio(int pid)
{
	int pipes[2];

	if (pipe(pipes) < 0)
		return;
	(void)fcntl(pipes[0], F_SETOWN, pid);
	(void)fcntl(pipes[0], F_SETSIG, SIGUSR2);
	(void)fcntl(pipes[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	(void)!write(pipes[1], "x", 1);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

void try_processes(const struct second_lock *lock)
{
	char text[8];
	struct iovec mine = {text, sizeof(text)}, its = {(void *)0x400000, sizeof(text)};
	int pidfd = (int)syscall(SYS_pidfd_open, lock->pid, 0);

	if (lock->abi >= 6) {
		got(kill(lock->pid, SIGUSR1), "signal", "kill");
		got(syscall(SYS_tgkill, lock->pid, lock->pid, SIGUSR1), "signal", "tgkill");
		got(sigqueue(lock->pid, SIGUSR1, (union sigval){0}), "signal", "sigqueue");
		got(syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0), "signal", "pidfd");
		got(kill(getppid(), SIGCONT), "signal", "supervisor");
		try_sigio(lock->pid);
	}
	if (got(ptrace(PTRACE_SEIZE, lock->pid, NULL, NULL), "ptrace", "canary"))
		(void)ptrace(PTRACE_DETACH, lock->pid, NULL, NULL);
	got(process_vm_readv(lock->pid, &mine, 1, &its, 1, 0), "memory", "canary");
	got(syscall(SYS_pidfd_getfd, pidfd, 0, 0), "descriptor", "canary");
	(void)close(pidfd);
}

/* ---- what needs the first lock, or a namespace ---- */

static int send_fast_open(int port)
{
	struct sockaddr_in to = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t ret = sendto(fd, HELLO, sizeof(HELLO), MSG_FASTOPEN, (const struct sockaddr *)&to, sizeof(to));

	(void)close(fd);
	return ret < 0 ? -1 : 0;
}

static int listen_unbound(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ret = listen(fd, 1);

	(void)close(fd);
	return ret;
}

/* A copy of itself, which can do no more than itself. */
static int exec_memory(void)
{
	static const char script[] = "#!/nonexistent\n";
	int fd = (int)syscall(SYS_memfd_create, "program", 0);
	ssize_t written = write(fd, script, sizeof(script) - 1);
	int status = -1;
	pid_t child = written < 0 ? -1 : fork();

	if (child == 0) {
		char *const argv[] = {(char[]){"x"}, NULL};

		(void)syscall(SYS_execveat, fd, "", argv, NULL, AT_EMPTY_PATH);
		_exit(errno == ENOENT ? 0 : 1); /* read, and its interpreter looked for */
	}
	(void)close(fd);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

void try_unheld(const struct second_lock *lock)
{
	char victim[PATH_MAX];
	struct stat st;
	struct rlimit limit;
	int pin;

	(void)snprintf(victim, sizeof(victim), "%s/victim", lock->outside);
	unheld(stat("/etc/shadow", &st), "stat");
	unheld(access(victim, F_OK), "access");
	unheld(chmod(victim, 0640), "chmod");
	unheld(chown(victim, (uid_t)-1, (gid_t)-1), "chown");
	unheld(utimensat(AT_FDCWD, victim, NULL, 0), "utimensat");
	unheld(setxattr(victim, "user.second", "x", 1, 0), "setxattr");
	pin = open(lock->outside, O_PATH | O_CLOEXEC);
	unheld(pin, "O_PATH");
	unheld(fchdir(pin), "chdir");
	(void)!chdir(lock->work);
	(void)close(pin);
	unheld(prlimit(lock->pid, RLIMIT_NOFILE, NULL, &limit), "prlimit");
	unheld(exec_memory(), "exec of memory");
	unheld(send_fast_open(lock->tcp_port), "tcp fast open");
	unheld(connect_inet(lock->tcp_port, SOCK_STREAM, PROTOCOL_MPTCP), "mptcp");
	unheld(listen_unbound(), "listen without bind");
	if (lock->abi < 10)
		unheld(connect_inet(lock->udp_port, SOCK_DGRAM, 0), "udp");
	if (lock->abi < 9)
		unheld(connect_unix(lock->path, false), "unix socket by path");
}
