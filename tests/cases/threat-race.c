/* Threats 16 to 18 and 20: arguments and trees that change while a call is judged. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cases/threat.h"

#define SECRET "the-secret"

struct flip {
	char *at;
	char a, b;
};

static void *flip(void *arg)
{
	struct flip *f = arg;

	for (;;) {
		__atomic_store_n(f->at, f->a, __ATOMIC_RELAXED);
		__atomic_store_n(f->at, f->b, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Opens the flipping path until the time is over; what is opened must never hold the secret. */
static void opens(const char *path, double end)
{
	unsigned long good = 0, refused = 0;
	char buf[256];

	while (threat_now() < end) {
		for (int i = 0; i < 64; i++) {
			int fd = i & 1 ? open(path, O_RDONLY | O_CLOEXEC) : open(path, O_RDWR | O_CLOEXEC);
			ssize_t len;

			if (fd < 0) {
				refused++;
				continue;
			}
			len = read(fd, buf, sizeof(buf));
			if (len > 0 && memmem(buf, (size_t)len, SECRET, strlen(SECRET)))
				threat_got("an open of the denied name");
			good++;
			(void)close(fd); /* read already */
		}
	}
	printf("%lu opened, %lu refused\n", good, refused);
	if (!good || !refused)
		threat_missed("the flipper flipped nothing: try longer");
}

/* Each place it gets to is printed: the record has to say the same. */
static void enters(const char *path, double end)
{
	char cwd[4096];
	unsigned long count = 0;

	while (threat_now() < end && count < 20000) {
		if (chdir(path) < 0)
			continue;
		count++;
		if (syscall(SYS_getcwd, cwd, sizeof(cwd)) < 0)
			threat_got("a chdir to where no name leads: %s", strerrorname_np(errno));
		else
			printf("cwd %s\n", cwd);
	}
	if (!count)
		threat_missed("no chdir: try longer");
}

/* How each program ended is printed: the record has to say which program it was. */
static void executes(const char *path, double end)
{
	char name[] = "x", file[] = "/dev/null", *argv[] = {name, file, NULL}, *env[] = {NULL};
	posix_spawn_file_actions_t actions;
	int count = 0;

	if (posix_spawn_file_actions_init(&actions) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) != 0)
		threat_missed("no memory");
	while (threat_now() < end && count < 2000) {
		int status;
		pid_t pid;

		if (posix_spawn(&pid, path, &actions, NULL, argv, env) != 0)
			continue;
		if (waitpid(pid, &status, 0) != pid)
			threat_missed("no child");
		count++;
		printf("ran %s %d\n", WIFSIGNALED(status) ? "killed" : "exited",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	if (!count)
		threat_missed("no program ran: try longer");
	(void)posix_spawn_file_actions_destroy(&actions);
}

/* flip SECONDS ALLOWED DENIED: two paths that differ in one byte. */
static int flip_with(char **arg, bool shared, void (*use)(const char *path, double end))
{
	char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t at = 0;
	static struct flip f; /* the thread goes on when this function has returned */
	pthread_t thread;
	pid_t pid = -1;

	while (arg[1][at] && arg[1][at] == arg[2][at])
		at++;
	if (path == MAP_FAILED || !arg[1][at])
		return 2;
	memcpy(path, arg[1], strlen(arg[1]) + 1);
	f = (struct flip){path + at, arg[1][at], arg[2][at]};
	if (shared) {
		pid = fork();
		if (pid == 0)
			flip(&f);
	} else if (pthread_create(&thread, NULL, flip, &f) != 0) {
		return 2;
	}
	use(path, threat_now() + strtod(arg[0], NULL));
	if (pid > 0)
		kill(pid, SIGKILL);
	return threat_result();
}

int threat_flip(char **arg)
{
	return flip_with(arg, false, opens);
}

int threat_flip_shared(char **arg)
{
	return flip_with(arg, true, opens);
}

/* flip-chdir SECONDS DIR OTHER: as flip, and goes there. */
int threat_flip_chdir(char **arg)
{
	return flip_with(arg, false, enters);
}

/* flip-exec SECONDS PROGRAM OTHER: as flip, and executes it. flip-exec-shared: the flipper is another process. */
int threat_flip_exec(char **arg)
{
	return flip_with(arg, false, executes);
}

int threat_flip_exec_shared(char **arg)
{
	return flip_with(arg, true, executes);
}

/* Reads whatever directory has the number, again and again. */
static void *list_descriptor(void *arg)
{
	const int fd = *(const int *)arg;
	char buf[4096], *name;
	long len;

	for (;;) {
		len = syscall(SYS_getdents64, fd, buf, sizeof(buf));
		name = len > 0 ? memmem(buf, (size_t)len, "hidden", strlen("hidden")) : NULL;
		if (name)
			threat_got("a listing that names %s", name);
	}
	return NULL;
}

/*
 * list-chdir SECONDS DIR: only globs grant in DIR, which has an entry that is called hidden. A chdir to it, by names
 * that mean another directory to the supervisor, is watched by a thread for descriptors that come and go.
 */
int threat_list_chdir(char **arg)
{
	const double end = threat_now() + strtod(arg[0], NULL);
	char way[2][64] = {"", "/proc/self/cwd"};
	int dir = open(arg[1], O_PATH | O_DIRECTORY), next = dup(dir);
	pthread_t thread;

	threat_works("open of the directory", dir);
	threat_works("chdir", chdir(arg[1]));
	(void)snprintf(way[0], sizeof(way[0]), "/proc/self/fd/%d", dir);
	(void)close(next);
	if (pthread_create(&thread, NULL, list_descriptor, &next) != 0)
		return 2;
	for (unsigned i = 0; threat_now() < end && threat_result() == 0; i++)
		threat_works(way[i % 2], chdir(way[i % 2]));
	return threat_result();
}

/* memory: rights of pages hold for who acts on the program's behalf; stalling pages do not exist. */
int threat_memory(char **arg)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat st;
	char before[64];

	(void)arg; /* takes none */
	memset(page, 0x55, 4096);
	memcpy(page, "/", 2);
	memcpy(before, page, sizeof(before));
	mprotect(page, 4096, PROT_NONE);
	threat_refused("path on a PROT_NONE page", syscall(SYS_openat, AT_FDCWD, page, O_RDONLY), EFAULT);
	threat_refused("stat into a PROT_NONE page", syscall(SYS_newfstatat, AT_FDCWD, ".", page, 0), EFAULT);
	mprotect(page, 4096, PROT_READ);
	threat_refused("stat into a read-only page", syscall(SYS_newfstatat, AT_FDCWD, ".", page, 0), EFAULT);
	threat_refused("readlink into a read-only page", syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", page, 64),
		       EFAULT);
	threat_refused("getcwd into a read-only page", syscall(SYS_getcwd, page, 4096), EFAULT);
	if (memcmp(before, page, sizeof(before)) != 0)
		threat_got("a read-only page written");
	threat_refused("/proc/self/mem", open("/proc/self/mem", O_RDWR), 0);
	threat_refused("userfaultfd", syscall(SYS_userfaultfd, 0), ENOSYS);
	threat_refused("memfd_secret", syscall(447, 0), ENOSYS);
	threat_works("and then a stat", stat(".", &st));
	return threat_result();
}

