/*
 * HTTP and SOCKS5 proxies in a whole egress process: the test is the program, the supervisor (egress-rig.h) and the
 * servers.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "tests/unit/egress/egress-wire.h"
#include "tests/unit/unit.h"

static struct egress_rig *rig;
static int server = -1, other = -1, program = -1;
static uint16_t port, other_port, closed_port;

/* a.test speaks HTTP, b.test another's HTTP, c.test any TCP (at the first one's port), d.test TLS. */
static void begin(uint16_t proxy_port)
{
	static const struct erig_options none;
	char policy[2048];
	int unused = erig_server(&closed_port);

	server = erig_server(&port);
	other = erig_server(&other_port);
	(void)close(unused);
	(void)snprintf(policy, sizeof(policy),
		       "{\"network\": {\"proxy\": true, \"allow\": ["
		       "{\"host\": \"a.test\", \"port\": %u, \"proto\": \"http\", \"private\": true, "
		       "\"http\": [\"GET /ok/**\"]}, "
		       "{\"host\": \"b.test\", \"port\": %u, \"proto\": \"http\", \"private\": true}, "
		       "{\"host\": \"c.test\", \"port\": %u, \"proto\": \"tcp\", \"private\": true}, "
		       "{\"host\": \"c.test\", \"port\": %u, \"proto\": \"tcp\", \"private\": true}, "
		       "{\"host\": \"d.test\", \"port\": %u, \"proto\": \"https\", \"private\": true}, "
		       "{\"host\": \"asks.test\", \"port\": %u, \"proto\": \"http\", \"private\": true, "
		       "\"http\": [\"GET /ok\"], \"on_deny\": \"ask\"}], "
		       "\"resolve\": {\"a.test\": \"127.0.0.1\", \"b.test\": \"127.0.0.1\", \"c.test\": \"127.0.0.1\", "
		       "\"d.test\": \"127.0.0.1\", \"asks.test\": \"127.0.0.1\"}}}",
		       port, other_port, port, closed_port, port, other_port);
	rig = erig_start_with(policy, &none);
	program = erig_connect(rig, "", proxy_port);
	ck_assert_int_ge(program, 0);
}

static void end(void)
{
	(void)close(program);
	(void)close(server);
	(void)close(other);
	ck_assert_int_eq(erig_end(rig), 0);
}

/* "~", "$" and "!" are ports: of the server, the other one, and one where no server listens. */
static const char *fill_in(const char *text)
{
	static char out[4096];
	size_t len = 0;

	for (; *text; text++)
		if (*text == '~')
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%u", port);
		else if (*text == '$')
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%u", other_port);
		else if (*text == '!')
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%u", closed_port);
		else
			out[len++] = *text;
	out[len] = '\0';
	return out;
}

static void say(int fd, const char *text)
{
	wire_say(fd, fill_in(text));
}

static void hear(int fd, const char *text)
{
	wire_hear_exactly(fd, fill_in(text));
}

static int hear_all(int fd)
{
	const int r = wire_hear(fd);

	return r < 0 ? r : 0;
}

static struct control_record record(enum control_event event, size_t index)
{
	return erig_record(rig, erig_last(rig), event, index);
}

/* ---- HTTP ---- */

START_TEST(a_tunnel_is_what_its_rule_says)
{
	struct control_record open;
	int upstream;

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, "CONNECT C.test.:~ HTTP/1.1\r\nHost: whatever\r\nProxy-Connection: keep-alive\r\n\r\nfirst");
	hear(program, "HTTP/1.1 200 Connection established\r\n\r\n");
	upstream = erig_accept(server);
	hear(upstream, "first");
	say(upstream, "second");
	hear(program, "second");
	open = record(CONTROL_EVENT_OPEN, 0);
	ck_assert_int_eq(open.allow, 1);
	ck_assert_str_eq(open.host, "c.test");
	ck_assert_uint_eq(open.port, port);
	(void)close(program);
	program = -1;
	ck_assert_int_eq(hear_all(upstream), 0);
	(void)close(upstream);
	ck_assert_str_eq(record(CONTROL_EVENT_CLOSE, 0).close_cause, "client");
	end();
}
END_TEST

