/*
 * Keeps the supervisor, or a resource that its calls need, as busy as possible until it is killed; and measures another
 * run meanwhile.
 *
 *   cases-storm notify|output|fds|stop|fifos        never ends
 *   cases-storm median FILE MS TIMES                opens FILE for MS milliseconds: the median in ns, TIMES times
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define FIFOS 64
#define SAMPLES_MAX 200000

static void *refused(void *unused)
{
	for (;;)
		(void)open("/etc/shadow", O_RDONLY);
	return unused;
}

static int notify(void)
{
	pthread_t thread;

	for (int i = 1; i < THREADS; i++)
		(void)pthread_create(&thread, NULL, refused, NULL);
	(void)refused(NULL);
	return 1;
}

static int output(void)
{
	static char block[65536];

	memset(block, 'x', sizeof(block));
	while (write(1, block, sizeof(block)) >= 0)
		;
	return 1;
}

/* To the end of the table and back, in a few processes. */
static int fds(void)
{
	long most = 0;

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			break;
	for (;;) {
		int first = -1, last = -1, fd;

		while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
			first = first < 0 ? fd : first;
			last = fd;
		}
		if (errno != EMFILE)
			return 1;
		if (last > most) {
			most = last;
			(void)fprintf(stderr, "EMFILE after %d\n", last);
		}
		for (fd = first; fd <= last; fd++)
			(void)close(fd);
	}
}

/* Everybody stops and continues everybody; the first one is not stopped, or all would be in the end. */
static _Noreturn void stop(void)
{
	pid_t pid[THREADS] = {0};
	int me = 0;

	for (int i = 1; i < THREADS; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			me = i;
			break;
		}
	}
	for (unsigned i = 0;; i++) {
		pid_t other = pid[1 + i % (THREADS - 1)];

		if (other > 0 && me == 0) {
			(void)kill(other, SIGSTOP);
			(void)kill(other, SIGCONT);
		} else {
			(void)open("/etc/shadow", O_RDONLY);
			(void)kill(getpid(), SIGSTOP);
		}
	}
}

static void *block_in(void *name)
{
	(void)open(name, O_RDONLY);
	return NULL;
}

static int fifos(void)
{
	static char name[FIFOS][16];
	pthread_attr_t small;
	pthread_t thread;

	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < FIFOS; i++) {
		(void)snprintf(name[i], sizeof(name[i]), "fifo%d", i);
		if (mkfifo(name[i], 0600) < 0 && errno != EEXIST)
			return 1;
		if (pthread_create(&thread, &small, block_in, name[i]) != 0)
			return 1;
	}
	(void)sleep(1);
	/* The sixty-fifth goes on. */
	for (int i = 0; i < 1000; i++)
		if (close(open("file", O_RDWR | O_CREAT, 0600)) < 0)
			return 1;
	(void)fputs("the others go on\n", stderr);
	for (;;)
		(void)pause();
}

/* ---- the neighbour ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int median(const char *file, uint64_t ns)
{
	static uint64_t sample[SAMPLES_MAX];
	uint64_t begin = now_ns(), before;
	size_t count = 0;

	while (count < SAMPLES_MAX && (before = now_ns()) - begin < ns) {
		int fd = open(file, O_RDONLY);

		sample[count++] = now_ns() - before;
		if (fd < 0 || close(fd) < 0)
			return 1;
	}
	qsort(sample, count, sizeof(*sample), compare);
	return printf("%llu\n", (unsigned long long)sample[count / 2]) < 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (argc == 5 && strcmp(kind, "median") == 0) {
		for (long times = strtol(argv[4], NULL, 10); times > 0; times--)
			if (median(argv[2], strtoull(argv[3], NULL, 10) * 1000000) != 0)
				return 1;
		return 0;
	}
	if (strcmp(kind, "notify") == 0)
		return notify();
	if (strcmp(kind, "output") == 0)
		return output();
	if (strcmp(kind, "fds") == 0)
		return fds();
	if (strcmp(kind, "stop") == 0)
		stop();
	return strcmp(kind, "fifos") == 0 ? fifos() : 2;
}
