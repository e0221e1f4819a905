/* What belongs to a thread or process and not to the program as a whole: umask, cwd, descriptor table; signals. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cases/diff.h"

static void in_thread(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, arg) != 0)
		diff_die("pthread_create");
	pthread_join(thread, NULL);
}

static void *shared_umask(void *arg)
{
	(void)arg; /* nothing to say */
	umask(0);
	return NULL;
}

static void *own_umask(void *arg)
{
	(void)arg; /* nothing to say */
	diff_ret(unshare(CLONE_FS) < 0 ? -errno : 0);
	umask(0);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("by-thread"), O_RDWR | O_CREAT, 0666));
	return NULL;
}

static void *own_cwd(void *arg)
{
	(void)arg; /* nothing to say */
	diff_ret(unshare(CLONE_FS) < 0 ? -errno : 0);
	diff_ret(chdir("dir") < 0 ? -errno : 0);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("sub"), O_RDONLY));
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY));
	return NULL;
}

static void *shared_cwd(void *arg)
{
	(void)arg; /* nothing to say */
	diff_ret(chdir("dir") < 0 ? -errno : 0);
	return NULL;
}

/* A table of its own: the same number means another directory in this thread. */
static void *own_table(void *arg)
{
	int fd = *(int *)arg, other;

	diff_ret(unshare(CLONE_FILES) < 0 ? -errno : 0);
	other = open("deep", O_RDONLY | O_DIRECTORY);
	diff_ret(dup2(other, fd));
	(void)close(other); /* the number counts, not this one */
	diff_fd(RAW(__SNR_openat, fd, P("file"), O_RDONLY));
	diff_fd(RAW(__SNR_openat, fd, P("sub"), O_RDONLY));
	return NULL;
}

static void run_threads(void)
{
	int fd;

	diff_begin("umask-shared-by-threads");
	in_thread(shared_umask, NULL);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("by-main"), O_RDWR | O_CREAT, 0666));
	umask(022);
	diff_end(true);
	diff_begin("umask-of-one-thread");
	in_thread(own_umask, NULL);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("by-main"), O_RDWR | O_CREAT, 0666));
	diff_end(true);
	diff_begin("cwd-of-one-thread");
	in_thread(own_cwd, NULL);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY));
	diff_end(true);
	diff_begin("cwd-shared-by-threads");
	in_thread(shared_cwd, NULL);
	diff_fd(RAW(__SNR_openat, AT_FDCWD, P("sub"), O_RDONLY));
	if (chdir("..") < 0)
		diff_die("chdir ..");
	diff_end(true);
	diff_begin("table-of-one-thread");
	fd = open("dir", O_RDONLY | O_DIRECTORY);
	in_thread(own_table, &fd);
	diff_fd(RAW(__SNR_openat, fd, P("sub"), O_RDONLY));
	diff_fd(RAW(__SNR_openat, fd, P("file"), O_RDONLY));
	(void)close(fd); /* the case is over */
	diff_end(true);
}

static void reap(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	diff_say(" child=%x", (unsigned)status);
}

static void run_processes(void)
{
	pid_t pid;

	diff_begin("umask-after-fork");
	umask(077);
	pid = fork();
	if (pid == 0) {
		umask(0);
		_exit(mkdir("by-child", 0777) != 0);
	}
	reap(pid);
	diff_ret(mkdir("by-parent", 0777) < 0 ? -errno : 0);
	umask(022);
	diff_end(true);
	diff_begin("cwd-after-fork");
	pid = fork();
	if (pid == 0)
		_exit(chdir("dir") != 0 || access("sub", F_OK) != 0);
	reap(pid);
	diff_ret(access("sub", F_OK) < 0 ? -errno : 0);
	diff_end(true);
	diff_begin("descriptor-after-fork");
	{
		int fd = open("dir", O_RDONLY | O_DIRECTORY);

		pid = fork();
		if (pid == 0)
			_exit(faccessat(fd, "sub", R_OK, 0) != 0);
		(void)close(fd);
		reap(pid);
	}
	diff_end(true);
	diff_begin("vfork-child-opens");
	pid = vfork();
	if (pid == 0)
		_exit(RAW(__SNR_openat, AT_FDCWD, P("file"), O_RDONLY | O_CLOEXEC) < 0);
	reap(pid);
	diff_close_all();
	diff_end(true);
	diff_begin("child-outlives-its-parent");
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			poll(NULL, 0, 30);
			_exit(mkdir("by-grandchild", 0755) != 0);
		}
		_exit(0);
	}
	reap(pid);
	for (int i = 0; i < 100 && access("by-grandchild", F_OK) < 0; i++)
		poll(NULL, 0, 20);
	diff_end(true);
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig; /* only one is used */
	signals++;
}

/*
 * SIGALRM every 300 us with SA_RESTART: nothing may surface as EINTR and nothing may be done twice. Natively none of
 * these calls can be interrupted at all.
 */
static void run_storm(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct itimerval every = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
	int wrong = 0;

	diff_begin("signals-with-restart");
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 400; i++) {
		struct stat st;
		int fd = open("file", O_RDONLY);

		wrong += fd < 0 || stat("file", &st) != 0;
		(void)close(fd); /* checked above */
		wrong += mkdir("once", 0755) != 0;
		wrong += rename("once", "renamed") != 0;
		wrong += rmdir("renamed") != 0;
		wrong += chmod("file", 0600) != 0;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	diff_say(" wrong=%d", wrong);
	diff_end(true);
	signal(SIGALRM, SIG_DFL);
}

void diff_group_task(void)
{
	run_threads();
	run_processes();
	run_storm();
}
