/* The parser of HTTP/1 messages: every form of a message that two readers could take differently, cut at every byte. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "egress/conn/socks.h"
#include "egress/http/http1.h"
#include "tests/unit/unit.h"

/* A copy that ends where memory does. */
static char *at_edge(const char *text, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (len / page + 1) * page;
	static char *map = MAP_FAILED;
	static size_t mapped;

	if (map != MAP_FAILED)
		ck_assert_int_eq(munmap(map, mapped), 0);
	mapped = size + page;
	map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map + size, page, PROT_NONE), 0);
	return memcpy(map + size - len, text, len);
}

static ssize_t scan_split(const char *data, size_t len, size_t cut)
{
	struct http1_head_scan scan = {0};
	ssize_t first = http1_find_head_end(&scan, data, cut);

	return first ? first : http1_find_head_end(&scan, data, len);
}

/* A request's head as a whole: its error, or 0. The same however the bytes come. */
static int request_n(const char *text, size_t len, struct http1_head *ret_head)
{
	const char *data = at_edge(text, len);
	struct http1_head_scan scan = {0};
	ssize_t whole = http1_find_head_end(&scan, data, len);

	for (size_t cut = 0; cut <= len; cut++)
		ck_assert_int_eq(scan_split(data, len, cut), whole);
	if (whole <= 0)
		return whole ? (int)whole : -EAGAIN;
	return http1_parse_request(data, (size_t)whole, ret_head);
}

static int request(const char *text, struct http1_head *ret_head)
{
	return request_n(text, strlen(text), ret_head);
}

struct refused {
	const char *text;
	int error;
};

#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

