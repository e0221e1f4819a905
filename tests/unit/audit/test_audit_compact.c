/* Records leave out what stands in an earlier one; readers put it back. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "tests/unit/audit/audit-rig.h"

static void append_for(struct audit *audit, pid_t pid, pid_t ppid, pid_t host_pid, const char *exe)
{
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_outcome_location slot;

	rec.pid = rec.tid = pid;
	rec.ppid = ppid;
	rec.host_pid = host_pid;
	rec.exe = exe;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	audit_end_record(audit, slot, 3, 17);
}

/* Compares the next line of a compact log. Returns whether its text leaves out the process. */
static bool check_next(struct audit_reader *reader, pid_t pid, pid_t ppid, pid_t host_pid, const char *exe)
{
	struct audit_line line;

	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert(line.has_expanded_fields);
	ck_assert_int_eq(json_integer_value(json_object_get(line.json, "pid")), pid);
	ck_assert_int_eq(json_integer_value(json_object_get(line.json, "ppid")), ppid);
	ck_assert_int_eq(json_integer_value(json_object_get(line.json, "host_pid")), host_pid);
	ck_assert_int_eq(json_object_get(line.json, "host_pid") != NULL, host_pid > 0);
	ck_assert_pstr_eq(json_string_value(json_object_get(line.json, "exe")), exe);
	ck_assert_str_eq(json_string_value(json_object_get(line.json, "run")), "7f3a9c21");
	ck_assert_str_eq(json_string_value(json_object_get(line.json, "effect")), "performed");
	ck_assert_ptr_null(memmem(line.text, line.len, "\"effect\"", 8));
	return !memmem(line.text, line.len, "\"ppid\"", 6);
}

START_TEST(test_compact)
{
	static const struct {
		pid_t pid, ppid, host_pid;
		const char *exe;
	} who[] = {
		{4, 1, 900, "/bin/a"},  {4, 1, 900, "/bin/a"}, {5, 4, 901, "/bin/a"}, {4, 1, 900, "/bin/a"},
		{4, 1, 900, "/bin/b"},  {4, 1, 900, "/bin/b"}, {5, 1, 901, "/bin/a"}, {5, 1, 901, "/bin/a"},
		{68, 4, 902, "/bin/c"}, {4, 1, 900, "/bin/b"}, /* the same slot of the writer's hash table */
		{4, 1, 0, "/bin/b"},    {4, 1, 0, NULL},       {4, 1, 0, NULL},       {4, 1, 0, "/bin/b"},
	};
	static const bool known[] = {false, true,  false, true,  false, true, false,
				     true,  false, false, false, false, true, false};
	struct audit_header head = audit_rig_header();
	struct audit_reader *reader;
	struct audit_line line;
	struct audit *audit;

	head.compact = true;
	(void)unlink(audit_rig_path);
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), 0);
	for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++)
		append_for(audit, who[i].pid, who[i].ppid, who[i].host_pid, who[i].exe);
	audit_rig_close(audit);
	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert(json_is_true(json_object_get(line.json, "compact")) && !line.has_expanded_fields);
	for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
		bool left_out = check_next(reader, who[i].pid, who[i].ppid, who[i].host_pid, who[i].exe);

		ck_assert_msg(left_out == known[i], "record %zu", i);
	}
	audit_reader_free(reader);
	ck_assert_uint_eq(audit_rig_check_whole(), sizeof(who) / sizeof(who[0]) + 2);
}
END_TEST

/* An effect other than the verdict's usual one is written, and all fields of a record about a connection. */
START_TEST(test_compact_keeps_unusual_effects)
{
	struct audit_net net = {.event_name = "open", .conn_id = 1};
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_header head = audit_rig_header();
	struct audit_outcome_location slot;
	struct audit *audit;
	json_t *json;

	head.compact = true;
	(void)unlink(audit_rig_path);
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), 0);
	rec.effect = AUDIT_EFFECT_CONTINUED;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	rec.effect = AUDIT_EFFECT_REFUSED;
	rec.verdict = VERDICT_DENY;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	rec.syscall = NULL;
	rec.exe = NULL;
	rec.net = &net;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	audit_rig_close(audit);
	json = audit_rig_read_line(1);
	ck_assert_str_eq(json_string_value(json_object_get(json, "effect")), "continued");
	json_decref(json);
	json = audit_rig_read_line(2);
	ck_assert_str_eq(json_string_value(json_object_get(json, "effect")), "refused");
	ck_assert_str_eq(json_string_value(json_object_get(json, "exe")), "/usr/bin/python3.11");
	json_decref(json);
	json = audit_rig_read_line(3);
	ck_assert_ptr_null(json_object_get(json, "exe"));
	ck_assert_str_eq(json_string_value(json_object_get(json, "effect")), "refused");
	json_decref(json);
}
END_TEST

/* A record that could not be written must not count as an earlier line. */
START_TEST(test_compact_after_a_full_log)
{
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_header head = audit_rig_header();
	struct rlimit limit, small;
	struct audit_reader *reader;
	struct audit_outcome_location slot;
	struct audit_line line;
	struct audit *audit;

	head.compact = true;
	(void)unlink(audit_rig_path);
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), 0);
	audit->writes_by_pwrite = true;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = audit_get_size(audit) + 100;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	append_for(audit, rec.pid, rec.ppid, rec.host_pid, rec.exe);
	audit_rig_close(audit);
	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert(!check_next(reader, rec.pid, rec.ppid, 0, rec.exe));
	audit_reader_free(reader);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit compact");
	TCase *tests = tcase_create("log");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, test_compact);
	tcase_add_test(tests, test_compact_keeps_unusual_effects);
	tcase_add_test(tests, test_compact_after_a_full_log);
	suite_add_tcase(suite, tests);
	return audit_rig_run(suite);
}
