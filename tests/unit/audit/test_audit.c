/* Writes logs and reads them back: no byte is lost, and every outcome is right. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "audit/put.h"
#include "tests/unit/audit/audit-rig.h"

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

static size_t random_text(char *text, size_t max)
{
	static const char nasty[] = "\n\r\t\x1b\"\\\x7f\xff\xc3\xa4\xe2\x80\xa8\xc2\x85/x";
	size_t len = 1 + next_random() % (max - 1);

	for (size_t i = 0; i < len; i++) {
		uint32_t pick = next_random();

		text[i] = pick % 3 == 0 ? nasty[pick / 3 % (sizeof(nasty) - 1)] : (char)(1 + pick / 3 % 255);
	}
	return len;
}

START_TEST(test_header_and_trailer)
{
	struct audit *audit = audit_rig_open();
	json_t *json;
	size_t len;
	char *arg;

	audit_rig_close(audit);
	ck_assert_uint_eq(audit_rig_check_whole(), 2);
	json = audit_rig_read_line(0);
	ck_assert_str_eq(audit_line_get_type(json), "header");
	ck_assert_str_eq(json_string_value(json_object_get(json, "run")), "7f3a9c21d0e4");
	ck_assert(!audit_header_lacks_records_of_reads(json));
	ck_assert_str_eq(json_string_value(json_object_get(json, "judge")), "all");
	arg = strdup(json_string_value(json_array_get(json_object_get(json, "command"), 2)));
	ck_assert_str_eq(arg, "print(\"\x1b[31m\")\n\\xff");
	free(arg);
	json_decref(json);
	json = audit_rig_read_line(1);
	ck_assert_str_eq(audit_line_get_type(json), "trailer");
	arg = audit_line_get_bytes(json, "status", &len);
	ck_assert_str_eq(arg, "ok");
	free(arg);
	json_decref(json);
}
END_TEST

START_TEST(test_hostile_text)
{
	enum { COUNT = 3000 };
	static char texts[COUNT][200];
	static size_t lens[COUNT];
	struct audit *audit = audit_rig_open();
	struct audit_reader *reader;
	struct audit_line line;

	for (int i = 0; i < COUNT; i++) {
		struct audit_record rec;
		struct audit_outcome_location slot;

		lens[i] = random_text(texts[i], sizeof(texts[i]));
		rec = audit_rig_record(texts[i], lens[i]);
		rec.arg[2] = (struct audit_arg){
			.name = "target", .kind = AUDIT_ARG_TEXT, .text = texts[i], .text_len = lens[i]};
		rec.arg_count = 3;
		ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
		/* An outcome within one page: a page fault never splits its stores. */
		ck_assert_uint_eq(slot.outcome_offset / AUDIT_PAGE_BYTES,
				  (slot.outcome_offset + AUDIT_OUTCOME_BYTES + 1) / AUDIT_PAGE_BYTES);
		audit_end_record(audit, slot, -ENOENT, 4711);
	}
	audit_rig_close(audit);
	ck_assert_uint_eq(audit_rig_check_whole(), COUNT + 2);
	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	for (int i = 0; i < COUNT; i++) {
		size_t len, resolved_path_len;
		char *text, *resolved;

		ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
		text = audit_line_get_bytes(line.json, "path", &len);
		ck_assert_uint_eq(len, lens[i]);
		ck_assert_mem_eq(text, texts[i], len);
		free(text);
		text = audit_line_get_bytes(json_object_get(line.json, "args"), "target", &len);
		ck_assert_uint_eq(len, lens[i]);
		ck_assert_mem_eq(text, texts[i], len);
		free(text);
		resolved = audit_line_get_resolved_path(line.json, 0, &resolved_path_len);
		ck_assert_ptr_null(resolved); /* none was recorded */
		for (size_t at = 0; at < line.len; at++)
			if ((unsigned char)line.text[at] < 0x20) /* each assertion writes to a file: slow */
				ck_abort_msg("a control character at %zu", at);
	}
	audit_reader_free(reader);
}
END_TEST

