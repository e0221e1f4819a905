/* Reads the rows of finished cells from the cells' directories, and writes them as JSON lines and CSV. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/experiment/experiment.h"

#define ROW_FILE_BYTES_MAX (4u << 20)

int results_write_file(const char *dir, const char *name, const struct buf *text)
{
	_cleanup_free_ char *path = text_format("%s/%s", dir, name),
			    *aside = text_format("%s/%s.%d", dir, name, getpid());
	_cleanup_close_ int fd = path && aside ? open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	int r = text->failed || !path || !aside ? -ENOMEM : fd < 0 ? -errno : io_write_all(fd, text->data, text->len);

	if (r == 0 && rename(aside, path) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	cli_print_error("experiment", "cannot write %s: %s", path ? path : name, strerror(-r));
	if (fd >= 0)
		(void)unlink(aside);
	return r;
}

static int rows_compare(const void *row, const void *other)
{
	json_int_t index = json_integer_value(json_object_get(*(json_t *const *)row, "index"));
	json_int_t other_index = json_integer_value(json_object_get(*(json_t *const *)other, "index"));

	if (index != other_index)
		return index < other_index ? -1 : 1;
	return strcmp(json_string_value(json_object_get(*(json_t *const *)row, "cell")),
		      json_string_value(json_object_get(*(json_t *const *)other, "cell")));
}

/* Sorts an array of rows by index, in place. */
static int rows_sort(json_t **rows)
{
	size_t count = json_array_size(*rows);
	_cleanup_free_ json_t **row = calloc(count + 1, sizeof(json_t *));
	json_t *sorted = json_array();

	if (!row || !sorted) {
		json_decref(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		row[i] = json_array_get(*rows, i);
	qsort(row, count, sizeof(json_t *), rows_compare);
	for (size_t i = 0; i < count; i++)
		(void)json_array_append(sorted, row[i]);
	json_decref(*rows);
	*rows = sorted;
	return 0;
}

/*
 * Adds the row of one cell. Skips a cell's directory without a row, because that directory is still being copied. 0, or
 * -errno with a message.
 */
static int rows_add_cell(const char *dir, const char *cell, json_t *rows)
{
	_cleanup_free_ char *path = text_format("%s/" RESULTS_CELLS_DIR "/%s/" RESULTS_ROW_FILE, dir, cell),
			    *text = NULL;
	size_t len = 0;
	int r = path ? io_read_file(AT_FDCWD, path, ROW_FILE_BYTES_MAX, &text, &len) : -ENOMEM;
	json_t *row;

	if (r == -ENOENT)
		return 0;
	row = r == 0 ? json_loadb(text, len, 0, NULL) : NULL;
	if (r == 0 && !(json_is_string(json_object_get(row, "cell")) && json_is_integer(json_object_get(row, "index"))))
		r = -EBADMSG;
	if (r == 0)
		return json_array_append_new(rows, row) == 0 ? 0 : -ENOMEM;
	json_decref(row);
	cli_print_error("experiment", "%s: %s", path ? path : cell,
			r == -EBADMSG ? "not the row of a cell; remove the cell's directory and run the plan again"
				      : strerror(-r));
	return r;
}

int rows_load(const char *dir, json_t **ret_rows)
{
	_cleanup_free_ char *cells = text_format("%s/" RESULTS_CELLS_DIR, dir);
	_cleanup_closedir_ DIR *entries = cells ? opendir(cells) : NULL;
	_cleanup_json_ json_t *rows = json_array();
	const struct dirent *entry;
	int r = !cells || !rows ? -ENOMEM : !entries ? -errno : 0, unread = 0;

	if (r < 0)
		cli_print_error("experiment", "%s: %s; is this the directory of an experiment's results?",
				cells ? cells : dir, strerror(-r));
	while (r == 0 && entries && (entry = io_read_entry(entries, &unread)))
		if (entry->d_name[0] != '.')
			r = rows_add_cell(dir, entry->d_name, rows);
	if (unread < 0) {
		cli_print_error("experiment", "%s: %s", cells, strerror(-unread));
		r = unread;
	}
	if (r == 0)
		r = rows_sort(&rows);
	if (r == 0)
		*ret_rows = json_incref(rows);
	return r;
}

/* ---- writing CSV (RFC 4180) ---- */

static const char *const csv_columns[] = {"cell", "index", "program", "input", "policy", "repetition", "seed", "status",
					  "exit_code", "signal", "error", "denials", "denials_by_rule", "changes",
					  "bytes_up", "bytes_down", "stdout_bytes", "stderr_bytes"};
static const char *const csv_measured[] = {"time_ms", "cpu_ms", "memory_bytes", "calls"};

/* Adds a text as CSV has it: in quotation marks, if that is needed. */
static void csv_add_text(struct buf *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (quoted)
		buf_puts(out, "\"");
	for (; *text; text++)
		buf_add(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	if (quoted)
		buf_puts(out, "\"");
}

/* Adds a JSON value as CSV has it. A missing one is empty. */
static void csv_add_value(struct buf *out, const json_t *value)
{
	_cleanup_free_ char *text = NULL;

	if (json_is_string(value)) {
		csv_add_text(out, json_string_value(value));
		return;
	}
	text = value && !json_is_null(value) ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("");
	if (text)
		csv_add_text(out, text);
	else
		out->failed = true;
}

/* Adds the row's values in these columns or, with row NULL, the columns' names. last: ends the line. */
static void csv_add_columns(struct buf *out, const json_t *row, const char *const *columns, size_t count, bool last)
{
	for (size_t i = 0; i < count; i++) {
		if (row)
			csv_add_value(out, json_object_get(row, columns[i]));
		else
			buf_puts(out, columns[i]);
		buf_puts(out, last && i + 1 == count ? "\r\n" : ",");
	}
}

/* Adds a line of CSV; with `row` NULL the names of the columns. */
static void csv_add_row(struct buf *out, const json_t *row)
{
	csv_add_columns(out, row, csv_columns, sizeof(csv_columns) / sizeof(csv_columns[0]), false);
	csv_add_columns(out, row ? json_object_get(row, "measured") : NULL, csv_measured,
			sizeof(csv_measured) / sizeof(csv_measured[0]), true);
}

int rows_write(const char *dir, const json_t *rows, bool csv)
{
	_cleanup_buf_ struct buf lines = {0}, table = {0};
	json_t *row;
	size_t i;
	int r;

	csv_add_row(&table, NULL);
	json_array_foreach(rows, i, row) {
		_cleanup_free_ char *line = json_dumps(row, JSON_COMPACT);

		if (line)
			buf_printf(&lines, "%s\n", line);
		else
			lines.failed = true;
		csv_add_row(&table, row);
	}
	r = results_write_file(dir, "results.jsonl", &lines);
	return r == 0 && csv ? results_write_file(dir, "results.csv", &table) : r;
}
