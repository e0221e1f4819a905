/* cases-attack NAME [ARG…]: attacks that once succeeded, run inside. 0: denied; 1: succeeded, and prints how. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FLIPPED 50 /* a number that means a file of ours and a read-only one by turns */
#define THREADS 16

static int own_fd, read_only_fd;
static volatile bool over;

static void *flip(void *unused)
{
	while (!over) {
		(void)dup2(own_fd, FLIPPED);
		(void)dup2(read_only_fd, FLIPPED);
	}
	return unused;
}

static bool same_object(int one, int other)
{
	struct stat left, right;

	return fstat(one, &left) == 0 && fstat(other, &right) == 0 && left.st_ino == right.st_ino &&
	       left.st_dev == right.st_dev;
}

/* reopen FILE SECONDS: /proc/self/fd/N is judged as the one object and opened as the other. */
static int reopen(char **arg)
{
	char link[32];
	pthread_t thread;
	unsigned got = 0, own = 0;
	time_t end = time(NULL) + strtol(arg[1], NULL, 10);
	struct stat before, after;

	own_fd = memfd_create("own", 0);
	read_only_fd = open(arg[0], O_RDONLY);
	if (own_fd < 0 || read_only_fd < 0 || dup2(own_fd, FLIPPED) < 0 || fstat(read_only_fd, &before) < 0 ||
	    pthread_create(&thread, NULL, flip, NULL) != 0) {
		perror("reopen");
		return 2;
	}
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", FLIPPED);
	while (time(NULL) < end) {
		int fd = open(link, O_RDWR | O_CLOEXEC);

		if (fd >= 0 && same_object(fd, read_only_fd))
			got++;
		else if (fd >= 0)
			own++;
		if (fd >= 0)
			(void)close(fd);
		(void)!truncate(link, 1);
		(void)chmod(link, 0604);
		(void)fchmod(FLIPPED, 0604);
	}
	over = true;
	(void)pthread_join(thread, NULL);
	if (fstat(read_only_fd, &after) < 0 || after.st_mode != before.st_mode || after.st_size != before.st_size)
		got++;
	printf("reopen: %u of the read-only file, %u of our own\n", got, own);
	return got || !own;
}

static void *wander(void *unused)
{
	(void)unshare(CLONE_FS);
	for (;;) {
		(void)!chdir("/tmp");
		(void)!chdir("/");
	}
	return unused;
}

/* wander: threads whose calls are made with the tracer's help, until the run is ended. */
static int wander_forever(char **arg)
{
	pthread_t thread;

	(void)arg;
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, wander, NULL) != 0)
			return 2;
	for (;;)
		(void)pause();
}

static const char *approved, *refused;
static char *shown; /* the path of the exec, in memory that a child shares */

static void *rewrite(void *unused)
{
	size_t len = strlen(approved) + 1;

	while (!over) {
		memcpy(shown, approved, len);
		memcpy(shown, refused, len);
	}
	return unused;
}

/* script APPROVED REFUSED: paths of one length, one of which becomes the other while the kernel reads it again. */
static int script(char **arg)
{
	unsigned ran = 0, rounds = 300;
	char *const argv[] = {arg[0], NULL};
	pthread_t thread;

	approved = arg[0];
	refused = arg[1];
	shown = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shown == MAP_FAILED || strlen(approved) != strlen(refused) || strlen(approved) >= 4096 ||
	    pthread_create(&thread, NULL, rewrite, NULL) != 0)
		return 2;
	for (unsigned i = 0; i < rounds; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			(void)execv(shown, argv);
			_exit(1);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0)
			return 2;
		ran += status == 0;
	}
	fprintf(stderr, "script: %u of %u ran\n", ran, rounds);
	_exit(ran == 0);
}

static void ignore(int number)
{
	(void)number;
}

/*
 * storm: a timer whose signal is always there again, on a thread whose opens need single steps. That thread may not get
 * anywhere, natively neither; the others must.
 */
static void *stormy(void *unused)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	const struct itimerspec spec = {.it_interval = {.tv_nsec = 1}, .it_value = {.tv_nsec = 2000000}};
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime(timer, 0, &spec, NULL) < 0)
		_exit(2);
	while (!over) {
		int fd = open("/dev/null", O_PATH);

		if (fd >= 0)
			(void)close(fd);
	}
	return unused;
}

static int storm(char **arg)
{
	const struct sigaction action = {.sa_handler = ignore};
	time_t end = time(NULL) + 5;
	unsigned calls = 0;
	pthread_t thread;

	(void)arg;
	if (sigaction(SIGUSR1, &action, NULL) < 0 || pthread_create(&thread, NULL, stormy, NULL) != 0)
		return 2;
	while (time(NULL) < end && calls < 100000)
		calls += access("/dev/null", F_OK) == 0;
	printf("storm: %u calls meanwhile\n", calls);
	fflush(stdout);
	_exit(calls < 1000);
}

/* crowd COUNT: more processes at once than the supervisor has descriptors; each can open a file. */
static int crowd(char **arg)
{
	long count = strtol(arg[0], NULL, 10), bad = 0;
	int hold[2], status;
	char byte;

	if (pipe(hold) < 0)
		return 2;
	for (long i = 0; i < count; i++) {
		pid_t child = fork();

		if (child < 0)
			bad++;
		if (child != 0)
			continue;
		(void)close(hold[1]);
		status = open("/dev/null", O_RDONLY) < 0;
		(void)!read(hold[0], &byte, 1); /* until the parent closes its end */
		_exit(status);
	}
	for (int i = 0; i < 50; i++) { /* while all of them are there */
		int fd = open("/dev/null", O_RDONLY);

		bad += fd < 0;
		if (fd >= 0)
			(void)close(fd);
		(void)usleep(10000);
	}
	(void)close(hold[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	printf("crowd: %ld failures\n", bad);
	return bad != 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **arg);
} attacks[] = {
	{"crowd", 1, crowd},
	{"reopen", 2, reopen},
	{"script", 2, script},
	{"storm", 0, storm},
	{"wander", 0, wander_forever},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (strcmp(argv[1], attacks[i].name) == 0 && argc - 2 == attacks[i].args)
			return attacks[i].run(argv + 2);
	fputs("usage: cases-attack crowd COUNT | reopen FILE SECONDS | script APPROVED REFUSED | storm | wander\n",
	      stderr);
	return 2;
}