/* Digits are written eight at a time, the last of them blank. */
START_TEST(test_numbers)
{
	char want[64], got[64];
	uint64_t value = 0;

	for (unsigned i = 0; i < 400000; i++) {
		uint64_t shown = i < 100000 ? i : value >> i % 64;

		value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		*put_uint(got, shown) = '\0';
		(void)snprintf(want, sizeof(want), "%llu", (unsigned long long)shown);
		if (strcmp(got, want) != 0)
			ck_abort_msg("%s is not %s", got, want);
	}
	for (uint64_t ten = 1; ten <= UINT64_C(1000000000000000000); ten *= 10) {
		for (uint64_t near = ten - 1; near <= ten + 1; near++) {
			*put_uint(got, near) = '\0';
			(void)snprintf(want, sizeof(want), "%llu", (unsigned long long)near);
			ck_assert_str_eq(got, want);
		}
	}
	memset(got, 'x', sizeof(got));
	(void)put_uint(got, 7);
	ck_assert_mem_eq(got, "7       x", 9);
}
END_TEST

START_TEST(test_outcomes)
{
	static const int64_t values[] = {
		0, 3, 65536, 4294967296, 1234567890123456, 12345678901234567, 99999999999999999};
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit *audit = audit_rig_open();
	struct audit_outcome_location slot;
	json_t *json;

	rec.resolved_path = "/a";
	rec.resolved_path_len = 2;
	for (int error = 1; error <= AUDIT_ERRNO_MAX; error++) {
		ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
		audit_end_record(audit, slot, -error, 1);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
		audit_end_record(audit, slot, values[i], UINT64_MAX);
	}
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0); /* killed here: no outcome */
	audit_rig_close(audit);
	for (int error = 1; error <= AUDIT_ERRNO_MAX; error++) {
		const json_t *name;

		json = audit_rig_read_line((uint64_t)error);
		name = json_object_get(json, "errno");
		if (strerrorname_np(error))
			ck_assert_str_eq(json_string_value(name), strerrorname_np(error));
		else
			ck_assert_int_eq(json_integer_value(name), error);
		ck_assert_int_eq(json_integer_value(json_object_get(json, "ns")), 1);
		ck_assert_ptr_null(json_object_get(json, "ret"));
		json_decref(json);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		json = audit_rig_read_line(AUDIT_ERRNO_MAX + 1 + i);
		ck_assert_int_eq(json_integer_value(json_object_get(json, "ret")), values[i]);
		json_decref(json);
	}
	json = audit_rig_read_line(AUDIT_ERRNO_MAX + 1 + sizeof(values) / sizeof(*values));
	ck_assert(json_is_null(json_object_get(json, "ret")));
	ck_assert(json_is_null(json_object_get(json, "ns")));
	ck_assert_ptr_null(json_object_get(json, "resolved")); /* the same as path */
	json_decref(json);
}
END_TEST

/* Single-steps a child through audit_end_record: after each instruction, the line must parse. */
static void step_through(int64_t ret, unsigned *ret_states)
{
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit *audit = audit_rig_open();
	struct audit_outcome_location slot;
	char *line, last[2048] = "";
	size_t len;
	pid_t child;
	int status;

	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	len = (size_t)(audit->file_length - slot.outcome_offset);
	line = audit->mmap_window + (slot.outcome_offset - audit->mmap_window_start_offset);
	while (line[-1] != '\n') {
		line--;
		len++;
	}
	ck_assert_uint_lt(len, sizeof(last));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(77);
		(void)raise(SIGSTOP);
		audit_end_record(audit, slot, ret, 123456789);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFSTOPPED(status), "ptrace is not permitted here");
	*ret_states = 0;
	do {
		ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, child, 0, 0), 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFSTOPPED(status));
		if (memcmp(last, line, len) != 0) {
			json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

			ck_assert_msg(json != NULL, "does not parse: %.*s", (int)len, line);
			json_decref(json);
			memcpy(last, line, len);
			(*ret_states)++;
		}
	} while (WSTOPSIG(status) == SIGTRAP);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	audit_rig_close(audit);
}

START_TEST(test_parses_at_every_instruction)
{
	static const int64_t rets[] = {0, 3, -ENOENT, -ENAMETOOLONG, -EPROTONOSUPPORT, 12345678901234567, -4095};
	unsigned states;

	step_through(rets[_i], &states);
	ck_assert_uint_ge(states, 3); /* empty, value, ns: else nothing was observed */
}
END_TEST

