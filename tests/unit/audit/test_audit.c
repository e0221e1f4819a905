/* Writes logs and reads them back: no byte is lost, every outcome is right, and a full disk loses no record. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/encode.h"
#include "audit/log.h"
#include "audit/put.h"
#include "audit/read.h"
#include "tests/unit/unit.h"

static char dir[] = "/tmp/callgate-test-audit-XXXXXX";
static char path[64];

static const char *const argv[] = {"python3", "-c", "print(\"\x1b[31m\")\n\xff", NULL};

static struct audit_header header(void)
{
	return (struct audit_header){.run_id = "7f3a9c21d0e4",
				     .argv = argv,
				     .policy_name = "data",
				     .policy_sha256 = "e3b0c44298fc1c149afbf4c8996fb924",
				     .workdir = "/work",
				     .layers_json = "{\"seccomp\":{\"active\":true}}",
				     .records_allowed_calls = true};
}

static struct audit_record record(const char *text, size_t len)
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

static struct audit *open_log(void)
{
	struct audit_header head = header();
	struct audit *audit;

	(void)unlink(path);
	ck_assert_int_eq(audit_open_log(path, &head, &audit), 0);
	return audit;
}

static void close_log(struct audit *audit)
{
	struct audit_trailer trailer = {.status = "ok", .exit_code = 0, .judged = 1};

	ck_assert_int_eq(audit_close(audit, &trailer), 0);
}

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

/* Reads line `number` (from 0, the header) of the log; the caller decrefs. */
static json_t *read_line(uint64_t number)
{
	struct audit_reader *reader;
	struct audit_line line;
	json_t *json;

	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	for (uint64_t i = 0; i <= number; i++)
		ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	json = json_incref(line.json);
	audit_reader_free(reader);
	return json;
}

/* Every line parses and seq counts up from 0. Returns the number of lines. */
static uint64_t check_whole(void)
{
	struct audit_reader *reader;
	struct audit_line line;
	uint64_t count = 0;
	int r;

	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	while ((r = audit_reader_read_line(reader, &line)) == 1)
		ck_assert_int_eq(json_integer_value(json_object_get(line.json, "seq")), (json_int_t)count++);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(audit_reader_get_torn_bytes(reader), 0);
	audit_reader_free(reader);
	return count;
}

START_TEST(test_header_and_trailer)
{
	struct audit *audit = open_log();
	json_t *json;
	size_t len;
	char *arg;

	close_log(audit);
	ck_assert_uint_eq(check_whole(), 2);
	json = read_line(0);
	ck_assert_str_eq(audit_line_get_type(json), "header");
	ck_assert_str_eq(json_string_value(json_object_get(json, "run")), "7f3a9c21d0e4");
	ck_assert(!audit_header_lacks_records_of_reads(json));
	ck_assert_str_eq(json_string_value(json_object_get(json, "judge")), "all");
	arg = strdup(json_string_value(json_array_get(json_object_get(json, "command"), 2)));
	ck_assert_str_eq(arg, "print(\"\x1b[31m\")\n\\xff");
	free(arg);
	json_decref(json);
	json = read_line(1);
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
	struct audit *audit = open_log();
	struct audit_reader *reader;
	struct audit_line line;

	for (int i = 0; i < COUNT; i++) {
		struct audit_record rec;
		struct audit_outcome_location slot;

		lens[i] = random_text(texts[i], sizeof(texts[i]));
		rec = record(texts[i], lens[i]);
		rec.arg[2] = (struct audit_arg){
			.name = "target", .kind = AUDIT_ARG_TEXT, .text = texts[i], .text_len = lens[i]};
		rec.arg_count = 3;
		ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
		/* An outcome within one page: a page fault never splits its stores. */
		ck_assert_uint_eq(slot.outcome_offset / AUDIT_PAGE_BYTES,
				  (slot.outcome_offset + AUDIT_OUTCOME_BYTES + 1) / AUDIT_PAGE_BYTES);
		audit_end_record(audit, slot, -ENOENT, 4711);
	}
	close_log(audit);
	ck_assert_uint_eq(check_whole(), COUNT + 2);
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
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
	struct audit_record rec = record("/a", 2);
	struct audit *audit = open_log();
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
	close_log(audit);
	for (int error = 1; error <= AUDIT_ERRNO_MAX; error++) {
		const json_t *name;

		json = read_line((uint64_t)error);
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
		json = read_line(AUDIT_ERRNO_MAX + 1 + i);
		ck_assert_int_eq(json_integer_value(json_object_get(json, "ret")), values[i]);
		json_decref(json);
	}
	json = read_line(AUDIT_ERRNO_MAX + 1 + sizeof(values) / sizeof(*values));
	ck_assert(json_is_null(json_object_get(json, "ret")));
	ck_assert(json_is_null(json_object_get(json, "ns")));
	ck_assert_ptr_null(json_object_get(json, "resolved")); /* the same as path */
	json_decref(json);
}
END_TEST

