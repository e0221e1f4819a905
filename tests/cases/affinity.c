/*
 * The CPU affinity mask that a program sees while the supervisor passes it descriptors (supervisor/cpu/cpu.h): its own.
 *
 *     affinity FILE [MASK]    all cases; FILE is opened over and over. The mask must be MASK (as in /proc/PID/status)
 *     affinity mask MASK      only checks the mask, by getaffinity and by /proc/self/status
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPENS 2000
#define MS UINT64_C(1000000)

extern char **environ;

static const char *file, *self;
static cpu_set_t full;
static int failures;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	printf("FAIL %s\n", what);
	failures++;
}

static void open_once(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror(file);
		exit(2);
	}
	(void)close(fd);
}

static void burst(void)
{
	for (int i = 0; i < OPENS; i++)
		open_once();
}

static void burst_for(uint64_t ms)
{
	for (uint64_t end = now_ns() + ms * MS; now_ns() < end;)
		open_once();
}

static void compute_for(uint64_t ms)
{
	for (uint64_t end = now_ns() + ms * MS; now_ns() < end;)
		;
}

static bool is_mask(pid_t tid, const cpu_set_t *expected)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	return sched_getaffinity(tid, sizeof(mask), &mask) == 0 && CPU_EQUAL(&mask, expected);
}

static int status_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror(path);
		exit(2);
	}
	return fd;
}

/* How many CPUs the status file says, by a read that is native. */
static int status_count(int fd)
{
	char text[8192], *at;
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
	int count = 0;

	if (len <= 0)
		return -1;
	text[len] = '\0';
	at = strstr(text, "\nCpus_allowed:\t");
	for (at = at ? at + strlen("\nCpus_allowed:\t") : text; *at && *at != '\n'; at++)
		if (*at != ',')
			count += __builtin_popcount((unsigned)(*at <= '9' ? *at - '0' : *at - 'a' + 10));
	return count;
}

static bool all_is_full(void)
{
	int fd = status_open("/proc/thread-self/status");
	bool good = status_count(fd) >= CPU_COUNT(&full) && is_mask(0, &full);

	(void)close(fd);
	return good;
}

/* Ends the test: without processes or threads nothing is found out about masks. */
static void make_thread(pthread_t *ret_thread, void *(*run)(void *), void *arg)
{
	int error = pthread_create(ret_thread, NULL, run, arg);

	if (error == 0)
		return;
	printf("pthread_create: %s\n", strerror(error));
	exit(2);
}

/* Passes the result of fork(2) on, and ends the test like make_thread(). */
static pid_t begin_child(pid_t pid)
{
	if (pid >= 0)
		return pid;
	printf("fork: %s\n", strerror(errno));
	exit(2);
}

/* ---- cases ---- */

static void own(void)
{
	burst();
	check(is_mask(0, &full), "its own mask after a burst");
	burst();
	check(is_mask(gettid(), &full), "its own mask by its number");
	burst();
	check(all_is_full(), "its own status after a burst");
}

