/* Answers of servers in sandboxes: what is passed on, what is refused, in pieces of every length. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agents/e2b/port-answer.h"
#include "tests/unit/unit.h"

static struct {
	char text[4096]; /* "NAME=VALUE;" of each header, "STATUS,LENGTH|", and the body */
	size_t len;
} seen;

static void note(const char *text, size_t len)
{
	ck_assert_uint_lt(seen.len + len, sizeof(seen.text));
	memcpy(seen.text + seen.len, text, len);
	seen.len += len;
	seen.text[seen.len] = '\0';
}

static void on_header(void *data, const char *name, const char *value)
{
	char text[512];

	(void)data;
	note(text, (size_t)snprintf(text, sizeof(text), "%.200s=%.200s;", name, value));
}

static void on_headers_end(void *data, unsigned status, int64_t body_bytes)
{
	char text[64];

	(void)data;
	note(text, (size_t)snprintf(text, sizeof(text), "%u,%lld|", status, (long long)body_bytes));
}

static void on_body(void *data, const char *bytes, size_t len)
{
	(void)data;
	note(bytes, len);
}

static const char *upgrade; /* that was asked for */

static int feed(const char *bytes, size_t piece, bool request_is_head)
{
	static const struct port_answer_handler handler = {
		.on_header = on_header, .on_headers_end = on_headers_end, .on_body = on_body};
	struct port_answer_parser parser = {0};
	size_t len = strlen(bytes);
	int r = 0;

	seen.len = 0;
	seen.text[0] = '\0';
	port_answer_init(&parser, &handler, request_is_head, upgrade);
	for (size_t at = 0; r == 0 && at < len; at += piece)
		r = port_answer_feed(&parser, bytes + at, len - at < piece ? len - at : piece);
	return r < 0 ? r : port_answer_on_connection_end(&parser);
}

static void expect(const char *bytes, bool request_is_head, const char *expected)
{
	for (size_t piece = 1; piece <= strlen(bytes); piece++) {
		ck_assert_msg(feed(bytes, piece, request_is_head) == 0, "refused in pieces of %zu: %s", piece, bytes);
		ck_assert_str_eq(seen.text, expected);
	}
}

START_TEST(answers_are_passed_on)
{
	expect("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A:  b \t\r\n\r\nabc", false, "X-A=b;200,3|abc");
	expect("HTTP/1.0 404 \nServer: x\n\nto the end", false, "Server=x;404,-1|to the end");
	expect("HTTP/1.1 200\r\ntransfer-encoding: Chunked\r\nConnection: close\r\nContent-Length: 9\r\n\r\n"
	       "3;x=y\r\nabc\r\n00A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nmore",
	       false, "200,-1|abc0123456789");
	expect("HTTP/1.1 103 Early\r\nLink: x\r\nContent-Length: 7\r\n\r\nHTTP/1.1 204 No\r\nA: b\r\n\r\nbody", false,
	       "A=b;204,0|");
	expect("HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", false, "304,0|");
	expect("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, "200,5|");
	expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", false, "200,0|");
	expect("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nab", false, "200,1|a");
}
END_TEST

START_TEST(others_are_refused)
{
	static const char *const bad[] = {
		"HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 600 OK\r\n\r\n",
		"HTTP/1.1 101 Switching\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA : c\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: b\r\n continued\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
		"HTTP/1.1 200 OK\r\nnone\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
		"HTTP/1.1 200 OK\r\n",
		"",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (size_t piece = 1; piece <= strlen(bad[i]) + 1; piece++)
			ck_assert_msg(feed(bad[i], piece, false) == -EBADMSG, "taken in pieces of %zu: %s", piece,
				      bad[i]);
}
END_TEST

START_TEST(upgrades_are_those_that_were_asked_for)
{
	static const char *const bad[] = {
		"HTTP/1.1 101 S\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: websocket, h2c\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 101 S\r\nUpgrade: websocket\r\n",
		"bytes HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n",
	};

	upgrade = "WebSocket";
	expect("HTTP/1.1 101 S\r\nConnection: Upgrade\r\nupgrade: websocket\r\nSec-A: b\r\n\r\n"
	       "HTTP/1.1 200\r\n\r\n\1",
	       false,
	       "Sec-A=b;101,-1|HTTP/1.1 200\r\n\r\n\1");
	expect("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n", false, "101,-1|");
	expect("HTTP/1.1 103 E\r\nUpgrade: h2c\r\n\r\nHTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\nx", false,
	       "101,-1|x");
	expect("HTTP/1.1 426 No\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nxy", false, "426,1|x");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (size_t piece = 1; piece <= strlen(bad[i]); piece++)
			ck_assert_msg(feed(bad[i], piece, false) == -EBADMSG, "taken in pieces of %zu: %s", piece,
				      bad[i]);
	upgrade = NULL;
	ck_assert_int_eq(feed("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n", 64, false), -EBADMSG);
}
END_TEST

START_TEST(lengths_are_bounded)
{
	static const struct port_answer_handler handler = {
		.on_header = on_header, .on_headers_end = on_headers_end, .on_body = on_body};
	static const char status[] = "HTTP/1.1 100 Continue\r\n\r\n";
	static char line[PORT_ANSWER_LINE_BYTES_MAX + 1];
	struct port_answer_parser parser = {0};
	unsigned count = 0;

	memset(line, 'x', sizeof(line));
	port_answer_init(&parser, &handler, false, NULL);
	ck_assert_int_eq(port_answer_feed(&parser, line, sizeof(line)), -EBADMSG);
	port_answer_init(&parser, &handler, false, NULL);
	while (port_answer_feed(&parser, status, strlen(status)) == 0)
		ck_assert_uint_lt(count++, PORT_ANSWER_HEADER_LINES_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("port_answer");
	TCase *all = tcase_create("all");

	tcase_add_test(all, answers_are_passed_on);
	tcase_add_test(all, others_are_refused);
	tcase_add_test(all, upgrades_are_those_that_were_asked_for);
	tcase_add_test(all, lengths_are_bounded);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