START_TEST(requests_in_a_tunnel_are_judged)
{
	int upstream;

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, "CONNECT a.test:~ HTTP/1.0\r\n\r\n"); /* as old clients do */
	hear(program, "HTTP/1.1 200 Connection established\r\n\r\n");
	upstream = erig_accept(server);
	say(program, "GET /ok/1 HTTP/1.1\r\nHost: a.test:~\r\n\r\n");
	hear(upstream, "GET /ok/1 HTTP/1.1\r\nHost: a.test:~\r\n\r\n");
	say(upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	say(program, "GET /no HTTP/1.1\r\nHost: a.test:~\r\nConnection: close\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_ptr_nonnull(strstr(wire_heard, "path_not_granted"));
	(void)close(upstream);
	end();
}
END_TEST

START_TEST(a_tunnel_for_tls_is_for_that_name_only)
{
	int upstream;

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, "CONNECT d.test:~ HTTP/1.1\r\nHost: d.test:~\r\n\r\n");
	hear(program, "HTTP/1.1 200 Connection established\r\n\r\n");
	upstream = erig_accept(server);
	say(program, "GET / HTTP/1.1\r\n\r\n");
	(void)hear_all(program);
	ck_assert_str_eq(record(CONTROL_EVENT_CLOSE, 0).reason, "not_tls");
	(void)hear_all(upstream);
	ck_assert_str_eq(wire_heard, "");
	end();
}
END_TEST

