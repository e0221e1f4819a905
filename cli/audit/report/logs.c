#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/scan.h"
#include "base/cleanup.h"
#include "cli/audit/audit.h"
#include "cli/audit/report/report.h"
#include "cli/cli.h"

#define READ_CHUNK_BYTES (256u << 10)
#define VERB_IN_MESSAGES "audit report"

static int logs_report_error(const char *path, int error)
{
	const char *text = error == -ENOMSG   ? "this is not an audit log: it does not begin with a header line"
			   : error == -ESPIPE ? "not a regular file; write the log to one"
			   : error == -E2BIG  ? "a line is too long for an audit log"
					      : strerror(-error);

	cli_print_error(VERB_IN_MESSAGES, "%s: %s", path, text);
	return CLI_EXIT_ERROR;
}

/* ---- survey ---- */

/* Counts the lines of a file. 0 or -errno. */
static int logs_count_lines(const char *path, uint64_t *ret_lines)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *chunk = malloc(READ_CHUNK_BYTES);
	uint64_t lines = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (!chunk)
		return -ENOMEM;
	while ((got = TEMP_FAILURE_RETRY(read(fd, chunk, READ_CHUNK_BYTES))) > 0)
		for (const char *at = chunk; (at = memchr(at, '\n', (size_t)(chunk + got - at))); at++)
			lines++;
	if (got < 0)
		return -errno;
	*ret_lines = lines;
	return 0;
}

/* Finds the run with this id, or adds it. NULL: too many runs, or no memory. */
static struct report_run *logs_find_run(struct audit_report *report, const char *id)
{
	struct report_run *run = report->run;

	for (unsigned i = 0; i < report->run_count; i++)
		if (strcmp(run[i].id, id) == 0)
			return &run[i];
	if (report->run_count == REPORT_RUNS_MAX)
		return NULL;
	run += report->run_count;
	run->id = strdup(id);
	run->logs = json_array();
	verify_init(&run->verify);
	if (!run->id || !run->logs)
		return NULL;
	report->run_count++;
	return run;
}

/* Finds the log's run, first line number and count of lines. Returns the exit status. */
static int logs_survey_one_log(struct audit_report *report, struct report_log *log)
{
	struct audit_reader *reader;
	struct audit_line line;
	struct report_run *run;
	const char *id;
	int r = audit_reader_open(log->path, &reader);

	if (r < 0)
		return logs_report_error(log->path, r);
	r = audit_reader_read_line(reader, &line);
	id = r == 1 ? json_string_value(json_object_get(line.json, "run")) : NULL;
	if (r == 0 || r == -EBADMSG || (r == 1 && (!id || strcmp(audit_line_get_type(line.json), "header") != 0)))
		r = -ENOMSG;
	run = r == 1 ? logs_find_run(report, id) : NULL;
	log->first_seq = r == 1 ? (uint64_t)json_integer_value(json_object_get(line.json, "seq")) : 0;
	audit_reader_free(reader);
	if (r == 1 && !run) {
		cli_print_error(VERB_IN_MESSAGES, "%s: more than %u runs; make a report of fewer logs", log->path,
				REPORT_RUNS_MAX);
		return CLI_EXIT_ERROR;
	}
	if (r == 1)
		r = logs_count_lines(log->path, &log->line_count);
	if (r < 0)
		return logs_report_error(log->path, r);
	log->run = (unsigned)(run - report->run);
	return CLI_EXIT_OK;
}

static int logs_compare_by_run_and_seq(const void *a, const void *b)
{
	const struct report_log *one = a, *other = b;

	if (one->run != other->run)
		return one->run < other->run ? -1 : 1;
	return one->first_seq == other->first_seq ? 0 : one->first_seq < other->first_seq ? -1 : 1;
}

int report_survey_logs(struct audit_report *report, struct report_log *logs, size_t count)
{
	uint64_t lines = 0, half = report->records_max / 2;

	for (size_t i = 0; i < count; i++) {
		if (logs_survey_one_log(report, &logs[i]) != CLI_EXIT_OK)
			return CLI_EXIT_ERROR;
		lines += logs[i].line_count > 2 ? logs[i].line_count - 2 : 0; /* without header and trailer */
	}
	qsort(logs, count, sizeof(*logs), logs_compare_by_run_and_seq);
	for (size_t i = 1; i < count; i++)
		if (logs_compare_by_run_and_seq(&logs[i - 1], &logs[i]) == 0) {
			cli_print_error(VERB_IN_MESSAGES, "%s and %s: the same part of run %s; name it once",
					logs[i - 1].path, logs[i].path, report->run[logs[i].run].id);
			return CLI_EXIT_ERROR;
		}
	/* Half of the room is reserved for denials, network events and execs, which are all kept while they fit. */
	report->ordinary_record_sample_step = lines > report->records_max && half > 0 ? (lines + half - 1) / half : 1;
	return CLI_EXIT_OK;
}

