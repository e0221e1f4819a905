/* mode_http1: requests and responses, with their bodies, go both ways. */
#include <sys/wait.h>

#include "base/io.h"
#include "tests/unit/egress/http1-rig.h"

START_TEST(requests_are_recorded_and_forwarded_anew)
{
	struct control_record record;
	struct control_request_done done;

	http1_begin("");
	http1_say(rig.program, "GET /a/%7Eb/../c?secret=1 HTTP/1.1\r\nhost:   A.Test:");
	http1_silent(rig.upstream);
	(void)snprintf(wire_heard, sizeof(wire_heard),
		       "%u\r\nX-A:  one\ttwo  \r\nConnection: keep-alive, x-b\r\nX-B: gone\r\nKeep-Alive: 5\r\n\r\n",
		       rig.port);
	wire_say(rig.program, wire_heard);
	http1_hear(rig.upstream, "GET /a/c?secret=1 HTTP/1.1\r\nHost: @\r\nX-A: one\ttwo\r\n\r\n");
	record = http1_request(0);
	ck_assert_int_eq(record.allow, 1);
	ck_assert_str_eq(record.method, "GET");
	ck_assert_str_eq(record.path, "/a/c?…");
	ck_assert_str_eq(record.host, "a.test");
	ck_assert_str_eq(record.reason, "granted");
	http1_say(rig.upstream,
		  "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nAlt-Svc: h3=\":443\"\r\nServer: x\r\n\r\nhello");
	http1_hear(rig.program, "HTTP/1.1 200 Fine\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello");
	done = erig_done(rig.egress, 0);
	ck_assert_uint_eq(done.id, record.id);
	ck_assert_int_eq(done.result, 200);
	http1_exchange();
	(void)close(rig.program);
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
	ck_assert_str_eq(http1_closed().close_cause, "client");
	http1_end();
}
END_TEST

/* ---- bodies ---- */