START_TEST(test_denials_only)
{
	json_t *json;
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_header head = audit_rig_header();
	struct audit_outcome_location slot;
	struct audit *audit;

	(void)unlink(audit_rig_path);
	head.records_allowed_calls = false;
	head.lacks_records_of_reads = true;
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), 0);
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_uint_eq(slot.seq, 0);
	audit_end_record(audit, slot, 3, 1);
	rec.verdict = VERDICT_DENY;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_uint_eq(slot.seq, 1);
	audit_end_record(audit, slot, -EACCES, 1);
	ck_assert_uint_eq(audit_count_records(audit), 1);
	audit_rig_close(audit);
	ck_assert_uint_eq(audit_rig_check_whole(), 3);
	json = audit_rig_read_line(0);
	ck_assert(audit_header_lacks_records_of_reads(json));
	ck_assert_str_eq(json_string_value(json_object_get(json, "judge")), "changes");
	json_decref(json);
}
END_TEST

START_TEST(test_counted_only)
{
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit_header head = audit_rig_header();
	struct audit_outcome_location slot;
	struct audit *audit;

	ck_assert_int_eq(audit_open_log(NULL, &head, &audit), 0);
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_uint_eq(slot.seq, 1);
	audit_end_record(audit, slot, 0, 1);
	ck_assert_uint_eq(audit_count_records(audit), 1);
	audit_rig_close(audit);
}
END_TEST

START_TEST(test_existing_files)
{
	struct audit_header head = audit_rig_header();
	struct audit *audit, *second;
	char other[80];
	int fd;

	(void)unlink(audit_rig_path);
	fd = open(audit_rig_path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), 0); /* empty and our own */
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &second), -EEXIST);
	audit_rig_close(audit);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), -EEXIST);
	(void)snprintf(other, sizeof(other), "%s/link", audit_rig_dir);
	ck_assert_int_eq(symlink(audit_rig_path, other), 0);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -ELOOP);
	(void)unlink(other);
	ck_assert_int_eq(symlink("nothing-there", other), 0);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -ELOOP);
	(void)unlink(other);
	ck_assert_int_eq(mkfifo(other, 0600), 0);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -EEXIST);
	(void)unlink(other);
	(void)snprintf(other, sizeof(other), "%s/none/log", audit_rig_dir);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -ENOENT);
}
END_TEST

/* As keeper and supervisor do: the child writes and is killed, the parent ends the log. */
START_TEST(test_ended_by_the_parent)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct audit *audit = audit_rig_open();

		for (int i = 0; i < 1000; i++) {
			struct audit_record rec = audit_rig_record("/a", 2);
			struct audit_outcome_location slot;

			if (audit_begin_record(audit, &rec, &slot) < 0)
				_exit(1);
			audit_end_record(audit, slot, i, 1);
		}
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(audit_recover_log(audit_rig_path, "error"), 0);
	ck_assert_uint_eq(audit_rig_check_whole(), 1002);
}
END_TEST

START_TEST(test_size_limit)
{
	struct rlimit limit, small;
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit *audit = audit_rig_open();
	struct audit_outcome_location slot;
	uint64_t count = 0;
	int r;

	audit->writes_by_pwrite = _i; /* both ways of writing */
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 200000;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	while ((r = audit_begin_record(audit, &rec, &slot)) == 0 && count < 10000) {
		audit_end_record(audit, slot, 3, 1);
		count++;
	}
	ck_assert_int_eq(r, -EFBIG); /* and no SIGXFSZ */
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), -EFBIG);
	if (_i == 0)
		audit_rig_close(audit); /* the trailer's space was kept */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	if (_i == 1)
		audit_rig_close(audit);
	ck_assert_uint_gt(count, 100);
	ck_assert_uint_eq(audit_rig_check_whole(), count + 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit");
	TCase *tests = tcase_create("log");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, test_header_and_trailer);
	tcase_add_test(tests, test_hostile_text);
	tcase_add_test(tests, test_numbers);
	tcase_add_test(tests, test_outcomes);
	tcase_add_loop_test(tests, test_parses_at_every_instruction, 0, 7);
	tcase_add_test(tests, test_denials_only);
	tcase_add_test(tests, test_counted_only);
	tcase_add_test(tests, test_existing_files);
	tcase_add_test(tests, test_ended_by_the_parent);
	tcase_add_loop_test(tests, test_size_limit, 0, 2);
	suite_add_tcase(suite, tests);
	return audit_rig_run(suite);
}
