/* callgate audit diff: shows the accesses, programs and denials that only one of two recorded runs has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"
#include "cli/audit/tally.h"
#include "cli/compare/trail.h"

/* Exit statuses of callgate audit diff. */
enum { DIFF_EQUAL = 0, DIFF_DIFFERENT = 1 };

enum diff_kind { DIFF_READ, DIFF_WRITE, DIFF_EXEC, DIFF_NETWORK, DIFF_PROGRAM, DIFF_DENIAL, DIFF_MAX };

static const char *const diff_names[DIFF_MAX] = {
	[DIFF_READ] = "read", [DIFF_WRITE] = "write", [DIFF_EXEC] = "exec",
	[DIFF_NETWORK] = "network", [DIFF_PROGRAM] = "program", [DIFF_DENIAL] = "denied",
};

/* The comparison of two logs by what the runs accessed. */
struct log_diff {
	struct audit_filter filter;
	bool json;
	struct tally
		objects_by_kind[DIFF_MAX]; /* tally of each kind of object; counts[i]: occurrences in log i */
	char *workdir[2];              /* the workdir of each run; owned; NULL: not known */
	char *run[2];                  /* owned */
	bool lacks_read_records[2]; /* the run had "judge": "changes" */
	uint64_t records[2], denied[2];
	bool is_out_of_memory;
};

/* Counts that a log names the object, such as a path or a program. */
static void diff_count_object(struct log_diff *diff, enum diff_kind kind, const struct buf *object, size_t log)
{
	struct tally_item *item =
		object->failed ? NULL : tally_find_or_add_item(&diff->objects_by_kind[kind], object->data, object->len);

	if (item)
		item->counts[log]++;
	else
		diff->is_out_of_memory = true;
}

/* Writes a path without the parts that differ from run to run, such as the working directory. */
static void diff_put_path(const struct log_diff *diff, struct buf *out, const struct scan_text *path, size_t log)
{
	_cleanup_buf_ struct buf text = {0};

	audit_put_text(&text, path);
	trail_put_path(out, diff->workdir[log], text.data ? text.data : "");
	out->failed = out->failed || text.failed;
}

/* Counts the record's paths, by the right that was used. */
static void diff_count_paths(struct log_diff *diff, const struct scan_record *record, size_t log)
{
	bool exec = scan_text_equals(&record->right, "x"), write = scan_text_equals(&record->right, "w");

	for (size_t i = 0; record->right.at && i < 2; i++) {
		_cleanup_buf_ struct buf object = {0};
		bool known;
		const struct scan_text *path = record_get_path_argument(&record->path[i], &known);

		if (!known)
			continue;
		diff_put_path(diff, &object, path, log);
		diff_count_object(diff, exec ? DIFF_EXEC : write ? DIFF_WRITE : DIFF_READ, &object, log);
	}
}

/* Counts a denial by call, object and reason. */
static void diff_count_denial(struct log_diff *diff, const struct scan_record *record, size_t log)
{
	_cleanup_buf_ struct buf object = {0};
	bool known;
	const struct scan_text *path = record_get_path_argument(&record->path[0], &known);

	audit_put_text(&object, record_get_call(record));
	if (path->at && !record_names_network(record)) {
		buf_puts(&object, " ");
		diff_put_path(diff, &object, path, log);
	} else if (record_names_network(record)) {
		buf_puts(&object, " ");
		(void)audit_put_object(&object, record);
	}
	buf_puts(&object, ": ");
	audit_put_text(&object, &record->reason);
	diff_count_object(diff, DIFF_DENIAL, &object, log);
}

/* Counts the program that the record's process runs. */
static void diff_count_program(struct log_diff *diff, const struct scan_record *record, size_t log)
{
	_cleanup_buf_ struct buf object = {0};

	if (!record->exe.at)
		return;
	diff_put_path(diff, &object, &record->exe, log);
	diff_count_object(diff, DIFF_PROGRAM, &object, log);
}

/* Counts an endpoint or request that was allowed. */
static void diff_count_endpoint(struct log_diff *diff, const struct scan_record *record, size_t log)
{
	_cleanup_buf_ struct buf object = {0};

	if (scan_text_equals(&record->event, "close"))
		return;
	(void)audit_put_object(&object, record);
	if (object.len > 0)
		diff_count_object(diff, DIFF_NETWORK, &object, log);
}

