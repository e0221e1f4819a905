/*
 * Nanoseconds an operation, median of five rounds.
 *
 *     micro OPERATION PATH COUNT [MILLISECONDS [THREADS]]
 *
 * A round ends after COUNT operations or a fifth of MILLISECONDS. With THREADS, each does COUNT operations, and the
 * figure is the time for all of them divided by the number of all operations.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/micro.h"

#define ROUNDS 5
#define CHUNK 8 /* operations between two looks at the clock */
#define THREADS_MAX 64

struct work {
	const struct micro_operation *operation;
	const char *path;
	long count;
	uint64_t limit_ns; /* of a round; 0: none */
	atomic_long done;  /* by all threads of the round */
	atomic_int failed;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *operate(void *data)
{
	struct work *work = data;
	uint64_t begin = now_ns();
	long n = 0;

	while (n < work->count) {
		if (work->operation->once(work->path) < 0) {
			perror(work->path);
			work->failed = 1;
			break;
		}
		if (++n % CHUNK == 0 && work->limit_ns && now_ns() - begin > work->limit_ns)
			break;
	}
	work->done += n;
	return NULL;
}

static double one_round(struct work *work, int threads)
{
	pthread_t thread[THREADS_MAX];
	uint64_t begin = now_ns();

	work->done = 0;
	for (int i = 1; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, operate, work) != 0) {
			fputs("micro: no thread\n", stderr);
			exit(EXIT_FAILURE);
		}
	}
	(void)operate(work);
	for (int i = 1; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	return (double)(now_ns() - begin) / (double)(work->done ? work->done : 1);
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static long number(int argc, char **argv, int index, long otherwise)
{
	return argc > index ? strtol(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct work work = {.operation = argc > 1 ? micro_find(argv[1]) : NULL, .path = argc > 2 ? argv[2] : ""};
	long threads = number(argc, argv, 5, 1);
	double round[ROUNDS];

	work.count = number(argc, argv, 3, 0);
	work.limit_ns = (uint64_t)number(argc, argv, 4, 0) * 1000000u / ROUNDS;
	if (!work.operation || work.count <= 0 || threads < 1 || threads > THREADS_MAX) {
		fputs("usage: micro OPERATION PATH COUNT [MILLISECONDS [THREADS]]\n", stderr);
		micro_list();
		return 2;
	}
	if (work.operation->begin && work.operation->begin(work.path) < 0) {
		perror(work.path);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < ROUNDS && !work.failed; i++)
		round[i] = one_round(&work, (int)threads);
	if (work.operation->end)
		work.operation->end(work.path);
	if (work.failed)
		return EXIT_FAILURE;
	qsort(round, ROUNDS, sizeof(round[0]), by_value);
	printf("%.0f\n", round[ROUNDS / 2]);
	return 0;
}