/* Single-steps a child through audit_end_record: after each instruction, the line must parse. */
static void step_through(int64_t ret, unsigned *ret_states)
{
	struct audit_record rec = record("/a", 2);
	struct audit *audit = open_log();
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
	close_log(audit);
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
	struct audit_record rec = record("/a", 2);
	struct audit_header head = header();
	struct audit_outcome_location slot;
	struct audit *audit;

	(void)unlink(path);
	head.records_allowed_calls = false;
	head.lacks_records_of_reads = true;
	ck_assert_int_eq(audit_open_log(path, &head, &audit), 0);
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_uint_eq(slot.seq, 0);
	audit_end_record(audit, slot, 3, 1);
	rec.verdict = VERDICT_DENY;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_uint_eq(slot.seq, 1);
	audit_end_record(audit, slot, -EACCES, 1);
	ck_assert_uint_eq(audit_count_records(audit), 1);
	close_log(audit);
	ck_assert_uint_eq(check_whole(), 3);
	json = read_line(0);
	ck_assert(audit_header_lacks_records_of_reads(json));
	ck_assert_str_eq(json_string_value(json_object_get(json, "judge")), "changes");
	json_decref(json);
}
END_TEST

START_TEST(test_counted_only)
{
	struct audit_record rec = record("/a", 2);
	struct audit_header head = header();
	struct audit_outcome_location slot;
	struct audit *audit;

	ck_assert_int_eq(audit_open_log(NULL, &head, &audit), 0);
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_uint_eq(slot.seq, 1);
	audit_end_record(audit, slot, 0, 1);
	ck_assert_uint_eq(audit_count_records(audit), 1);
	close_log(audit);
}
END_TEST

START_TEST(test_existing_files)
{
	struct audit_header head = header();
	struct audit *audit, *second;
	char other[80];
	int fd;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(audit_open_log(path, &head, &audit), 0); /* empty and our own */
	ck_assert_int_eq(audit_open_log(path, &head, &second), -EEXIST);
	close_log(audit);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(audit_open_log(path, &head, &audit), -EEXIST);
	(void)snprintf(other, sizeof(other), "%s/link", dir);
	ck_assert_int_eq(symlink(path, other), 0);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -ELOOP);
	(void)unlink(other);
	ck_assert_int_eq(symlink("nothing-there", other), 0);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -ELOOP);
	(void)unlink(other);
	ck_assert_int_eq(mkfifo(other, 0600), 0);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -EEXIST);
	(void)unlink(other);
	(void)snprintf(other, sizeof(other), "%s/none/log", dir);
	ck_assert_int_eq(audit_open_log(other, &head, &audit), -ENOENT);
}
END_TEST

/* As keeper and supervisor do: the child writes and is killed, the parent ends the log. */
START_TEST(test_ended_by_the_parent)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct audit *audit = open_log();

		for (int i = 0; i < 1000; i++) {
			struct audit_record rec = record("/a", 2);
			struct audit_outcome_location slot;

			if (audit_begin_record(audit, &rec, &slot) < 0)
				_exit(1);
			audit_end_record(audit, slot, i, 1);
		}
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(audit_recover_log(path, "error"), 0);
	ck_assert_uint_eq(check_whole(), 1002);
}
END_TEST

START_TEST(test_size_limit)
{
	struct rlimit limit, small;
	struct audit_record rec = record("/a", 2);
	struct audit *audit = open_log();
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
		close_log(audit); /* the trailer's space was kept */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	if (_i == 1)
		close_log(audit);
	ck_assert_uint_gt(count, 100);
	ck_assert_uint_eq(check_whole(), count + 2);
}
END_TEST

static void append_for(struct audit *audit, pid_t pid, pid_t ppid, pid_t host_pid, const char *exe)
{
	struct audit_record rec = record("/a", 2);
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
	struct audit_header head = header();
	struct audit_reader *reader;
	struct audit_line line;
	struct audit *audit;

	head.compact = true;
	(void)unlink(path);
	ck_assert_int_eq(audit_open_log(path, &head, &audit), 0);
	for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++)
		append_for(audit, who[i].pid, who[i].ppid, who[i].host_pid, who[i].exe);
	close_log(audit);
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert(json_is_true(json_object_get(line.json, "compact")) && !line.has_expanded_fields);
	for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
		bool left_out = check_next(reader, who[i].pid, who[i].ppid, who[i].host_pid, who[i].exe);

		ck_assert_msg(left_out == known[i], "record %zu", i);
	}
	audit_reader_free(reader);
	ck_assert_uint_eq(check_whole(), sizeof(who) / sizeof(who[0]) + 2);
}
END_TEST

