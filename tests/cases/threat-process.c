/* Threats 1 to 12: clone flags, exec past the judge, descriptors, other processes, daemons, core files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "tests/cases/threat.h"

/* marker FILE: makes FILE; that it exists tells from outside that this program ran. */
int threat_marker(char **arg)
{
	return arg[0] && open(arg[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? 0 : 1;
}

/* clone DENIED MARKER: a child the tracer might not follow runs DENIED, which would make MARKER. */
int threat_clone(char **arg)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} flags[] = {
		{"CLONE_PTRACE", 0x00002000},	{"CLONE_NEWUSER", 0x10000000},
		{"CLONE_NEWNS", 0x00020000},	{"CLONE_NEWPID", 0x20000000},	{"CLONE_NEWNET", 0x40000000},
		{"CLONE_NEWIPC", 0x08000000},	{"CLONE_NEWUTS", 0x04000000},	{"CLONE_NEWCGROUP", 0x02000000},
	};
	long args3[11] = {0};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		long pid = syscall(SYS_clone, flags[i].flag | SIGCHLD, 0, 0, 0, 0);

		if (pid == 0) {
			execl(arg[0], "marker", "marker", arg[1], NULL);
			_exit(0);
		}
		threat_refused(flags[i].name, pid, EPERM);
		threat_refused("unshare", unshare((int)flags[i].flag), 0);
	}
	/* No flag to refuse, but its exec must be. */
	if (syscall(SYS_clone, 0x00800000 /* CLONE_UNTRACED */ | SIGCHLD, 0, 0, 0, 0) == 0) {
		execl(arg[0], "marker", "marker", arg[1], NULL);
		_exit(errno == EACCES || errno == ENOENT ? 0 : 1);
	}
	wait(NULL);
	args3[4] = SIGCHLD;
	threat_refused("clone3", syscall(SYS_clone3, args3, sizeof(args3)), ENOSYS);
	threat_refused("setns", setns(0, 0), EPERM);
	if (fork() == 0) {
		execl(arg[0], "marker", "marker", arg[1], NULL);
		_exit(errno == EACCES || errno == ENOENT ? 0 : 1);
	}
	wait(NULL);
	return threat_result();
}

static int run(const char *what, int fd, const char *path, int flags, const char *marker)
{
	char *argv[] = {(char[]){"x"}, (char[]){"marker"}, strdup(marker), NULL};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		syscall(SYS_execveat, fd, path, argv, environ, flags);
		_exit(42);
	}
	waitpid(pid, &status, 0);
	/* killed is as good as refused: the image was loaded and none of it ran */
	if (WIFEXITED(status) && WEXITSTATUS(status) != 42)
		threat_got("%s ran and ended with %d", what, WEXITSTATUS(status));
	if (access(marker, F_OK) == 0)
		threat_got("%s left its marker", what);
	free(argv[2]);
	return status;
}

static int copy_to(const char *from, int out)
{
	char buf[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (in < 0)
		return -1;
	while ((len = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)len) != len)
			return -1;
	return close(in);
}