START_TEST(absolute_targets_go_where_they_say)
{
	int a, b;

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, "GET http://a.test:~/ok/x?y HTTP/1.1\r\nHost: a.test:~\r\nProxy-Connection: keep-alive\r\n"
		     "Proxy-Authorization: Basic eDp5\r\n\r\n");
	a = erig_accept(server);
	hear(a, "GET /ok/x?y HTTP/1.1\r\nHost: a.test:~\r\n\r\n");
	say(a, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
	say(program, "GET HTTP://A.test:~/ok/2 HTTP/1.1\r\nHost: a.test:~\r\n\r\n");
	hear(a, "GET /ok/2 HTTP/1.1\r\nHost: a.test:~\r\n\r\n"); /* the same connection */
	say(a, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nA");
	say(program, "POST http://b.test:$ HTTP/1.1\r\nHost: b.test:$\r\nContent-Length: 2\r\n\r\nhi");
	b = erig_accept(other);
	ck_assert_int_eq(hear_all(a), 0); /* is done with */
	hear(b, "POST / HTTP/1.1\r\nHost: b.test:$\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	say(b, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
	ck_assert_str_eq(record(CONTROL_EVENT_OPEN, 1).host, "b.test");
	ck_assert_str_eq(record(CONTROL_EVENT_REQUEST, 2).host, "b.test");
	(void)close(b); /* between requests: the next one opens another */
	(void)usleep(50000);
	say(program, "GET http://b.test:$/again HTTP/1.1\r\nHost: b.test:$\r\nConnection: close\r\n\r\n");
	b = erig_accept(other);
	hear(b, "GET /again HTTP/1.1\r\nHost: b.test:$\r\nConnection: close\r\n\r\n");
	say(b, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nB");
	ck_assert_int_eq(hear_all(program), 0);
	(void)close(a);
	(void)close(b);
	end();
}
END_TEST

struct refused {
	const char *text;
	unsigned status;
	const char *reason;
	bool opens; /* on record as a refused connection, else as a refused request */
};

static const struct refused refused[] = {
	{"CONNECT e.test:443 HTTP/1.1\r\nConnection: close\r\n\r\n", 403, "no_rule", true},
	{"CONNECT a.test:22 HTTP/1.1\r\nConnection: close\r\n\r\n", 403, "port_not_granted", true},
	{"CONNECT 127.0.0.1:~ HTTP/1.1\r\nConnection: close\r\n\r\n", 403, "no_rule", true},
	{"CONNECT [::1]:~ HTTP/1.1\r\nConnection: close\r\n\r\n", 403, "no_rule", true},
	{"CONNECT c.test:! HTTP/1.1\r\nConnection: close\r\n\r\n", 502, "connect_failed", true},
	{"CONNECT c.test HTTP/1.1\r\n\r\n", 400, "bad_request", false},
	{"CONNECT c.test:0 HTTP/1.1\r\n\r\n", 400, "bad_request", false},
	{"CONNECT c.test:65536 HTTP/1.1\r\n\r\n", 400, "bad_request", false},
	{"CONNECT u@c.test:~ HTTP/1.1\r\n\r\n", 400, "bad_request", false},
	{"CONNECT c.test:~/ HTTP/1.1\r\n\r\n", 400, "bad_request", false},
	{"CONNECT http://c.test:~/ HTTP/1.1\r\n\r\n", 400, "bad_request", false},
	{"CONNECT c.test:~ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 400, "bad_request", false},
	{"CONNECT c.test:~ HTTP/1.1\nHost: c.test\n\n", 400, "smuggling", false},
	{"GET / HTTP/1.1\r\nHost: a.test:~\r\n\r\n", 400, "bad_request", false},
	{"GET https://a.test:~/ok/1 HTTP/1.1\r\nHost: a.test:~\r\n\r\n", 400, "bad_request", false},
	{"GET ftp://a.test:~/ok/1 HTTP/1.1\r\nHost: a.test:~\r\n\r\n", 400, "bad_request", false},
	{"GET http://a.test:~/ok/1 HTTP/1.1\r\nHost: b.test:$\r\nConnection: close\r\n\r\n", 421, "host_mismatch",
	 false},
	{"GET http://u@a.test:~/ok/1 HTTP/1.1\r\nHost: a.test:~\r\nConnection: close\r\n\r\n", 421, "host_mismatch",
	 false},
	{"GET http://a.test:~/no HTTP/1.1\r\nHost: a.test:~\r\nConnection: close\r\n\r\n", 403, "path_not_granted",
	 false},
	{"GET http://d.test:~/ HTTP/1.1\r\nHost: d.test:~\r\nConnection: close\r\n\r\n", 403, "proto_not_granted",
	 false},
	{"GET http://e.test/ HTTP/1.1\r\nHost: e.test\r\nConnection: close\r\n\r\n", 403, "no_rule", true},
};

/* Each request to the proxy is one of its destination, also when the server closes while one waits. */
START_TEST(requests_are_asked_about)
{
	struct control_question question;
	int e;

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, "PUT http://asks.test:$/x?y HTTP/1.1\r\nHost: asks.test:$\r\n\r\n"
		     "PUT http://asks.test:$/z HTTP/1.1\r\nHost: asks.test:$\r\n\r\n");
	e = erig_accept(other);
	question = erig_question(rig, 0);
	ck_assert_str_eq(question.host, "asks.test");
	ck_assert_uint_eq(question.port, other_port);
	ck_assert_str_eq(question.path, "/x");
	ck_assert_str_eq(question.query, "?y");
	(void)close(e);
	erig_answer_question(rig, question.id, 0);
	e = erig_accept(other);
	hear(e, "PUT /x?y HTTP/1.1\r\nHost: asks.test:$\r\n\r\n");
	say(e, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ne");
	hear(program, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ne");
	question = erig_question(rig, 1);
	ck_assert_str_eq(question.path, "/z");
	erig_answer_question(rig, question.id, -EACCES);
	hear(program, "HTTP/1.1 403 Forbidden\r\n");
	ck_assert_uint_eq(record(CONTROL_EVENT_REQUEST, 1).question_id, question.id);
	(void)close(e);
	end();
}
END_TEST

START_TEST(what_is_not_granted_is_refused)
{
	const struct refused *one = &refused[_i];
	struct control_record told;
	char line[32], reason[64];

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, one->text);
	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", one->status);
	(void)snprintf(reason, sizeof(reason), "\"reason\": \"%s\"}", one->reason);
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_msg(strncmp(wire_heard, line, strlen(line)) == 0, "'%s' to %s", wire_heard, one->text);
	ck_assert_msg(strstr(wire_heard, reason), "'%s' to %s", wire_heard, one->text);
	told = record(one->opens ? CONTROL_EVENT_OPEN : CONTROL_EVENT_REQUEST, 0);
	ck_assert_int_eq(told.allow, 0);
	ck_assert_str_eq(told.reason, one->reason);
	end();
}
END_TEST

START_TEST(a_refused_tunnel_leaves_the_connection)
{
	int upstream;

	begin(CONTROL_PORT_HTTP_PROXY);
	say(program, "CONNECT e.test:443 HTTP/1.1\r\n\r\n");
	do
		ck_assert_int_gt(read(program, wire_heard, sizeof(wire_heard)), 0);
	while (!strstr(wire_heard, "}\n"));
	say(program, "CONNECT c.test:~ HTTP/1.1\r\n\r\n");
	hear(program, "HTTP/1.1 200 Connection established\r\n\r\n");
	upstream = erig_accept(server);
	say(upstream, "hello");
	hear(program, "hello");
	(void)close(upstream);
	end();
}
END_TEST

/* ---- SOCKS ---- */

static size_t socks_name(uint8_t *out, const char *name, uint16_t to)
{
	size_t len = strlen(name);

	memcpy(out, (const uint8_t[]){5, 1, 0, 3, (uint8_t)len}, 5);
	memcpy(out + 5, name, len);
	out[5 + len] = (uint8_t)(to >> 8);
	out[6 + len] = (uint8_t)to;
	return 7 + len;
}

static void send_bytes(const void *bytes, size_t len, bool slowly)
{
	for (size_t i = 0; i < len; i += slowly ? 1 : len) {
		ck_assert_int_eq(io_write_all(program, (const uint8_t *)bytes + i, slowly ? 1 : len), 0);
		if (slowly)
			(void)usleep(1000);
	}
}

static const uint8_t granted[] = {5, 0, 0, 1, 0, 0, 0, 0, 0, 0};

START_TEST(socks_connects_to_names)
{
	uint8_t request[300];
	size_t len = socks_name(request, "C.Test", port);
	int upstream;

	begin(CONTROL_PORT_SOCKS);
	len = socks_name(request, "C.Test", port);
	send_bytes("\x05\x02\x00\x02", 4, _i);
	wire_hear_bytes(program, "\x05\x00", 2);
	memcpy(request + len, "first", 5); /* does not wait for the answer */
	send_bytes(request, len + 5, _i);
	wire_hear_bytes(program, granted, sizeof(granted));
	upstream = erig_accept(server);
	hear(upstream, "first");
	say(upstream, "second");
	hear(program, "second");
	ck_assert_str_eq(record(CONTROL_EVENT_OPEN, 0).host, "c.test");
	(void)close(upstream);
	end();
}
END_TEST

START_TEST(socks_in_one_go)
{
	uint8_t all[300] = {5, 1, 0};
	int upstream;

	begin(CONTROL_PORT_SOCKS);
	send_bytes(all, 3 + socks_name(all + 3, "a.test", port), false);
	wire_hear_bytes(program, "\x05\x00", 2);
	wire_hear_bytes(program, granted, sizeof(granted));
	upstream = erig_accept(server);
	/* its rule speaks of requests */
	say(program, "GET /no HTTP/1.1\r\nHost: a.test:~\r\nConnection: close\r\n\r\n");
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_ptr_nonnull(strstr(wire_heard, "path_not_granted"));
	(void)close(upstream);
	end();
}
END_TEST

/* A client that resolves names itself has our address for it. */
START_TEST(a_synthetic_address_is_its_name)
{
	uint8_t request[] = {5, 1, 0, 5, 1, 0, 1, 198, 18, 0, 0, 0, 0};
	int upstream = -1;

	/* names are numbered in the order of the rules */
	for (uint8_t index = 16; index < 20 && upstream < 0; index++) {
		begin(CONTROL_PORT_SOCKS);
		request[10] = index;
		request[11] = (uint8_t)(port >> 8);
		request[12] = (uint8_t)port;
		send_bytes("\x05\x01\x00", 3, false);
		wire_hear_bytes(program, "\x05\x00", 2);
		send_bytes(request + 3, 10, false);
		ck_assert_int_eq(read(program, wire_heard, 10), 10);
		if (strcmp(record(CONTROL_EVENT_OPEN, 0).host, "c.test") == 0) {
			ck_assert_int_eq(wire_heard[1], 0);
			upstream = erig_accept(server);
		}
		end();
	}
	ck_assert_int_ge(upstream, 0);
	(void)close(upstream);
}
END_TEST

struct socks_refused {
	const char *name;
	uint16_t port;
	uint8_t code;
	const char *reason;
};

static const struct socks_refused socks_refused[] = {
	{"e.test", 443, 2, "no_rule"}, {"a.test", 22, 2, "port_not_granted"}, {"127.0.0.1", 80, 2, "no_rule"},
	{"u@a.test", 80, 2, "bad_name"}, {"a_b.test", 80, 2, "bad_name"}, {"c.test", 0, 5, "connect_failed"},
};

START_TEST(socks_says_why_not)
{
	const struct socks_refused *one = &socks_refused[_i];
	uint8_t request[300];

	begin(CONTROL_PORT_SOCKS);
	send_bytes("\x05\x01\x00", 3, false);
	wire_hear_bytes(program, "\x05\x00", 2);
	send_bytes(request, socks_name(request, one->name, one->port ? one->port : closed_port), false);
	ck_assert_int_eq(hear_all(program), 0);
	ck_assert_int_eq(wire_heard[1], one->code);
	ck_assert_str_eq(record(CONTROL_EVENT_CLOSE, 0).reason, one->reason);
	end();
}
END_TEST

START_TEST(other_socks_is_ended)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
		int code;
	} each[] = {
		{{4, 1, 0, 80, 192, 0, 2, 1, 0}, 9, -1},
		{{5, 1, 2}, 3, -1},
		{{5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0}, 12, 7},
		{{5, 1, 0, 5, 1, 0, 9, 127, 0, 0, 1, 0}, 12, 8},
		{{'G', 'E', 'T', ' ', '/'}, 5, -1},
	};

	begin(CONTROL_PORT_SOCKS);
	send_bytes(each[_i].bytes, each[_i].len, false);
	(void)hear_all(program);
	if (each[_i].code > 0)
		ck_assert_int_eq(wire_heard[3], each[_i].code);
	ck_assert_str_eq(record(CONTROL_EVENT_CLOSE, 0).reason, "bad_request");
	ck_assert_uint_eq(erig_records(rig, erig_last(rig), CONTROL_EVENT_OPEN), 0);
	end();
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static Suite *suite(void)
{
	Suite *suite = suite_create("egress-proxy");
	TCase *tcase = tcase_create("proxies");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_tunnel_is_what_its_rule_says);
	tcase_add_test(tcase, requests_in_a_tunnel_are_judged);
	tcase_add_test(tcase, a_tunnel_for_tls_is_for_that_name_only);
	tcase_add_test(tcase, absolute_targets_go_where_they_say);
	tcase_add_test(tcase, requests_are_asked_about);
	tcase_add_loop_test(tcase, what_is_not_granted_is_refused, 0, COUNT(refused));
	tcase_add_test(tcase, a_refused_tunnel_leaves_the_connection);
	tcase_add_loop_test(tcase, socks_connects_to_names, 0, 2);
	tcase_add_test(tcase, socks_in_one_go);
	tcase_add_test(tcase, a_synthetic_address_is_its_name);
	tcase_add_loop_test(tcase, socks_says_why_not, 0, COUNT(socks_refused));
	tcase_add_loop_test(tcase, other_socks_is_ended, 0, 5);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return unit_run(suite());
}