static void reap(pid_t pid, const char *what)
{
	int status;

	check(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

static void child(void)
{
	pid_t pid;

	burst();
	pid = begin_child(fork());
	if (pid == 0)
		_exit(all_is_full() ? 0 : 1);
	reap(pid, "a forked child's mask");
	burst();
	pid = begin_child((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
	if (pid == 0)
		_exit(is_mask(0, &full) && all_is_full() ? 0 : 1);
	reap(pid, "a cloned child's mask");
}

static void spawned(const char *text)
{
	char *argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t) "mask", (char *)(uintptr_t)text, NULL};
	pid_t pid = -1;

	burst();
	check(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0, "posix_spawn");
	reap(pid, "a spawned program's mask");
}

static void *look_at_own(void *unused)
{
	(void)unused;
	check(all_is_full(), "a new thread's mask");
	return NULL;
}

static void thread(void)
{
	pthread_t other;

	burst();
	make_thread(&other, look_at_own, NULL);
	(void)pthread_join(other, NULL);
}

/* Not an error when it never is: the kernel may keep them together by itself. */
static void kept(void)
{
	int fd = status_open("/proc/self/status"), seen = 0, looks = 0;

	compute_for(150);
	for (uint64_t end = now_ns() + 400 * MS; now_ns() < end; looks++) {
		for (int i = 0; i < 16; i++)
			open_once();
		seen += status_count(fd) == 1;
	}
	printf("kept in %d of %d looks\n", seen, looks);
	compute_for(50);
	check(status_count(fd) >= CPU_COUNT(&full), "a kept descriptor of its status, 50 ms later");
	(void)close(fd);
}

static void own_choice(void)
{
	cpu_set_t one;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &full))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		burst();
		check(sched_setaffinity(0, sizeof(one), &one) == 0, "setaffinity");
		burst_for(100);
		check(is_mask(0, &one) && sched_getcpu() == (int)cpu, "a mask of one CPU after a burst");
		check(sched_setaffinity(0, sizeof(full), &full) == 0, "setaffinity back");
		burst();
		check(is_mask(0, &full), "all of the mask again");
	}
}

/* ---- several threads ---- */

static atomic_int burster;
static atomic_bool stop;
static cpu_set_t wanted; /* of the burster, when it stops */

static void *burst_until(void *unused)
{
	(void)unused;
	burster = gettid();
	while (!stop)
		open_once();
	check(is_mask(0, &wanted), "the mask of a thread that another one asked about or set");
	return NULL;
}

static void begin(pthread_t *ret_other)
{
	burster = 0;
	stop = false;
	wanted = full;
	make_thread(ret_other, burst_until, NULL);
	while (burster == 0)
		(void)sched_yield();
}

static void asked_by_another(void)
{
	pthread_t other;
	int wrong = 0;

	begin(&other);
	for (int i = 0; i < 100; i++) {
		compute_for(3);
		wrong += !is_mask(burster, &full);
	}
	stop = true;
	(void)pthread_join(other, NULL);
	if (wrong)
		printf("%d of 100 answers wrong\n", wrong);
	check(wrong == 0, "the mask of another thread amidst its burst");
}

static void set_by_another(void)
{
	pthread_t other;

	begin(&other);
	compute_for(200);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &full)) {
			CPU_ZERO(&wanted);
			CPU_SET(cpu, &wanted);
			check(sched_setaffinity(burster, sizeof(wanted), &wanted) == 0, "setaffinity of another");
			compute_for(20);
		}
	compute_for(100);
	stop = true;
	(void)pthread_join(other, NULL);
}

static void *burst_too(void *unused)
{
	(void)unused;
	burst_for(200);
	check(is_mask(0, &full), "a mask after two threads' bursts");
	return NULL;
}

static void two(void)
{
	pthread_t other;

	make_thread(&other, burst_too, NULL);
	(void)burst_too(NULL);
	(void)pthread_join(other, NULL);
}

static atomic_int ran_on[CPU_SETSIZE];

static void *compute(void *unused)
{
	(void)unused;
	for (uint64_t end = now_ns() + 200 * MS; now_ns() < end;)
		ran_on[(unsigned)sched_getcpu() % CPU_SETSIZE] = 1;
	return NULL;
}

static int compute_together(void)
{
	pthread_t other[8];
	int used = 0;

	for (int i = 0; i < 8; i++)
		make_thread(&other[i], compute, NULL);
	for (int i = 0; i < 8; i++)
		(void)pthread_join(other[i], NULL);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		used += ran_on[cpu];
	return used;
}

/* On a busy machine the scheduler may take its time: natively as well. */
static void spread(void)
{
	int expected = CPU_COUNT(&full) < 2 ? 1 : 2, used = 0;

	for (int round = 0; round < 20 && used < expected; round++) {
		burst();
		used = compute_together();
	}
	check(used >= expected, "computing threads on several CPUs");
}