/* Counts one record of one of the two logs that `callgate audit diff` compares. Returns false to stop. */
static bool diff_on_entry(void *ctx, const struct audit_entry *entry)
{
	struct log_diff *diff = ctx;
	const struct scan_record *record = &entry->record;
	size_t log = entry->log->index;

	if (entry->json && strcmp(audit_line_get_type(entry->json), "header") == 0) {
		free(diff->workdir[log]);
		free(diff->run[log]);
		diff->workdir[log] = audit_get_field_for_display(entry->json, "workdir");
		diff->run[log] = audit_get_field_for_display(entry->json, "run");
		diff->lacks_read_records[log] = audit_header_lacks_records_of_reads(entry->json);
	}
	if (!audit_filter_matches(&diff->filter, entry))
		return true;
	diff->records[log]++;
	diff->denied[log] += record_is_denied(record);
	diff_count_program(diff, record, log);
	if (record_is_denied(record))
		diff_count_denial(diff, record, log);
	else if (record_names_network(record))
		diff_count_endpoint(diff, record, log);
	else if (record->has_ret) /* calls that failed do not count */
		diff_count_paths(diff, record, log);
	return !diff->is_out_of_memory;
}

/* ---- output ---- */

/* Counts the objects that only this log names. */
static size_t diff_count_objects(const struct tally *tally, size_t log)
{
	size_t count = 0;

	for (size_t i = 0; i < tally->item_count; i++)
		count += tally->items[i]->counts[log] > 0 && tally->items[i]->counts[!log] == 0;
	return count;
}

static bool diff_found_no_difference(const struct log_diff *diff)
{
	for (enum diff_kind kind = 0; kind < DIFF_MAX; kind++)
		if (diff_count_objects(&diff->objects_by_kind[kind], 0) +
			    diff_count_objects(&diff->objects_by_kind[kind], 1) >
		    0)
			return false;
	return true;
}

/* Prints the objects of a kind that only the first log ('-') or only the other ('+') names. */
static void diff_print_kind(enum diff_kind kind, const struct tally *tally, char sign)
{
	_cleanup_free_ struct tally_item **sorted = tally_sort_items_by_count(tally, TALLY_COUNTS_PER_ITEM);
	size_t log = sign == '+';

	for (size_t i = 0; sorted && i < tally->item_count; i++)
		if (sorted[i]->counts[log] > 0 && sorted[i]->counts[!log] == 0)
			(void)text_printf(stdout, "%c %-7s %7llu  %s\n", sign, diff_names[kind],
					  (unsigned long long)sorted[i]->counts[log], sorted[i]->name);
}

/* Prints what only one of the logs has, like diff -u. */
static void diff_print(const struct log_diff *diff, const char *const *paths)
{
	if (diff_found_no_difference(diff))
		return;
	for (size_t log = 0; log < 2; log++)
		(void)text_printf(stdout, "%s %s: run %s, %llu records, %llu denied\n", log ? "+++" : "---", paths[log],
				  diff->run[log] ? diff->run[log] : "?", (unsigned long long)diff->records[log],
				  (unsigned long long)diff->denied[log]);
	for (enum diff_kind kind = 0; kind < DIFF_MAX; kind++) {
		diff_print_kind(kind, &diff->objects_by_kind[kind], '-');
		diff_print_kind(kind, &diff->objects_by_kind[kind], '+');
	}
}

/* As JSON, the objects that only one of the two logs names, with counts, and how many both name. */
static json_t *diff_make_kind_json(const struct tally *tally)
{
	_cleanup_free_ struct tally_item **sorted = tally_sort_items_by_count(tally, TALLY_COUNTS_PER_ITEM);
	json_t *only[2] = {json_object(), json_object()};
	json_int_t both = 0;

	for (size_t i = 0; sorted && i < tally->item_count; i++) {
		const uint64_t *count = sorted[i]->counts;

		if (count[0] > 0 && count[1] > 0)
			both++;
		else
			(void)json_object_set_new(only[count[0] == 0], sorted[i]->name,
						  json_integer((json_int_t)count[count[0] == 0]));
	}
	return json_pack("{s:o, s:o, s:I}", "only_first", only[0], "only_other", only[1], "both", both);
}

