/* Records read without JSON objects: every field, arguments one by one, lines that are no JSON. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "audit/scan.h"
#include "tests/unit/unit.h"

static const char call[] =
	"{\"seq\":2,\"time\":\"2026-11-21T02:28:18.308088736Z\",\"mono_ns\":4014744492952,\"run\":\"7f3a9c21\","
	"\"pid\":4711,\"tid\":4713,\"ppid\":4700,\"host_pid\":99,\"exe\":\"/usr/bin/x\",\"syscall\":\"symlinkat\","
	"\"args\":{\"target\":\"a\\\\\\\\b\\u001b\",\"n\":-5,\"flags\":\"0x80000\"},\"path\":\"/etc/x\","
	"\"resolved\":null,\"right\":\"w\",\"verdict\":\"deny\",\"effect\":\"refused\",\"on_deny\":\"kill\","
	"\"reason\":\"not_granted\",      \"errno\":\"ENOENT\"         ,\"ns\":3150          }";
static const char end[] =
	"{\"seq\":4,\"event\":\"close\",\"conn\":1,\"host\":\"api.test\",\"port\":8080,\"proto\":\"http\","
	"\"status\":200,\"cause\":\"server\",\"count\":3,\"bytes_up\":0,\"bytes_down\":202,\"dns_ms\":0.005,"
	"\"duration_ms\":8.499,\"verdict\":\"allow\",\"ret\":-1,\"ns\":null}";

static bool text_is(struct scan_text text, const char *wanted)
{
	return scan_text_equals(&text, wanted);
}

START_TEST(test_fields_of_a_call)
{
	struct scan_record record;

	ck_assert_int_eq(scan_parse_line_fast(call, strlen(call), &record), 0);
	ck_assert(text_is(record.time, "2026-11-21T02:28:18.308088736Z") && text_is(record.run, "7f3a9c21"));
	ck_assert(record.mono_ns == 4014744492952 && record.pid == 4711 && record.tid == 4713 && record.ppid == 4700);
	ck_assert(record.host_pid == 99 && record.has_ns && record.ns == 3150 && !record.has_ret);
	ck_assert(text_is(record.effect, "refused") && text_is(record.on_deny, "kill") && record.path[0].is_unresolved);
	ck_assert(text_is(record.error, "ENOENT") && text_is(record.reason, "not_granted"));
	ck_assert(text_is(record.symlink_target, "a\\\\\\\\b\\u001b"));
}
END_TEST

START_TEST(test_fields_of_a_connection)
{
	struct scan_record record;

	ck_assert_int_eq(scan_parse_line_fast(end, strlen(end), &record), 0);
	ck_assert(record.conn == 1 && record.port == 8080 && record.status == 200 && record.refusal_count == 3);
	ck_assert(record.has_byte_counts && record.bytes_up == 0 && record.bytes_down == 202);
	ck_assert(text_is(record.dns_ms, "0.005") && text_is(record.duration_ms, "8.499") && !record.connect_ms.at);
	ck_assert(record.has_ret && record.ret == -1 && !record.has_ns);
	ck_assert(record.pid == 0 && !record.args_json.at);
}
END_TEST

START_TEST(test_arguments_one_by_one)
{
	static const char *const wanted[][2] = {
		{"target", "a\\\\\\\\b\\u001b"}, {"n", "-5"}, {"flags", "0x80000"}};
	struct scan_text rest, name, value;
	struct scan_record record;
	size_t count = 0;

	ck_assert_int_eq(scan_parse_line_fast(call, strlen(call), &record), 0);
	for (rest = record.args_json; scan_next_arg(&rest, &name, &value); count++) {
		ck_assert_uint_lt(count, 3);
		ck_assert(text_is(name, wanted[count][0]) && text_is(value, wanted[count][1]));
	}
	ck_assert_uint_eq(count, 3);
	rest = (struct scan_text){NULL, 0};
	ck_assert(!scan_next_arg(&rest, &name, &value));
}
END_TEST

START_TEST(test_texts_without_escapes)
{
	static const char in[] = "a\\\\\\\\b\\u001b\\ud83d\\ude00\\\"", out[] = "a\\\\b\x1b\xf0\x9f\x98\x80\"";
	const struct scan_text text = {in, sizeof(in) - 1}, bad = {"\\q", 2};
	char got[sizeof(in)];

	ck_assert_int_eq(scan_copy_unescaped_utf8(&text, got), sizeof(out) - 1);
	ck_assert_mem_eq(got, out, sizeof(out) - 1); /* the log's own escapes stay */
	ck_assert_int_eq(scan_copy_unescaped_utf8(&bad, got), -EBADMSG);
}
END_TEST

/* What scan_parse_line_fast and scan_line_is_valid_json_text take together is valid JSON. */
START_TEST(test_no_json)
{
	static const char *const lines[] = {
		"{\"seq\":01}", "{\"seq\":1,\"pid\":-}", "{\"seq\":1,\"pid\":--1}", "{\"seq\":1,\"dns_ms\":1.}",
		"{\"seq\":1,\"x\":1-2}", "{\"seq\":1,\"x\":truefalse}", "{\"seq\":1,\"x\":maybe}",
		"{\"seq\":1,\"args\":{\"a\":0x5}}", "{\"seq\":1,\"pid\":1,\"pid\":1}", "{\"seq\":1,}", "{\"seq\":1",
		"{\"seq\":1}x", "[\"seq\"]", "{\"seq\":1,\"path\":\"a\nb\"}", "{\"seq\":1,\"path\":\"\\q\"}",
		"{\"seq\":1,\"path\":\"\\u12\"}", "{\"seq\":1,\"path\":\"\\udc00\"}",
		"{\"seq\":1,\"path\":\"\\ud800x\"}", "{\"seq\":1,\"path\":\"\\u0000\"}",
		"{\"seq\":1,\"path\":\"\xff\"}", "{\"seq\":1,\"path\":\"\xc0\xaf\"}",
		"{\"seq\":1,\"path\":\"\xed\xa0\x80\"}", "{\"seq\":1,\"ret\":9999999999999999999}"};
	struct scan_record record;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ck_assert_msg(!scan_line_is_valid_json_text(lines[i], strlen(lines[i])) ||
				      scan_parse_line_fast(lines[i], strlen(lines[i]), &record) < 0,
			      "taken: %s", lines[i]);
	ck_assert(scan_line_is_valid_json_text(call, strlen(call)) && scan_line_is_valid_json_text(end, strlen(end)));
	/* a bidirectional control is valid UTF-8 */
	ck_assert(scan_line_is_valid_json_text("{\"a\":\"\xe2\x80\xae\"}", 11));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scan");
	TCase *tcase = tcase_create("scan");

	tcase_add_test(tcase, test_fields_of_a_call);
	tcase_add_test(tcase, test_fields_of_a_connection);
	tcase_add_test(tcase, test_arguments_one_by_one);
	tcase_add_test(tcase, test_texts_without_escapes);
	tcase_add_test(tcase, test_no_json);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
