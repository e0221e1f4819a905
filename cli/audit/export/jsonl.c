/*
 * JSON lines: copies the lines of all logs, with headers and trailers, into one file. Lines of compact logs get the
 * fields that they leave out.
 */
#include "cli/audit/export/export.h"

/* Copies a line of the log to the output. */
static int jsonl_copy_line(struct export_state *export, const struct audit_entry *entry)
{
	audit_put_text(&export->line_buffer, &(struct scan_text){entry->json_text, entry->len});
	buf_puts(&export->line_buffer, "\n");
	return export_flush_line(export);
}

const struct export_format export_jsonl = {.name = "jsonl", .entry = jsonl_copy_line};
