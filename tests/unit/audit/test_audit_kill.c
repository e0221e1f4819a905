/*
 * Kills a writer under load, many times. Every record that it had acknowledged must be in the log, complete and in
 * order, followed by at most one incomplete line. audit_recover_log must then end the log.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/read.h"
#include "base/io.h"
#include "tests/unit/unit.h"

#define RUNS_MAX 400
#define RUNS_MIN 20
#define BUDGET_NS 8000000000u
#define LIFE_MAX_US 1000u /* from a writer's first record to its death */

static char dir[] = "/tmp/callgate-test-kill-XXXXXX";
static char path[64];

/* Acknowledges each record by sending its seq before storing the outcome. */
static _Noreturn void write_until_killed(struct audit *audit, int ack_fd, unsigned seed)
{
	static char text[3000];

	memset(text, 'x', sizeof(text));
	text[0] = '/';
	for (;;) {
		struct audit_record record = {.pid = 2, .tid = 2, .ppid = 1, .exe = "/bin/true", .syscall = "openat",
					      .path = text, .verdict = VERDICT_ALLOW, .effect = AUDIT_EFFECT_PERFORMED};
		struct audit_outcome_location slot;

		seed = seed * 1664525u + 1013904223u;
		record.path_len = 1 + (seed >> 8) % (seed >> 28 ? 150u : (unsigned)sizeof(text));
		if (audit_begin_record(audit, &record, &slot) < 0)
			_exit(1);
		if (write(ack_fd, &slot.seq, sizeof(slot.seq)) != sizeof(slot.seq))
			_exit(2);
		audit_end_record(audit, slot, seed & 1 ? -EPROTONOSUPPORT : 3, seed);
	}
}

/* The last seq that the dead writer sent. */
static uint64_t last_acknowledged(int fd, uint64_t last)
{
	uint64_t seqs[512];
	ssize_t n;

	while ((n = read(fd, seqs, sizeof(seqs))) >= (ssize_t)sizeof(*seqs))
		last = seqs[(size_t)n / sizeof(*seqs) - 1];
	return last;
}

/* Checks that the lines have seq 0…n. Returns n and the type of the last line. */
static uint64_t check_log(char ret_type[16], uint64_t *ret_torn)
{
	struct audit_reader *reader;
	struct audit_line line;
	uint64_t expected = 0;
	int r;

	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	while ((r = audit_reader_read_line(reader, &line)) == 1) {
		ck_assert_int_eq(json_integer_value(json_object_get(line.json, "seq")), (json_int_t)expected++);
		(void)snprintf(ret_type, 16, "%s", audit_line_get_type(line.json));
	}
	ck_assert_msg(r == 0, "line %llu is damaged", (unsigned long long)line.line_number);
	*ret_torn = audit_reader_get_torn_bytes(reader);
	audit_reader_free(reader);
	return expected - 1;
}

/* Reads the acknowledgements for life_us, so that the pipe never blocks the writer, then kills it. Returns the last. */
static uint64_t kill_after(pid_t writer, int ack_fd, unsigned life_us)
{
	uint64_t last = 0, end;

	ck_assert_int_eq(read(ack_fd, &last, sizeof(last)), sizeof(last));
	end = io_read_clock_ns() + life_us * 1000u;
	while (io_read_clock_ns() < end) {
		uint64_t seqs[64];
		ssize_t n = read(ack_fd, seqs, sizeof(seqs));

		if (n >= (ssize_t)sizeof(*seqs))
			last = seqs[(size_t)n / sizeof(*seqs) - 1];
	}
	ck_assert_int_eq(kill(writer, SIGKILL), 0);
	ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
	return last_acknowledged(ack_fd, last);
}

static void kill_once(unsigned run, uint64_t *torn_runs)
{
	struct audit_header header = {.run_id = "kill", .records_allowed_calls = true};
	uint64_t acknowledged, found, torn;
	char type[16] = "";
	int ack[2];
	pid_t writer;

	(void)unlink(path);
	ck_assert_int_eq(pipe(ack), 0);
	writer = fork();
	ck_assert_int_ge(writer, 0);
	if (writer == 0) {
		struct audit *audit;

		(void)close(ack[0]);
		if (audit_open_log(path, &header, &audit) < 0)
			_exit(3);
		write_until_killed(audit, ack[1], run);
	}
	ck_assert_int_eq(close(ack[1]), 0);
	acknowledged = kill_after(writer, ack[0], run * 7919u % LIFE_MAX_US);
	ck_assert_int_eq(close(ack[0]), 0);
	found = check_log(type, &torn);
	*torn_runs += torn > 0;
	/* One more may be on file: the writer died before it could acknowledge it. */
	ck_assert_msg(found == acknowledged || found == acknowledged + 1, "run %u: %llu acknowledged, %llu on file",
		      run, (unsigned long long)acknowledged, (unsigned long long)found);
	ck_assert_int_eq(audit_recover_log(path, "killed"), 0);
	ck_assert_uint_eq(check_log(type, &torn), found + 1);
	ck_assert_str_eq(type, "trailer");
	ck_assert_uint_eq(torn, 0);
}

START_TEST(test_kill)
{
	uint64_t begin = io_read_clock_ns(), torn = 0;
	unsigned run = 0;

	while (run < RUNS_MAX && (run < RUNS_MIN || io_read_clock_ns() - begin < BUDGET_NS))
		kill_once(run++, &torn);
	(void)printf("%u writers killed, %llu left a torn tail\n", run, (unsigned long long)torn);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit_kill");
	TCase *tests = tcase_create("kill");
	int failed;

	if (!mkdtemp(dir))
		return 99;
	(void)snprintf(path, sizeof(path), "%s/log", dir);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, test_kill);
	suite_add_tcase(suite, tests);
	failed = unit_run(suite);
	(void)unlink(path);
	(void)rmdir(dir);
	return failed;
}