static int diff_print_json(const struct log_diff *diff)
{
	json_t *all = json_object();

	for (size_t log = 0; log < 2; log++)
		(void)json_object_set_new(
			all, log ? "other" : "first",
			json_pack("{s:s?, s:s, s:I, s:I}", "run", diff->run[log], "judge",
				  policy_judge_get_name(diff->lacks_read_records[log] ? POLICY_JUDGE_CHANGES
										      : POLICY_JUDGE_ALL),
				  "records", (json_int_t)diff->records[log], "denied", (json_int_t)diff->denied[log]));
	for (enum diff_kind kind = 0; kind < DIFF_MAX; kind++)
		(void)json_object_set_new(all, diff_names[kind], diff_make_kind_json(&diff->objects_by_kind[kind]));
	return cli_print_json("audit", all);
}

/* ---- options and main function of callgate audit diff ---- */

#define FIELD_OFFSET(member) offsetof(struct log_diff, member)

static int diff_parse_options(int argc, char **argv, struct log_diff *diff)
{
	static const struct cli_option table[] = {
		CLI_FLAG("json", 0, "print one JSON object", FIELD_OFFSET(json)),
		AUDIT_FILTER_OPTIONS(FIELD_OFFSET(filter)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = "Usage: callgate audit diff [OPTION...] LOG LOG\n\n"
			 "Prints what one run did (-) and the other did not, and the reverse (+), with counts: paths\n"
			 "that were read, written and executed, endpoints, programs, denials.\n\n",
		.epilogue = "\nExit status: 0 no difference; 1 a difference; 125 an error.\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, diff}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

/*
 * The log of a run with "judge": "changes" lacks what the run read. Refuses to compare such a log with a complete one:
 * CLI_EXIT_ERROR with a message. Otherwise CLI_EXIT_OK.
 */
static int diff_check_both_logs_have_reads(const struct log_diff *diff, const char *const *paths)
{
	size_t lacks = diff->lacks_read_records[0] ? 0 : 1;

	if (diff->lacks_read_records[0] != diff->lacks_read_records[1]) {
		cli_print_error("audit",
				"%s: the run had \"judge\": \"changes\", so what it read is not on record, and differs "
				"from %s in all of it; record both runs with the same --judge",
				paths[lacks], paths[!lacks]);
		return CLI_EXIT_ERROR;
	}
	if (diff->lacks_read_records[0])
		cli_note("callgate audit: both runs had \"judge\": \"changes\": what they read is not on record, and "
			 "not compared");
	return CLI_EXIT_OK;
}

static int diff_compare_logs(struct log_diff *diff, const char *const *paths)
{
	const struct audit_reading reading = {.paths = paths, .each = diff_on_entry, .ctx = diff};
	int status;

	if (!paths[1] || paths[2]) {
		cli_print_error("audit", "diff takes two logs; see callgate audit diff --help");
		return CLI_EXIT_ERROR;
	}
	status = audit_read_logs(&reading);
	if (diff->is_out_of_memory)
		return cli_fail_no_memory("audit");
	if (status != CLI_EXIT_OK)
		return status; /* a damaged log lacks lines, which must not count as differences */
	status = diff_check_both_logs_have_reads(diff, paths);
	if (status != CLI_EXIT_OK)
		return status;
	if (diff->json)
		status = diff_print_json(diff);
	else
		diff_print(diff, paths);
	status = audit_flush_stdout(status);
	return status != CLI_EXIT_OK ? status : diff_found_no_difference(diff) ? DIFF_EQUAL : DIFF_DIFFERENT;
}

int audit_main_diff(int argc, char **argv)
{
	struct log_diff diff = {0};
	int status = diff_parse_options(argc, argv, &diff);
	const char *const *paths = status == CLI_OPTIONS_PARSED ? audit_get_log_paths(argv, "diff") : NULL;

	if (status == CLI_OPTIONS_PARSED)
		status = paths ? diff_compare_logs(&diff, paths) : CLI_EXIT_ERROR;
	for (enum diff_kind kind = 0; kind < DIFF_MAX; kind++)
		tally_release(&diff.objects_by_kind[kind]);
	for (size_t log = 0; log < 2; log++) {
		free(diff.workdir[log]);
		free(diff.run[log]);
	}
	audit_filter_release(&diff.filter);
	return status;
}
