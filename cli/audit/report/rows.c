#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/read.h"
#include "base/cleanup.h"
#include "base/times.h"
#include "cli/audit/report/report.h"

#define ROWS_PER_WRITTEN_BLOCK 4096u /* rows that are collected before a block is written to the page */
#define TIME_TEXT_LEN_MAX 40

/* The records of a report as columns, of which a block is collected and then written. */
struct report_rows {
	int64_t column[REPORT_COLUMN_COUNT][ROWS_PER_WRITTEN_BLOCK];
	size_t buffered_row_count; /* rows of the block that is not written yet */
	uint64_t record_count;
	int64_t last_seq, last_time;
	char start_time[TIME_TEXT_LEN_MAX]; /* time of the first record */
};

static const char *const column_names[REPORT_COLUMN_COUNT] = {
	[REPORT_RUN_INDEX] = "run",
	[REPORT_SEQ_DELTA] = "seq",
	[REPORT_TIME_DELTA_NS] = "time",
	[REPORT_PID] = "pid",
	[REPORT_TID] = "tid",
	[REPORT_PPID] = "ppid",
	[REPORT_EXE] = "exe",
	[REPORT_SYSCALL_NAME] = "call",
	[REPORT_VERDICT] = "verdict",
	[REPORT_DENIAL_EFFECT] = "effect",
	[REPORT_ACCESS_RIGHT] = "right",
	[REPORT_PATH] = "path",
	[REPORT_RESOLVED_PATH] = "resolved",
	[REPORT_SECOND_PATH] = "path2",
	[REPORT_SECOND_RESOLVED_PATH] = "resolved2",
	[REPORT_HOST] = "host",
	[REPORT_PORT] = "port",
	[REPORT_RULE] = "rule",
	[REPORT_REASON] = "reason",
	[REPORT_ERRNO] = "errno",
	[REPORT_RETURN_VALUE] = "ret",
	[REPORT_DURATION_NS] = "ns",
	[REPORT_OTHER_FIELDS] = "rest",
};

/* Columns that contain the number of a text. The text is the record's field with the column's name. */
static const enum report_column text_columns[] = {
	REPORT_EXE,  REPORT_VERDICT,       REPORT_DENIAL_EFFECT, REPORT_ACCESS_RIGHT,
	REPORT_PATH, REPORT_RESOLVED_PATH, REPORT_SECOND_PATH,   REPORT_SECOND_RESOLVED_PATH,
	REPORT_HOST, REPORT_RULE,          REPORT_REASON,        REPORT_ERRNO,
};
static const enum report_column number_columns[] = {REPORT_PID, REPORT_TID, REPORT_PPID, REPORT_PORT,
						    REPORT_RETURN_VALUE};

struct report_rows *report_rows_create(void)
{
	return calloc(1, sizeof(struct report_rows));
}

void report_rows_free(struct report_rows *rows)
{
	free(rows);
}

/* Returns the nanoseconds since 1970 of a log's time; `otherwise` if the text is not such a time. */
static int64_t rows_parse_time(const char *text, int64_t otherwise)
{
	struct tm when = {0};
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &when) : NULL;
	int64_t fraction = 0, unit = NS_PER_S, total;

	if (!rest)
		return otherwise;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9' && unit > 1; rest++) {
			unit /= 10;
			fraction += unit * (*rest - '0');
		}
	if (__builtin_mul_overflow((int64_t)timegm(&when), (int64_t)NS_PER_S, &total) ||
	    __builtin_add_overflow(total, fraction, &total))
		return otherwise;
	return total;
}

/*
 * Adds the name of the call to the texts, and returns its number. Names of network events get a prefix, because "open"
 * is also a system call.
 */
static uint32_t rows_add_call_name(struct report_texts *texts, const json_t *line)
{
	const char *event = json_string_value(json_object_get(line, "event"));
	char name[64];
	int len;

	if (!event)
		return report_texts_add_field(texts, line, "syscall");
	len = snprintf(name, sizeof(name), "net.%s", event);
	return report_texts_add(texts, name, (size_t)len < sizeof(name) ? (size_t)len : sizeof(name) - 1, false);
}

/* Whether a record's key is not among the rest, which the page keeps as JSON: it has a column, or is in `others`. */
static bool rows_has_column(const char *key)
{
	static const char *const others[] = {"syscall", "event", "mono_ns", "prev", NULL};

	for (size_t i = 0; i < REPORT_COLUMN_COUNT; i++)
		if (strcmp(column_names[i], key) == 0)
			return true;
	for (const char *const *other = others; *other; other++)
		if (strcmp(*other, key) == 0)
			return true;
	return false;
}