/* ---- records ---- */

/* Whether a scanned record stays in the report when others are sampled: a denial, a kill, an exec, or an event. */
static bool logs_record_is_important(const struct scan_record *record)
{
	return record->event.at || scan_text_equals(&record->verdict, "deny") ||
	       scan_text_equals(&record->verdict, "kill") ||
	       (record->syscall.at && record->syscall.len >= 4 && memcmp(record->syscall.at, "exec", 4) == 0);
}

/*
 * Whether a record stays in the report when others are sampled: a denial, an exec, or an event, which is no system
 * call.
 */
static bool logs_line_is_important(const json_t *line)
{
	const char *call = json_string_value(json_object_get(line, "syscall"));

	return !call || audit_record_is_denied(line) || strncmp(call, "exec", 4) == 0;
}

/* Counts a record, and shows it on the page while there is room; of many records only important ones and a sample. */
static void logs_add_record(struct audit_report *report, struct report_run *run, const json_t *line, bool important)
{
	unsigned index = (unsigned)(run - report->run);
	bool denied = audit_record_is_denied(line);
	bool room = report_rows_get_count(report->rows) < report->records_max;

	run->records++;
	run->denied += denied;
	if (denied)
		report_denials_add(report->denials, report->texts, index, line);
	if (report->ordinary_record_sample_step > 1 && important)
		room = room && report->important_record_count++ < report->records_max / 2;
	else if (report->ordinary_record_sample_step > 1)
		room = room && run->records % report->ordinary_record_sample_step == 0;
	if (room)
		report_rows_add(report->rows, report->texts, index, line, report->out);
}

/* Adds a line of a log to the report. */
static void logs_add_line(struct audit_report *report, struct report_run *run, const struct audit_line *line)
{
	const char *type = audit_line_get_type(line->json);

	if (strcmp(type, "record") == 0) {
		logs_add_record(report, run, line->json,
				report->ordinary_record_sample_step > 1 && logs_line_is_important(line->json));
	} else if (strcmp(type, "header") == 0) {
		if (!run->header)
			run->header = json_incref(line->json);
	} else if (strcmp(type, "trailer") == 0) {
		json_decref(run->trailer);
		run->trailer = json_incref(line->json);
	}
}

/* Whether a line is left out of the sample. Such a line is only counted, and not parsed as JSON. */
static bool logs_leave_line_out_of_sample(const struct audit_report *report, struct report_run *run,
					  const struct audit_line *line)
{
	struct scan_record record;

	if (report->ordinary_record_sample_step == 1 || (run->records + 1) % report->ordinary_record_sample_step == 0 ||
	    scan_parse_line_fast(line->text, line->len, &record) < 0 || record.line_type.at || !record.verdict.at ||
	    logs_record_is_important(&record))
		return false;
	run->records++;
	return true;
}

int report_read_log(struct audit_report *report, const struct report_log *log)
{
	struct report_run *run = &report->run[log->run];
	struct audit_reader *reader;
	struct audit_line line;
	bool compact;
	int r = audit_reader_open(log->path, &reader);

	if (r < 0)
		return logs_report_error(log->path, r);
	(void)json_array_append_new(run->logs, json_string(log->path));
	verify_begin_file(&run->verify);
	while ((r = audit_reader_read_unparsed(reader, &line)) == 1) {
		r = verify_add_line(&run->verify, line.text, line.len + 1); /* 1: for the newline after the text */
		if (r < 0)
			break;
		/* In a compact log a line lacks what equals the line before, so all lines are parsed. */
		compact = json_is_true(json_object_get(run->header, "compact"));
		if (!compact && logs_leave_line_out_of_sample(report, run, &line))
			continue;
		if (audit_reader_parse_line(reader, &line) < 0)
			run->damaged++;
		else
			logs_add_line(report, run, &line);
	}
	verify_end_file(&run->verify, audit_reader_get_torn_bytes(reader));
	run->torn += audit_reader_get_torn_bytes(reader);
	audit_reader_free(reader);
	return r < 0 ? logs_report_error(log->path, r) : CLI_EXIT_OK;
}
