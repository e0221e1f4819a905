/* Records about connections: every field, and hostile bytes in each text. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/read.h"
#include "tests/unit/unit.h"

static char dir[] = "/tmp/callgate-test-audit-net-XXXXXX";
static char path[64];
static const char *const argv[] = {"curl", NULL};

static struct audit *open_log(bool allowed)
{
	struct audit_header header = {.run_id = "7f3a9c21",
				      .argv = argv,
				      .policy_name = "p",
				      .policy_sha256 = "0",
				      .workdir = "/",
				      .layers_json = "{}",
				      .records_allowed_calls = allowed};
	struct audit *audit;

	(void)unlink(path);
	ck_assert_int_eq(audit_open_log(path, &header, &audit), 0);
	return audit;
}

static void add(struct audit *audit, const struct audit_net *net, enum verdict verdict, int64_t ret)
{
	struct audit_record record = {.pid = 7, .tid = 7, .ppid = 1, .exe = "/usr/bin/curl", .verdict = verdict,
				      .effect = verdict == VERDICT_DENY ? AUDIT_EFFECT_REFUSED : AUDIT_EFFECT_PERFORMED,
				      .rule = "p.json: network.allow[0]", .reason = "granted", .net = net};
	struct audit_outcome_location slot;

	if (!net->conn_id)
		record.pid = record.tid = record.ppid = 0;
	ck_assert_int_eq(audit_begin_record(audit, &record, &slot), 0);
	audit_end_record(audit, slot, ret, 12);
}

/* The text of the only line between header and trailer. */
static char *only_line(struct audit *audit)
{
	struct audit_trailer trailer = {.status = "ok"};
	struct audit_reader *reader;
	struct audit_line line;
	char *text;

	ck_assert_int_eq(audit_close(audit, &trailer), 0);
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	text = strndup(line.text, line.len);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert_str_eq(audit_line_get_type(line.json), "trailer");
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 0);
	audit_reader_free(reader);
	return text;
}

/* In the order of callgate-audit(5). */
START_TEST(test_all_fields)
{
	struct audit_net net = {.event_name = "request",
				.conn_id = 3,
				.port = 443,
				.http_status = 403,
				.refusal_count = 2,
				.host = "api.test",
				.address = "198.18.0.16",
				.proto = "https",
				.real = "192.0.2.1:443",
				.dropped = "::1 loopback",
				.sni = "api.test",
				.alpn = "h2",
				.method = "GET",
				.path = "/a?\xe2\x80\xa6",
				.credential = "authorization: GH_TOKEN",
				.cause = "client",
				.path_is_truncated = true,
				.has_byte_counts = true,
				.bytes_up = 1,
				.bytes_down = UINT64_MAX,
				.dns_us = 1,
				.connect_us = 1002,
				.duration_us = 12345678};
	struct audit *audit = open_log(true);
	char *text, *at;

	add(audit, &net, VERDICT_ALLOW, 403);
	text = only_line(audit);
	at = strstr(text, ",\"pid\":");
	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(at,
			 ",\"pid\":7,\"ppid\":1,\"exe\":\"/usr/bin/curl\",\"event\":\"request\",\"conn\":3,"
			 "\"host\":\"api.test\",\"port\":443,\"proto\":\"https\",\"address\":\"198.18.0.16\","
			 "\"real\":\"192.0.2.1:443\",\"dropped\":\"::1 loopback\",\"sni\":\"api.test\",\"alpn\":\"h2\","
			 "\"method\":\"GET\",\"path\":\"/a?\xe2\x80\xa6\",\"truncated\":true,"
			 "\"credential\":\"authorization: GH_TOKEN\",\"status\":403,\"cause\":\"client\",\"count\":2,"
			 "\"bytes_up\":1,\"bytes_down\":9223372036854775807,\"dns_ms\":0.001,\"connect_ms\":1.002,"
			 "\"duration_ms\":12345.678,\"verdict\":\"allow\",\"effect\":\"performed\","
			 "\"rule\":\"p.json: network.allow[0]\",\"ret\":  403              ,\"ns\":12            }");
	free(text);
}
END_TEST

