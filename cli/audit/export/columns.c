#include "cli/audit/export/columns.h"

#include <stdlib.h>
#include <string.h>

#include "cli/audit/fields.h"

enum column_kind {
	FIELD_TEXT,
	FIELD_JSON_AS_TEXT, /* a JSON value, shown as the text that is in the log */
	FIELD_FRACTION,
	FIELD_INTEGER_TEXT_OR_ZERO, /* a scan_text with an integer, which may be 0 */
	FIELD_UNSIGNED_OR_NONE,     /* an unsigned integer; 0: the record lacks the field */
	FIELD_SIGNED_OR_NONE,       /* a signed integer; 0: the record lacks the field */
	FIELD_SEQUENCE_NUMBER,
	FIELD_RUN_ID,
	FIELD_THREAD_ID,
	FIELD_BYTE_COUNT,
	FIELD_RETURN_VALUE,
	FIELD_DURATION_NS,
	FIELD_BOOLEAN,
	/*
	 * the canonical path; or the path as written, if the log leaves the canonical path out because both are equal
	 */
	FIELD_RESOLVED_PATH,
};

#define MEMBER_OFFSET(member) offsetof(struct scan_record, member)

/* The columns of exported records: name, kind, and where the value is in struct scan_record. */
static const struct column {
	const char *name;
	enum column_kind kind;
	size_t at;
} columns[] = {
	{"run", FIELD_RUN_ID, 0},
	{"seq", FIELD_SEQUENCE_NUMBER, 0},
	{"time", FIELD_TEXT, MEMBER_OFFSET(time)},
	{"mono_ns", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(mono_ns)},
	{"pid", FIELD_SIGNED_OR_NONE, MEMBER_OFFSET(pid)},
	{"tid", FIELD_THREAD_ID, 0},
	{"ppid", FIELD_SIGNED_OR_NONE, MEMBER_OFFSET(ppid)},
	{"host_pid", FIELD_SIGNED_OR_NONE, MEMBER_OFFSET(host_pid)},
	{"program", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(session_program_number)},
	{"exe", FIELD_TEXT, MEMBER_OFFSET(exe)},
	{"syscall", FIELD_TEXT, MEMBER_OFFSET(syscall)},
	{"event", FIELD_TEXT, MEMBER_OFFSET(event)},
	{"args", FIELD_JSON_AS_TEXT, MEMBER_OFFSET(args_json)},
	{"path", FIELD_TEXT, MEMBER_OFFSET(path[0].as_written)},
	{"resolved", FIELD_RESOLVED_PATH, MEMBER_OFFSET(path[0])},
	{"path2", FIELD_TEXT, MEMBER_OFFSET(path[1].as_written)},
	{"resolved2", FIELD_RESOLVED_PATH, MEMBER_OFFSET(path[1])},
	{"loader", FIELD_TEXT, MEMBER_OFFSET(path[2].as_written)},
	{"loader_resolved", FIELD_RESOLVED_PATH, MEMBER_OFFSET(path[2])},
	{"right", FIELD_TEXT, MEMBER_OFFSET(right)},
	{"conn", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(conn)},
	{"host", FIELD_TEXT, MEMBER_OFFSET(host)},
	{"port", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(port)},
	{"proto", FIELD_TEXT, MEMBER_OFFSET(proto)},
	{"address", FIELD_TEXT, MEMBER_OFFSET(address)},
	{"real", FIELD_TEXT, MEMBER_OFFSET(real)},
	{"dropped", FIELD_TEXT, MEMBER_OFFSET(dropped)},
	{"sni", FIELD_TEXT, MEMBER_OFFSET(sni)},
	{"alpn", FIELD_TEXT, MEMBER_OFFSET(alpn)},
	{"method", FIELD_TEXT, MEMBER_OFFSET(method)},
	{"truncated", FIELD_BOOLEAN, MEMBER_OFFSET(path_is_truncated)},
	{"credential", FIELD_TEXT, MEMBER_OFFSET(credential)},
	{"status", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(status)},
	{"cause", FIELD_TEXT, MEMBER_OFFSET(cause)},
	{"count", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(refusal_count)},
	{"bytes_up", FIELD_BYTE_COUNT, MEMBER_OFFSET(bytes_up)},
	{"bytes_down", FIELD_BYTE_COUNT, MEMBER_OFFSET(bytes_down)},
	{"dns_ms", FIELD_FRACTION, MEMBER_OFFSET(dns_ms)},
	{"connect_ms", FIELD_FRACTION, MEMBER_OFFSET(connect_ms)},
	{"duration_ms", FIELD_FRACTION, MEMBER_OFFSET(duration_ms)},
	{"verdict", FIELD_TEXT, MEMBER_OFFSET(verdict)},
	{"effect", FIELD_TEXT, MEMBER_OFFSET(effect)},
	{"observed", FIELD_BOOLEAN, MEMBER_OFFSET(was_observed)},
	{"on_deny", FIELD_TEXT, MEMBER_OFFSET(on_deny)},
	{"answer", FIELD_TEXT, MEMBER_OFFSET(answer)},
	{"answered_how", FIELD_TEXT, MEMBER_OFFSET(answered_how)},
	{"answered_by", FIELD_INTEGER_TEXT_OR_ZERO, MEMBER_OFFSET(answered_by)},
	{"asked_ns", FIELD_UNSIGNED_OR_NONE, MEMBER_OFFSET(asked_ns)},
	{"rule", FIELD_TEXT, MEMBER_OFFSET(rule)},
	{"reason", FIELD_TEXT, MEMBER_OFFSET(reason)},
	{"ret", FIELD_RETURN_VALUE, 0},
	{"errno", FIELD_TEXT, MEMBER_OFFSET(error)},
	{"ns", FIELD_DURATION_NS, 0},
};
/* columns of an exported table: one for each field of a record */
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

