/* Threats 8 to 10 and 15, 30: other processes as targets, file handles, pids and ids that must not be reachable. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cases/threat.h"

#ifndef FIOSETOWN
#define FIOSETOWN 0x8901
#endif

static void signals_to(pid_t pid)
{
	siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};

	threat_refused("kill 0", kill(pid, 0), 0);
	threat_refused("kill TERM", kill(pid, SIGTERM), 0);
	threat_refused("tkill", syscall(SYS_tkill, pid, SIGKILL), 0);
	threat_refused("tgkill", syscall(SYS_tgkill, pid, pid, SIGKILL), 0);
	threat_refused("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &info), 0);
	threat_refused("rt_tgsigqueueinfo", syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, &info), 0);
	threat_refused("pidfd_open", syscall(SYS_pidfd_open, pid, 0), 0);
	threat_refused("kill group", kill(-pid, SIGTERM), 0);
}

static void limits_of(pid_t pid)
{
	struct rlimit low = {16, 16}, old;
	cpu_set_t set;
	struct sched_param param = {.sched_priority = 0};

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	threat_refused("prlimit get", prlimit(pid, RLIMIT_NOFILE, NULL, &old), 0);
	threat_refused("prlimit set", prlimit(pid, RLIMIT_NOFILE, &low, NULL), 0);
	threat_refused("sched_setaffinity", sched_setaffinity(pid, sizeof(set), &set), 0);
	threat_refused("sched_setscheduler", sched_setscheduler(pid, SCHED_BATCH, &param), 0);
	threat_refused("sched_setparam", sched_setparam(pid, &param), 0);
	threat_refused("setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 19), 0);
	threat_refused("setpriority user", setpriority(PRIO_USER, getuid(), 19), 0);
	threat_refused("ioprio_set", syscall(SYS_ioprio_set, 1, pid, 3 << 13), 0);
	threat_refused("ioprio_set user", syscall(SYS_ioprio_set, 3, getuid(), 3 << 13), 0);
}

#define PID_OF_NOBODY 0x3ffffffe /* above every pid_max */

/* absent: the errno of tracing that is refused. */
static void memory_of(pid_t pid, int absent)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)0x400000, 1};

	threat_refused("process_vm_readv of nobody", process_vm_readv(PID_OF_NOBODY, &here, 1, &there, 1, 0), absent);
	threat_refused("ptrace of nobody", ptrace(PTRACE_SEIZE, PID_OF_NOBODY, NULL, NULL), absent);
	threat_refused("process_vm_readv", process_vm_readv(pid, &here, 1, &there, 1, 0), absent);
	threat_refused("process_vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0), absent);
	threat_refused("ptrace attach", ptrace(PTRACE_ATTACH, pid, NULL, NULL), absent);
	threat_refused("ptrace seize", ptrace(PTRACE_SEIZE, pid, NULL, NULL), absent);
	threat_refused("kcmp", syscall(SYS_kcmp, pid, getpid(), 0, 0, 0), 0);
	threat_refused("migrate_pages", syscall(SYS_migrate_pages, pid, 0, NULL, NULL), EPERM);
	threat_refused("pidfd_getfd", syscall(SYS_pidfd_getfd, 0, 0, 0), EPERM);
	threat_refused("process_madvise", syscall(SYS_process_madvise, 0, &here, 1, 0, 0), ENOSYS);
}

