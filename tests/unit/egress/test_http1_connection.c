/* mode_http1 in a whole egress process: the test is the program, the supervisor (egress-rig.h) and the server. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "tests/unit/egress/egress-rig.h"
#include "tests/unit/unit.h"

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
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
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

static void hear_bytes(int fd, char *bytes, size_t count)
{
	for (size_t len = 0; len < count; len++) {
		ck_assert_msg(readable(fd, ERIG_WAIT_MS), "nothing comes");
		ck_assert_int_eq(read(fd, bytes + len, 1), 1);
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

/* The same after a request with a body, which was the last of its upstream connection. */
static void exchange_anew(void)
{
	ck_assert_int_eq(hear_all(upstream), 0);
	(void)close(upstream);
	say(program, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	upstream = erig_accept(server);
	hear(upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

START_TEST(requests_are_recorded_and_forwarded_anew)
{
	struct control_record record;
	struct control_request_done done;

	begin("");
	say(program, "GET /a/%7Eb/../c?secret=1 HTTP/1.1\r\nhost:   A.Test:");
	silent(upstream);
	(void)snprintf(heard, sizeof(heard),
		       "%u\r\nX-A:  one\ttwo  \r\nConnection: keep-alive, x-b\r\nX-B: gone\r\nKeep-Alive: 5\r\n\r\n",
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
	ck_assert_str_eq(closed().close_cause, "client");
	end();
}
END_TEST


/* ---- bodies ---- */

START_TEST(bodies_pass_both_ways_however_they_come)
{
	static const char request_text[] = "POST /p HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n"
					   "5\r\nhello\r\n01\r\n!\r\n0\r\nX-Trailer: y\r\n\r\n";
	const char *text;

	begin("");
	text = fill_in(request_text);
	for (const char *at = text; *at; at++) {
		ck_assert_int_eq(io_write_all(program, at, 1), 0);
		(void)usleep(500); /* so that it does come in pieces */
	}
	/* Chunks of its own, whose sizes depend on how it read: their content is what counts. */
	hear(upstream, "POST /p HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
	for (const char *left = "hello!"; *left;) {
		char size[3], content[3];

		hear_bytes(upstream, size, sizeof(size)); /* below 10: one digit */
		for (int i = 0; i < size[0] - '0'; i++, left++) {
			hear_bytes(upstream, content, 1);
			ck_assert_int_eq(content[0], *left);
		}
		hear(upstream, "\r\n");
	}
	hear(upstream, "0\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nY: z\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
	exchange_anew();
	ck_assert_int_eq(erig_done(rig, 0).result, 200);
	end();
}
END_TEST

START_TEST(a_client_may_wait_for_continue)
{
	begin("");
	say(program, "PUT /p HTTP/1.1\r\nHost: @\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
	hear(upstream,
	     "PUT /p HTTP/1.1\r\nHost: @\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
	say(upstream, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
	hear(program, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
	say(program, "body");
	hear(upstream, "body");
	say(upstream, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	exchange_anew();
	end();
}
END_TEST

START_TEST(responses_without_a_body_leave_no_doubt)
{
	static const char *const each[][3] = {
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", NULL},
		{"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		{"GET", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 500\r\n\r\n", NULL},
		{"GET", "HTTP/1.1 204 No Content\r\n\r\n", NULL},
		{"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
		{"GET", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"},
	};

	begin("");
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		char text[128];

		(void)snprintf(text, sizeof(text), "%s / HTTP/1.1\r\nHost: @\r\n\r\n", each[i][0]);
		say(program, text);
		hear(upstream, text);
		say(upstream, each[i][1]);
		hear(program, each[i][2] ? each[i][2] : each[i][1]);
	}
	exchange();
	end();
}
END_TEST

START_TEST(an_old_client_gets_what_it_knows)
{
	begin("");
	say(program, "GET / HTTP/1.0\r\nHost: @\r\nConnection: keep-alive\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
	say(program, "GET / HTTP/1.0\r\nHost: @\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_str_eq(heard, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
	end();
}
END_TEST

START_TEST(a_response_may_end_with_its_connection)
{
	begin("");
	say(program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.0 200 OK\r\n\r\nall of");
	hear(program, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of");
	say(upstream, " it");
	(void)close(upstream);
	upstream = -1;
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_str_eq(heard, " it");
	(void)close(program);
	program = -1;
	ck_assert_int_eq(erig_done(rig, 0).result, 200);
	ck_assert_str_eq(closed().close_cause, "server");
	end();
}
END_TEST

START_TEST(requests_sent_ahead_wait_for_their_turn)
{
	begin("");
	say(program, "GET /1 HTTP/1.1\r\nHost: @\r\n\r\nPOST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 3\r\n\r\nabcGET "
		     "/3 HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
	silent(upstream);
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	hear(upstream, "POST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
	silent(upstream);
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	ck_assert_int_eq(hear_all(upstream), 0);
	(void)close(upstream);
	upstream = erig_accept(server);
	hear(upstream, "GET /3 HTTP/1.1\r\nHost: @\r\n\r\n");
	(void)shutdown(program, SHUT_WR); /* and still hears the answer */
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_str_eq(heard,
			 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2"
			 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3");
	ck_assert_int_eq(erig_done(rig, 2).result, 200);
	end();
}
END_TEST

/* Much more than any buffer on the way, both ways at the same time, by length and in chunks. */
#define BIG (24u * 1024 * 1024)

static void pour(int fd, const char *head, bool chunked)
{
	static char block[65536];
	char frame[16];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 >> 3);
	put(fd, head);
	for (size_t left = BIG; left; left -= sizeof(block)) {
		(void)snprintf(frame, sizeof(frame), "%zx\r\n", sizeof(block));
		if (chunked)
			put(fd, frame);
		ck_assert_int_eq(io_write_all(fd, block, sizeof(block)), 0);
		if (chunked)
			put(fd, "\r\n");
	}
	if (chunked)
		put(fd, "0\r\n\r\n");
}

/* Reads a body of that kind; whether its content is what was poured. */
static bool drain(int fd, bool chunked)
{
	FILE *in = fdopen(dup(fd), "r");
	size_t at = 0;
	char line[64];

	ck_assert_ptr_nonnull(in);
	while (at < BIG) {
		size_t part = BIG - at;

		if (chunked && (!fgets(line, sizeof(line), in) || sscanf(line, "%zx", &part) != 1))
			return false;
		for (size_t i = 0; i < part; i++, at++)
			if (fgetc(in) != (unsigned char)(char)((at % 65536) * 31 >> 3))
				return false;
		if (chunked && (fgetc(in) != '\r' || fgetc(in) != '\n'))
			return false;
	}
	if (chunked && (!fgets(line, sizeof(line), in) || strcmp(line, "0\r\n") != 0 || !fgets(line, sizeof(line), in)))
		return false;
	(void)fclose(in);
	return true;
}

START_TEST(big_bodies_arrive_whole)
{
	const char *framing = _i ? "Transfer-Encoding: chunked" : "Content-Length: 25165824";
	char head[256], anew[256], wrong[256];
	pid_t writer, echo;
	int status;

	begin("");
	(void)snprintf(head, sizeof(head), "POST /big HTTP/1.1\r\nHost: a.test:%u\r\n%s\r\n\r\n", port, framing);
	(void)snprintf(anew, sizeof(anew), "POST /big HTTP/1.1\r\nHost: a.test:%u\r\n%s\r\nConnection: close\r\n\r\n",
		       port, framing);
	(void)snprintf(wrong, sizeof(wrong), "HTTP/1.1 200 OK\r\n%s\r\n\r\n", framing);
	writer = fork();
	if (writer == 0) {
		pour(program, head, _i);
		_exit(0);
	}
	hear(upstream, anew);
	echo = fork();
	if (echo == 0) {
		pour(upstream, wrong, _i); /* an answer that does not wait for the request's end */
		_exit(0);
	}
	hear(program, wrong);
	ck_assert(drain(upstream, _i));
	ck_assert(drain(program, _i));
	ck_assert_int_eq(waitpid(writer, &status, 0), writer);
	ck_assert_int_eq(waitpid(echo, &status, 0), echo);
	exchange_anew();
	ck_assert_uint_ge(erig_done(rig, 0).bytes_up, BIG);
	ck_assert_uint_ge(erig_done(rig, 0).bytes_down, BIG);
	end();
}
END_TEST

/* ---- refusals ---- */

#define RULES ", \"http\": [\"GET /ok/**\", \"POST /ok/**\", \"WEBSOCKET /chat\"]"

static void hear_status(unsigned status, const char *reason)
{
	char line[32], text[64];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", status);
	(void)snprintf(text, sizeof(text), "\"reason\": \"%s\"}", reason);
	ck_assert_msg(strncmp(heard, line, strlen(line)) == 0, "'%s' for %s", heard, reason);
	ck_assert_msg(strstr(heard, text), "'%s' for %s", heard, reason);
}

struct refused {
	const char *text;
	unsigned status;
	const char *reason;
};

static const struct refused refused[] = {
	{"GET /ok/1 HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n", 421, "host_mismatch"},
	{"GET /ok/1 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n", 421, "host_mismatch"},
	{"GET /ok/1 HTTP/1.1\r\nHost: a.test:443\r\nConnection: close\r\n\r\n", 421, "host_mismatch"},
	{"GET /ok/1 HTTP/1.1\r\nHost: x@@\r\nConnection: close\r\n\r\n", 421, "host_mismatch"},
	{"GET /ok/1 HTTP/1.1\r\nHost: [@]\r\nConnection: close\r\n\r\n", 421, "host_mismatch"},
	{"GET http://@/ok/1 HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"GET http://b.test/ok/1 HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"OPTIONS * HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"CONNECT @ HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"TRACE /ok/1 HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 403, "method_not_granted"},
	{"get /ok/1 HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 403, "method_not_granted"},
	{"DELETE /ok/1 HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 403, "method_not_granted"},
	{"GET /no HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 403, "path_not_granted"},
	{"GET /ok/%2e%2e/no HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 400, "bad_request"},
	{"GET /ok/../no HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 403, "path_not_granted"},
	{"GET /../ok/1 HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"GET /ok/\\..\\no HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"GET /ok/%00 HTTP/1.1\r\nHost: @\r\n\r\n", 400, "bad_request"},
	{"POST /ok/1 HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", 400,
	 "smuggling"},
	{"POST /ok/1 HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400,
	 "smuggling"},
	{"POST /ok/1 HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400, "smuggling"},
	{"GET /ok/1 HTTP/1.1\nHost: @\n\n", 400, "smuggling"},
	{"GET /ok/1 HTTP/1.1\r\nHost: @\r\nX: a\r\n b\r\n\r\n", 400, "smuggling"},
	{"GET /ok/1 HTTP/1.1\r\nHost : @\r\n\r\n", 400, "smuggling"},
	{"GET /ok/1 HTTP/1.1\r\nHost: @\r\nHost: @\r\n\r\n", 400, "smuggling"},
	{"GET /ok/1 HTTP/1.1\r\n\r\n", 400, "bad_request"},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad_request"},
	{"\x16\x03\x01\x02", 400, "bad_request"},
	{"GET /ok/1 HTTP/1.1\r\nHost: @\r\nX-HTTP-Method-Override: DELETE\r\nConnection: close\r\n\r\n", 403,
	 "override_not_granted"},
	{"GET /ok/1 HTTP/1.1\r\nHost: @\r\nX-Original-URL: /no\r\nConnection: close\r\n\r\n", 403,
	 "override_not_granted"},
	{"GET /ok/1 HTTP/1.1\r\nHost: @\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n", 403,
	 "upgrade_not_granted"},
	{"GET /chat HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n", 403, "path_not_granted"},
};

START_TEST(what_must_not_go_out_does_not)
{
	const struct refused *one = &refused[_i];
	struct control_record record;

	begin(RULES);
	say(program, one->text);
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(one->status, one->reason);
	record = request(0);
	ck_assert_int_eq(record.allow, 0);
	ck_assert_str_eq(record.reason, one->reason);
	ck_assert_uint_eq(record.http_status, one->status);
	(void)close(program);
	program = -1;
	ck_assert_int_eq(hear_all(upstream), 0); /* orderly: nothing was begun */
	ck_assert_str_eq(heard, "");
	ck_assert_uint_eq(closed().http_status, one->status);
	end();
}
END_TEST

START_TEST(a_refusal_leaves_the_connection_where_it_can)
{
	begin(RULES);
	say(program, "GET /no?token=x HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(program, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n");
	while (!strstr(heard, "}\n")) {
		ck_assert(readable(program, ERIG_WAIT_MS));
		ck_assert_int_gt(read(program, heard, sizeof(heard)), 0);
	}
	ck_assert_ptr_null(strstr(heard, "token"));
	say(program, "GET /ok/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET /ok/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_str_eq(request(0).path, "/no?…");
	ck_assert_int_eq(request(1).allow, 1);
	/* One with a body that nobody reads: told, not reset. */
	say(program,
	    "POST /no HTTP/1.1\r\nHost: @\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\nthe first of it");
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(403, "path_not_granted");
	end();
}
END_TEST

START_TEST(head_gets_no_body_with_its_refusal)
{
	begin(RULES);
	say(program, "HEAD /no HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_str_eq(strstr(heard, "\r\n\r\n"), "\r\n\r\n");
	end();
}
END_TEST

START_TEST(a_head_has_a_limit)
{
	_cleanup_free_ char *much = malloc(40000);

	begin("");
	memset(much, 'x', 40000);
	say(program, "GET / HTTP/1.1\r\nHost: @\r\nX: ");
	(void)io_write_all(program, much, 40000);
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(431, "too_large");
	end();
}
END_TEST

START_TEST(a_body_that_turns_bad_ends_everything)
{
	begin("");
	say(program, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
	hear(upstream,
	     "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n");
	say(program, "5;x=\"\r\nworld\r\n0\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(400, "smuggling");
	ck_assert_int_eq(hear_all(upstream), -ECONNRESET);
	ck_assert_int_lt(erig_done(rig, 0).result, 0);
	ck_assert_int_eq(request(1).allow, 0);
	end();
}
END_TEST

START_TEST(budgets_are_kept)
{
	begin(", \"requests_per_minute\": 2");
	exchange();
	exchange();
	say(program, "GET / HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(429, "cap_rate");
	end();
}
END_TEST

START_TEST(a_connection_has_so_many_bytes)
{
	begin(", \"max_bytes_down\": \"1K\"");
	say(program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
	for (int i = 0; i < 100; i++)
		(void)send(upstream, heard, 1000, MSG_NOSIGNAL);
	ck_assert_int_eq(hear_all(program), -ECONNRESET);
	ck_assert_uint_le(strlen(heard), 1100);
	ck_assert_str_eq(closed().close_cause, "cap_bytes_down");
	ck_assert_str_eq(closed().reason, "cap_bytes");
	end();
}
END_TEST

/* ---- servers ---- */

START_TEST(a_server_that_ends_between_requests_is_seen_ending)
{
	begin("");
	exchange();
	(void)close(upstream);
	upstream = -1;
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_str_eq(closed().close_cause, "server");
	ck_assert_str_eq(closed().reason, "");
	end();
}
END_TEST

START_TEST(a_server_that_speaks_unasked_is_not_heard)
{
	begin("");
	exchange();
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof");
	ck_assert_int_eq(hear_all(program), -ECONNRESET);
	ck_assert_str_eq(closed().reason, "bad_response");
	end();
}
END_TEST

START_TEST(a_second_response_is_not_heard)
{
	begin("");
	say(program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_str_eq(heard, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	end();
}
END_TEST

START_TEST(a_response_that_is_none_becomes_502)
{
	static const char *const each[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
		"SSH-2.0-OpenSSH\r\n\r\n",
	};

	begin("");
	say(program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, each[_i]);
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(502, "bad_response");
	ck_assert_int_lt(erig_done(rig, 0).result, 0);
	end();
}
END_TEST

START_TEST(a_response_cut_off_is_no_whole_one)
{
	static const char *const each[] = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
					   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n"};

	begin("");
	say(program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, each[_i]);
	(void)close(upstream);
	upstream = -1;
	ck_assert_int_eq(hear_all(program), -ECONNRESET);
	ck_assert_str_eq(closed().reason, "truncated");
	ck_assert_int_lt(erig_done(rig, 0).result, 0);
	end();
}
END_TEST

START_TEST(an_answer_may_come_before_all_was_asked)
{
	begin("");
	say(program, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 100000000\r\n\r\nbegun");
	hear(upstream, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 100000000\r\nConnection: close\r\n\r\nbegun");
	say(upstream, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
	(void)shutdown(upstream, SHUT_WR);
	hear(program, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
	ck_assert_int_eq(hear_all(program), 0); /* the client hears all of it, though it has not said all of its own */
	ck_assert_int_eq(erig_done(rig, 0).result, 413);
	end();
}
END_TEST

START_TEST(a_client_that_goes_takes_its_request_along)
{
	begin("");
	say(program, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 10\r\n\r\nbegun");
	hear(upstream, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 10\r\nConnection: close\r\n\r\nbegun");
	(void)close(program);
	program = -1;
	ck_assert_int_eq(hear_all(upstream), -ECONNRESET); /* no orderly end of what is not whole */
	ck_assert_str_eq(closed().close_cause, "client");
	end();
}
END_TEST

/* ---- other protocols ---- */

START_TEST(a_websocket_becomes_a_relay)
{
	begin(RULES);
	say(program, "GET /chat HTTP/1.1\r\nHost: @\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
		     "Sec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\nahead");
	hear(upstream, "GET /chat HTTP/1.1\r\nHost: @\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n"
		       "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	silent(upstream);
	say(upstream, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		      "Sec-WebSocket-Accept: a\r\n\r\n\x81\x05hello");
	hear(program, "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: a\r\nUpgrade: websocket\r\n"
		      "Connection: Upgrade\r\n\r\n\x81\x05hello");
	hear(upstream, "ahead");
	put(program, "\x81\x85 any bytes");
	hear(upstream, "\x81\x85 any bytes");
	put(upstream, "\x88\x02");
	hear(program, "\x88\x02");
	ck_assert_int_eq(erig_done(rig, 0).result, 101);
	ck_assert_str_eq(request(0).proto, "websocket");
	end();
}
END_TEST

START_TEST(a_server_may_decline_a_websocket)
{
	begin(RULES);
	say(program, "GET /chat HTTP/1.1\r\nHost: @\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	hear(upstream, "GET /chat HTTP/1.1\r\nHost: @\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	say(upstream,
	    "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n");
	hear(program, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n");
	end();
}
END_TEST

START_TEST(other_upgrades_are_not_passed_on)
{
	begin("");
	say(program, "GET / HTTP/1.1\r\nHost: @\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
		     "h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n");
	hear(upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nUpgrade: h2c\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	exchange();
	end();
}
END_TEST

/* ---- anything at any time ---- */

static uint32_t random_state;

static size_t below(size_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % limit;
}

static const char *const client_says[] = {
	"GET /a HTTP/1.1\r\nHost: @\r\n\r\n",
	"HEAD /a HTTP/1.1\r\nHost: @\r\n\r\n",
	"POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhello",
	"POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
	"PUT /a HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"GET /a HTTP/1.1\r\nHost: @\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	"GET /a HTTP/1.0\r\nHost: @\r\n\r\n",
	"TRACE /a HTTP/1.1\r\nHost: @\r\n\r\n",
	"POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 100000\r\n\r\n",
	"\r\n",
};
static const char *const server_says[] = {
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\nhello",
	"HTTP/1.1 100 Continue\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
	"HTTP/1.0 304\r\n\r\n",
	"\r\n",
};

/* Some messages one after the other, now and then with a byte that does not belong there. */
static size_t compose(char *out, size_t cap, const char *const *each, size_t count)
{
	size_t len = 0;

	for (size_t left = below(5) + 1; left; left--) {
		const char *text = fill_in(each[below(count)]);

		if (len + strlen(text) >= cap)
			break;
		memcpy(out + len, text, strlen(text));
		len += strlen(text);
	}
	if (below(4) == 0)
		out[below(len)] = (char)below(256);
	return len;
}

static void take_what_is_there(int fd)
{
	char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void misbehave(void)
{
	static const struct linger reset = {.l_onoff = 1};
	char said[2][2048];
	size_t len[2], at[2] = {0, 0};
	int end[2] = {program, upstream};

	len[0] = compose(said[0], sizeof(said[0]), client_says, sizeof(client_says) / sizeof(client_says[0]));
	len[1] = compose(said[1], sizeof(said[1]), server_says, sizeof(server_says) / sizeof(server_says[0]));
	for (size_t steps = below(30) + 5; steps; steps--) {
		size_t side = below(2), some = below(300) + 1;

		if (some > len[side] - at[side])
			some = len[side] - at[side];
		(void)send(end[side], said[side] + at[side], some, MSG_NOSIGNAL);
		at[side] += some;
		if (below(3) == 0)
			take_what_is_there(end[below(2)]);
		if (below(20) == 0)
			(void)shutdown(end[side], SHUT_WR);
		if (below(4) == 0)
			(void)usleep((useconds_t)below(2000));
	}
	for (size_t side = 0; side < 2; side++)
		if (below(3) == 0)
			(void)setsockopt(end[side], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	for (size_t side = 0, first = below(2); side < 2; side++)
		(void)close(end[side ^ first]);
}

/* Nothing is claimed of what comes back: that egress lives, and says of each connection once how it ended. */
START_TEST(nothing_that_is_said_brings_it_down)
{
	begin("");
	random_state = (uint32_t)_i;
	for (int i = 0; i < 60; i++) {
		misbehave();
		program = erig_connect(rig, "a.test", port);
		ck_assert_int_ge(program, 0);
		upstream = erig_accept(server);
	}
	/* What was sent ahead of an end has its connection, too. */
	say(program, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	while (!readable(upstream, 500) || recv(upstream, heard, 10, MSG_PEEK) != 10 ||
	       memcmp(heard, "GET /again", 10) != 0) {
		(void)close(upstream);
		upstream = erig_accept(server);
	}
	end();
}
END_TEST

/* ---- bodies that a server may take for requests ---- */

START_TEST(methods_without_a_body_get_none)
{
	static const char *const methods[] = {"GET", "HEAD", "DELETE", "OPTIONS", "get"};
	static const char *const bodies[] = {"Content-Length: 5\r\n\r\nhello",
					     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"};
	char text[256];

	for (size_t i = 0; i < 2; i++) {
		begin("");
		(void)snprintf(text, sizeof(text), "%s /a HTTP/1.1\r\nHost: @\r\n%s", methods[_i], bodies[i]);
		say(program, text);
		ck_assert_int_eq(hear_all(program), 0);
		ck_assert_ptr_nonnull(strstr(heard, " 403 "));
		ck_assert_int_eq(request(0).http_status, 403);
		ck_assert_str_eq(request(0).reason, "body_not_granted");
		ck_assert_int_eq(hear_all(upstream), 0);
		ck_assert_str_eq(heard, "");
		end();
	}
	begin(", \"any_body\": true");
	(void)snprintf(text, sizeof(text), "%s /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi", methods[_i]);
	say(program, text);
	(void)snprintf(text, sizeof(text),
		       "%s /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", methods[_i]);
	hear(upstream, text);
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	exchange_anew();
	end();
}
END_TEST

/* The server answers the body as well: that answer is nobody's. */
START_TEST(an_answer_to_a_body_is_not_the_next_requests)
{
	begin("");
	say(program,
	    "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhiGET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	hear(upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	(void)send(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof", 43, MSG_NOSIGNAL);
	(void)close(upstream);
	upstream = erig_accept(server);
	hear(upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	end();
}
END_TEST

START_TEST(an_endpoint_that_is_gone_becomes_502)
{
	begin("");
	say(program, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi");
	hear(upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	/* A process that was forked meanwhile may still have a copy: it is to listen no more at once. */
	(void)shutdown(server, SHUT_RDWR);
	(void)close(server);
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	say(program, "GET /b HTTP/1.1\r\nHost: @\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_ptr_nonnull(strstr(heard, "HTTP/1.1 502 "));
	ck_assert_int_eq(request(1).http_status, 502);
	ck_assert_str_eq(request(1).reason, "connect_failed");
	server = -1;
	end();
}
END_TEST

/* ---- names of fields ---- */

static const char *const other_names[] = {"X_Original_URL: /no",
					  "X.Original.URL: /no",
					  "x_http-method~override: DELETE",
					  "Script_Name: /no",
					  "X-Forwarded_Host: b.test",
					  "forwarded: host=b.test",
					  "x-amz-copy-source: /no",
					  "X_Ms_Copy_Source: https://b.test/no",
					  "X-Goog-Copy-Source: no/no",
					  "x-ms-rename-source: /no",
					  "X-Copy-From: /no"};

START_TEST(an_override_by_another_spelling_is_one)
{
	char text[256];

	begin(RULES);
	(void)snprintf(text, sizeof(text), "GET /ok/1 HTTP/1.1\r\nHost: @\r\n%s\r\n\r\n", other_names[_i]);
	say(program, text);
	(void)shutdown(program, SHUT_WR);
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(403, "override_not_granted");
	ck_assert_str_eq(request(0).reason, "override_not_granted");
	end();
}
END_TEST

START_TEST(a_length_by_another_spelling_is_refused)
{
	static const char *const names[] = {"Content_Length: 5", "content.length: 5", "Transfer_Encoding: chunked",
					    "Transfer+Encoding: x"};
	char text[256];

	begin(RULES);
	(void)snprintf(text, sizeof(text), "POST /ok/1 HTTP/1.1\r\nHost: @\r\n%s\r\n\r\n", names[_i]);
	say(program, text);
	(void)shutdown(program, SHUT_WR);
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(400, "smuggling");
	end();
}
END_TEST

/* What curl, git, npm, pip, aws, gRPC, browsers and SDKs send is no other spelling of anything. */
START_TEST(honest_fields_pass)
{
	static const char fields[] =
		"User-Agent: git/2.47\r\nAccept: */*\r\nGit-Protocol: version=2\r\nX_Forwarded_For: 1.2.3.4\r\n"
		"X-Forwarded-Proto: https\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nnpm-session: "
		"1\r\nnpm-command: ci\r\n"
		"npm-scope: x\r\nx-amz-date: 1\r\nx-amz-content-sha256: 0\r\namz-sdk-request: "
		"attempt=1\r\nX-Amz-Target: a.b\r\n"
		"grpc-timeout: 1S\r\ngrpc-accept-encoding: gzip\r\nX-Stainless-Lang: python\r\nOpenAI-Organization: "
		"x\r\n"
		"X-GitHub-Api-Version: 1\r\nReferer: https://a.test/\r\nOrigin: https://a.test\r\nRange: bytes=0-1\r\n"
		"If-None-Match: x\r\nCookie: a=b\r\nAuthorization: Bearer x\r\nX-Requested-With: XMLHttpRequest\r\n"
		"traceparent: 00-0-0-0\r\nx-ms-version: 1\r\nX-Goog-Api-Client: x\r\nDepth: 1\r\nPriority: u=1\r\n\r\n";
	char text[2048];

	begin(RULES);
	(void)snprintf(text, sizeof(text), "GET /ok/1 HTTP/1.1\r\nHost: @\r\n%s", fields);
	say(program, text);
	hear(upstream, text);
	end();
}
END_TEST

/* ---- an upstream connection after another ---- */

/* What a connection has used up, the next one of the same client has not anew. */
START_TEST(budgets_outlive_an_upstream_connection)
{
	begin(", \"max_requests\": 2, \"max_connections\": 1");
	for (int i = 0; i < 2; i++) {
		say(program, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi");
		if (i)
			upstream = erig_accept(server);
		hear(upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
		say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		ck_assert_int_eq(hear_all(upstream), 0);
		(void)close(upstream);
	}
	say(program, "GET /b HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	upstream = erig_accept(server);
	ck_assert_int_eq(hear_all(program), 0);
	hear_status(429, "cap_requests");
	ck_assert_int_eq(hear_all(upstream), 0);
	ck_assert_str_eq(heard, "");
	end();
}
END_TEST

/* A server that answers as soon as it is connected to again: that is no answer. */
START_TEST(an_answer_before_the_request_is_none)
{
	static const char early[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
				    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof";
	begin("");
	say(program, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi");
	hear(upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_int_eq(hear_all(upstream), 0);
	(void)close(upstream);
	say(program, "GET /1 HTTP/1.1\r\nHost: @\r\n\r\nGET /2 HTTP/1.1\r\nHost: @\r\n\r\n");
	upstream = erig_accept(server);
	(void)send(upstream, early, sizeof(early) - 1, MSG_NOSIGNAL);
	(void)hear_all(program);
	ck_assert_ptr_null(strstr(heard, "spoof"));
	end();
}
END_TEST

/* ---- requests that are asked about ---- */

#define ASKING ", \"http\": [\"GET /again\"], \"on_deny\": \"ask\""

START_TEST(a_request_waits_for_its_answer)
{
	struct control_question question;

	begin(ASKING);
	say(program, "POST /a/../b?q=1 HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi"
		     "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	question = erig_question(rig, 0);
	ck_assert_uint_eq(question.conn_id, erig_last(rig));
	ck_assert_uint_eq(question.port, port);
	ck_assert_str_eq(question.host, "a.test");
	ck_assert_str_eq(question.method, "POST");
	ck_assert_str_eq(question.path, "/b");
	ck_assert_str_eq(question.query, "?q=1");
	ck_assert_int_eq(question.body_bytes, 2);
	silent(upstream);
	erig_answer_question(rig, question.id, 0);
	hear(upstream, "POST /b?q=1 HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_int_eq(request(0).allow, 1);
	ck_assert_uint_eq(request(0).question_id, question.id);
	(void)close(upstream);
	upstream = erig_accept(server);
	hear(upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n"); /* the pipelined one, which was not asked about */
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_uint_eq(request(1).question_id, 0);
	say(program, "DELETE /c HTTP/1.1\r\nHost: @\r\n\r\n");
	question = erig_question(rig, 1);
	erig_answer_question(rig, question.id, -EACCES);
	hear(program, "HTTP/1.1 403 Forbidden\r\n");
	ck_assert_int_eq(request(2).allow, 0);
	ck_assert_str_eq(request(2).reason, "path_not_granted");
	ck_assert_uint_eq(request(2).question_id, question.id);
	end();
}
END_TEST

/* Of the request: asked about is only what an answer would permit. */
START_TEST(not_every_refusal_is_asked_about)
{
	static char query[3000];
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{"GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n", "host_mismatch"},
		{"GET /x HTTP/1.1\r\nHost: @\r\nX-Original-URL: /y\r\n\r\n", "path_not_granted"},
		{"GET /x HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi", "path_not_granted"},
		{"TRACE /x HTTP/1.1\r\nHost: @\r\n\r\n", "method_not_granted"},
		{query, "path_not_granted"},
	};

	(void)snprintf(query, sizeof(query), "GET /x?%02500d HTTP/1.1\r\nHost: @\r\n\r\n", 1);
	begin(ASKING);
	say(program, cases[_i].text);
	hear(program, "HTTP/1.1 4");
	ck_assert_str_eq(request(0).reason, cases[_i].reason);
	ck_assert_uint_eq(request(0).question_id, 0);
	end();
}
END_TEST

/* The server may close, or speak unasked, while a request waits. */
START_TEST(a_server_may_end_while_a_request_waits)
{
	begin(ASKING);
	say(program, "PUT /x HTTP/1.1\r\nHost: @\r\n\r\n");
	(void)erig_question(rig, 0);
	if (_i == 0)
		say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof");
	else
		(void)close(upstream);
	erig_answer_question(rig, erig_question(rig, 0).id, 0);
	if (_i == 0) {
		hear(program, "HTTP/1.1 502 Bad Gateway\r\n");
	} else {
		upstream = erig_accept(server);
		hear(upstream, "PUT /x HTTP/1.1\r\nHost: @\r\n\r\n");
		say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	}
	ck_assert_uint_eq(request(0).question_id, erig_question(rig, 0).id);
	end();
}
END_TEST

/* A client that closes while its request waits, also behind bytes that were not read. */
START_TEST(a_client_that_goes_withdraws_its_question)
{
	static char body[100000];

	begin(ASKING);
	memset(body, 'x', sizeof(body) - 1);
	say(program, "PUT /x HTTP/1.1\r\nHost: @\r\nContent-Length: 400000\r\n\r\n");
	if (_i > 0)
		put(program, body);
	(void)erig_question(rig, 0);
	if (_i == 2)
		(void)shutdown(program, SHUT_WR);
	else
		(void)close(program);
	ck_assert_str_eq(closed().close_cause, "client");
	ck_assert_int_eq(hear_all(upstream), 0);
	ck_assert_str_eq(heard, "");
	ck_assert_int_eq(request(0).allow, 0);
	ck_assert_str_eq(request(0).reason, "cancelled");
	ck_assert_uint_eq(request(0).question_id, erig_question(rig, 0).id);
	erig_answer_question(rig, erig_question(rig, 0).id, 0); /* too late */
	if (_i != 2)
		program = -1;
	end();
}
END_TEST

START_TEST(a_websocket_is_asked_about)
{
	struct control_question question;

	begin(ASKING);
	say(program, "GET /again HTTP/1.1\r\nHost: @\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	question = erig_question(rig, 0);
	ck_assert_uint_eq(question.asks_for_websocket, 1);
	erig_answer_question(rig, question.id, 0);
	hear(upstream, "GET /again HTTP/1.1\r\nHost: @\r\n");
	ck_assert_str_eq(request(0).proto, "websocket");
	end();
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("egress-http1");
	TCase *tcase = tcase_create("mode");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, requests_are_recorded_and_forwarded_anew);
	tcase_add_test(tcase, bodies_pass_both_ways_however_they_come);
	tcase_add_test(tcase, a_client_may_wait_for_continue);
	tcase_add_test(tcase, responses_without_a_body_leave_no_doubt);
	tcase_add_test(tcase, an_old_client_gets_what_it_knows);
	tcase_add_test(tcase, a_response_may_end_with_its_connection);
	tcase_add_test(tcase, requests_sent_ahead_wait_for_their_turn);
	tcase_add_loop_test(tcase, big_bodies_arrive_whole, 0, 2);
	tcase_add_loop_test(tcase, what_must_not_go_out_does_not, 0, (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(tcase, a_refusal_leaves_the_connection_where_it_can);
	tcase_add_test(tcase, head_gets_no_body_with_its_refusal);
	tcase_add_test(tcase, a_head_has_a_limit);
	tcase_add_test(tcase, a_body_that_turns_bad_ends_everything);
	tcase_add_test(tcase, budgets_are_kept);
	tcase_add_test(tcase, a_connection_has_so_many_bytes);
	tcase_add_test(tcase, a_server_that_ends_between_requests_is_seen_ending);
	tcase_add_test(tcase, a_server_that_speaks_unasked_is_not_heard);
	tcase_add_test(tcase, a_second_response_is_not_heard);
	tcase_add_loop_test(tcase, a_response_that_is_none_becomes_502, 0, 5);
	tcase_add_loop_test(tcase, a_response_cut_off_is_no_whole_one, 0, 2);
	tcase_add_test(tcase, an_answer_may_come_before_all_was_asked);
	tcase_add_test(tcase, a_client_that_goes_takes_its_request_along);
	tcase_add_test(tcase, a_websocket_becomes_a_relay);
	tcase_add_test(tcase, a_server_may_decline_a_websocket);
	tcase_add_test(tcase, other_upgrades_are_not_passed_on);
	tcase_add_loop_test(tcase, methods_without_a_body_get_none, 0, 5);
	tcase_add_test(tcase, an_answer_to_a_body_is_not_the_next_requests);
	tcase_add_test(tcase, an_endpoint_that_is_gone_becomes_502);
	tcase_add_loop_test(tcase, an_override_by_another_spelling_is_one, 0,
			    (int)(sizeof(other_names) / sizeof(other_names[0])));
	tcase_add_loop_test(tcase, a_length_by_another_spelling_is_refused, 0, 4);
	tcase_add_test(tcase, honest_fields_pass);
	tcase_add_test(tcase, budgets_outlive_an_upstream_connection);
	tcase_add_test(tcase, an_answer_before_the_request_is_none);
	tcase_add_test(tcase, a_request_waits_for_its_answer);
	tcase_add_loop_test(tcase, not_every_refusal_is_asked_about, 0, 5);
	tcase_add_loop_test(tcase, a_server_may_end_while_a_request_waits, 0, 2);
	tcase_add_loop_test(tcase, a_client_that_goes_withdraws_its_question, 0, 3);
	tcase_add_test(tcase, a_websocket_is_asked_about);
	tcase_add_loop_test(tcase, nothing_that_is_said_brings_it_down, 0, 10);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return unit_run(suite());
}