static void *exchange(void *arg)
{
	char **name = arg;

	for (;;)
		(void)renameat2(AT_FDCWD, name[0], AT_FDCWD, name[1], RENAME_EXCHANGE); /* either may lead */
	return NULL;
}

static void *relink(void *arg)
{
	char **target = arg;

	for (;;) {
		threat_tries(unlink("turning")); /* made anew at once */
		threat_tries(symlink(target[0], "turning"));
		threat_tries(unlink("turning"));
		threat_tries(symlink("inner", "turning"));
	}
	return NULL;
}

static void *move_about(void *arg)
{
	(void)arg; /* nothing to say */
	for (;;) {
		threat_tries(rename("a/b/c", "c-moved")); /* and back */
		threat_tries(rename("c-moved", "a/b/c"));
	}
	return NULL;
}

static unsigned long leaks;

static void peek(const char *path, int flags)
{
	char buf[128];
	int fd = open(path, flags | O_CLOEXEC, 0600);
	ssize_t len;

	if (fd < 0)
		return;
	len = read(fd, buf, sizeof(buf));
	if (len > 0 && memmem(buf, (size_t)len, SECRET, strlen(SECRET)))
		leaks++;
	(void)close(fd); /* read already */
}

/* swap SECONDS OUTSIDE: OUTSIDE/secret holds the secret and is not granted; OUTSIDE/victim must not change. */
int threat_swap(char **arg)
{
	static char real[] = "real", other[] = "link";
	static char *pair[] = {real, other};
	double end = threat_now() + strtod(arg[0], NULL);
	pthread_t thread[3];

	mkdir("real", 0755);
	mkdir("inner", 0755);
	mkdir("a", 0755);
	mkdir("a/b", 0755);
	mkdir("a/b/c", 0755);
	(void)close(open("real/secret", O_WRONLY | O_CREAT, 0600)); /* empty ones with the outside's names */
	(void)close(open("inner/secret", O_WRONLY | O_CREAT, 0600));
	threat_works("symlink", symlink(arg[1], "link"));
	if (pthread_create(&thread[0], NULL, exchange, pair) != 0 ||
	    pthread_create(&thread[1], NULL, relink, arg + 1) != 0 ||
	    pthread_create(&thread[2], NULL, move_about, NULL) != 0)
		return 2;
	while (threat_now() < end) {
		struct stat st;
		char deep[4096];

		peek("real/secret", O_RDONLY);
		peek("link/secret", O_RDWR);
		peek("turning/secret", O_RDONLY);
		peek("real/../turning/secret", O_RDONLY);
		snprintf(deep, sizeof(deep), "a/b/c/../../../../../../../../..%s/secret", arg[1]);
		peek(deep, O_RDONLY);
		threat_tries(truncate("real/victim", 0)); /* checked from outside */
		threat_tries(chmod("turning/victim", 0777));
		threat_tries(unlink("link/victim"));
		threat_tries(rename("turning/victim", "stolen"));
		threat_tries(link("real/victim", "stolen"));
		if (stat("turning/only-outside", &st) == 0)
			leaks++;
	}
	if (leaks)
		threat_got("%lu looks outside", leaks);
	return threat_result();
}
