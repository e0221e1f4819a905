/* The end of a log whose writer was killed, and damaged lines. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/encode.h"
#include "audit/log.h"
#include "tests/unit/audit/audit-rig.h"

static void append_bytes(const char *bytes, size_t len)
{
	int fd = open(audit_rig_path, O_WRONLY | O_APPEND);

	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	ck_assert_int_eq(close(fd), 0);
}

START_TEST(test_recover)
{
	static const struct {
		const char *bytes;
		size_t len;
	} tails[] = {
		{"", 0},
		{"\0\0\0\0\0", 5},
		{"{\"seq\":2,\"ti", 12},
		{"{\"seq\":2\0\0\0\"ns\":null}\n\0\0\0", 25}, /* the end of a line copied before its middle */
	};
	struct audit_record rec = audit_rig_record("/a", 2);
	struct audit *audit = audit_rig_open();
	struct audit_outcome_location slot;
	struct stat before, after;
	json_t *json;

	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_int_eq(audit_recover_log(audit_rig_path, "error"), -EBUSY); /* still being written */
	ck_assert_int_eq(ftruncate(audit->fd, (off_t)audit->file_length), 0);
	ck_assert_int_eq(audit_close(audit, NULL), 0);
	append_bytes(tails[_i].bytes, tails[_i].len);
	ck_assert_int_eq(audit_recover_log(audit_rig_path, "killed"), 0);
	ck_assert_uint_eq(audit_rig_check_whole(), 3);
	json = audit_rig_read_line(2);
	ck_assert_str_eq(audit_line_get_type(json), "trailer");
	ck_assert_str_eq(json_string_value(json_object_get(json, "status")), "killed");
	ck_assert_str_eq(json_string_value(json_object_get(json, "run")), "7f3a9c21");
	ck_assert_int_eq(json_integer_value(json_object_get(json, "records")), 1);
	json_decref(json);
	ck_assert_int_eq(stat(audit_rig_path, &before), 0);
	ck_assert_int_eq(audit_recover_log(audit_rig_path, "killed"), 0); /* already recovered */
	ck_assert_int_eq(stat(audit_rig_path, &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
}
END_TEST

START_TEST(test_recover_refuses_other_files)
{
	static const char *const texts[] = {"a letter\nto nobody\n", "{\"seq\":1}\n", "\n", "x",
					    "{\"seq\":0,\"type\":\"header\""};
	struct stat file;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		FILE *out = fopen(audit_rig_path, "w");

		ck_assert_int_ge(fputs(texts[i], out), 0);
		ck_assert_int_eq(fclose(out), 0);
		ck_assert_int_eq(audit_recover_log(audit_rig_path, "killed"), -EBADMSG);
		ck_assert_int_eq(stat(audit_rig_path, &file), 0);
		ck_assert_int_eq(file.st_size, (off_t)strlen(texts[i]));
	}
}
END_TEST

START_TEST(test_reader_continues_after_a_damaged_line)
{
	struct audit *audit = audit_rig_open();
	struct audit_reader *reader;
	struct audit_line line;

	audit_rig_close(audit);
	append_bytes("{\"seq\":2,\n[]\n{\"seq\":3}\n", 23);
	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), -EBADMSG);
	ck_assert_uint_eq(line.line_number, 3);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), -EBADMSG);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 0);
	audit_reader_free(reader);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit recover");
	TCase *tests = tcase_create("log");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, test_recover, 0, 4);
	tcase_add_test(tests, test_recover_refuses_other_files);
	tcase_add_test(tests, test_reader_continues_after_a_damaged_line);
	suite_add_tcase(suite, tests);
	return audit_rig_run(suite);
}