START_TEST(bodies_pass_both_ways_however_they_come)
{
	static const char request_text[] = "POST /p HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n"
					   "5\r\nhello\r\n01\r\n!\r\n0\r\nX-Trailer: y\r\n\r\n";
	const char *text;

	http1_begin("");
	text = http1_fill_in(request_text);
	for (const char *at = text; *at; at++) {
		ck_assert_int_eq(io_write_all(rig.program, at, 1), 0);
		(void)usleep(500); /* so that it does come in pieces */
	}
	/* Chunks of its own, whose sizes depend on how it read: their content is what counts. */
	http1_hear(rig.upstream,
		   "POST /p HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
	for (const char *left = "hello!"; *left;) {
		char size[3], content[3];

		http1_hear_bytes(rig.upstream, size, sizeof(size)); /* below 10: one digit */
		for (int i = 0; i < size[0] - '0'; i++, left++) {
			http1_hear_bytes(rig.upstream, content, 1);
			ck_assert_int_eq(content[0], *left);
		}
		http1_hear(rig.upstream, "\r\n");
	}
	http1_hear(rig.upstream, "0\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nY: z\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
	http1_exchange_anew();
	ck_assert_int_eq(erig_done(rig.egress, 0).result, 200);
	http1_end();
}
END_TEST

START_TEST(a_client_may_wait_for_continue)
{
	http1_begin("");
	http1_say(rig.program, "PUT /p HTTP/1.1\r\nHost: @\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
	http1_hear(
		rig.upstream,
		"PUT /p HTTP/1.1\r\nHost: @\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
	http1_say(rig.program, "body");
	http1_hear(rig.upstream, "body");
	http1_say(rig.upstream, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	http1_exchange_anew();
	http1_end();
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

	http1_begin("");
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		char text[128];

		(void)snprintf(text, sizeof(text), "%s / HTTP/1.1\r\nHost: @\r\n\r\n", each[i][0]);
		http1_say(rig.program, text);
		http1_hear(rig.upstream, text);
		http1_say(rig.upstream, each[i][1]);
		http1_hear(rig.program, each[i][2] ? each[i][2] : each[i][1]);
	}
	http1_exchange();
	http1_end();
}
END_TEST

START_TEST(an_old_client_gets_what_it_knows)
{
	http1_begin("");
	http1_say(rig.program, "GET / HTTP/1.0\r\nHost: @\r\nConnection: keep-alive\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
	http1_say(rig.program, "GET / HTTP/1.0\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_str_eq(wire_heard, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
	http1_end();
}
END_TEST

START_TEST(a_response_may_end_with_its_connection)
{
	http1_begin("");
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.0 200 OK\r\n\r\nall of");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of");
	http1_say(rig.upstream, " it");
	(void)close(rig.upstream);
	rig.upstream = -1;
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_str_eq(wire_heard, " it");
	(void)close(rig.program);
	rig.program = -1;
	ck_assert_int_eq(erig_done(rig.egress, 0).result, 200);
	ck_assert_str_eq(http1_closed().close_cause, "server");
	http1_end();
}
END_TEST

START_TEST(requests_sent_ahead_wait_for_their_turn)
{
	http1_begin("");
	http1_say(rig.program,
		  "GET /1 HTTP/1.1\r\nHost: @\r\n\r\nPOST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 3\r\n\r\nabcGET "
		  "/3 HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_silent(rig.upstream);
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
	http1_hear(rig.upstream, "POST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
	http1_silent(rig.upstream);
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
	(void)close(rig.upstream);
	rig.upstream = erig_accept(rig.server);
	http1_hear(rig.upstream, "GET /3 HTTP/1.1\r\nHost: @\r\n\r\n");
	(void)shutdown(rig.program, SHUT_WR); /* and still hears the answer */
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_str_eq(wire_heard,
			 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2"
			 "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3");
	ck_assert_int_eq(erig_done(rig.egress, 2).result, 200);
	http1_end();
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
	wire_say(fd, head);
	for (size_t left = BIG; left; left -= sizeof(block)) {
		(void)snprintf(frame, sizeof(frame), "%zx\r\n", sizeof(block));
		if (chunked)
			wire_say(fd, frame);
		ck_assert_int_eq(io_write_all(fd, block, sizeof(block)), 0);
		if (chunked)
			wire_say(fd, "\r\n");
	}
	if (chunked)
		wire_say(fd, "0\r\n\r\n");
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

	http1_begin("");
	(void)snprintf(head, sizeof(head), "POST /big HTTP/1.1\r\nHost: a.test:%u\r\n%s\r\n\r\n", rig.port, framing);
	(void)snprintf(anew, sizeof(anew), "POST /big HTTP/1.1\r\nHost: a.test:%u\r\n%s\r\nConnection: close\r\n\r\n",
		       rig.port, framing);
	(void)snprintf(wrong, sizeof(wrong), "HTTP/1.1 200 OK\r\n%s\r\n\r\n", framing);
	writer = fork();
	if (writer == 0) {
		pour(rig.program, head, _i);
		_exit(0);
	}
	http1_hear(rig.upstream, anew);
	echo = fork();
	if (echo == 0) {
		pour(rig.upstream, wrong, _i); /* an answer that does not wait for the request's end */
		_exit(0);
	}
	http1_hear(rig.program, wrong);
	ck_assert(drain(rig.upstream, _i));
	ck_assert(drain(rig.program, _i));
	ck_assert_int_eq(waitpid(writer, &status, 0), writer);
	ck_assert_int_eq(waitpid(echo, &status, 0), echo);
	http1_exchange_anew();
	ck_assert_uint_ge(erig_done(rig.egress, 0).bytes_up, BIG);
	ck_assert_uint_ge(erig_done(rig.egress, 0).bytes_down, BIG);
	http1_end();
}
END_TEST

int main(void)
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
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