/* exec DENIED MARKER SELF [MORE…]: every way to DENIED; then each of MORE, which must not run either. */
int threat_exec(char **arg)
{
	const char *marker = arg[1];
	int fd, mem;
	char path[64];

	run("denied by path", AT_FDCWD, arg[0], 0, marker);
	fd = open(arg[0], O_RDONLY | O_CLOEXEC);
	threat_works("open of the denied binary", fd);
	run("denied by descriptor", fd, "", AT_EMPTY_PATH, marker);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	run("denied by /proc/self/fd", AT_FDCWD, path, 0, marker);
	fd = open(arg[0], O_PATH | O_CLOEXEC);
	run("denied by O_PATH", fd, "", AT_EMPTY_PATH, marker);
	mem = memfd_create("x", 0);
	threat_works("copy into a memfd", copy_to(arg[2], mem));
	run("memfd", mem, "", AT_EMPTY_PATH, marker);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mem);
	run("memfd by /proc/self/fd", AT_FDCWD, path, 0, marker);
	fd = open("copy", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	threat_works("copy into the workdir", copy_to(arg[2], fd));
	(void)close(fd); /* an error shows below: it would not run */
	run("copy in the workdir", AT_FDCWD, "copy", 0, marker);
	threat_works("symlink", symlink(arg[0], "link"));
	run("link to the denied", AT_FDCWD, "link", 0, marker);
	fd = open("script", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	dprintf(fd, "#!%s marker\n", arg[0]);
	(void)close(fd);
	run("script with a denied interpreter", AT_FDCWD, "script", 0, marker);
	fd = open("tmpfile", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	(void)unlink("tmpfile"); /* the descriptor counts */
	threat_works("copy into a deleted file", copy_to(arg[2], fd));
	run("deleted file", fd, "", AT_EMPTY_PATH, marker);
	for (char **more = arg + 3; *more; more++)
		run(*more, AT_FDCWD, *more, 0, marker);
	return threat_result();
}

static void *rename_loop(void *arg)
{
	char **name = arg;

	for (;;) {
		(void)renameat2(AT_FDCWD, name[0], AT_FDCWD, name[1], RENAME_EXCHANGE); /* either may be there */
		(void)renameat2(AT_FDCWD, name[1], AT_FDCWD, name[0], RENAME_EXCHANGE);
	}
	return NULL;
}

/* exec-race ALLOWED LINK OTHER MARKER: LINK and OTHER change places while ALLOWED is executed through LINK. */
int threat_exec_race(char **arg)
{
	pthread_t thread;
	double end = threat_now() + 3;
	int ran = 0;

	if (pthread_create(&thread, NULL, rename_loop, arg + 1) != 0)
		return 2;
	while (threat_now() < end) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			execl(arg[1], "x", "marker", arg[3], NULL);
			_exit(42);
		}
		waitpid(pid, &status, 0);
		ran += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	printf("ran %d times\n", ran);
	return threat_result();
}

static void *exec_it(void *arg)
{
	char **a = arg;

	execl(a[0], "x", "exit", NULL);
	_exit(43);
}

/* exec-thread TRUE COUNT: a thread that is not the leader executes TRUE. */
int threat_exec_thread(char **arg)
{
	int count = (int)strtol(arg[1], NULL, 10);

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, exec_it, arg) != 0)
				_exit(44);
			for (;;)
				pause();
		}
		waitpid(pid, &status, 0);
		if (status != 0) {
			threat_missed("exec from a thread, number %d, ended with %x", i, (unsigned)status);
			break;
		}
	}
	return threat_result();
}

/* dumpable UNREADABLE MARKER: /proc of an undumpable process or of a 0111 binary cannot be read to verify it. */
int threat_dumpable(char **arg)
{
	threat_works("PR_SET_DUMPABLE 0", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); /* without effect */
	threat_refused("PR_SET_DUMPABLE 2", prctl(PR_SET_DUMPABLE, 2, 0, 0, 0), 0);
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1)
		threat_got("an undumpable process");
	threat_refused("PR_SET_PTRACER", prctl(PR_SET_PTRACER, getppid(), 0, 0, 0), EINVAL);
	run("0111 binary", AT_FDCWD, arg[0], 0, arg[1]);
	return threat_result();
}

static long filter(unsigned flags, unsigned nr, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = 4, .filter = code};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

/* What opens by path beside openat, which is all that some architectures have. */
#ifdef SYS_open
#define OTHER_OPEN SYS_open
#define OTHER_OPEN_ARGS(path, flags) path, flags
#else
#define OTHER_OPEN SYS_openat
#define OTHER_OPEN_ARGS(path, flags) AT_FDCWD, path, flags
#endif

