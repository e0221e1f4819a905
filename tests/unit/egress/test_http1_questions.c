/* mode_http1: requests that are asked about. */
#include "tests/unit/egress/http1-rig.h"

/* ---- requests that are asked about ---- */

#define ASKING ", \"http\": [\"GET /again\"], \"on_deny\": \"ask\""

START_TEST(a_request_waits_for_its_answer)
{
	struct control_question question;

	http1_begin(ASKING);
	http1_say(rig.program, "POST /a/../b?q=1 HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\n\r\nhi"
			       "GET /again HTTP/1.1\r\nHost: @\r\n\r\n");
	question = erig_question(rig.egress, 0);
	ck_assert_uint_eq(question.conn_id, erig_last(rig.egress));
	ck_assert_uint_eq(question.port, rig.port);
	ck_assert_str_eq(question.host, "a.test");
	ck_assert_str_eq(question.method, "POST");
	ck_assert_str_eq(question.path, "/b");
	ck_assert_str_eq(question.query, "?q=1");
	ck_assert_int_eq(question.body_bytes, 2);
	http1_silent(rig.upstream);
	erig_answer_question(rig.egress, question.id, 0);
	http1_hear(rig.upstream, "POST /b?q=1 HTTP/1.1\r\nHost: @\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_int_eq(http1_request(0).allow, 1);
	ck_assert_uint_eq(http1_request(0).question_id, question.id);
	(void)close(rig.upstream);
	rig.upstream = erig_accept(rig.server);
	http1_hear(rig.upstream,
		   "GET /again HTTP/1.1\r\nHost: @\r\n\r\n"); /* the pipelined one, which was not asked about */
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_uint_eq(http1_request(1).question_id, 0);
	http1_say(rig.program, "DELETE /c HTTP/1.1\r\nHost: @\r\n\r\n");
	question = erig_question(rig.egress, 1);
	erig_answer_question(rig.egress, question.id, -EACCES);
	http1_hear(rig.program, "HTTP/1.1 403 Forbidden\r\n");
	ck_assert_int_eq(http1_request(2).allow, 0);
	ck_assert_str_eq(http1_request(2).reason, "path_not_granted");
	ck_assert_uint_eq(http1_request(2).question_id, question.id);
	http1_end();
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
	http1_begin(ASKING);
	http1_say(rig.program, cases[_i].text);
	http1_hear(rig.program, "HTTP/1.1 4");
	ck_assert_str_eq(http1_request(0).reason, cases[_i].reason);
	ck_assert_uint_eq(http1_request(0).question_id, 0);
	http1_end();
}
END_TEST

/* The server may close, or speak unasked, while a request waits. */
START_TEST(a_server_may_end_while_a_request_waits)
{
	http1_begin(ASKING);
	http1_say(rig.program, "PUT /x HTTP/1.1\r\nHost: @\r\n\r\n");
	(void)erig_question(rig.egress, 0);
	if (_i == 0)
		http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nspoof");
	else
		(void)close(rig.upstream);
	erig_answer_question(rig.egress, erig_question(rig.egress, 0).id, 0);
	if (_i == 0) {
		http1_hear(rig.program, "HTTP/1.1 502 Bad Gateway\r\n");
	} else {
		rig.upstream = erig_accept(rig.server);
		http1_hear(rig.upstream, "PUT /x HTTP/1.1\r\nHost: @\r\n\r\n");
		http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	}
	ck_assert_uint_eq(http1_request(0).question_id, erig_question(rig.egress, 0).id);
	http1_end();
}
END_TEST

/* A client that closes while its request waits, also behind bytes that were not read. */
START_TEST(a_client_that_goes_withdraws_its_question)
{
	static char body[100000];

	http1_begin(ASKING);
	memset(body, 'x', sizeof(body) - 1);
	http1_say(rig.program, "PUT /x HTTP/1.1\r\nHost: @\r\nContent-Length: 400000\r\n\r\n");
	if (_i > 0)
		wire_say(rig.program, body);
	(void)erig_question(rig.egress, 0);
	if (_i == 2)
		(void)shutdown(rig.program, SHUT_WR);
	else
		(void)close(rig.program);
	ck_assert_str_eq(http1_closed().close_cause, "client");
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0);
	ck_assert_str_eq(wire_heard, "");
	ck_assert_int_eq(http1_request(0).allow, 0);
	ck_assert_str_eq(http1_request(0).reason, "cancelled");
	ck_assert_uint_eq(http1_request(0).question_id, erig_question(rig.egress, 0).id);
	erig_answer_question(rig.egress, erig_question(rig.egress, 0).id, 0); /* too late */
	if (_i != 2)
		rig.program = -1;
	http1_end();
}
END_TEST

START_TEST(a_websocket_is_asked_about)
{
	struct control_question question;

	http1_begin(ASKING);
	http1_say(rig.program, "GET /again HTTP/1.1\r\nHost: @\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	question = erig_question(rig.egress, 0);
	ck_assert_uint_eq(question.asks_for_websocket, 1);
	erig_answer_question(rig.egress, question.id, 0);
	http1_hear(rig.upstream, "GET /again HTTP/1.1\r\nHost: @\r\n");
	ck_assert_str_eq(http1_request(0).proto, "websocket");
	http1_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress-http1-questions");
	TCase *tcase = tcase_create("mode");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_request_waits_for_its_answer);
	tcase_add_loop_test(tcase, not_every_refusal_is_asked_about, 0, 5);
	tcase_add_loop_test(tcase, a_server_may_end_while_a_request_waits, 0, 2);
	tcase_add_loop_test(tcase, a_client_that_goes_withdraws_its_question, 0, 3);
	tcase_add_test(tcase, a_websocket_is_asked_about);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
