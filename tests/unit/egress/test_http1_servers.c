/* mode_http1: servers that end, answer too early or too much, or change the protocol; the connections after them. */
#include "tests/unit/egress/http1-rig.h"

/* ---- servers ---- */

START_TEST(a_server_that_ends_between_requests_is_seen_ending)
{
	http1_begin("");
	http1_exchange();
	(void)close(rig.upstream);
	rig.upstream = -1;
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_str_eq(http1_closed().close_cause, "server");
	ck_assert_str_eq(http1_closed().reason, "");
	http1_end();
}
END_TEST

START_TEST(a_server_that_speaks_unasked_is_not_heard)
{
	http1_begin("");
	http1_exchange();
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof");
	ck_assert_int_eq(http1_hear_all(rig.program), -ECONNRESET);
	ck_assert_str_eq(http1_closed().reason, "bad_response");
	http1_end();
}
END_TEST

START_TEST(a_second_response_is_not_heard)
{
	http1_begin("");
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream,
		  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_str_eq(wire_heard, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	http1_end();
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

	http1_begin("");
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, each[_i]);
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(502, "bad_response");
	ck_assert_int_lt(erig_done(rig.egress, 0).result, 0);
	http1_end();
}
END_TEST

START_TEST(a_response_cut_off_is_no_whole_one)
{
	static const char *const each[] = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
					   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n"};

	http1_begin("");
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, each[_i]);
	(void)close(rig.upstream);
	rig.upstream = -1;
	ck_assert_int_eq(http1_hear_all(rig.program), -ECONNRESET);
	ck_assert_str_eq(http1_closed().reason, "truncated");
	ck_assert_int_lt(erig_done(rig.egress, 0).result, 0);
	http1_end();
}
END_TEST