/* Signals by way of a socket's owner: without an owner outside, none of what follows reaches anybody there. */
static void owner_is(pid_t pid)
{
	static const struct timespec wait = {.tv_nsec = 1000000};
	int pair[2], owners[2] = {pid, -pid};
	sigset_t sigio;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return;
	for (int i = 0; i < 2; i++) {
		threat_refused("F_SETOWN", fcntl(pair[0], F_SETOWN, owners[i]), 0);
		threat_refused("F_SETOWN high", syscall(SYS_fcntl, pair[0], F_SETOWN | 1UL << 40, owners[i]), 0);
		threat_refused("FIOSETOWN", ioctl(pair[0], FIOSETOWN, &owners[i]), 0);
		threat_refused("SIOCSPGRP", ioctl(pair[0], SIOCSPGRP, &owners[i]), 0);
	}
	for (int type = F_OWNER_TID; type <= F_OWNER_PGRP; type++)
		threat_refused("F_SETOWN_EX",
			       fcntl(pair[0], F_SETOWN_EX, &(struct f_owner_ex){(unsigned)type, pid}), 0);
	(void)sigemptyset(&sigio);
	(void)sigaddset(&sigio, SIGIO);
	(void)sigaddset(&sigio, SIGURG);
	(void)sigprocmask(SIG_BLOCK, &sigio, NULL);
	(void)fcntl(pair[0], F_SETSIG, SIGKILL); /* kills an outsider, the supervisor or, wrongly, this process */
	(void)fcntl(pair[0], F_SETFL, O_ASYNC);
	(void)ioctl(pair[0], FIOASYNC, &(int){1});
	(void)!write(pair[1], "x", 1);
	(void)send(pair[1], "x", 1, MSG_OOB);
	(void)nanosleep(&wait, NULL);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/*
 * others ESRCH|EPERM PID…: outside processes of the same user, the supervisor (the parent) among them. The errno is
 * that of tracing any of them: ESRCH, as if it did not exist, or EPERM where nothing bounds tracing.
 */
int threat_others(char **arg)
{
	pid_t list[16] = {getppid(), 1};
	int count = 2;
	const int absent = strcmp(*arg, "ESRCH") == 0 ? ESRCH : EPERM;

	for (arg++; *arg && count < 16; arg++)
		list[count++] = (pid_t)strtol(*arg, NULL, 10);
	for (int i = 0; i < count; i++) {
		signals_to(list[i]);
		limits_of(list[i]);
		memory_of(list[i], absent);
		owner_is(list[i]);
	}
	return threat_result();
}

/* killall: the group, everybody, and it must hit the run's own processes. */
int threat_killall(char **arg)
{
	pid_t child = fork();
	int status;

	(void)arg; /* takes none */
	if (child == 0)
		for (;;)
			pause();
	signal(SIGTERM, SIG_IGN);
	threat_works("kill(-1)", kill(-1, SIGTERM));
	waitpid(child, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM)
		threat_missed("kill(-1) left the run's own child: %x", (unsigned)status);
	signal(SIGTERM, SIG_DFL); /* the child's, from its start */
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	signal(SIGTERM, SIG_IGN);
	threat_works("kill(0)", kill(0, SIGTERM));
	waitpid(child, &status, 0);
	if (!WIFSIGNALED(status))
		threat_missed("kill(0) left the run's own child");
	return threat_result();
}

/* handles: descriptors by number of the kernel's own making. */
int threat_handles(char **arg)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char room[128];
	} handle = {.bytes = 128};
	int mount;

	(void)arg; /* takes none */
	threat_refused("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, ".", &handle, &mount, 0),
		       EOPNOTSUPP);
	threat_refused("name_to_handle_at fd", syscall(SYS_name_to_handle_at, 0, "", &handle, &mount, AT_EMPTY_PATH),
		       EOPNOTSUPP);
	for (int fd = -10000; fd > -10010; fd--) {
		handle.bytes = 8;
		handle.type = 0xfe;
		threat_refused2("open_by_handle_at", syscall(SYS_open_by_handle_at, fd, &handle, O_RDONLY), EPERM,
				EOPNOTSUPP);
	}
	return threat_result();
}

/* sigkill SECONDS: children in the middle of calls are killed; what is done for a dead one must not hit a live one. */
int threat_sigkill(char **arg)
{
	double end = threat_now() + strtod(arg[0], NULL);
	unsigned rounds = 0;

	threat_works("mkdir", mkdir("mine", 0700));
	while (threat_now() < end) {
		pid_t child[4];

		for (int i = 0; i < 4; i++) {
			child[i] = fork();
			if (child[i] == 0) {
				if (chdir("mine") < 0)
					_exit(1);
				for (;;) {
					/* only load */
					(void)close(open("theirs", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
					(void)unlink("theirs");
					(void)rename("theirs", "moved");
				}
			}
		}
		usleep((useconds_t)(500 + rounds * 37 % 3000));
		for (int i = 0; i < 4; i++)
			kill(child[i], SIGKILL);
		for (int i = 0; i < 4; i++) {
			struct stat st;
			int fd = open("own", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

			threat_works("own file while others die", fd);
			if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
				threat_got("a descriptor of something else");
			(void)close(fd); /* nothing written */
			threat_works("own unlink", unlink("own"));
			waitpid(child[i], NULL, 0);
		}
		rounds++;
	}
	printf("%u rounds\n", rounds);
	if (access("theirs", F_OK) == 0)
		threat_got("a dead child's file in the wrong directory");
	return threat_result();
}
