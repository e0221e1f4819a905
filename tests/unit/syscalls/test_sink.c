/* syscalls/account/result/sink.c: the two formats, hostile texts, the limit, and readers that do not keep up. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "syscalls/account/result/sink.h"
#include "tests/unit/unit.h"

#define SECOND UINT64_C(1000000000)

static struct sink sink;
static int reader;

static void open_sink(enum sink_kind kind)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	sink = (struct sink){.kind = kind, .fd = pair[0], .run_id = "r1"};
	reader = pair[1];
}

static void close_sink(void)
{
	(void)close(sink.fd);
	(void)close(reader);
}

static const char *read_message(void)
{
	static char text[65536];
	ssize_t len = read(reader, text, sizeof(text) - 1);

	text[len < 0 ? 0 : len] = '\0';
	return text;
}

static void tell(const char *target, uint64_t now_ns)
{
	const struct sink_denial denial = {.syscall_name = "openat",
					   .target = target,
					   .exe = "/bin/cat",
					   .rule = "filesystem",
					   .reason = "denied",
					   .pid = 3,
					   .error = 13,
					   .seq = 17,
					   .count = 1};

	sink_send_denial(&sink, &denial, now_ns);
}

START_TEST(test_parse)
{
	const char *path;

	ck_assert_int_eq(sink_parse("syslog", &path), SINK_SYSLOG);
	ck_assert_str_eq(path, "/dev/log");
	ck_assert_int_eq(sink_parse("journald:/x:y", &path), SINK_JOURNALD);
	ck_assert_str_eq(path, "/x:y");
	ck_assert_int_eq(sink_parse("syslog:", &path), SINK_NONE);
	ck_assert_int_eq(sink_parse("syslogd", &path), SINK_NONE);
	ck_assert_int_eq(sink_parse("", &path), SINK_NONE);
}
END_TEST

START_TEST(test_formats)
{
	open_sink(SINK_SYSLOG);
	tell("/etc/x", SECOND);
	ck_assert_str_eq(read_message(),
			 "<84>callgate: denied openat /etc/x to /bin/cat[3]: denied (run r1, record 17)");
	close_sink();
	open_sink(SINK_JOURNALD);
	tell("/etc/x", SECOND);
	ck_assert_str_eq(read_message(),
			 "PRIORITY=4\nSYSLOG_IDENTIFIER=callgate\nCALLGATE_RUN=r1\nCALLGATE_RECORD=17\n"
			 "CALLGATE_CALL=openat\nCALLGATE_TARGET=/etc/x\nCALLGATE_EXE=/bin/cat\nCALLGATE_PID=3\n"
			 "CALLGATE_RULE=filesystem\n"
			 "CALLGATE_REASON=denied\nCALLGATE_ERRNO=13\n"
			 "MESSAGE=denied openat /etc/x to /bin/cat[3]: denied (run r1, record 17)\n");
	close_sink();
}
END_TEST

/* A name with newlines, controls, right-to-left marks and bytes that are not UTF-8 adds no field and no line. */
START_TEST(test_hostile_text)
{
	static const char right_to_left[] = {'\xe2', '\x80', '\xae', '\0'};
	char longest[5000], hostile[64];
	const char *text;
	size_t lines = 0;

	open_sink(SINK_JOURNALD);
	(void)snprintf(hostile, sizeof(hostile), "/a\nMESSAGE=forged\n\033[31m%s\xff", right_to_left);
	tell(hostile, SECOND);
	text = read_message();
	for (const char *at = text; *at; at++) {
		ck_assert(*at == '\n' || (unsigned char)*at >= ' ');
		lines += *at == '\n';
	}
	ck_assert_uint_eq(lines, 12);
	ck_assert_ptr_null(strstr(text, "\nMESSAGE=forged"));
	ck_assert_ptr_null(strstr(text, right_to_left));
	memset(longest, '\xff', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	tell(longest, SECOND);
	ck_assert_uint_gt(strlen(read_message()), 2 * 512);
	ck_assert_uint_eq(sink.sent, 2);
	close_sink();
}
END_TEST

/*
 * A flood is cut at SINK_BURST_MESSAGES_MAX, goes on at SINK_MESSAGES_PER_S, and the next message says what was left
 * out.
 */
START_TEST(test_limit)
{
	unsigned received = 0;

	open_sink(SINK_SYSLOG);
	for (unsigned i = 0; i < SINK_BURST_MESSAGES_MAX + 40; i++) {
		tell("/x", SECOND);
		received += read_message()[0] != '\0';
	}
	ck_assert_uint_eq(received, SINK_BURST_MESSAGES_MAX);
	ck_assert_uint_eq(sink.sent, SINK_BURST_MESSAGES_MAX);
	ck_assert_uint_eq(sink.dropped, 40);
	tell("/x", SECOND + SECOND / SINK_MESSAGES_PER_S);
	ck_assert_ptr_nonnull(strstr(read_message(), "; 40 denials before it were left out"));
	tell("/x", SECOND + SECOND / SINK_MESSAGES_PER_S);
	ck_assert_uint_eq(sink.dropped, 41);
	sink_send_count_of_dropped(&sink);
	ck_assert_str_eq(read_message(), "<84>callgate: 1 denials were left out (run r1)");
	received = 0;
	for (unsigned i = 0; i < 2 * SINK_BURST_MESSAGES_MAX; i++) {
		tell("/x", 3600 * SECOND);
		received += read_message()[0] != '\0';
	}
	ck_assert_uint_eq(received, SINK_BURST_MESSAGES_MAX);
	close_sink();
}
END_TEST

/* Neither a full socket nor a reader that is gone blocks or ends the process. */
START_TEST(test_slow_reader)
{
	open_sink(SINK_SYSLOG);
	for (unsigned i = 0; i < 5000; i++)
		tell("/x", i * SECOND);
	ck_assert_uint_gt(sink.dropped, 0);
	ck_assert_uint_eq(sink.sent + sink.dropped, 5000);
	(void)close(reader);
	tell("/x", 6000 * SECOND);
	ck_assert_uint_eq(sink.sent + sink.dropped, 5001);
	(void)close(sink.fd);
	sink_send_denial(NULL, NULL, 0);
	sink_send_count_of_dropped(NULL);
}
END_TEST

START_TEST(test_connect)
{
	char path[200];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_lt(sink_connect("/no/such/socket"), 0);
	ck_assert_int_lt(sink_connect(path), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink");
	TCase *tcase = tcase_create("sink");

	tcase_add_test(tcase, test_parse);
	tcase_add_test(tcase, test_formats);
	tcase_add_test(tcase, test_hostile_text);
	tcase_add_test(tcase, test_limit);
	tcase_add_test(tcase, test_slow_reader);
	tcase_add_test(tcase, test_connect);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
