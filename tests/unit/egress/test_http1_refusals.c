/* mode_http1: what must not go out does not, and what becomes of the connection. */
#include "base/cleanup.h"
#include "base/io.h"
#include "tests/unit/egress/http1-rig.h"

/* ---- refusals ---- */

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

	http1_begin(HTTP1_RULES);
	http1_say(rig.program, one->text);
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(one->status, one->reason);
	record = http1_request(0);
	ck_assert_int_eq(record.allow, 0);
	ck_assert_str_eq(record.reason, one->reason);
	ck_assert_uint_eq(record.http_status, one->status);
	(void)close(rig.program);
	rig.program = -1;
	ck_assert_int_eq(http1_hear_all(rig.upstream), 0); /* orderly: nothing was begun */
	ck_assert_str_eq(wire_heard, "");
	ck_assert_uint_eq(http1_closed().http_status, one->status);
	http1_end();
}
END_TEST

START_TEST(a_refusal_leaves_the_connection_where_it_can)
{
	http1_begin(HTTP1_RULES);
	http1_say(rig.program, "GET /no?token=x HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n");
	while (!strstr(wire_heard, "}\n")) {
		ck_assert(wire_is_readable(rig.program, ERIG_WAIT_MS));
		ck_assert_int_gt(read(rig.program, wire_heard, sizeof(wire_heard)), 0);
	}
	ck_assert_ptr_null(strstr(wire_heard, "token"));
	http1_say(rig.program, "GET /ok/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET /ok/2 HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	http1_hear(rig.program, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ck_assert_str_eq(http1_request(0).path, "/no?…");
	ck_assert_int_eq(http1_request(1).allow, 1);
	/* One with a body that nobody reads: told, not reset. */
	http1_say(rig.program, "POST /no HTTP/1.1\r\nHost: @\r\nContent-Length: 1000000\r\nExpect: "
			       "100-continue\r\n\r\nthe first of it");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(403, "path_not_granted");
	http1_end();
}
END_TEST

START_TEST(head_gets_no_body_with_its_refusal)
{
	http1_begin(HTTP1_RULES);
	http1_say(rig.program, "HEAD /no HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	ck_assert_str_eq(strstr(wire_heard, "\r\n\r\n"), "\r\n\r\n");
	http1_end();
}
END_TEST

START_TEST(a_head_has_a_limit)
{
	_cleanup_free_ char *much = malloc(40000);

	http1_begin("");
	memset(much, 'x', 40000);
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\nX: ");
	(void)io_write_all(rig.program, much, 40000);
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(431, "too_large");
	http1_end();
}
END_TEST

START_TEST(a_body_that_turns_bad_ends_everything)
{
	http1_begin("");
	http1_say(rig.program, "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
	http1_hear(
		rig.upstream,
		"POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n");
	http1_say(rig.program, "5;x=\"\r\nworld\r\n0\r\n\r\n");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(400, "smuggling");
	ck_assert_int_eq(http1_hear_all(rig.upstream), -ECONNRESET);
	ck_assert_int_lt(erig_done(rig.egress, 0).result, 0);
	ck_assert_int_eq(http1_request(1).allow, 0);
	http1_end();
}
END_TEST

START_TEST(budgets_are_kept)
{
	http1_begin(", \"requests_per_minute\": 2");
	http1_exchange();
	http1_exchange();
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\n");
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(429, "cap_rate");
	http1_end();
}
END_TEST

START_TEST(a_connection_has_so_many_bytes)
{
	http1_begin(", \"max_bytes_down\": \"1K\"");
	http1_say(rig.program, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_hear(rig.upstream, "GET / HTTP/1.1\r\nHost: @\r\n\r\n");
	http1_say(rig.upstream, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
	for (int i = 0; i < 100; i++)
		(void)send(rig.upstream, wire_heard, 1000, MSG_NOSIGNAL);
	ck_assert_int_eq(http1_hear_all(rig.program), -ECONNRESET);
	ck_assert_uint_le(strlen(wire_heard), 1100);
	ck_assert_str_eq(http1_closed().close_cause, "cap_bytes_down");
	ck_assert_str_eq(http1_closed().reason, "cap_bytes");
	http1_end();
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

	http1_begin(HTTP1_RULES);
	(void)snprintf(text, sizeof(text), "GET /ok/1 HTTP/1.1\r\nHost: @\r\n%s\r\n\r\n", other_names[_i]);
	http1_say(rig.program, text);
	(void)shutdown(rig.program, SHUT_WR);
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(403, "override_not_granted");
	ck_assert_str_eq(http1_request(0).reason, "override_not_granted");
	http1_end();
}
END_TEST

START_TEST(a_length_by_another_spelling_is_refused)
{
	static const char *const names[] = {"Content_Length: 5", "content.length: 5", "Transfer_Encoding: chunked",
					    "Transfer+Encoding: x"};
	char text[256];

	http1_begin(HTTP1_RULES);
	(void)snprintf(text, sizeof(text), "POST /ok/1 HTTP/1.1\r\nHost: @\r\n%s\r\n\r\n", names[_i]);
	http1_say(rig.program, text);
	(void)shutdown(rig.program, SHUT_WR);
	ck_assert_int_eq(http1_hear_all(rig.program), 0);
	http1_hear_status(400, "smuggling");
	http1_end();
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

	http1_begin(HTTP1_RULES);
	(void)snprintf(text, sizeof(text), "GET /ok/1 HTTP/1.1\r\nHost: @\r\n%s", fields);
	http1_say(rig.program, text);
	http1_hear(rig.upstream, text);
	http1_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress-http1-refusals");
	TCase *tcase = tcase_create("mode");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, what_must_not_go_out_does_not, 0, (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(tcase, a_refusal_leaves_the_connection_where_it_can);
	tcase_add_test(tcase, head_gets_no_body_with_its_refusal);
	tcase_add_test(tcase, a_head_has_a_limit);
	tcase_add_test(tcase, a_body_that_turns_bad_ends_everything);
	tcase_add_test(tcase, budgets_are_kept);
	tcase_add_test(tcase, a_connection_has_so_many_bytes);
	tcase_add_loop_test(tcase, an_override_by_another_spelling_is_one, 0,
			    (int)(sizeof(other_names) / sizeof(other_names[0])));
	tcase_add_loop_test(tcase, a_length_by_another_spelling_is_refused, 0, 4);
	tcase_add_test(tcase, honest_fields_pass);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
