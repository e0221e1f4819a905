/* CSV as of RFC 4180: a heading, then a row for each record. Texts are as in the log, without the escapes of JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/audit/export/columns.h"
#include "cli/audit/export/export.h"

/* State of the format CSV: room for the texts of a record. */
struct csv_state {
	char text[AUDIT_LINE_MAX_BYTES * 2];
};

/* Adds a text in quotation marks, with those in it doubled. */
static void csv_put_quoted(struct buf *line, const char *text, size_t len)
{
	const char *quote;

	buf_puts(line, "\"");
	while ((quote = memchr(text, '"', len))) {
		buf_add(line, text, (size_t)(quote - text) + 1);
		buf_puts(line, "\"");
		len -= (size_t)(quote - text) + 1;
		text = quote + 1;
	}
	buf_add(line, text, len);
	buf_puts(line, "\"");
}

/* Adds a text. An empty text gets quotes, which distinguish it from a field that the record does not have. */
static void csv_put_text(struct buf *line, const char *text, size_t len)
{
	bool plain = len > 0 && text[0] != ' ' && text[len - 1] != ' ';

	for (size_t i = 0; plain && i < len; i++)
		plain = text[i] != '"' && text[i] != ',' && text[i] != '\n' && text[i] != '\r';
	if (plain)
		buf_add(line, text, len);
	else
		csv_put_quoted(line, text, len);
}

static int csv_put_value(struct export_state *export, size_t column, const struct column_value *value)
{
	struct csv_state *csv = export->state;
	ssize_t len;

	if (!value->is_present)
		return 0;
	if (column_get_type(column) == COLUMN_INTEGER) {
		buf_printf(&export->line_buffer, "%lld", (long long)value->integer_value);
		return 0;
	}
	if (strcmp(column_get_name(column), "args") == 0) { /* JSON, whose escapes are part of the text */
		csv_put_text(&export->line_buffer, value->text_value.at, value->text_value.len);
		return 0;
	}
	if (value->text_value.len > sizeof(csv->text))
		return -E2BIG;
	len = scan_copy_unescaped_utf8(&value->text_value, csv->text);
	if (len < 0)
		return (int)len;
	csv_put_text(&export->line_buffer, csv->text, (size_t)len);
	return 0;
}

/* Writes a record's row. If the output is a terminal, control characters and other invisible ones are escaped. */
static int csv_write_row(struct export_state *export)
{
	buf_puts(&export->line_buffer, "\r\n");
	if (!export->out_is_terminal || export->line_buffer.failed)
		return export_flush_line(export);
	(void)text_print(export->out, export->line_buffer.data, true);
	export->line_buffer.len = 0;
	return 0;
}

/* Writes the row with the names of the columns. */
static int csv_begin(struct export_state *export)
{
	export->state = malloc(sizeof(struct csv_state));
	if (!export->state)
		return -ENOMEM;
	for (size_t i = 0; i < columns_count(); i++)
		buf_printf(&export->line_buffer, "%s%s", i > 0 ? "," : "", column_get_name(i));
	return csv_write_row(export);
}

/* Writes a record as a row. */
static int csv_add_entry(struct export_state *export, const struct audit_entry *entry)
{
	int r = 0;

	if (entry->json)
		return 0;
	for (size_t i = 0; i < columns_count() && r == 0; i++) {
		struct column_value value = column_get_value(i, entry);

		buf_puts(&export->line_buffer, i > 0 ? "," : "");
		r = csv_put_value(export, i, &value);
	}
	return r < 0 ? r : csv_write_row(export);
}

const struct export_format export_csv = {.name = "csv", .begin = csv_begin, .entry = csv_add_entry};
