/* callgate audit show: prints one line for each record, or with --json the log's own lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/audit/audit.h"

#define TIME_OF_DAY_OFFSET 11 /* offset of the time of day in a time of RFC 3339 */
#define TIME_OF_DAY_LEN 15    /* characters printed of the time of day: to the microsecond */

/* The state of `callgate audit show`. */
struct show_state {
	struct audit_filter filter;
	bool json, follow, tree;
	bool has_no_filter; /* no filter was given, so headers and trailers are printed, too */
	bool has_several_logs; /* several logs are shown, so each line says which run it is from */
	struct buf line; /* owned */
};

/* Adds a field of a record, if it has it. before: the text before the value. */
static void show_add_text(struct buf *out, const char *before, const struct scan_text *text)
{
	if (!text->at)
		return;
	buf_puts(out, before);
	audit_put_text(out, text);
}

static void show_add_number(struct buf *out, const char *before, uint64_t number)
{
	if (number)
		buf_printf(out, "%s%llu", before, (unsigned long long)number);
}

/* Adds what the call returned, such as " = 3" or its error. */
static void show_add_outcome(struct buf *out, const struct scan_record *record)
{
	if (record->error.at)
		show_add_text(out, " = ", &record->error);
	else if (record->has_ret)
		buf_printf(out, " = %lld", (long long)record->ret);
	else
		buf_puts(out, " = ?"); /* the call has not returned yet, or the writer was killed before that */
}

/* Adds " key=value" for each argument. */
static void show_add_call_arguments(struct buf *out, const struct scan_record *record)
{
	struct scan_text name, value;

	for (struct scan_text rest = record->args_json; scan_next_arg(&rest, &name, &value);) {
		show_add_text(out, " ", &name);
		show_add_text(out, "=", &value);
	}
}

/* Adds how a question about the call was answered: which answer, whose, and by which way. */
static void show_add_answer(struct buf *out, const struct scan_record *record)
{
	show_add_text(out, "  answer: ", &record->answer);
	if (!record->answer.at)
		return;
	show_add_text(out, ", by uid ", &record->answered_by);
	show_add_text(out, ", how: ", &record->answered_how);
}

/* Adds a record about a connection: endpoint, request, then details. */
static void show_add_connection(struct buf *out, const struct scan_record *record)
{
	show_add_text(out, " ", &record->host);
	show_add_number(out, ":", record->port);
	show_add_text(out, " ", &record->method);
	show_add_text(out, " ", &record->path[0].as_written);
	buf_puts(out, record->path_is_truncated ? "..." : "");
	show_add_text(out, " proto=", &record->proto);
	show_add_text(out, " address=", &record->address);
	show_add_text(out, " real=", &record->real);
	show_add_text(out, " dropped=", &record->dropped);
	show_add_text(out, " sni=", &record->sni);
	show_add_text(out, " alpn=", &record->alpn);
	show_add_text(out, " credential=", &record->credential);
	show_add_text(out, " cause=", &record->cause);
	show_add_number(out, " conn=", record->conn);
	show_add_number(out, " status=", record->status);
	show_add_number(out, " count=", record->refusal_count);
	if (record->has_byte_counts)
		buf_printf(out, " bytes_up=%llu bytes_down=%llu", (unsigned long long)record->bytes_up,
			   (unsigned long long)record->bytes_down);
}

static void show_add_paths(struct buf *out, const struct scan_record *record)
{
	for (size_t i = 0; i < SCAN_PATHS_PER_RECORD_MAX; i++) {
		show_add_text(out, i == SCAN_PATHS_PER_RECORD_MAX - 1 ? " loader " : " ", &record->path[i].as_written);
		show_add_text(out, " => ", &record->path[i].resolved_path);
	}
	show_add_text(out, " on ", &record->host);
}

static void show_add_record(struct buf *out, const struct scan_record *record)
{
	const struct scan_text *verdict = &record->verdict;
	struct scan_text time = {0};
	size_t start;

	if (record->time.at && record->time.len > TIME_OF_DAY_OFFSET)
		time = (struct scan_text){record->time.at + TIME_OF_DAY_OFFSET, record->time.len - TIME_OF_DAY_OFFSET};
	if (time.len > TIME_OF_DAY_LEN)
		time.len = TIME_OF_DAY_LEN;
	buf_printf(out, "%7llu ", (unsigned long long)record->seq);
	audit_put_text(out, &time);
	buf_printf(out, " %7lld ", (long long)record_get_tid(record));
	start = out->len;
	audit_put_text(out, verdict);
	buf_printf(out, "%*s", out->len < start + 8 ? (int)(start + 8 - out->len) : 0, "");
	show_add_text(out, " ", record_get_call(record));
	if (record_names_network(record))
		show_add_connection(out, record);
	else
		show_add_paths(out, record);
	show_add_call_arguments(out, record);
	show_add_outcome(out, record);
	show_add_text(out, "  ", &record->reason);
	show_add_text(out, "  [", &record->rule);
	buf_puts(out, record->rule.at ? "]" : "");
	show_add_answer(out, record);
	buf_puts(out, "\n");
}