/*
 * Adds a JSON object of the fields that have no column. Leaves out the hashes of the chain, which tell a reader nothing
 * and do not compress.
 */
static uint32_t rows_add_other_fields(struct report_texts *texts, const json_t *line)
{
	json_t *rest = json_copy((json_t *)(uintptr_t)line); /* a copy: the line keeps its fields */
	_cleanup_free_ char *text = NULL;
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(rest, next, key, value) {
		if (rows_has_column(key))
			(void)json_object_del(rest, key);
	}
	if (json_object_size(rest) > 0)
		text = json_dumps(rest, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(rest);
	return text ? report_texts_add(texts, text, strlen(text), true) : REPORT_TEXT_NUMBER_OF_NO_TEXT;
}

/* Writes the rows that are collected, by columns. A column of zeros is left out. */
static void rows_write_block(struct report_rows *rows, FILE *out)
{
	(void)fprintf(out, "<script type=\"application/json\" class=\"rows\">{\"rows\":%zu", rows->buffered_row_count);
	for (size_t i = 0; i < REPORT_COLUMN_COUNT; i++) {
		const int64_t *column = rows->column[i];
		bool used = false;

		for (size_t j = 0; j < rows->buffered_row_count && !used; j++)
			used = column[j] != 0;
		if (!used) /* a column that is left out is all zeros */
			continue;
		(void)fprintf(out, ",\"%s\":[%lld", column_names[i], (long long)column[0]);
		for (size_t j = 1; j < rows->buffered_row_count; j++)
			(void)fprintf(out, ",%lld", (long long)column[j]);
		(void)fputc(']', out);
	}
	(void)fputs("}</script>\n", out);
	rows->buffered_row_count = 0;
}

void report_rows_flush(struct report_rows *rows, FILE *out)
{
	if (rows->buffered_row_count > 0)
		rows_write_block(rows, out);
}

void report_rows_add(struct report_rows *rows, struct report_texts *texts, unsigned run, const json_t *line, FILE *out)
{
	const char *when = json_string_value(json_object_get(line, "time"));
	int64_t seq = json_integer_value(json_object_get(line, "seq")), value[REPORT_COLUMN_COUNT] = {0};
	int64_t ns = rows_parse_time(when, rows->last_time);

	if (rows->record_count == 0) {
		(void)snprintf(rows->start_time, sizeof(rows->start_time), "%s", when ? when : "");
		rows->last_time = ns;
	}
	value[REPORT_RUN_INDEX] = run;
	/* an edited log may contain any numbers */
	value[REPORT_SEQ_DELTA] = (int64_t)((uint64_t)seq - (uint64_t)rows->last_seq);
	value[REPORT_TIME_DELTA_NS] = (int64_t)((uint64_t)ns - (uint64_t)rows->last_time);
	for (size_t i = 0; i < sizeof(number_columns) / sizeof(number_columns[0]); i++)
		value[number_columns[i]] = json_integer_value(json_object_get(line, column_names[number_columns[i]]));
	for (size_t i = 0; i < sizeof(text_columns) / sizeof(text_columns[0]); i++)
		value[text_columns[i]] = report_texts_add_field(texts, line, column_names[text_columns[i]]);
	value[REPORT_SYSCALL_NAME] = rows_add_call_name(texts, line);
	if (json_is_null(json_object_get(line, "resolved")))
		value[REPORT_RESOLVED_PATH] = -1;
	value[REPORT_DURATION_NS] =
		json_is_integer(json_object_get(line, "ns")) ? json_integer_value(json_object_get(line, "ns")) : -1;
	value[REPORT_OTHER_FIELDS] = rows_add_other_fields(texts, line);
	for (size_t i = 0; i < REPORT_COLUMN_COUNT; i++)
		rows->column[i][rows->buffered_row_count] = value[i];
	rows->last_seq = seq;
	rows->last_time = ns;
	rows->record_count++;
	if (++rows->buffered_row_count == ROWS_PER_WRITTEN_BLOCK)
		rows_write_block(rows, out);
}

const char *report_rows_get_start(const struct report_rows *rows)
{
	return rows->record_count > 0 ? rows->start_time : NULL;
}

/* The number of records that were added. */
uint64_t report_rows_get_count(const struct report_rows *rows)
{
	return rows->record_count;
}