/* An effect other than the verdict's usual one is written, and all fields of a record about a connection. */
START_TEST(test_compact_keeps_unusual_effects)
{
	struct audit_net net = {.event_name = "open", .conn_id = 1};
	struct audit_record rec = record("/a", 2);
	struct audit_header head = header();
	struct audit_outcome_location slot;
	struct audit *audit;
	json_t *json;

	head.compact = true;
	(void)unlink(path);
	ck_assert_int_eq(audit_open_log(path, &head, &audit), 0);
	rec.effect = AUDIT_EFFECT_CONTINUED;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	rec.effect = AUDIT_EFFECT_REFUSED;
	rec.verdict = VERDICT_DENY;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	rec.syscall = NULL;
	rec.exe = NULL;
	rec.net = &net;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	close_log(audit);
	json = read_line(1);
	ck_assert_str_eq(json_string_value(json_object_get(json, "effect")), "continued");
	json_decref(json);
	json = read_line(2);
	ck_assert_str_eq(json_string_value(json_object_get(json, "effect")), "refused");
	ck_assert_str_eq(json_string_value(json_object_get(json, "exe")), "/usr/bin/python3.11");
	json_decref(json);
	json = read_line(3);
	ck_assert_ptr_null(json_object_get(json, "exe"));
	ck_assert_str_eq(json_string_value(json_object_get(json, "effect")), "refused");
	json_decref(json);
}
END_TEST

/* A record that could not be written must not count as an earlier line. */
START_TEST(test_compact_after_a_full_log)
{
	struct audit_record rec = record("/a", 2);
	struct audit_header head = header();
	struct rlimit limit, small;
	struct audit_reader *reader;
	struct audit_outcome_location slot;
	struct audit_line line;
	struct audit *audit;

	head.compact = true;
	(void)unlink(path);
	ck_assert_int_eq(audit_open_log(path, &head, &audit), 0);
	audit->writes_by_pwrite = true;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = audit_get_size(audit) + 100;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	append_for(audit, rec.pid, rec.ppid, rec.host_pid, rec.exe);
	close_log(audit);
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	ck_assert(!check_next(reader, rec.pid, rec.ppid, 0, rec.exe));
	audit_reader_free(reader);
}
END_TEST

/* Mounts a file system over the test's directory, in a mount namespace of this process. */
static bool mount_here(const char *type, const char *options)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	return mount("none", dir, type, 0, options) == 0;
}

START_TEST(test_full_disk)
{
	struct audit_record rec = record("/a", 2);
	struct audit_outcome_location slot;
	struct audit *audit;
	uint64_t count = 0;
	char filler[80];
	int r, fd;

	if (!mount_here("tmpfs", "size=512k")) {
		(void)fprintf(stderr, "test_full_disk: skipped, mount(2) is not permitted\n");
		return;
	}
	audit = open_log();
	while ((r = audit_begin_record(audit, &rec, &slot)) == 0 && count < 10000) {
		audit_end_record(audit, slot, 3, 1);
		count++;
	}
	ck_assert_int_eq(r, -ENOSPC); /* and no SIGBUS */
	ck_assert_uint_gt(count, 1000);
	(void)snprintf(filler, sizeof(filler), "%s/filler", dir);
	fd = open(filler, O_WRONLY | O_CREAT, 0600);
	while (write(fd, filler, sizeof(filler)) > 0) /* until not a byte is free */
		;
	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), -ENOSPC);
	close_log(audit); /* the trailer's space was kept */
	ck_assert_uint_eq(check_whole(), count + 2);
	(void)snprintf(filler, sizeof(filler), "%s/second", dir);
	ck_assert_int_eq(audit_open_log(filler, &(struct audit_header){.run_id = "x"}, &audit), -ENOSPC);
	ck_assert_int_eq(access(filler, F_OK), -1); /* it was removed */
	ck_assert_int_eq(close(fd), 0);
	(void)umount2(dir, MNT_DETACH);
}
END_TEST

/* ramfs has no fallocate(2). */
START_TEST(test_without_fallocate)
{
	struct audit_record rec = record("/a", 2);
	struct audit_outcome_location slot;
	struct audit *audit;

	if (!mount_here("ramfs", NULL)) {
		(void)fprintf(stderr, "test_without_fallocate: skipped, mount(2) is not permitted\n");
		return;
	}
	audit = open_log();
	for (int i = 0; i < 1000; i++) {
		ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
		audit_end_record(audit, slot, -EPROTONOSUPPORT, 1);
	}
	ck_assert(audit->writes_by_pwrite);
	close_log(audit);
	ck_assert_uint_eq(check_whole(), 1002);
	(void)umount2(dir, MNT_DETACH);
}
END_TEST

enum { WORK = 20000 };

struct work {
	struct audit *audit;
	struct audit_outcome_location slot[WORK];
	unsigned ready;
};