size_t columns_count(void)
{
	return COLUMN_COUNT;
}

const char *column_get_name(size_t column)
{
	return columns[column].name;
}

enum column_type column_get_type(size_t column)
{
	switch (columns[column].kind) {
	case FIELD_FRACTION:
		return COLUMN_REAL;
	case FIELD_TEXT:
	case FIELD_JSON_AS_TEXT:
	case FIELD_RUN_ID:
	case FIELD_RESOLVED_PATH:
		return COLUMN_TEXT;
	case FIELD_UNSIGNED_OR_NONE:
	case FIELD_SIGNED_OR_NONE:
	case FIELD_INTEGER_TEXT_OR_ZERO:
	case FIELD_SEQUENCE_NUMBER:
	case FIELD_THREAD_ID:
	case FIELD_BYTE_COUNT:
	case FIELD_RETURN_VALUE:
	case FIELD_DURATION_NS:
	case FIELD_BOOLEAN:
	default:
		return COLUMN_INTEGER;
	}
}

static struct column_value column_make_text(const struct scan_text *text)
{
	return (struct column_value){.is_present = text->at != NULL, .text_value = *text};
}

static struct column_value column_make_number(bool present, uint64_t number)
{
	return (struct column_value){.is_present = present,
				     .integer_value = (int64_t)(number < INT64_MAX ? number : INT64_MAX)};
}

static struct column_value column_make_digits(const struct scan_text *digits)
{
	char text[24];
	bool present = digits->at && scan_copy_unescaped_bytes(digits, text, sizeof(text)) > 0;

	return (struct column_value){.is_present = present, .integer_value = present ? strtoll(text, NULL, 10) : 0};
}

/* The path that the call had to do with, if it is known which one that is; otherwise no value. */
static struct column_value column_make_resolved_path(const struct scan_path *path)
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
	case FIELD_RUN_ID:
		return column_make_text(record->run.at ? &record->run
						       : &(struct scan_text){entry->log->run, strlen(entry->log->run)});
	case FIELD_SEQUENCE_NUMBER:
		return column_make_number(true, record->seq);
	case FIELD_THREAD_ID:
		return (struct column_value){.is_present = record_get_tid(record) != 0,
					     .integer_value = record_get_tid(record)};
	case FIELD_BYTE_COUNT:
		return column_make_number(record->has_byte_counts, *(const uint64_t *)field);
	case FIELD_RETURN_VALUE:
		return (struct column_value){.is_present = record->has_ret, .integer_value = record->ret};
	case FIELD_DURATION_NS:
		return column_make_number(record->has_ns, record->ns);
	case FIELD_BOOLEAN:
		return column_make_number(*(const bool *)field, 1);
	case FIELD_UNSIGNED_OR_NONE:
		return column_make_number(*(const uint64_t *)field != 0, *(const uint64_t *)field);
	case FIELD_SIGNED_OR_NONE:
		return (struct column_value){.is_present = *(const int64_t *)field != 0,
					     .integer_value = *(const int64_t *)field};
	case FIELD_INTEGER_TEXT_OR_ZERO:
		return column_make_digits(field);
	case FIELD_RESOLVED_PATH:
		/* in the record of a request, the path is that of a URL, not a file's */
		return record->event.at ? column_make_text(&((const struct scan_path *)field)->resolved_path)
					: column_make_resolved_path(field);
	case FIELD_TEXT:
	case FIELD_JSON_AS_TEXT:
	case FIELD_FRACTION:
	default:
		return column_make_text(field);
	}
}