/* Two processes that compute come to several CPUs; on a busy machine it may take its time, natively as well. */
static void side_by_side(void)
{
	size_t size = CPU_SETSIZE;
	volatile char *seen = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int expected = CPU_COUNT(&full) < 2 ? 1 : 2, used = 0;

	if (seen == MAP_FAILED)
		exit(2);
	for (int round = 0; round < 20 && used < expected; round++) {
		pid_t pid[2];

		burst_for(20);
		for (int i = 0; i < 2; i++) {
			pid[i] = begin_child(fork());
			if (pid[i] == 0) {
				for (uint64_t end = now_ns() + 200 * MS; now_ns() < end;)
					seen[(unsigned)sched_getcpu() % size] = 1;
				_exit(0);
			}
		}
		for (int i = 0; i < 2; i++)
			reap(pid[i], "a computing child");
		used = 0;
		for (size_t cpu = 0; cpu < size; cpu++)
			used += seen[cpu];
	}
	check(used >= expected, "computing processes on several CPUs");
	(void)munmap((void *)(uintptr_t)seen, size);
}

/* A chain of programs, as a shell makes them, of which each asks for its mask. */
static void chain(const char *text)
{
	char *argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t) "mask", (char *)(uintptr_t)text, NULL};

	for (int i = 0; i < 50; i++) {
		pid_t pid = -1;

		open_once();
		check(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0, "posix_spawn");
		reap(pid, "the mask of a program in a chain");
		if (i % 10 == 9)
			check(is_mask(0, &full), "its own mask after a chain");
	}
}

/* The thread takes its leader's number. */
static void *exec_here(void *text)
{
	burst();
	(void)execl(self, self, "mask", (char *)text, (char *)NULL);
	return NULL;
}

static void exec_in_thread(const char *text)
{
	pthread_t other;
	pid_t pid = begin_child(fork());

	if (pid == 0) {
		make_thread(&other, exec_here, (void *)(uintptr_t)text);
		(void)pthread_join(other, NULL);
		_exit(2);
	}
	reap(pid, "the mask of what a thread executed");
}

/* They only compute until they are asked: nothing that they do is notified. */
static void children(void)
{
	int go[2], wrong = 0;
	pid_t pid[20];

	if (pipe(go) < 0)
		exit(2);
	for (int i = 0; i < 20; i++) {
		burst_for(5);
		pid[i] = begin_child(fork());
		if (pid[i] == 0) {
			char byte;

			(void)close(go[1]);
			_exit(read(go[0], &byte, 1) == 0 ? 0 : 1);
		}
	}
	burst_for(20);
	compute_for(50);
	for (int i = 0; i < 20; i++)
		wrong += !is_mask(pid[i], &full);
	check(wrong == 0, "masks of children that never call");
	(void)close(go[1]);
	for (int i = 0; i < 20; i++)
		reap(pid[i], "a child that waited");
}

static void to_text(const cpu_set_t *mask, char *out, size_t cap)
{
	size_t len = 0;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, mask) && len < cap)
			len += (size_t)snprintf(out + len, cap - len, "%s%zu", len ? "," : "", cpu);
}

int main(int argc, char **argv)
{
	char text[4096] = "";

	if (argc < 2) {
		fputs("usage: affinity FILE|mask [MASK]\n", stderr);
		return 2;
	}
	self = argv[0];
	file = argv[1];
	CPU_ZERO(&full);
	if (sched_getaffinity(0, sizeof(full), &full) < 0)
		return 2;
	to_text(&full, text, sizeof(text));
	if (argc > 2) {
		check(strcmp(argv[2], text) == 0, "the mask it was started with");
		if (failures)
			printf("%s, not %s\n", text, argv[2]);
	}
	if (strcmp(argv[1], "mask") == 0)
		return failures || !all_is_full();
	own();
	child();
	spawned(text);
	thread();
	kept();
	asked_by_another();
	two();
	spread();
	side_by_side();
	exec_in_thread(text);
	chain(text);
	children();
	own_choice(); /* from here on nothing is kept any more */
	set_by_another();
	own();
	printf("%d failures\n", failures);
	return failures != 0;
}
