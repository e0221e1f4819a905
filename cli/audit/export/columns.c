#include "cli/audit/export/columns.h"

#include <stdlib.h>
#include <string.h>

#include "cli/audit/fields.h"

enum column_kind {
	FIELD_TEXT,
	FIELD_RAW,      /* JSON, as a text: its quotes are no escapes */
	FIELD_DECIMAL,
	FIELD_DIGITS,   /* an integer that may be 0, as a text */
	FIELD_UNSIGNED, /* 0: the record has none */
	FIELD_SIGNED,   /* 0: the record has none */
	FIELD_SEQ,
	FIELD_RUN,
	FIELD_TID,
	FIELD_BYTES,
	FIELD_RET,
	FIELD_NS,
	FIELD_FLAG,
	FIELD_RESOLVED, /* also where the log leaves it out because it equals the path */
};

#define AT(member) offsetof(struct scan_record, member)

static const struct column {
	const char *name;
	enum column_kind kind;
	size_t at;
} columns[] = {
	{"run", FIELD_RUN, 0},
	{"seq", FIELD_SEQ, 0},
	{"time", FIELD_TEXT, AT(time)},
	{"mono_ns", FIELD_UNSIGNED, AT(mono_ns)},
	{"pid", FIELD_SIGNED, AT(pid)},
	{"tid", FIELD_TID, 0},
	{"ppid", FIELD_SIGNED, AT(ppid)},
	{"host_pid", FIELD_SIGNED, AT(host_pid)},
	{"exe", FIELD_TEXT, AT(exe)},
	{"syscall", FIELD_TEXT, AT(syscall)},
	{"event", FIELD_TEXT, AT(event)},
	{"args", FIELD_RAW, AT(args)},
	{"path", FIELD_TEXT, AT(path[0].written)},
	{"resolved", FIELD_RESOLVED, AT(path[0])},
	{"path2", FIELD_TEXT, AT(path[1].written)},
	{"resolved2", FIELD_RESOLVED, AT(path[1])},
	{"loader", FIELD_TEXT, AT(path[2].written)},
	{"loader_resolved", FIELD_RESOLVED, AT(path[2])},
	{"right", FIELD_TEXT, AT(right)},
	{"conn", FIELD_UNSIGNED, AT(conn)},
	{"host", FIELD_TEXT, AT(host)},
	{"port", FIELD_UNSIGNED, AT(port)},
	{"proto", FIELD_TEXT, AT(proto)},
	{"address", FIELD_TEXT, AT(address)},
	{"real", FIELD_TEXT, AT(real)},
	{"dropped", FIELD_TEXT, AT(dropped)},
	{"sni", FIELD_TEXT, AT(sni)},
	{"alpn", FIELD_TEXT, AT(alpn)},
	{"method", FIELD_TEXT, AT(method)},
	{"truncated", FIELD_FLAG, AT(truncated)},
	{"credential", FIELD_TEXT, AT(credential)},
	{"status", FIELD_UNSIGNED, AT(status)},
	{"cause", FIELD_TEXT, AT(cause)},
	{"count", FIELD_UNSIGNED, AT(refusal_count)},
	{"bytes_up", FIELD_BYTES, AT(bytes_up)},
	{"bytes_down", FIELD_BYTES, AT(bytes_down)},
	{"dns_ms", FIELD_DECIMAL, AT(dns_ms)},
	{"connect_ms", FIELD_DECIMAL, AT(connect_ms)},
	{"duration_ms", FIELD_DECIMAL, AT(duration_ms)},
	{"verdict", FIELD_TEXT, AT(verdict)},
	{"effect", FIELD_TEXT, AT(effect)},
	{"observed", FIELD_FLAG, AT(observed)},
	{"on_deny", FIELD_TEXT, AT(on_deny)},
	{"answer", FIELD_TEXT, AT(answer)},
	{"answered_by", FIELD_DIGITS, AT(answered_by)},
	{"asked_ns", FIELD_UNSIGNED, AT(asked_ns)},
	{"rule", FIELD_TEXT, AT(rule)},
	{"reason", FIELD_TEXT, AT(reason)},
	{"ret", FIELD_RET, 0},
	{"errno", FIELD_TEXT, AT(error)},
	{"ns", FIELD_NS, 0},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

size_t columns_count(void)
{
	return COLUMNS;
}

const char *column_get_name(size_t column)
{
	return columns[column].name;
}

enum column_type column_get_type(size_t column)
{
	switch (columns[column].kind) {
	case FIELD_DECIMAL:
		return COLUMN_REAL;
	case FIELD_TEXT:
	case FIELD_RAW:
	case FIELD_RUN:
	case FIELD_RESOLVED:
		return COLUMN_TEXT;
	case FIELD_UNSIGNED:
	case FIELD_SIGNED:
	case FIELD_DIGITS:
	case FIELD_SEQ:
	case FIELD_TID:
	case FIELD_BYTES:
	case FIELD_RET:
	case FIELD_NS:
	case FIELD_FLAG:
	default:
		return COLUMN_INTEGER;
	}
}

static struct column_value column_make_text(const struct scan_text *text)
{
	return (struct column_value){.present = text->at != NULL, .text = *text};
}

static struct column_value column_make_number(bool present, uint64_t number)
{
	return (struct column_value){.present = present, .number = (int64_t)(number < INT64_MAX ? number : INT64_MAX)};
}

static struct column_value column_make_digits(const struct scan_text *digits)
{
	char text[24];
	bool present = digits->at && scan_get_bytes(digits, text, sizeof(text)) > 0;

	return (struct column_value){.present = present, .number = present ? strtoll(text, NULL, 10) : 0};
}

static struct column_value column_make_resolved(const struct scan_path *path)
{
	static const struct scan_text none = {NULL, 0};
	bool known;
	const struct scan_text *text = record_get_path_argument(path, &known);

	return column_make_text(known ? text : &none);
}

struct column_value column_get_value(size_t column, const struct audit_entry *entry)
{
	const struct scan_record *record = &entry->record;
	const void *field = (const char *)record + columns[column].at;

	switch (columns[column].kind) {
	case FIELD_RUN:
		return column_make_text(record->run.at ? &record->run
						       : &(struct scan_text){entry->log->run, strlen(entry->log->run)});
	case FIELD_SEQ:
		return column_make_number(true, record->seq);
	case FIELD_TID:
		return (struct column_value){.present = record_get_tid(record) != 0, .number = record_get_tid(record)};
	case FIELD_BYTES:
		return column_make_number(record->has_bytes, *(const uint64_t *)field);
	case FIELD_RET:
		return (struct column_value){.present = record->has_ret, .number = record->ret};
	case FIELD_NS:
		return column_make_number(record->has_ns, record->ns);
	case FIELD_FLAG:
		return column_make_number(*(const bool *)field, 1);
	case FIELD_UNSIGNED:
		return column_make_number(*(const uint64_t *)field != 0, *(const uint64_t *)field);
	case FIELD_SIGNED:
		return (struct column_value){.present = *(const int64_t *)field != 0,
					     .number = *(const int64_t *)field};
	case FIELD_DIGITS:
		return column_make_digits(field);
	case FIELD_RESOLVED:
		/* The path of a request is none of the file system. */
		return record->event.at ? column_make_text(&((const struct scan_path *)field)->resolved)
					: column_make_resolved(field);
	case FIELD_TEXT:
	case FIELD_RAW:
	case FIELD_DECIMAL:
	default:
		return column_make_text(field);
	}
}
