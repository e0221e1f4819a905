/* The columns of a record in tables: CSV and SQLite. */
#ifndef CALLGATE_CLI_AUDIT_EXPORT_COLUMNS_H
#define CALLGATE_CLI_AUDIT_EXPORT_COLUMNS_H

#include "cli/audit/logs.h"

enum column_type {
	COLUMN_TEXT,
	COLUMN_INTEGER,
	COLUMN_REAL,
};

/* A field of a record as a column. */
struct column_value {
	bool is_present;       /* the record has the field */
	int64_t integer_value; /* of COLUMN_INTEGER */
	struct scan_text
		text_value; /* the value of a COLUMN_TEXT, with its JSON escapes, or the digits of a COLUMN_REAL */
};

size_t columns_count(void);
const char *column_get_name(size_t column);
enum column_type column_get_type(size_t column);
struct column_value column_get_value(size_t column, const struct audit_entry *entry);

#endif