/* As a worker, stores the outcomes of every other record, some after the window has moved on. */
static void *end_records(void *argument)
{
	struct work *work = argument;

	for (unsigned i = 0; i < WORK; i++) {
		while (__atomic_load_n(&work->ready, __ATOMIC_ACQUIRE) <= i)
			;
		if (i % 2 == 0)
			audit_end_record(work->audit, work->slot[i], i, 5);
	}
	return NULL;
}

START_TEST(test_workers)
{
	static struct work work;
	struct audit_reader *reader;
	struct audit_line line;
	pthread_t thread;

	work.audit = open_log();
	work.audit->writes_by_pwrite = _i;
	work.ready = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, end_records, &work), 0);
	for (unsigned i = 0; i < WORK; i++) {
		struct audit_record rec = record("/a", 2);

		ck_assert_int_eq(audit_begin_record(work.audit, &rec, &work.slot[i]), 0);
		if (i % 2 == 1)
			audit_end_record(work.audit, work.slot[i], i, 5);
		__atomic_store_n(&work.ready, i + 1, __ATOMIC_RELEASE);
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	close_log(work.audit);
	ck_assert_uint_eq(check_whole(), WORK + 2);
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
	ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
	for (unsigned i = 0; i < WORK; i++) {
		ck_assert_int_eq(audit_reader_read_line(reader, &line), 1);
		ck_assert_int_eq(json_integer_value(json_object_get(line.json, "ret")), i);
	}
	audit_reader_free(reader);
}
END_TEST

static void append_bytes(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_APPEND);

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
	struct audit_record rec = record("/a", 2);
	struct audit *audit = open_log();
	struct audit_outcome_location slot;
	struct stat before, after;
	json_t *json;

	ck_assert_int_eq(audit_begin_record(audit, &rec, &slot), 0);
	ck_assert_int_eq(audit_recover_log(path, "error"), -EBUSY); /* still being written */
	ck_assert_int_eq(ftruncate(audit->fd, (off_t)audit->file_length), 0);
	ck_assert_int_eq(audit_close(audit, NULL), 0);
	append_bytes(tails[_i].bytes, tails[_i].len);
	ck_assert_int_eq(audit_recover_log(path, "killed"), 0);
	ck_assert_uint_eq(check_whole(), 3);
	json = read_line(2);
	ck_assert_str_eq(audit_line_get_type(json), "trailer");
	ck_assert_str_eq(json_string_value(json_object_get(json, "status")), "killed");
	ck_assert_str_eq(json_string_value(json_object_get(json, "run")), "7f3a9c21");
	ck_assert_int_eq(json_integer_value(json_object_get(json, "records")), 1);
	json_decref(json);
	ck_assert_int_eq(stat(path, &before), 0);
	ck_assert_int_eq(audit_recover_log(path, "killed"), 0); /* already recovered */
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
}
END_TEST

START_TEST(test_recover_refuses_other_files)
{
	static const char *const texts[] = {"a letter\nto nobody\n", "{\"seq\":1}\n", "\n", "x",
					    "{\"seq\":0,\"type\":\"header\""};
	struct stat file;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		FILE *out = fopen(path, "w");

		ck_assert_int_ge(fputs(texts[i], out), 0);
		ck_assert_int_eq(fclose(out), 0);
		ck_assert_int_eq(audit_recover_log(path, "killed"), -EBADMSG);
		ck_assert_int_eq(stat(path, &file), 0);
		ck_assert_int_eq(file.st_size, (off_t)strlen(texts[i]));
	}
}
END_TEST

START_TEST(test_reader_continues_after_a_damaged_line)
{
	struct audit *audit = open_log();
	struct audit_reader *reader;
	struct audit_line line;

	close_log(audit);
	append_bytes("{\"seq\":2,\n[]\n{\"seq\":3}\n", 23);
	ck_assert_int_eq(audit_reader_open(path, &reader), 0);
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
	Suite *suite = suite_create("audit");
	TCase *tests = tcase_create("log");
	int failed;

	if (!mkdtemp(dir))
		return 99;
	(void)snprintf(path, sizeof(path), "%s/log", dir);
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
	tcase_add_test(tests, test_full_disk);
	tcase_add_test(tests, test_without_fallocate);
	tcase_add_loop_test(tests, test_workers, 0, 2);
	tcase_add_loop_test(tests, test_recover, 0, 4);
	tcase_add_test(tests, test_compact);
	tcase_add_test(tests, test_compact_keeps_unusual_effects);
	tcase_add_test(tests, test_compact_after_a_full_log);
	tcase_add_test(tests, test_recover_refuses_other_files);
	tcase_add_test(tests, test_reader_continues_after_a_damaged_line);
	suite_add_tcase(suite, tests);
	failed = unit_run(suite);
	(void)unlink(path);
	(void)rmdir(dir);
	return failed;
}