START_TEST(an_answer_may_come_before_all_was_asked)
{
	http1_begin("");
	http1_say(rig.program, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 100000000\r\n\r\nbegun");
	http1_hear(rig.upstream,
		   "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 100000000\r\nConnection: close\r\n\r\nbegun");
	http1_say(rig.upstream, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
	(void)shutdown(rig.upstream, SHUT_WR);
	http1_hear(rig.program, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
	ck_assert_int_eq(http1_hear_all(rig.program),
			 0); /* the client hears all of it, though it has not said all of its own */
	ck_assert_int_eq(erig_done(rig.egress, 0).result, 413);
	http1_end();
}
END_TEST

START_TEST(a_client_that_goes_takes_its_request_along)
{
	http1_begin("");
	http1_say(rig.program, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 10\r\n\r\nbegun");
	http1_hear(rig.upstream, "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 10\r\nConnection: close\r\n\r\nbegun");
	(void)close(rig.program);
	rig.program = -1;
	ck_assert_int_eq(http1_hear_all(rig.upstream), -ECONNRESET); /* no orderly end of what is not whole */
	ck_assert_str_eq(http1_closed().close_cause, "client");
	http1_end();
}
END_TEST

/* ---- other protocols ---- */

START_TEST(a_websocket_becomes_a_relay)
{
	http1_begin(HTTP1_RULES);
	http1_say(rig.program,
		  "GET /chat HTTP/1.1\r\nHost: @\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
		  "Sec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\nahead");
	http1_hear(rig.upstream,
		   "GET /chat HTTP/1.1\r\nHost: @\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n"
		   "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	http1_silent(rig.upstream);
	http1_say(rig.upstream, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
				"Sec-WebSocket-Accept: a\r\n\r\n\x81\x05hello");
	http1_hear(rig.program, "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: a\r\nUpgrade: websocket\r\n"
				"Connection: Upgrade\r\n\r\n\x81\x05hello");
	http1_hear(rig.upstream, "ahead");
	wire_say(rig.program, "\x81\x85 any bytes");
	http1_hear(rig.upstream, "\x81\x85 any bytes");
	wire_say(rig.upstream, "\x88\x02");
	http1_hear(rig.program, "\x88\x02");
	ck_assert_int_eq(erig_done(rig.egress, 0).result, 101);
	ck_assert_str_eq(http1_request(0).proto, "websocket");
	http1_end();
}
END_TEST

START_TEST(a_server_may_decline_a_websocket)
{
	http1_begin(HTTP1_RULES);
	http1_say(rig.program, "GET /chat HTTP/1.1\r\nHost: @\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	http1_hear(rig.upstream, "GET /chat HTTP/1.1\r\nHost: @\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	http1_say(rig.upstream,
		  "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n");
	http1_end();
}
END_TEST

START_TEST(other_upgrades_are_not_passed_on)
{
	http1_begin("");
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
			       "h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nUpgrade: h2c\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_exchange();
	http1_end();
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
		http1_begin("");
		(void)snprintf(text, sizeof(text), "%s /a HTTP/1.1\r\nHost: @\r\n%s", methods[_i], bodies[i]);
		http1_say(rig.program, text);
		ck_assert_int_eq(http1_hear_all(rig.program), 0);
		ck_assert_ptr_nonnull(strstr(wire_heard, " 403 "));
		ck_assert_int_eq(http1_request(0).http_status, 403);
		ck_assert_str_eq(http1_request(0).reason, "body_not_granted");
		ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
		ck_assert_str_eq(wire_heard, "");
		http1_end();
	}
	http1_begin(", \"any_body\": true");
	(void)snprintf(text, sizeof(text), "%s /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi", methods[_i]);
	http1_say(rig.program, text);
	(void)snprintf(text, sizeof(text),
		       "%s /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", methods[_i]);
	http1_hear(rig.upstream, text);
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_exchange_anew();
	http1_end();
}
END_TEST

/* The server answers the body as well: that answer is nobody's. */
START_TEST(an_answer_to_a_body_is_not_the_next_requests)
{
	http1_begin("");
	http1_say(rig.program,
		  "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhiGET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	(void)send(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof", 43, MSG_NOSIGNAL);
	(void)close(rig.upstream);
	rig.upstream = erig_accept(rig.server);
	http1_hear(rig.upstream, "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	http1_end();
}
END_TEST

START_TEST(an_endpoint_that_is_gone_becomes_502)
{
	http1_begin("");
	http1_say(rig.program, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi");
	http1_hear(rig.upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	/* A process that was forked meanwhile may still have a copy: it is to listen no more at once. */
	(void)shutdown(rig.server, SHUT_RDWR);
	(void)close(rig.server);
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_say(rig.program, "GET /b HTTP/1.1\r\nHost: @\r\n\r\n");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_ptr_nonnull(strstr(wire_heard, "HTTP/1.1 502 "));
	ck_assert_int_eq(http1_request(1).http_status, 502);
	ck_assert_str_eq(http1_request(1).reason, "connect_failed");
	rig.server = -1;
	http1_end();
}
END_TEST

/* ---- an upstream connection after another ---- */

/* What a connection has used up, the next one of the same client has not anew. */
START_TEST(budgets_outlive_an_upstream_connection)
{
	http1_begin(", \"max_requests\": 2, \"max_connections\": 1");
	for (int i = 0; i < 2; i++) {
		http1_say(rig.program, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi");
		if (i)
			rig.upstream = erig_accept(rig.server);
		http1_hear(rig.upstream,
			   "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
		http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
		(void)close(rig.upstream);
	}
	http1_say(rig.program, "GET /b HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	rig.upstream = erig_accept(rig.server);
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(429, "cap_requests");
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
	ck_assert_str_eq(wire_heard, "");
	http1_end();
}
END_TEST

/* A server that answers as soon as it is connected to again: that is no answer. */
START_TEST(an_answer_before_the_request_is_none)
{
	static const char early[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
				    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof";
	http1_begin("");
	http1_say(rig.program, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi");
	http1_hear(rig.upstream, "POST /a HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
	(void)close(rig.upstream);
	http1_say(rig.program, "GET /1 HTTP/1.1\r\nHost: @\r\n\r\nGET /2 HTTP/1.1\r\nHost: @\r\n\r\n");
	rig.upstream = erig_accept(rig.server);
	(void)send(rig.upstream, early, sizeof(early) - 1, MSG_NOSIGNAL);
	(void)http1_hear_all(rig.program);
	ck_assert_ptr_null(strstr(wire_heard, "spoof"));
	http1_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress-http1-servers");
	TCase *tcase = tcase_create("mode");

	tcase_set_timeout(tcase, 120);
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
	tcase_add_test(tcase, budgets_outlive_an_upstream_connection);
	tcase_add_test(tcase, an_answer_before_the_request_is_none);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