static const struct refused refused[] = {
	/* request lines */
	{"GET /\r\nHost: a\r\n\r\n", -EPROTO}, /* HTTP/0.9 */
	{"GET /\r\n\r\n", -EPROTO},
	{"\r\n" GET "Host: a\r\n\r\n", -EPROTO},
	{"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", -EPROTO},
	{"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{" GET / HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / a HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / HTTP/1.2\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / HTTP/2.0\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / HTTP/1.10\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / http/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET / HTTP/1.1x\r\nHost: a\r\n\r\n", -EPROTO},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -EPROTO}, /* h2c with prior knowledge */
	{"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"G\x80T / HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"AVERYLONGMETHODTHATNOBODYHAS / HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", -EPROTO},
	{"\x16\x03\x01\x02\x00\x01", -EPROTO}, /* TLS */
	/* line ends */
	{"GET / HTTP/1.1\nHost: a\n\n", -EBADMSG},
	{GET "Host: a\n\r\n", -EBADMSG},
	{GET "Host: a\r\n\n", -EBADMSG},
	{GET "Host: a\r\r\n\r\n", -EBADMSG},
	{GET "Host: a\rX: y\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\n\rGET / HTTP/1.1\r\n", -EBADMSG},
	{"GET / HTTP/1.1\rHost: a\r\n\r\n", -EBADMSG},
	/* fields */
	{GET "Host: a\r\n X: folded\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\n\tX: folded\r\n\r\n", -EBADMSG},
	{GET " Host: a\r\n\r\n", -EBADMSG},
	{GET "Host : a\r\n\r\n", -EBADMSG},
	{GET "Host\t: a\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nContent-Length : 5\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\n: none\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nno colon\r\n\r\n", -EPROTO},
	{GET "Host: a\r\nX(: y\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nX\xc3\xa4: y\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nX: \x01\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nX: \x7f\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nX: \x0b chunked\r\n\r\n", -EBADMSG},
	/* host */
	{GET "\r\n", -EPROTO},
	{GET "Host:\r\n\r\n", -EPROTO},
	{GET "Host: \t\r\n\r\n", -EPROTO},
	{GET "Host: a\r\nHost: a\r\n\r\n", -EBADMSG},
	{GET "Host: a\r\nhOST: b\r\n\r\n", -EBADMSG},
	{"GET / HTTP/1.0\r\n\r\n", -EPROTO},
	/* lengths */
	{POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 5, 5\r\n\r\n", -EBADMSG},
	{POST "Content-Length: +5\r\n\r\n", -EBADMSG},
	{POST "Content-Length: -5\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 0x5\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 5 5\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 5.0\r\n\r\n", -EBADMSG},
	{POST "Content-Length: \"5\"\r\n\r\n", -EBADMSG},
	{POST "Content-Length:\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 18446744073709551616\r\n\r\n", -EBADMSG},
	{POST "Content-Length: 9999999999999999999\r\n\r\n", -EBADMSG},
	{POST "Content_Length: 5\r\n\r\n", -EBADMSG},
	/* codings */
	{POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG}, /* CL.TE */
	{POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", -EBADMSG}, /* TE.CL */
	{POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG}, /* TE.TE */
	{POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: gzip, chunked\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: chunked, chunked\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: chunked, identity\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: identity\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: xchunked\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: \"chunked\"\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: chunked;q=1\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding:\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding : chunked\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding\r\n : chunked\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding:\r\n chunked\r\n\r\n", -EBADMSG},
	{POST "Transfer-Encoding: \x0b" "chunked\r\n\r\n", -EBADMSG},
	{POST "X: y\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG},
	{POST "Transfer_Encoding: chunked\r\n\r\n", -EBADMSG},
	{"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", -EBADMSG},
	/* others */
	{POST "Expect: 200-ok\r\n\r\n", -EPROTO},
	/* not whole */
	{"GET / HT", -EAGAIN},
	{GET "Host: a\r\n", -EAGAIN},
	{GET "Host: a\r\n\r", -EAGAIN},
	{"", -EAGAIN},
};

START_TEST(ambiguous_requests_are_refused)
{
	const struct refused *one = &refused[_i];
	struct http1_head head;
	int error = request(one->text, &head);

	ck_assert_msg(error == one->error, "%d instead of %d for:\n%s", error, one->error, one->text);
}
END_TEST

START_TEST(a_nul_anywhere_is_refused)
{
	static const char whole[] = "POST /a?b HTTP/1.1\r\nHost: a\r\nX-Y: z\r\nContent-Length: 12\r\n\r\n";
	struct http1_head head;

	ck_assert_int_eq(request(whole, &head), 0);
	for (size_t at = 0; at < sizeof(whole) - 1; at++) {
		char broken[sizeof(whole)];
		int error;

		memcpy(broken, whole, sizeof(whole));
		broken[at] = '\0';
		error = request_n(broken, sizeof(whole) - 1, &head);
		ck_assert_msg(error == -EBADMSG || error == -EPROTO, "%d for NUL at %zu", error, at);
	}
}
END_TEST

static bool is(const char *text, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(text, want, len) == 0;
}

START_TEST(sound_requests_are_understood)
{
	struct http1_head head;

	ck_assert_int_eq(
		request("GET /a?b=c HTTP/1.1\r\nHOST:\ta:1 \r\nx-Y:\r\nZ: \x80\xff one\ttwo  \r\n\r\nmore", &head), 0);
	ck_assert(is(head.method, head.method_len, "GET"));
	ck_assert(is(head.target, head.target_len, "/a?b=c"));
	ck_assert(is(head.host, head.host_len, "a:1"));
	ck_assert_uint_eq(head.minor_version, 1);
	ck_assert_uint_eq(head.field_count, 3);
	ck_assert(is(head.field[1].name, head.field[1].name_len, "x-Y"));
	ck_assert_uint_eq(head.field[1].value_len, 0);
	ck_assert(is(head.field[2].value, head.field[2].value_len, "\x80\xff one\ttwo"));
	ck_assert_int_eq(head.framing, HTTP1_NO_BODY);
	ck_assert(head.wants_keep_alive && !head.has_content_length && !head.asks_for_websocket &&
		  !head.has_expect_field);

	ck_assert_int_eq(request(POST "Content-Length: 0012\r\nExpect: 100-Continue\r\nConnection: x , CLOSE\r\n\r\n",
				 &head),
			 0);
	ck_assert_int_eq(head.framing, HTTP1_CONTENT_LENGTH);
	ck_assert_uint_eq(head.content_length, 12);
	ck_assert(head.has_expect_field && !head.wants_keep_alive);

	ck_assert_int_eq(request(POST "Content-Length: 0\r\n\r\n", &head), 0);
	ck_assert(head.framing == HTTP1_NO_BODY && head.has_content_length);
	ck_assert_int_eq(request(POST "transfer-encoding:CHUNKED\r\n\r\n", &head), 0);
	ck_assert_int_eq(head.framing, HTTP1_CHUNKED);

	ck_assert_int_eq(request("GET / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", &head), 0);
	ck_assert(!head.wants_keep_alive && !head.has_expect_field);
	ck_assert_int_eq(request("GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", &head), 0);
	ck_assert(head.wants_keep_alive);
	ck_assert_int_eq(request("CONNECT a:443 HTTP/1.0\r\n\r\n", &head), 0);
	ck_assert_ptr_null(head.host);
}
END_TEST

#define WEBSOCKET "Host: a\r\nUpgrade: websocket\r\n"

START_TEST(only_a_websocket_is_an_upgrade)
{
	static const struct {
		const char *text;
		bool upgrade;
	} each[] = {
		{GET WEBSOCKET "Connection: keep-alive, Upgrade\r\n\r\n", true},
		{GET "Host: a\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n\r\n", true},
		{GET WEBSOCKET "\r\n", false},
		{GET "Host: a\r\nConnection: upgrade\r\n\r\n", false},
		{GET
		 "Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
		 false},
		{GET "Host: a\r\nConnection: upgrade\r\nUpgrade: websocket, h2c\r\n\r\n", false},
		{GET WEBSOCKET "Upgrade: h2c\r\nConnection: upgrade\r\n\r\n", false},
		{GET WEBSOCKET "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n", false},
		{GET WEBSOCKET "Connection: upgrade\r\nContent-Length: 1\r\n\r\n", false},
		{"POST / HTTP/1.1\r\n" WEBSOCKET "Connection: upgrade\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n" WEBSOCKET "Connection: upgrade\r\n\r\n", false},
	};
	struct http1_head head;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		ck_assert_int_eq(request(each[i].text, &head), 0);
		ck_assert_msg(head.asks_for_websocket == each[i].upgrade, "%s", each[i].text);
	}
}
END_TEST

START_TEST(heads_have_limits)
{
	_cleanup_buf_ struct buf text = {0};
	struct http1_head head;
	struct http1_head_scan scan = {0};

	buf_puts(&text, GET "Host: a\r\n");
	for (size_t i = 1; i < HTTP_FIELDS_MAX; i++)
		buf_puts(&text, "X: y\r\n");
	buf_puts(&text, "\r\n");
	ck_assert_int_eq(request_n(text.data, text.len, &head), 0);
	ck_assert_uint_eq(head.field_count, HTTP_FIELDS_MAX);
	text.len -= 2;
	buf_puts(&text, "X: y\r\n\r\n");
	ck_assert_int_eq(request_n(text.data, text.len, &head), -EMSGSIZE);

	text.len = 0;
	buf_puts(&text, GET "Host: a\r\nX: ");
	while (text.len < HTTP_HEAD_BYTES_MAX - 4)
		buf_puts(&text, "x");
	buf_puts(&text, "\r\n\r\n");
	ck_assert_int_eq(http1_find_head_end(&scan, text.data, text.len), HTTP_HEAD_BYTES_MAX);
	scan = (struct http1_head_scan){0};
	memset(text.data + HTTP_HEAD_BYTES_MAX - 4, 'x', 4);
	ck_assert_int_eq(http1_find_head_end(&scan, text.data, HTTP_HEAD_BYTES_MAX), -EMSGSIZE);
}
END_TEST

/* ---- targets of a proxy's ---- */

START_TEST(authorities_are_read_strictly)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} each[] = {
		{"a.test", "a.test", 80},
		{"A.Test.:81", "a.test", 81},
		{"192.0.2.1:65535", "192.0.2.1", 65535},
		{"[2001:DB8::1]", "2001:db8::1", 80},
		{"[::1]:1", "::1", 1},
		{"", NULL, 0},
		{":80", NULL, 0},
		{"a.test:", NULL, 0},
		{"a.test:0", NULL, 0},
		{"a.test:080", NULL, 0},
		{"a.test:65536", NULL, 0},
		{"a.test:+80", NULL, 0},
		{"a.test:80:80", NULL, 0},
		{"a.test:80/", NULL, 0},
		{"u@a.test", NULL, 0},
		{"u:p@a.test:80", NULL, 0},
		{"a.test@b.test", NULL, 0},
		{"a.test,b.test", NULL, 0},
		{"a.test b.test", NULL, 0},
		{"a.test?", NULL, 0},
		{"a.test#b", NULL, 0},
		{"a%2etest", NULL, 0},
		{"::1", NULL, 0},
		{"[::1", NULL, 0},
		{"[::1]x", NULL, 0},
		{"[a.test]", NULL, 0},
		{"[fe80::1%25eth0]", NULL, 0},
		{"127.1", NULL, 0},
		{"0x7f.0.0.1", NULL, 0},
		{"2130706433", NULL, 0},
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		size_t len = strlen(each[i].text);
		char host[NET_HOST_SIZE];
		unsigned port;
		bool is_one = request_parse_authority(at_edge(each[i].text, len), len, 80, host, &port);

		ck_assert_msg(is_one == (each[i].host != NULL), "%s", each[i].text);
		if (!is_one)
			continue;
		ck_assert_str_eq(host, each[i].host);
		ck_assert_uint_eq(port, each[i].port);
	}
}
END_TEST

START_TEST(absolute_targets_come_apart)
{
	static const struct {
		const char *target, *authority, *path;
	} each[] = {
		{"http://a.test/b?c", "a.test", "/b?c"},
		{"HTTP://a.test:81", "a.test:81", "/"},
		{"http://[::1]:81/", "[::1]:81", "/"},
		{"http://u@a.test/", "u@a.test", "/"}, /* request_parse_authority refuses it */
		{"http:///b", NULL, NULL},
		{"http://", NULL, NULL},
		{"http://a?b", NULL, NULL},
		{"https://a/", NULL, NULL},
		{"/http://a/", NULL, NULL},
		{"a:443", NULL, NULL},
		{"*", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct http1_head head = {.target = each[i].target, .target_len = strlen(each[i].target)};
		struct http1_absolute_target parts;
		bool absolute = http1_parse_absolute(&head, &parts);

		ck_assert_msg(absolute == (each[i].authority != NULL), "%s", each[i].target);
		if (!absolute)
			continue;
		ck_assert(is(parts.authority, parts.authority_len, each[i].authority));
		ck_assert(is(parts.path, parts.path_len, each[i].path));
	}
}
END_TEST

/* ---- responses ---- */

struct response {
	const char *text, *method;
	int error;
	unsigned status;
	enum http1_framing framing;
	uint64_t length;
	bool keep_alive;
};

#define OK "HTTP/1.1 200 OK\r\n"

static const struct response responses[] = {
	{OK "Content-Length: 5\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH, 5, true},
	{OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH, 5, true},
	{OK "Content-Length: 5\r\n\r\n", "HEAD", 0, 200, HTTP1_NO_BODY, 5, true},
	{OK "Content-Length: 0\r\n\r\n", "GET", 0, 200, HTTP1_NO_BODY, 0, true},
	{OK "\r\n", "GET", 0, 200, HTTP1_UNTIL_CLOSE, 0, false},
	{OK "\r\n", "HEAD", 0, 200, HTTP1_NO_BODY, 0, true},
	{OK "Transfer-Encoding: chunked\r\n\r\n", "GET", 0, 200, HTTP1_CHUNKED, 0, true},
	{OK "Transfer-Encoding: chunked\r\n\r\n", "HEAD", 0, 200, HTTP1_NO_BODY, 0, true},
	{OK "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", "GET", 0, 200, HTTP1_CHUNKED, 0, false},
	{"HTTP/1.1 204 No Content\r\n\r\n", "GET", 0, 204, HTTP1_NO_BODY, 0, true},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "GET", 0, 304, HTTP1_NO_BODY, 7, true},
	{"HTTP/1.1 100 Continue\r\n\r\n", "POST", 0, 100, HTTP1_NO_BODY, 0, true},
	{"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH, 1, true},
	{"HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH, 1, true},
	{"HTTP/1.1 200 Sch\xf6n\r\nContent-Length: 1\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH, 1, true},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH, 1, false},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n", "GET", 0, 200, HTTP1_CONTENT_LENGTH,
	 1, true},
	{"HTTP/1.0 200 OK\r\n\r\n", "GET", 0, 200, HTTP1_UNTIL_CLOSE, 0, false},
	/* refused */
	{"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", -EBADMSG, 0, 0, 0, false},
	{OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", -EBADMSG, 0, 0, 0, false},
	{OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "GET", -EBADMSG, 0, 0, 0, false},
	{OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "GET", -EBADMSG, 0, 0, 0, false},
	{OK "Content-Length: 5\r\n folded\r\n\r\n", "GET", -EBADMSG, 0, 0, 0, false},
	{OK "Content-Length : 5\r\n\r\n", "GET", -EBADMSG, 0, 0, 0, false},
	{"HTTP/1.1 200 OK\nContent-Length: 5\n\n", "GET", -EBADMSG, 0, 0, 0, false},
	{"HTTP/1.1 99 OK\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
	{"HTTP/1.1 2000 OK\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
	{"HTTP/1.1 600 OK\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
	{"HTTP/1.1  200 OK\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
	{"HTTP/2 200 OK\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
	{"ICY 200 OK\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
	{"<html>\r\n\r\n", "GET", -EPROTO, 0, 0, 0, false},
};

START_TEST(responses_are_understood_or_refused)
{
	const struct response *one = &responses[_i];
	size_t len = strlen(one->text);
	const char *data = at_edge(one->text, len);
	struct http1_head_scan scan = {0};
	struct http1_head head;
	ssize_t whole = http1_find_head_end(&scan, data, len);
	int error = whole > 0 ? http1_parse_response(data, (size_t)whole, one->method, &head) : (int)whole;

	ck_assert_msg(error == one->error, "%d instead of %d for:\n%s", error, one->error, one->text);
	if (error)
		return;
	ck_assert_uint_eq(head.status, one->status);
	ck_assert_int_eq(head.framing, one->framing);
	ck_assert_uint_eq(head.content_length, one->length);
	ck_assert_int_eq(head.wants_keep_alive, one->keep_alive);
}
END_TEST

/* ---- bodies ---- */

struct chunks {
	const char *text;
	const char *content; /* NULL: refused with error */
	int error;
	bool lenient;        /* in a response it is fine */
};

static const struct chunks chunks[] = {
	{"0\r\n\r\n", "", 0, true},
	{"5\r\nhello\r\n0\r\n\r\n", "hello", 0, true},
	{"00a\r\nhelloworld\r\n1\r\n!\r\n000\r\n\r\n", "helloworld!", 0, true},
	{"A\r\nhelloworld\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", "helloworld", 0, true},
	{"5;ext=1\r\nhello\r\n0\r\n\r\n", NULL, -EBADMSG, true},
	{"5 \r\nhello\r\n0\r\n\r\n", NULL, -EBADMSG, true},
	{"5;\"\n\"\r\nhello\r\n0\r\n\r\n", NULL, -EBADMSG, false},
	{"5\nhello\r\n0\r\n\r\n", NULL, -EBADMSG, false},
	{"5\r\nhello0\r\n\r\n", NULL, -EBADMSG, false},
	{"5\r\nhello\n0\r\n\r\n", NULL, -EBADMSG, false},
	{"5\r\nhello\r\n0\r\n\n", NULL, -EBADMSG, false},
	{"5\r\nhello\r\n0\r\nX: y\n\r\n", NULL, -EBADMSG, false},
	{"5\r\nhello\r\n0\r\nX: y\r\n folded\r\n\r\n", NULL, -EBADMSG, false},
	{"\r\nhello", NULL, -EBADMSG, false},
	{"-1\r\nhello\r\n", NULL, -EBADMSG, false},
	{"+5\r\nhello\r\n", NULL, -EBADMSG, false},
	{"0x5\r\nhello\r\n", NULL, -EBADMSG, false},
	{" 5\r\nhello\r\n", NULL, -EBADMSG, false},
	{"g\r\nhello\r\n", NULL, -EBADMSG, false},
	{"ffffffffffffffff\r\nhello\r\n", NULL, -EBADMSG, false},
	{"0000000000000005\r\nhello\r\n", NULL, -EBADMSG, false},
	{"10000000000000005\r\nhello\r\n", NULL, -EBADMSG, false},
};

/* Feeds it in two parts; the error, or 0 at its end, with the content. */
static int read_body(struct http1_body *body, const char *data, size_t len, size_t cut, struct buf *out)
{
	size_t at = 0;

	while (!body->has_ended && at < len) {
		const char *part;
		size_t part_len, end = at < cut ? cut : len;
		ssize_t used = http1_body_read(body, data + at, end - at, &part, &part_len);

		if (used < 0)
			return (int)used;
		ck_assert_int_gt(used, 0);
		ck_assert(part >= data + at && part + part_len <= data + at + used);
		buf_add(out, part, part_len);
		at += (size_t)used;
	}
	return body->has_ended ? 0 : -EAGAIN;
}

START_TEST(chunks_are_read_strictly)
{
	const struct chunks *one = &chunks[_i];
	struct http1_head head = {.framing = HTTP1_CHUNKED};
	size_t len = strlen(one->text);
	const char *data = at_edge(one->text, len);

	for (size_t cut = 0; cut <= len; cut++) {
		for (int request = 0; request < 2; request++) {
			_cleanup_buf_ struct buf out = {0};
			struct http1_body body;
			int error;

			http1_body_init(&body, &head, request);
			error = read_body(&body, data, len, cut, &out);
			if (one->lenient && !request) {
				ck_assert_msg(!error, "%d for %s", error, one->text);
				continue;
			}
			ck_assert_msg(error == one->error, "%d for %s", error, one->text);
			if (!error)
				ck_assert_str_eq(out.data ? out.data : "", one->content);
		}
	}
}
END_TEST

START_TEST(trailers_and_extensions_have_limits)
{
	struct http1_head head = {.framing = HTTP1_CHUNKED};
	_cleanup_buf_ struct buf text = {0}, out = {0};
	struct http1_body body;

	buf_puts(&text, "0\r\n");
	for (int i = 0; i < 1000; i++)
		buf_puts(&text, "X: yyyyyyyy\r\n");
	buf_puts(&text, "\r\n");
	http1_body_init(&body, &head, true);
	ck_assert_int_eq(read_body(&body, text.data, text.len, 0, &out), -EMSGSIZE);

	text.len = 0;
	buf_puts(&text, "1;");
	for (int i = 0; i < 300; i++)
		buf_puts(&text, "x");
	buf_puts(&text, "\r\na\r\n0\r\n\r\n");
	http1_body_init(&body, &head, false);
	ck_assert_int_eq(read_body(&body, text.data, text.len, 0, &out), -EBADMSG);
}
END_TEST

START_TEST(lengths_end_where_they_say)
{
	struct http1_head head = {.framing = HTTP1_CONTENT_LENGTH, .has_content_length = true, .content_length = 5};
	const char *part;
	size_t len;
	struct http1_body body;

	http1_body_init(&body, &head, true);
	ck_assert_int_eq(http1_body_read(&body, "he", 2, &part, &len), 2);
	ck_assert(!body.has_ended && len == 2);
	ck_assert_int_eq(http1_body_read(&body, "lloGET /", 8, &part, &len), 3);
	ck_assert(body.has_ended && len == 3);
	ck_assert_int_eq(http1_body_read(&body, "GET /", 5, &part, &len), 0);
	head.framing = HTTP1_UNTIL_CLOSE;
	http1_body_init(&body, &head, false);
	ck_assert_int_eq(http1_body_read(&body, "all of it", 9, &part, &len), 9);
	ck_assert(!body.has_ended && len == 9);
	head.framing = HTTP1_NO_BODY;
	http1_body_init(&body, &head, false);
	ck_assert(body.has_ended);
}
END_TEST

/* ---- what is made ---- */

START_TEST(what_connection_names_stays_behind)
{
	struct http1_head head;

	ck_assert_int_eq(
		request(GET
			"Host: a\r\nConnection: close, X-A\r\nx-a: 1\r\nConnection: x-b\r\nX-B: 2\r\nX-C: 3\r\n\r\n",
			&head),
		0);
	ck_assert(!http1_field_is_forwarded(&head, &head.field[0], false)); /* is written anew */
	ck_assert(!http1_field_is_forwarded(&head, &head.field[1], false));
	ck_assert(!http1_field_is_forwarded(&head, &head.field[2], false));
	ck_assert(!http1_field_is_forwarded(&head, &head.field[3], false));
	ck_assert(!http1_field_is_forwarded(&head, &head.field[4], false));
	ck_assert(http1_field_is_forwarded(&head, &head.field[5], false));
}
END_TEST

START_TEST(messages_are_written)
{
	_cleanup_buf_ struct buf out = {0};
	const struct http1_head head = {.has_content_length = true,
					.content_length = 12,
					.status = 404,
					.reason_phrase = "Gone?",
					.reason_phrase_len = 5};
	const struct http_field field = {.name = "X-AB", .name_len = 3, .value = "cde", .value_len = 2};
	char size[HTTP1_CHUNK_HEAD_BYTES_MAX];

	http1_write_request(&out, "GET", "/a", "?b#", 2, "h:1");
	http1_write_field(&out, &field);
	http1_write_head_end(&out, HTTP1_CONTENT_LENGTH, &head, NULL);
	ck_assert_str_eq(out.data, "GET /a?b HTTP/1.1\r\nHost: h:1\r\nX-A: cd\r\nContent-Length: 12\r\n\r\n");
	out.len = 0;
	http1_write_response(&out, &head);
	http1_write_head_end(&out, HTTP1_CHUNKED, &head, "close");
	ck_assert_str_eq(out.data, "HTTP/1.1 404 Gone?\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
	out.len = 0;
	http1_write_head_end(&out, HTTP1_UNTIL_CLOSE, &head, NULL);
	ck_assert_str_eq(out.data, "\r\n");
	ck_assert_uint_eq(http1_write_chunk_head(size, 0xabc), 5);
	ck_assert_mem_eq(size, "abc\r\n", 5);
	(void)http1_write_chunk_head(size, SIZE_MAX); /* fits */
}
END_TEST

/* ---- SOCKS ---- */

START_TEST(socks_is_read_byte_by_byte)
{
	static const uint8_t name[] = {5, 1, 0, 3, 6, 'A', '.', 't', 'e', 's', 't', 1, 187, 'x'};
	static const uint8_t v4[] = {5, 1, 0, 1, 192, 0, 2, 1, 0, 80};
	static const uint8_t v6[] = {5, 1, 0, 4, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80};
	static const uint8_t greeting[] = {5, 2, 2, 0, 5}, password[] = {5, 1, 2};
	struct socks_request request;
	bool open;

	for (size_t len = 0; len < 4; len++)
		ck_assert_int_eq(socks_parse_greeting((const uint8_t *)at_edge((const char *)greeting, len), len,
						      &open), 0);
	ck_assert_int_eq(socks_parse_greeting(greeting, sizeof(greeting), &open), 4);
	ck_assert(open);
	ck_assert_int_eq(socks_parse_greeting(password, sizeof(password), &open), 3);
	ck_assert(!open);
	for (size_t len = 0; len < sizeof(name) - 1; len++)
		ck_assert_int_eq(socks_parse_request((const uint8_t *)at_edge((const char *)name, len), len, &request),
				 0);
	ck_assert_int_eq(socks_parse_request(name, sizeof(name), &request), sizeof(name) - 1);
	ck_assert_str_eq(request.host, "a.test");
	ck_assert_uint_eq(request.port, 443);
	ck_assert_int_eq(socks_parse_request(v4, sizeof(v4), &request), sizeof(v4));
	ck_assert_str_eq(request.host, "192.0.2.1");
	ck_assert_int_eq(socks_parse_request(v6, sizeof(v6), &request), sizeof(v6));
	ck_assert_str_eq(request.host, "2001:db8::1");
}
END_TEST

START_TEST(other_socks_is_refused)
{
	static const struct {
		uint8_t bytes[16];
		size_t len;
		int error;
	} each[] = {
		{{4, 1, 0, 80, 192, 0, 2, 1, 0}, 9, -EPROTO},
		{{'G', 'E', 'T'}, 3, -EPROTO},
		{{5, 1, 1, 1}, 4, -EPROTO},
		{{5, 2, 0, 1}, 4, -EOPNOTSUPP}, /* BIND */
		{{5, 3, 0, 1}, 4, -EOPNOTSUPP}, /* UDP ASSOCIATE */
		{{5, 1, 0, 2}, 4, -EAFNOSUPPORT},
		{{5, 1, 0, 1, 192, 0, 2, 1, 0, 0}, 10, -EINVAL}, /* port 0 */
		{{5, 1, 0, 3, 0, 0, 80}, 7, -EINVAL},
		{{5, 1, 0, 3, 3, 'a', 0, 'b', 0, 80}, 10, -EINVAL},
		{{5, 1, 0, 3, 3, 'a', '@', 'b', 0, 80}, 10, -EINVAL},
		{{5, 1, 0, 3, 5, '1', '2', '7', '.', '1', 0, 80}, 12, -EINVAL},
	};
	struct socks_request request;
	bool open;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		ck_assert_int_eq(socks_parse_request(each[i].bytes, each[i].len, &request), each[i].error);
	ck_assert_int_eq(socks_parse_greeting(each[0].bytes, 1, &open), -EPROTO);
	ck_assert_int_eq(socks_parse_greeting((const uint8_t *)"\x05", 2, &open), -EPROTO);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static Suite *suite(void)
{
	Suite *suite = suite_create("http1");
	TCase *tcase = tcase_create("parser");

	tcase_add_loop_test(tcase, ambiguous_requests_are_refused, 0, COUNT(refused));
	tcase_add_test(tcase, a_nul_anywhere_is_refused);
	tcase_add_test(tcase, sound_requests_are_understood);
	tcase_add_test(tcase, only_a_websocket_is_an_upgrade);
	tcase_add_test(tcase, heads_have_limits);
	tcase_add_test(tcase, authorities_are_read_strictly);
	tcase_add_test(tcase, absolute_targets_come_apart);
	tcase_add_loop_test(tcase, responses_are_understood_or_refused, 0, COUNT(responses));
	tcase_add_loop_test(tcase, chunks_are_read_strictly, 0, COUNT(chunks));
	tcase_add_test(tcase, trailers_and_extensions_have_limits);
	tcase_add_test(tcase, lengths_end_where_they_say);
	tcase_add_test(tcase, what_connection_names_stays_behind);
	tcase_add_test(tcase, messages_are_written);
	tcase_add_test(tcase, socks_is_read_byte_by_byte);
	tcase_add_test(tcase, other_socks_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return unit_run(suite());
}