/* nested SECRET: filters of its own hide nothing and open nothing. */
int threat_nested(char **arg)
{
	/* The notification wins. Where there is none, it is as natively: no tracer. */
	int traced = threat_kernel_reads() ? ENOSYS : ENOENT;
	int fd;

	threat_refused("a second listener",
		       filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SYS_openat, SECCOMP_RET_USER_NOTIF), 0);
	threat_works("a filter that allows", filter(0, SYS_getppid, SECCOMP_RET_ALLOW));
	threat_works("a filter that traces", filter(0, OTHER_OPEN, SECCOMP_RET_TRACE));
	fd = open(arg[0], O_RDONLY);
	threat_refused("open of a secret under a nested filter", fd, OTHER_OPEN == SYS_openat ? traced : ENOENT);
	threat_refused("open that is to be traced", syscall(OTHER_OPEN, OTHER_OPEN_ARGS(arg[0], O_RDONLY)), traced);
	threat_refused("open for writing that is to be traced", syscall(OTHER_OPEN, OTHER_OPEN_ARGS(arg[0], O_RDWR)),
		       ENOENT);
	threat_works("a filter that fails", filter(0, SYS_openat, SECCOMP_RET_ERRNO | EXDEV));
	threat_refused("its errno", open("x", O_RDONLY), EXDEV);
	threat_refused("mkdir outside", mkdir("/outside", 0700), 0);
	return threat_result();
}

/* fds: nothing but 0, 1 and 2 is inherited, whatever the caller had open. */
int threat_fds(char **arg)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	(void)arg; /* takes none */
	if (!dir)
		threat_missed("/proc/self/fd: %s", strerrorname_np(errno));
	while (dir && (e = readdir(dir))) {
		int fd = e->d_name[0] == '.' ? 0 : (int)strtol(e->d_name, NULL, 10);

		if (fd > 2 && fd != dirfd(dir))
			threat_got("descriptor %d", fd);
	}
	for (int fd = 3; fd < 1024; fd++)
		if ((!dir || fd != dirfd(dir)) && fcntl(fd, F_GETFD) >= 0)
			threat_got("descriptor %d", fd);
	return threat_result();
}

/* daemon MARK: leaves processes behind in every way; the caller looks for MARK. */
int threat_daemon(char **arg)
{
	for (int i = 0; i < 4; i++) {
		pid_t pid = i == 3 ? (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) : fork();

		if (pid != 0)
			continue;
		if (i & 1)
			setsid();
		if (i == 2 && fork() != 0)
			_exit(0);
		signal(SIGHUP, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		signal(SIGINT, SIG_IGN);
		execl("/proc/self/exe", "linger", "linger", arg[0], NULL);
		for (;;)
			pause();
	}
	usleep(200000);
	return 0;
}

/* linger …: stays until it is killed; for the daemons and for who waits to be killed. */
int threat_linger(char **arg)
{
	(void)arg; /* seen in the command line */
	for (;;)
		pause();
}

/* core: crashes in the workdir. */
int threat_core(char **arg)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY}, now;
	const struct rlimit none = {0, 0};
	int status;
	pid_t pid;

	(void)arg; /* takes none */
	threat_refused("a core limit", setrlimit(RLIMIT_CORE, &limit), EPERM);
	threat_refused("a core limit by prlimit", prlimit(getpid(), RLIMIT_CORE, &limit, NULL), EPERM);
	/* With 0 a piped core_pattern would start the host's handler: it is said to be set, and is not. */
	threat_works("no core", setrlimit(RLIMIT_CORE, &none));
	threat_works("no core by prlimit", prlimit(0, RLIMIT_CORE, &none, &limit));
	threat_works("no core by prlimit of itself", prlimit(getpid(), RLIMIT_CORE, &none, NULL));
	if (limit.rlim_cur > 1 || getrlimit(RLIMIT_CORE, &now) < 0 || now.rlim_cur != limit.rlim_cur ||
	    now.rlim_max > 1)
		threat_got("another core limit");
	pid = fork();
	if (pid == 0)
		raise(SIGSEGV);
	waitpid(pid, &status, 0);
	if (WCOREDUMP(status))
		threat_got("a core dump");
	raise(SIGABRT);
	return 1;
}
