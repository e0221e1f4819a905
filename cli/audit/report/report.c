/* callgate audit report: writes the logs of one or more runs as one HTML page. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/audit/report/report.h"
#include "cli/options.h"
#include "config.h"

#define VERB_IN_MESSAGES "audit report"
#define REPORT_RESULT_BYTES_MAX (256u << 20)

static const char usage[] =
	"Usage: callgate audit report -o FILE.html [OPTION...] LOG...\n\n"
	"Writes logs as one page for a browser. "
	"Logs of the same run are joined. Two runs are compared as well;\n"
	"more runs are shown together.\n\n";

/* Options of `callgate audit report`. */
struct report_options {
	const char *output_path;
	uint64_t records_max; /* the most records that the page shows */
	struct cli_list result_paths;
};

static int report_set_records_max(const struct cli_given_option *given, void *records)
{
	if (text_parse_number(given->value, 100, REPORT_RECORDS_MAX, records) < 0)
		return cli_refuse_value(given, "not a number between 100 and 500000");
	return 0;
}

#define FIELD_OFFSET(member) offsetof(struct report_options, member)

static int report_parse_options(int argc, char **argv, struct report_options *options)
{
	static const struct cli_option table[] = {
		{"output", 'o', "FILE", "the page to write; a file of that name is replaced", cli_set_text,
		 FIELD_OFFSET(output_path), 0},
		CLI_LIST("result", 0, "FILE", "the result of a run (run --json): adds its limits, usage and changes",
			 FIELD_OFFSET(result_paths)),
		{"records", 0, "N", "at most so many records, 500000 by default; of longer logs a sample",
		 report_set_records_max, FIELD_OFFSET(records_max), 0},
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = VERB_IN_MESSAGES,
		.usage = usage,
		.epilogue = "\nThe page needs no network and can be opened from disk. See callgate(1).\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, options}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

/* ---- results ---- */

/* Removes the program's output from a result: it may be long, and is not about the log. */
static void report_remove_long_result_members(json_t *result)
{
	static const char *const keys[] = {"stdout", "stderr", "network", "calls", NULL};

	for (const char *const *key = keys; *key; key++)
		(void)json_object_del(result, *key);
}

/* Adds the result of a run, from a file of `callgate run --json`, to that run's log. Returns the exit status. */
static int report_add_result(struct audit_report *report, const char *path)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *result = NULL;
	const char *id;
	size_t len;
	int r = io_read_file(AT_FDCWD, path, REPORT_RESULT_BYTES_MAX, &text, &len);

	if (r < 0) {
		cli_print_error(VERB_IN_MESSAGES, "%s: %s", path, strerror(-r));
		return CLI_EXIT_ERROR;
	}
	result = json_loadb(text, len, 0, NULL);
	id = json_string_value(json_object_get(result, "run_id"));
	if (!id) {
		cli_print_error(VERB_IN_MESSAGES, "%s: not the result of a run: callgate run --json prints one", path);
		return CLI_EXIT_ERROR;
	}
	for (unsigned i = 0; i < report->run_count; i++)
		if (strcmp(report->run[i].id, id) == 0) {
			report_remove_long_result_members(result);
			json_decref(report->run[i].result);
			report->run[i].result = json_incref(result);
			return CLI_EXIT_OK;
		}
	cli_print_error(VERB_IN_MESSAGES, "%s: the result of run %s, of which no log was named", path, id);
	return CLI_EXIT_ERROR;
}

/* ---- writing the HTML page ---- */

/*
 * Describes the state of a log's hash chain for the page: a word, and a reason unless the chain is intact or missing.
 * Owned; NULL: no memory.
 */
static json_t *report_describe_hash_chain(const struct report_run *run)
{
	uint64_t tail;
	const struct verify_finding finding = verify_get_finding(&run->verify, NULL, &tail);
	char why[96];

	if (finding.kind == VERIFY_INTACT)
		return json_pack("{s:s}", "state", "verified");
	if (finding.kind == VERIFY_NO_TRAILER || finding.kind == VERIFY_UNSIGNED)
		return json_pack("{s:s}", "state", verify_kind_get_name(finding.kind));
	if (finding.kind == VERIFY_HASH_MISSING && run->verify.lines == 0)
		return json_pack("{s:s}", "state", "not_verified");
	(void)snprintf(why, sizeof(why), "%s, line %llu (callgate audit verify tells more)",
		       verify_kind_get_name(finding.kind), (unsigned long long)finding.place.line_number);
	return json_pack("{s:s, s:s}", "state", "broken", "why", why);
}

static json_t *report_describe_run(const struct report_run *run)
{
	return json_pack("{s:s, s:O, s:O?, s:O?, s:O?, s:I, s:I, s:I, s:I, s:o}", "id", run->id, "logs", run->logs,
			 "header", run->header, "trailer", run->trailer, "result", run->result, "records",
			 (json_int_t)run->records, "denied", (json_int_t)run->denied, "damaged",
			 (json_int_t)run->damaged, "torn", (json_int_t)run->torn, "chain",
			 report_describe_hash_chain(run));
}

/*
 * Describes the runs, the groups of denials, and what the page leaves out, as the JSON that the page's scripts show.
 * Owned; NULL: no memory.
 */
static json_t *report_describe_for_page(const struct audit_report *report)
{
	uint64_t unlisted = 0;
	json_t *runs = json_array(), *denials = report_denials_make_json(report->denials, &unlisted);

	for (unsigned i = 0; i < report->run_count; i++)
		(void)json_array_append_new(runs, report_describe_run(&report->run[i]));
	return json_pack("{s:s, s:I, s:o, s:o, s:I, s:s?, s:I, s:I, s:b}", "version", PACKAGE_VERSION, "made",
			 (json_int_t)time(NULL), "runs", runs, "denials", denials, "denials_unlisted",
			 (json_int_t)unlisted, "start", report_rows_get_start(report->rows), "rows",
			 (json_int_t)report_rows_get_count(report->rows), "step",
			 (json_int_t)report->ordinary_record_sample_step, "texts_complete",
			 (int)report_texts_are_complete(report->texts));
}

static int report_write_page(struct audit_report *report, const struct report_log *logs, size_t count)
{
	_cleanup_json_ json_t *about = NULL;

	report_write_page_start(report->out);
	for (size_t i = 0; i < count; i++)
		if (report_read_log(report, &logs[i]) != CLI_EXIT_OK)
			return CLI_EXIT_ERROR;
	report_rows_flush(report->rows, report->out);
	about = report_describe_for_page(report);
	if (!about)
		return cli_fail_no_memory(VERB_IN_MESSAGES);
	report_texts_write(report->texts, report->out);
	report_write_page_end(report->out, about);
	return CLI_EXIT_OK;
}

static int report_fail_output(const char *path, int error)
{
	cli_print_error(VERB_IN_MESSAGES, "%s: %s", path, strerror(error));
	return CLI_EXIT_ERROR;
}

/* Refuses to replace one of the logs, or something that is not a regular file. */
static int report_check_output(const char *path, const struct report_log *logs, size_t count)
{
	struct stat output, log;

	if (stat(path, &output) < 0)
		return CLI_EXIT_OK;
	if (!S_ISREG(output.st_mode)) {
		cli_print_error(VERB_IN_MESSAGES, "-o %s: not a regular file, so it is not replaced; name another",
				path);
		return CLI_EXIT_ERROR;
	}
	for (size_t i = 0; i < count; i++)
		if (stat(logs[i].path, &log) == 0 && log.st_dev == output.st_dev && log.st_ino == output.st_ino) {
			cli_print_error(VERB_IN_MESSAGES, "-o %s: that is the log; name another file", path);
			return CLI_EXIT_ERROR;
		}
	return CLI_EXIT_OK;
}

/*
 * Writes the page to a temporary file (mode 0600, like the log), which is renamed to `path` when the page is complete.
 */
static int report_write_file(struct audit_report *report, const char *path, const struct report_log *logs, size_t count)
{
	_cleanup_free_ char *aside = text_format("%s.XXXXXX", path);
	_cleanup_close_ int fd = -1;
	int status, error = 0;

	if (!aside)
		return cli_fail_no_memory(VERB_IN_MESSAGES);
	fd = mkostemp(aside, O_CLOEXEC);
	if (fd < 0)
		return report_fail_output(path, errno);
	report->out = fdopen(fd, "w");
	if (!report->out) {
		(void)unlink(aside);
		return report_fail_output(path, errno);
	}
	(void)steal_fd(&fd);
	status = report_write_page(report, logs, count);
	if (fflush(report->out) != 0 || ferror(report->out) || fsync(fileno(report->out)) < 0)
		error = errno ? errno : EIO;
	(void)fclose(report->out);
	if (status == CLI_EXIT_OK && error == 0 && rename(aside, path) == 0)
		return CLI_EXIT_OK;
	error = error ? error : errno;
	(void)unlink(aside);
	return status == CLI_EXIT_OK ? report_fail_output(path, error) : status;
}

/* Reports what the page leaves out or shows changed. Returns the exit status. */
static int report_print_what_is_left_out(const struct audit_report *report, const char *path)
{
	uint64_t records = 0, damaged = 0;

	for (unsigned i = 0; i < report->run_count; i++) {
		records += report->run[i].records;
		damaged += report->run[i].damaged;
	}
	if (report_rows_get_count(report->rows) < records)
		cli_note("%s has a sample, %llu of %llu records; counts and denials are of all", path,
			 (unsigned long long)report_rows_get_count(report->rows), (unsigned long long)records);
	if (!report_texts_are_complete(report->texts))
		cli_note("%s has not all texts: there are more than %u MiB of different ones", path,
			 REPORT_TEXT_BYTES_MAX >> 20);
	if (damaged == 0)
		return CLI_EXIT_OK;
	cli_print_error(VERB_IN_MESSAGES,
			"%llu damaged lines, which the page leaves out: a log was edited or is damaged",
			(unsigned long long)damaged);
	return CLI_EXIT_ERROR;
}

static void report_release(struct audit_report *report)
{
	for (unsigned i = 0; i < report->run_count; i++) {
		free(report->run[i].id);
		json_decref(report->run[i].header);
		json_decref(report->run[i].trailer);
		json_decref(report->run[i].logs);
		verify_release(&report->run[i].verify);
		json_decref(report->run[i].result);
	}
	report_texts_free(report->texts);
	report_rows_free(report->rows);
	report_denials_free(report->denials);
}

static int report_make_from_logs(const struct report_options *options, struct report_log *logs, size_t count)
{
	struct audit_report report = {.records_max = options->records_max};
	int status = CLI_EXIT_ERROR;

	report.texts = report_texts_create();
	report.rows = report_rows_create();
	report.denials = report_denials_create();
	if (!report.texts || !report.rows || !report.denials)
		status = cli_fail_no_memory(VERB_IN_MESSAGES);
	else
		status = report_survey_logs(&report, logs, count);
	for (size_t i = 0; status == CLI_EXIT_OK && i < options->result_paths.count; i++)
		status = report_add_result(&report, options->result_paths.item[i]);
	if (status == CLI_EXIT_OK)
		status = report_check_output(options->output_path, logs, count);
	if (status == CLI_EXIT_OK)
		status = report_write_file(&report, options->output_path, logs, count);
	if (status == CLI_EXIT_OK)
		status = report_print_what_is_left_out(&report, options->output_path);
	report_release(&report);
	return status;
}

/* Makes the report of the logs that the command line names. */
static int report_make_of_named_logs(const struct report_options *options, char **argv, size_t count)
{
	_cleanup_free_ struct report_log *logs = NULL;

	if (count == 0 || !options->output_path) {
		cli_print_error(VERB_IN_MESSAGES, count == 0 ? "no log is named" : "no page is named: -o FILE.html");
		return cli_fail_usage(VERB_IN_MESSAGES);
	}
	logs = calloc(count, sizeof(*logs));
	if (!logs)
		return cli_fail_no_memory(VERB_IN_MESSAGES);
	for (size_t i = 0; i < count; i++)
		logs[i].path = argv[i];
	return report_make_from_logs(options, logs, count);
}

int audit_main_report(int argc, char **argv)
{
	struct report_options options = {.records_max = REPORT_RECORDS_MAX};
	int status = report_parse_options(argc, argv, &options);

	if (status == CLI_OPTIONS_PARSED)
		status =
			report_make_of_named_logs(&options, argv + optind, optind < argc ? (size_t)(argc - optind) : 0);
	cli_list_release(&options.result_paths);
	return status;
}