/* Adds a field of a line about the log, if it has it. before: the text before the value. */
static void show_add_json_field(struct buf *out, const json_t *line, const char *before, const char *key)
{
	_cleanup_free_ char *text = audit_get_field_for_display(line, key);

	if (text)
		buf_printf(out, "%s%s", before, text);
}

/* Adds a line about the log itself: its header, its trailer, or the name of the next file. */
static void show_add_line_about_log(struct buf *out, const json_t *line)
{
	const char *type = audit_line_get_type(line);
	bool trailer = strcmp(type, "trailer") == 0;

	if (strcmp(type, "header") == 0)
		show_add_json_field(out, line, "# run ", "run");
	else if (trailer)
		show_add_json_field(out, line, "# ended: ", "status");
	else
		show_add_json_field(out, line, "# ", "type");
	show_add_json_field(out, line, ": ", "next");
	show_add_json_field(out, line, " at ", "time");
	if (trailer)
		buf_printf(out, ", %lld records", audit_get_field_number(line, "records"));
	show_add_json_field(out, json_object_get(line, "policy"), ", policy ", "name");
	show_add_json_field(out, line, ", workdir ", "workdir");
	show_add_json_field(out, line, ", judge ", "judge");
	if (audit_header_lacks_records_of_reads(line))
		buf_puts(out, " (what only reads is not on record)");
	buf_puts(out, "\n");
}

/* Prints a line as JSON of the same meaning that is safe for a terminal. */
static void show_print_json_line(const struct audit_entry *entry)
{
	_cleanup_buf_ struct buf line = {0};

	audit_put_text(&line, &(struct scan_text){entry->json_text, entry->len});
	buf_puts(&line, "\n");
	if (!line.failed)
		(void)text_print(stdout, line.data, true); /* audit_flush_stdout() reports failures */
}

/* Prints a line of the log that matches the filter. Returns false to stop, after an error. */
static bool show_print_entry(void *ctx, const struct audit_entry *entry)
{
	struct show_state *show = ctx;
	struct buf *out = &show->line;

	if (entry->json ? !show->has_no_filter : !audit_filter_matches(&show->filter, entry))
		return true;
	if (show->json) {
		show_print_json_line(entry);
		return !ferror(stdout);
	}
	out->len = 0;
	if (show->has_several_logs)
		buf_printf(out, "%-*s ", AUDIT_RUN_ID_SHOWN_MAX, entry->log->run);
	if (entry->json)
		show_add_line_about_log(out, entry->json);
	else
		show_add_record(out, &entry->record);
	if (out->failed)
		return false;
	(void)text_print(stdout, out->data, true);
	return !ferror(stdout); /* false after a write error, because nothing more can be printed */
}

/* Flushes stdout before waiting for more lines, so that its reader gets the lines that were read. */
static bool show_flush_before_wait(void *ctx)
{
	(void)ctx;
	return fflush(stdout) == 0 && !ferror(stdout);
}

#define FIELD_OFFSET(member) offsetof(struct show_state, member)

static int show_parse_options(int argc, char **argv, struct show_state *show)
{
	static const struct cli_option table[] = {
		CLI_FLAG("follow", 'f', "go on while the run does", FIELD_OFFSET(follow)),
		CLI_FLAG("tree", 0, "the processes as a tree, with what each did", FIELD_OFFSET(tree)),
		CLI_FLAG("json", 0, "the log's own lines", FIELD_OFFSET(json)),
		AUDIT_FILTER_OPTIONS(FIELD_OFFSET(filter)),
		{0},
	};
	const struct cli_syntax syntax = {
		.verb = "audit",
		.usage = "Usage: callgate audit show [OPTION...] LOG...\n\n"
			 "Prints the records of runs, one a line. Options that select records are combined.\n\n",
		.allows_mixed_order = true,
		.table = {{NULL, table, show}},
	};

	return cli_parse_options(argc, argv, &syntax);
}

static int show_print_logs(struct show_state *show, const char *const *paths)
{
	const struct audit_reading reading = {.paths = paths,
					      .follows_growing_logs = show->follow,
					      .each = show_print_entry,
					      .idle = show_flush_before_wait,
					      .ctx = show};
	int status;

	if (show->tree && (show->follow || show->json)) {
		cli_print_error("audit", "--tree is for logs as they are: leave out %s",
				show->follow ? "-f" : "--json");
		return CLI_EXIT_ERROR;
	}
	if (show->tree)
		return audit_print_tree(paths, &show->filter);
	show->has_no_filter = audit_filter_is_empty(&show->filter);
	show->has_several_logs = paths[1] != NULL;
	status = audit_read_logs(&reading);
	if (show->line.failed)
		status = cli_fail_no_memory("audit");
	return audit_flush_stdout(status);
}

int audit_main_show(int argc, char **argv)
{
	struct show_state show = {0};
	int status = show_parse_options(argc, argv, &show);
	const char *const *paths = status == CLI_OPTIONS_PARSED ? audit_get_log_paths(argv, "show") : NULL;

	if (status == CLI_OPTIONS_PARSED)
		status = paths ? show_print_logs(&show, paths) : CLI_EXIT_ERROR;
	buf_release(&show.line);
	audit_filter_release(&show.filter);
	return status;
}
