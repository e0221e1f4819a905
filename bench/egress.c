/*
 * What the relay of the egress process costs: throughput and the time of a connect, as ratios to a plain loopback
 * connection of the same run.  bench-egress [MEBIBYTES [ROUNDS [CONNECTS]]]
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/egress/egress-rig.h"

#define BLOCK (128 * 1024)
#define ROUNDS_MAX 99

static char block[BLOCK];
static struct egress_rig *rig;
static uint16_t port;
static int server;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double median(double *value, int count)
{
	qsort(value, (size_t)count, sizeof(*value), by_value);
	return value[count / 2];
}

static int plain_connect(void)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	perror("connect");
	exit(EXIT_FAILURE);
}

static int any_connect(int relayed)
{
	return relayed ? erig_connect(rig, "a.test", port) : plain_connect();
}

static double cpu_seconds(void)
{
	char path[64], line[1024];
	unsigned long user = 0, system = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)erig_pid(rig));
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file))
		(void)sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			     &system);
	(void)fclose(file);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Megabytes a second from the server to the program. */
static double transfer(int relayed, uint64_t bytes)
{
	int fd = any_connect(relayed), peer = erig_accept(server);
	uint64_t begin = now_ns(), got = 0;
	pid_t sender = fork();
	double seconds;

	if (sender == 0) {
		(void)close(fd);
		for (uint64_t left = bytes; left;) {
			ssize_t n = write(peer, block, left < BLOCK ? (size_t)left : BLOCK);

			if (n <= 0)
				_exit(EXIT_FAILURE);
			left -= (uint64_t)n;
		}
		_exit(EXIT_SUCCESS);
	}
	(void)close(peer);
	for (ssize_t n = 1; n > 0 && (n = read(fd, block, BLOCK)) > 0;)
		got += (uint64_t)n;
	seconds = (double)(now_ns() - begin) / 1e9;
	(void)close(fd);
	(void)waitpid(sender, NULL, 0);
	if (got != bytes) {
		(void)fprintf(stderr, "%llu of %llu bytes came\n", (unsigned long long)got, (unsigned long long)bytes);
		exit(EXIT_FAILURE);
	}
	return (double)bytes / 1e6 / seconds;
}

/* Microseconds from before the connect until a byte has gone there and back. */
static double latency(int relayed)
{
	uint64_t begin = now_ns();
	int fd = any_connect(relayed), peer = erig_accept(server);
	double us;

	if (write(fd, "x", 1) != 1 || read(peer, block, 1) != 1 || write(peer, "x", 1) != 1 || read(fd, block, 1) != 1)
		exit(EXIT_FAILURE);
	us = (double)(now_ns() - begin) / 1e3;
	(void)close(fd);
	(void)close(peer);
	return us;
}

static void begin_rig(void)
{
	char policy[512];

	server = erig_server(&port);
	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": %u, \"proto\": \"tcp\", "
		       "\"private\": true}], \"resolve\": {\"a.test\": \"127.0.0.1\"}}}",
		       port);
	rig = erig_start(policy);
}

static uint64_t bytes = 1024;
static int rounds = 5, connects = 1000;

static void throughput(void)
{
	double value[2][ROUNDS_MAX], cpu = cpu_seconds();

	for (int i = 0; i < rounds; i++)
		for (int relayed = 0; relayed < 2; relayed++)
			value[relayed][i] = transfer(relayed, bytes);
	cpu = cpu_seconds() - cpu;
	for (int best = 0; best < 2; best++) { /* the best rounds are those that no other process disturbed */
		double native = best ? value[0][rounds - 1] : median(value[0], rounds);
		double relayed = best ? value[1][rounds - 1] : median(value[1], rounds);

		(void)printf("throughput  %s  native %5.0f MB/s  relayed %5.0f MB/s  ratio %.2f\n",
			     best ? "best  " : "median", native, relayed, relayed / native);
	}
	(void)printf("egress      %.2f s of processor a GB\n", cpu / ((double)bytes * rounds / 1e9));
}

static void connecting(void)
{
	double *us[2] = {calloc((size_t)connects, sizeof(double)), calloc((size_t)connects, sizeof(double))};

	ck_assert(us[0] && us[1]);
	for (int i = 0; i < connects; i++)
		for (int relayed = 0; relayed < 2; relayed++)
			us[relayed][i] = latency(relayed);
	(void)printf(
		"connect     native %.0f us    relayed %.0f us    added %.0f us (median, with the echo of a byte)\n",
		median(us[0], connects), median(us[1], connects), median(us[1], connects) - median(us[0], connects));
	free(us[0]);
	free(us[1]);
}

START_TEST(measure)
{
	begin_rig();
	throughput();
	connecting();
	ck_assert_int_eq(erig_end(rig), 0);
}
END_TEST

/* The check library runs it because the rig fails as a test does. */
int main(int argc, char **argv)
{
	Suite *suite = suite_create("bench-egress");
	TCase *tcase = tcase_create("bench-egress");
	SRunner *runner;
	int failed;

	bytes = (uint64_t)(argc > 1 ? strtoul(argv[1], NULL, 10) : 1024) * 1024 * 1024;
	rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	connects = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1000;
	connects = connects < 1 ? 1 : connects;
	tcase_add_test(tcase, measure);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_print(runner, failed ? CK_NORMAL : CK_SILENT);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
