#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/capture.h"
#include "tests/unit/unit.h"

static char where[PATH_MAX];
static int where_fd = -1;
static struct capture capture;
static int program_fd = -1;

static void enter(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(where, sizeof(where), "%s/callgate-test-capture-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(where));
	where_fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(where_fd, 0);
}

static void leave(void)
{
	capture_release(&capture);
	(void)close(program_fd);
	(void)close(where_fd);
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, where), 0);
}

static void begin(int forward_fd, bool keep, uint64_t limit)
{
	const struct capture_options options = {.forward_fd = forward_fd,
						.keeps_in_memory = keep,
						.limit_bytes = limit,
						.spill_dirfd = where_fd,
						.spill_file_name = "spill"};

	ck_assert_int_eq(capture_init(&capture, &options, &program_fd), 0);
}

/* The program writes, and the keeper moves until nothing is ready. */
static void say(const char *text)
{
	ck_assert_int_eq(io_write_all(program_fd, text, strlen(text)), 0);
	for (;;) {
		struct pollfd ready;

		capture_get_pollfd(&capture, &ready);
		if (ready.fd < 0 || poll(&ready, 1, 0) <= 0)
			return;
		(void)capture_read_or_forward_chunk(&capture);
	}
}

static void check_spill(const char *expected)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	ck_assert_int_eq(io_read_file(where_fd, "spill", 1 << 20, &text, &len), 0);
	ck_assert_str_eq(text, expected);
}

START_TEST(test_keep)
{
	begin(-1, true, 100);
	say("one");
	say("two");
	ck_assert_uint_eq(capture.kept_len, 6);
	ck_assert_mem_eq(capture.kept_bytes, "onetwo", 6);
	ck_assert(!capture.is_truncated);
	ck_assert_int_lt(capture.spill_fd, 0);
	(void)close(program_fd);
	program_fd = -1;
	(void)capture_read_or_forward_chunk(&capture);
	ck_assert(capture_has_ended(&capture));
	ck_assert_int_eq(capture_ensure_spill_file(&capture), 0);
	check_spill("onetwo");
}
END_TEST

START_TEST(test_limit)
{
	begin(-1, true, 4);
	say("one");
	say("two");
	say("three");
	ck_assert(capture.is_truncated);
	ck_assert_uint_eq(capture.total_bytes, 11);
	ck_assert_uint_eq(capture.kept_len, 4);
	ck_assert_mem_eq(capture.kept_bytes, "onet", 4);
	check_spill("onetwothree");
}
END_TEST

/* Output of exactly the limit is not truncated. */
START_TEST(test_limit_exact)
{
	begin(-1, true, 3);
	say("one");
	ck_assert(!capture.is_truncated);
	say("x");
	ck_assert(capture.is_truncated);
	check_spill("onex");
}
END_TEST

START_TEST(test_forward)
{
	int fds[2];
	char text[16] = "";

	ck_assert_int_eq(pipe(fds), 0);
	begin(fds[1], true, 5);
	say("one");
	say("two");
	say("three");
	ck_assert_int_eq(read(fds[0], text, sizeof(text) - 1), 5);
	ck_assert_str_eq(text, "onetw");
	check_spill("onetwothree");
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

/* A reader that does not read blocks the program, until capture_stop_forwarding(). */
START_TEST(test_slow_reader)
{
	static char block[60000]; /* of the 65536 that a pipe holds */
	struct pollfd ready;
	int fds[2];

	memset(block, 'x', sizeof(block) - 1);
	ck_assert_int_eq(pipe(fds), 0);
	begin(fds[1], false, CAPTURE_NO_LIMIT);
	say(block);
	say("more");
	capture_get_pollfd(&capture, &ready);
	ck_assert_int_eq(ready.fd, capture.pipe_fd);
	say(block);
	capture_get_pollfd(&capture, &ready);
	ck_assert_int_eq(ready.fd, fds[1]);
	ck_assert_int_eq(poll(&ready, 1, 0), 0);
	(void)close(program_fd);
	program_fd = -1;
	capture_stop_forwarding(&capture);
	ck_assert(capture_has_ended(&capture));
	ck_assert_uint_eq(capture.total_bytes, 2 * (sizeof(block) - 1) + 4);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

/* From pipe to pipe without a copy: a full pipe waits for its reader, every byte arrives, also the last ones. */
START_TEST(test_splice)
{
	char text[4096], got[4096];
	size_t sent = 0, taken = 0;
	struct pollfd ready;
	int fds[2];

	memset(text, 'x', sizeof(text));
	ck_assert_int_eq(pipe(fds), 0);
	begin(fds[1], false, CAPTURE_NO_LIMIT);
	ck_assert(capture.uses_splice);
	ck_assert_int_eq(fcntl(program_fd, F_SETFL, O_NONBLOCK), 0);
	for (;;) { /* until both pipes are full */
		ssize_t put = write(program_fd, text, sizeof(text));

		sent += put > 0 ? (size_t)put : 0;
		capture_get_pollfd(&capture, &ready);
		if (poll(&ready, 1, 0) > 0)
			(void)capture_read_or_forward_chunk(&capture);
		else if (put < 0)
			break;
	}
	ck_assert_uint_ge(sent, 2 * sizeof(text));
	ck_assert_int_eq(ready.fd, fds[1]);
	(void)close(program_fd);
	program_fd = -1;
	while (!capture_has_ended(&capture) && taken <= sent) {
		capture_get_pollfd(&capture, &ready);
		if (poll(&ready, 1, 0) > 0)
			(void)capture_read_or_forward_chunk(&capture);
		else
			taken += (size_t)read(fds[0], got, sizeof(got));
	}
	(void)close(fds[1]);
	for (ssize_t more; (more = read(fds[0], got, sizeof(got))) > 0;)
		taken += (size_t)more;
	ck_assert_uint_eq(taken, sent);
	ck_assert_uint_eq(capture.total_bytes, sent);
	ck_assert_int_eq(capture.forward_error, 0);
	(void)close(fds[0]);
}
END_TEST

/* When the reader has closed its end the program gets EPIPE, as without callgate. */
START_TEST(test_closed_reader)
{
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	(void)close(fds[0]);
	begin(fds[1], false, CAPTURE_NO_LIMIT);
	say("one");
	ck_assert(capture.reader_is_gone);
	ck_assert(capture_has_ended(&capture));
	ck_assert_int_eq(io_write_all(program_fd, "two", 3), -EPIPE);
	(void)close(fds[1]);
}
END_TEST

/* ENOSPC is not passed on to the program: its output is drained. */
START_TEST(test_full_output)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(full, 0);
	begin(full, false, CAPTURE_NO_LIMIT);
	say("one");
	say("two");
	ck_assert_int_eq(capture.forward_error, ENOSPC);
	ck_assert(!capture.reader_is_gone);
	ck_assert_uint_eq(capture.total_bytes, 6);
	(void)close(full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture");
	TCase *tcase = tcase_create("capture");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, enter, leave);
	tcase_add_test(tcase, test_keep);
	tcase_add_test(tcase, test_limit);
	tcase_add_test(tcase, test_limit_exact);
	tcase_add_test(tcase, test_forward);
	tcase_add_test(tcase, test_slow_reader);
	tcase_add_test(tcase, test_splice);
	tcase_add_test(tcase, test_closed_reader);
	tcase_add_test(tcase, test_full_output);
	return unit_run(suite);
}
