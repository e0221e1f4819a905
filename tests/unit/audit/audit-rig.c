#include "tests/unit/audit/audit-rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/unit.h"

char audit_rig_dir[] = "/tmp/callgate-test-audit-XXXXXX";
char audit_rig_path[64];

const char *const audit_rig_argv[] = {"python3", "-c", "print(\"\x1b[31m\")\n\xff", NULL};

struct audit_header audit_rig_header(void)
{
	return (struct audit_header){.run_id = "7f3a9c21d0e4",
				     .argv = audit_rig_argv,
				     .policy_name = "data",
				     .policy_sha256 = "e3b0c44298fc1c149afbf4c8996fb924",
				     .workdir = "/work",
				     .layers_json = "{\"seccomp\":{\"active\":true}}",
				     .records_allowed_calls = true};
}

struct audit_record audit_rig_record(const char *text, size_t len)
{
	return (struct audit_record){.pid = 4711,
				     .tid = 4711,
				     .ppid = 4700,
				     .exe = "/usr/bin/python3.11",
				     .syscall = "openat",
				     .arg = {{.name = "flags", .kind = AUDIT_ARG_HEX, .value = 0x80000},
					     {.name = "mode", .kind = AUDIT_ARG_MODE, .value = 0644}},
				     .arg_count = 2,
				     .path = text,
				     .path_len = len,
				     .verdict = VERDICT_ALLOW,
				     .effect = AUDIT_EFFECT_PERFORMED,
				     .rule = "python.json: filesystem.read[2] /usr"};
}

struct audit *audit_rig_open(void)
{
	struct audit_header head = audit_rig_header();
	struct audit *audit;

	(void)unlink(audit_rig_path);
	ck_assert_int_eq(audit_open_log(audit_rig_path, &head, &audit), 0);
	return audit;
}

void audit_rig_close(struct audit *audit)
{
	struct audit_trailer trailer = {.status = "ok", .exit_code = 0, .judged = 1};

	ck_assert_int_eq(audit_close(audit, &trailer), 0);
}

/* Reads line `number` (from 0, the header) of the log; the caller decrefs. */
json_t *audit_rig_read_line(uint64_t number)
{
	struct audit_reader *reader;
	struct audit_line line;
	json_t *json;

	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	for (uint64_t i = 0; i <= number; i++)
		ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	json = json_incref(line.json);
	audit_reader_free(reader);
	return json;
}

/* Every line parses and seq counts up from 0. Returns the number of lines. */
uint64_t audit_rig_check_whole(void)
{
	struct audit_reader *reader;
	struct audit_line line;
	uint64_t count = 0;
	int r;

	ck_assert_int_eq(audit_reader_open(audit_rig_path, &reader), 0);
	while ((r = audit_reader_read_line(reader, &line)) == 1)
		ck_assert_int_eq(json_integer_value(json_object_get(line.json, "seq")), (json_int_t)count++);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(audit_reader_get_torn_bytes(reader), 0);
	audit_reader_free(reader);
	return count;
}

int audit_rig_run(Suite *suite)
{
	int failed;

	if (!mkdtemp(audit_rig_dir))
		return 99;
	(void)snprintf(audit_rig_path, sizeof(audit_rig_path), "%s/log", audit_rig_dir);
	failed = unit_run(suite);
	(void)unlink(audit_rig_path);
	(void)rmdir(audit_rig_dir);
	return failed;
}
