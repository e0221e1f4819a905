/* mode_http1 in a whole egress process: the test is the program, the supervisor (egress-rig.h) and the server. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "egress-rig.h"

#include "base/banned.h"

static struct egress_rig *rig;
static int server = -1, program = -1, upstream = -1;
static uint16_t port;
static char heard[65536];

/* One rule for one server, with `more` in it; connected at both ends. */
static void begin(const char *more)
{
	static const struct erig_options none;
	char policy[1024];

	server = erig_server(&port);
	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"allow\": [{\"host\": \"a.test\", \"port\": %u, \"proto\": \"http\", "
		       "\"private\": true%s}], \"resolve\": {\"a.test\": \"127.0.0.1\"}}}",
		       port, more);
	rig = erig_start_with(policy, &none);
	program = erig_connect(rig, "a.test", port);
	ck_assert_int_ge(program, 0);
	upstream = erig_accept(server);
}

static void end(void)
{
	(void)close(program);
	(void)close(upstream);
	(void)close(server);
	ck_assert_int_eq(erig_end(rig), 0);
}

static void put(int fd, const char *text)
{
	ck_assert_int_eq(io_write_full(fd, text, strlen(text)), 0);
}

/* Text in which "@" stands for the server's name as the program has to write it. */
static const char *fill_in(const char *text)
{
	static char out[16384];
	size_t len = 0;

	for (; *text; text++)
		if (*text == '@')
			len += (size_t)snprintf(out + len, sizeof(out) - len, "a.test:%u", port);
		else
			out[len++] = *text;
	out[len] = '\0';
	return out;
}

static void say(int fd, const char *text)
{
	put(fd, fill_in(text));
}

static bool readable(int fd, int ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, ms) == 1;
}

/* Exactly this comes next. */
static void hear(int fd, const char *text)
{
	const char *want = fill_in(text);
	size_t len = 0;

	while (len < strlen(want)) {
		ssize_t got;

		ck_assert_msg(readable(fd, ERIG_WAIT_MS), "nothing comes after '%.*s'", (int)len, heard);
		got = read(fd, heard + len, strlen(want) - len);
		ck_assert_msg(got > 0, "ends after '%.*s'", (int)len, heard);
		len += (size_t)got;
		ck_assert_msg(memcmp(heard, want, len) == 0, "'%.*s' instead of '%s'", (int)len, heard, want);
	}
}

/* Everything up to the end, which is an orderly one (0) or -errno. */
static int hear_all(int fd)
{
	size_t len = 0;
	ssize_t got = 0;

	do {
		ck_assert_msg(readable(fd, ERIG_WAIT_MS), "no end after '%.*s'", (int)len, heard);
		got = read(fd, heard + len, sizeof(heard) - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	heard[len] = '\0';
	return got < 0 ? -errno : 0;
}

static void silent(int fd)
{
	ck_assert_msg(!readable(fd, 100), "something comes");
}

static struct control_record request(size_t index)
{
	return erig_record(rig, erig_last(rig), CONTROL_EVENT_REQUEST, index);
}

static struct control_record closed(void)
{
	return erig_record(rig, erig_last(rig), CONTROL_EVENT_CLOSE, 0);
}

/* A whole exchange that leaves both connections open. */
static void exchange(void)
{
	say(program, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

START_TEST(requests_are_recorded_and_forwarded_anew)
{
	struct control_record record;
	struct control_done done;

	begin("");
	say(program, "GET /a/%7Eb/../c?secret=1 HTTP/1.1\r\nhost:   A.Test:");
	silent(upstream);
	(void)snprintf(heard, sizeof(heard), "%u\r\nX-A:  one\ttwo  \r\nConnection: keep-alive, x-b\r\nX-B: gone\r\nKeep-Alive: 5\r\n\r\n",
		       port);
	put(program, heard);
	hear(upstream, "GET /a/c?secret=1 HTTP/1.1\r\nHost: @\r\nX-A: one\ttwo\r\n\r\n");
	record = request(0);
	ck_assert_int_eq(record.allow, 1);
	ck_assert_str_eq(record.method, "GET");
	ck_assert_str_eq(record.path, "/a/c?…");
	ck_assert_str_eq(record.host, "a.test");
	ck_assert_str_eq(record.reason, "granted");
	say(upstream, "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nAlt-Svc: h3=\":443\"\r\nServer: x\r\n\r\nhello");
	hear(program, "HTTP/1.1 200 Fine\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello");
	done = erig_done(rig, 0);
	ck_assert_uint_eq(done.id, record.id);
	ck_assert_int_eq(done.result, 200);
	exchange();
	(void)close(program);
	ck_assert_int_eq(hear_all(upstream), 0);
	ck_assert_str_eq(closed().cause, "client");
	end();
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("http1");
	TCase *tcase = tcase_create("mode");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, requests_are_recorded_and_forwarded_anew);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