/* Unknown values are left out. */
START_TEST(test_few_fields)
{
	struct audit_net net = {.event_name = "dns", .host = "evil.test", .proto = "", .refusal_count = 1};
	struct audit *audit = open_log(false);
	char *text, *at;

	add(audit, &net, VERDICT_DENY, -ENOENT);
	text = only_line(audit);
	at = strstr(text, ",\"run\":");
	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(at, ",\"run\":\"7f3a9c21\",\"exe\":\"/usr/bin/curl\",\"event\":\"dns\",\"host\":\"evil.test\","
			     "\"verdict\":\"deny\",\"effect\":\"refused\",\"rule\":\"p.json: network.allow[0]\","
			     "\"reason\":\"granted\",\"errno\":\"ENOENT\"         ,\"ns\":12            }");
	free(text);
}
END_TEST

static const char *const text_keys[] = {"host", "proto", "address", "real", "dropped", "sni",
					"alpn", "method", "path", "credential", "cause"};

/* Long texts of characters with the longest escapes: nothing is lost, and no line is added. */
START_TEST(test_hostile_texts)
{
	static const char *const nasty[] = {"\xff", "\n{\"seq\":9}\n", "\x1b[2J",      "\"",
					    "\\",   "\xc2\x85",        "\xe2\x80\xa8", "\x7f"};
	static char long_text[8192];
	const char **text[11];
	struct audit_net net = {.event_name = "request", .conn_id = 1};
	struct audit *audit = open_log(true);
	struct audit_reader *reader;
	struct audit_line line;
	size_t len = 0;

	while (len + strlen(nasty[_i]) < sizeof(long_text)) {
		memcpy(long_text + len, nasty[_i], strlen(nasty[_i]));
		len += strlen(nasty[_i]);
	}
	text[0] = &net.host, text[1] = &net.proto, text[2] = &net.address, text[3] = &net.real, text[4] = &net.dropped;
	text[5] = &net.sni, text[6] = &net.alpn, text[7] = &net.method, text[8] = &net.path, text[9] = &net.credential;
	text[10] = &net.cause;
	for (size_t i = 0; i < 11; i++)
		*text[i] = long_text;
	add(audit, &net, VERDICT_ALLOW, 200);
	free(only_line(audit));
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	for (size_t at = 0; at < line.len; at++)
		if ((unsigned char)line.text[at] < 0x20)
			ck_abort_msg("a control character at %zu", at);
	for (size_t i = 0; i < 11; i++) {
		size_t got;
		char *bytes = audit_line_get_bytes(line.json, text_keys[i], &got);

		ck_assert_uint_eq(got, len);
		ck_assert_mem_eq(bytes, long_text, len);
		free(bytes);
	}
	audit_reader_free(reader);
}
END_TEST

/* With record_allowed false. */
START_TEST(test_allowed_left_out)
{
	struct audit_net net = {.event_name = "request", .conn_id = 1, .host = "a.test"};
	struct audit *audit = open_log(false);

	add(audit, &net, VERDICT_ALLOW, 200);
	ck_assert_uint_eq(audit_count_records(audit), 0);
	add(audit, &net, VERDICT_DENY, 403);
	ck_assert_uint_eq(audit_count_records(audit), 1);
	free(only_line(audit));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit_net");
	TCase *tests = tcase_create("audit_net");
	int failed;

	if (!mkdtemp(dir))
		return 99;
	(void)snprintf(path, sizeof(path), "%s/log", dir);
	tcase_add_test(tests, test_all_fields);
	tcase_add_test(tests, test_few_fields);
	tcase_add_loop_test(tests, test_hostile_texts, 0, 8);
	tcase_add_test(tests, test_allowed_left_out);
	suite_add_tcase(suite, tests);
	failed = unit_run(suite);
	(void)unlink(path);
	(void)rmdir(dir);
	return failed;
}
