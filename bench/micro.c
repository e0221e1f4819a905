/* Nanoseconds per operation, median of five rounds:  micro open|stat|denied PATH COUNT */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

#define ROUNDS 5

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int once(const char *what, const char *path)
{
	struct stat status;
	int fd;

	if (strcmp(what, "stat") == 0)
		return stat(path, &status);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (strcmp(what, "denied") == 0)
		return fd < 0 ? 0 : -1;
	return fd < 0 ? -1 : close(fd);
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

int main(int argc, char **argv)
{
	long count = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	double round[ROUNDS];

	if (count <= 0) {
		fputs("usage: micro open|stat|denied PATH COUNT\n", stderr);
		return 2;
	}
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns();

		for (long n = 0; n < count; n++) {
			if (once(argv[1], argv[2]) < 0) {
				perror(argv[2]);
				return 1;
			}
		}
		round[i] = (double)(now_ns() - start) / (double)count;
	}
	qsort(round, ROUNDS, sizeof(round[0]), by_value);
	printf("%.0f\n", round[ROUNDS / 2]);
	return 0;
}
