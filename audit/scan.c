#include "audit/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum scan_field_kind {
	SCAN_TEXT,
	SCAN_NUMBER,
	SCAN_SIGNED_NUMBER,       /* a number that may be negative */
	SCAN_DECIMAL_AS_TEXT,     /* any number; its digits are kept as a text */
	SCAN_BOOL,                /* true or false */
	SCAN_TEXT_OR_NULL,        /* a text or null */
	SCAN_NUMBER_OR_NULL,      /* a number that may be negative, or null */
	SCAN_NS_OR_NULL,          /* a time in nanoseconds, or null */
	SCAN_HTTP_STATUS_OR_TEXT, /* "status": a number in a record; a text in a trailer, which is not stored */
	SCAN_BYTE_COUNT,          /* a number; its presence sets has_byte_counts */
	SCAN_ARGS_OBJECT,         /* an object of numbers and texts */
};

#define SCAN_RECORD_OFFSET(member) offsetof(struct scan_record, member)

/* The fields, in the order in which encode.c writes them and scanning expects them. */
static const struct scan_field {
	const char *name;
	size_t len;
	enum scan_field_kind kind;
	size_t offset_in_record; /* where the value goes in struct scan_record */
} fields[] = {
/* a row of the table of JSON keys; `at`: where in struct scan_record */
#define SCAN_FIELD_ENTRY(name, kind, at) {name, sizeof(name) - 1, kind, at}
	SCAN_FIELD_ENTRY("seq", SCAN_NUMBER, SCAN_RECORD_OFFSET(seq)),
	SCAN_FIELD_ENTRY("prev", SCAN_TEXT, SCAN_RECORD_OFFSET(prev)),
	SCAN_FIELD_ENTRY("outcomes", SCAN_TEXT, SCAN_RECORD_OFFSET(outcomes)),
	SCAN_FIELD_ENTRY("time", SCAN_TEXT, SCAN_RECORD_OFFSET(time)),
	SCAN_FIELD_ENTRY("mono_ns", SCAN_NUMBER, SCAN_RECORD_OFFSET(mono_ns)),
	SCAN_FIELD_ENTRY("run", SCAN_TEXT, SCAN_RECORD_OFFSET(run)),
	SCAN_FIELD_ENTRY("pid", SCAN_SIGNED_NUMBER, SCAN_RECORD_OFFSET(pid)),
	SCAN_FIELD_ENTRY("tid", SCAN_SIGNED_NUMBER, SCAN_RECORD_OFFSET(tid)),
	SCAN_FIELD_ENTRY("ppid", SCAN_SIGNED_NUMBER, SCAN_RECORD_OFFSET(ppid)),
	SCAN_FIELD_ENTRY("host_pid", SCAN_SIGNED_NUMBER, SCAN_RECORD_OFFSET(host_pid)),
	SCAN_FIELD_ENTRY("program", SCAN_NUMBER, SCAN_RECORD_OFFSET(session_program_number)),
	SCAN_FIELD_ENTRY("exe", SCAN_TEXT, SCAN_RECORD_OFFSET(exe)),
	SCAN_FIELD_ENTRY("syscall", SCAN_TEXT, SCAN_RECORD_OFFSET(syscall)),
	SCAN_FIELD_ENTRY("event", SCAN_TEXT, SCAN_RECORD_OFFSET(event)),
	SCAN_FIELD_ENTRY("conn", SCAN_NUMBER, SCAN_RECORD_OFFSET(conn)),
	SCAN_FIELD_ENTRY("host", SCAN_TEXT, SCAN_RECORD_OFFSET(host)),
	SCAN_FIELD_ENTRY("port", SCAN_NUMBER, SCAN_RECORD_OFFSET(port)),
	SCAN_FIELD_ENTRY("proto", SCAN_TEXT, SCAN_RECORD_OFFSET(proto)),
	SCAN_FIELD_ENTRY("address", SCAN_TEXT, SCAN_RECORD_OFFSET(address)),
	SCAN_FIELD_ENTRY("real", SCAN_TEXT, SCAN_RECORD_OFFSET(real)),
	SCAN_FIELD_ENTRY("dropped", SCAN_TEXT, SCAN_RECORD_OFFSET(dropped)),
	SCAN_FIELD_ENTRY("sni", SCAN_TEXT, SCAN_RECORD_OFFSET(sni)),
	SCAN_FIELD_ENTRY("alpn", SCAN_TEXT, SCAN_RECORD_OFFSET(alpn)),
	SCAN_FIELD_ENTRY("method", SCAN_TEXT, SCAN_RECORD_OFFSET(method)),
	SCAN_FIELD_ENTRY("args", SCAN_ARGS_OBJECT, 0),
	SCAN_FIELD_ENTRY("path", SCAN_TEXT, SCAN_RECORD_OFFSET(path[0].as_written)),
	SCAN_FIELD_ENTRY("truncated", SCAN_BOOL, SCAN_RECORD_OFFSET(path_is_truncated)),
	SCAN_FIELD_ENTRY("resolved", SCAN_TEXT_OR_NULL, SCAN_RECORD_OFFSET(path[0])),
	SCAN_FIELD_ENTRY("path2", SCAN_TEXT, SCAN_RECORD_OFFSET(path[1].as_written)),
	SCAN_FIELD_ENTRY("resolved2", SCAN_TEXT_OR_NULL, SCAN_RECORD_OFFSET(path[1])),
	SCAN_FIELD_ENTRY("loader", SCAN_TEXT, SCAN_RECORD_OFFSET(path[2].as_written)),
	SCAN_FIELD_ENTRY("loader_resolved", SCAN_TEXT_OR_NULL, SCAN_RECORD_OFFSET(path[2])),
	SCAN_FIELD_ENTRY("credential", SCAN_TEXT, SCAN_RECORD_OFFSET(credential)),
	SCAN_FIELD_ENTRY("status", SCAN_HTTP_STATUS_OR_TEXT, SCAN_RECORD_OFFSET(status)),
	SCAN_FIELD_ENTRY("cause", SCAN_TEXT, SCAN_RECORD_OFFSET(cause)),
	SCAN_FIELD_ENTRY("count", SCAN_NUMBER, SCAN_RECORD_OFFSET(refusal_count)),
	SCAN_FIELD_ENTRY("bytes_up", SCAN_BYTE_COUNT, SCAN_RECORD_OFFSET(bytes_up)),
	SCAN_FIELD_ENTRY("bytes_down", SCAN_BYTE_COUNT, SCAN_RECORD_OFFSET(bytes_down)),
	SCAN_FIELD_ENTRY("dns_ms", SCAN_DECIMAL_AS_TEXT, SCAN_RECORD_OFFSET(dns_ms)),
	SCAN_FIELD_ENTRY("connect_ms", SCAN_DECIMAL_AS_TEXT, SCAN_RECORD_OFFSET(connect_ms)),
	SCAN_FIELD_ENTRY("duration_ms", SCAN_DECIMAL_AS_TEXT, SCAN_RECORD_OFFSET(duration_ms)),
	SCAN_FIELD_ENTRY("right", SCAN_TEXT, SCAN_RECORD_OFFSET(right)),
	SCAN_FIELD_ENTRY("verdict", SCAN_TEXT, SCAN_RECORD_OFFSET(verdict)),
	SCAN_FIELD_ENTRY("effect", SCAN_TEXT, SCAN_RECORD_OFFSET(effect)),
	SCAN_FIELD_ENTRY("observed", SCAN_BOOL, SCAN_RECORD_OFFSET(was_observed)),
	SCAN_FIELD_ENTRY("on_deny", SCAN_TEXT, SCAN_RECORD_OFFSET(on_deny)),
	SCAN_FIELD_ENTRY("answer", SCAN_TEXT, SCAN_RECORD_OFFSET(answer)),
	SCAN_FIELD_ENTRY("answered_how", SCAN_TEXT, SCAN_RECORD_OFFSET(answered_how)),
	SCAN_FIELD_ENTRY("answered_by", SCAN_DECIMAL_AS_TEXT, SCAN_RECORD_OFFSET(answered_by)),
	SCAN_FIELD_ENTRY("asked_ns", SCAN_NUMBER, SCAN_RECORD_OFFSET(asked_ns)),
	SCAN_FIELD_ENTRY("rule", SCAN_TEXT, SCAN_RECORD_OFFSET(rule)),
	SCAN_FIELD_ENTRY("reason", SCAN_TEXT, SCAN_RECORD_OFFSET(reason)),
	SCAN_FIELD_ENTRY("ret", SCAN_NUMBER_OR_NULL, SCAN_RECORD_OFFSET(ret)),
	SCAN_FIELD_ENTRY("errno", SCAN_TEXT, SCAN_RECORD_OFFSET(error)),
	SCAN_FIELD_ENTRY("ns", SCAN_NS_OR_NULL, SCAN_RECORD_OFFSET(ns)),
	SCAN_FIELD_ENTRY("type", SCAN_TEXT, SCAN_RECORD_OFFSET(line_type)),
#undef SCAN_FIELD_ENTRY
};
#define SCAN_FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))
_Static_assert(SCAN_FIELD_COUNT <= 64, "the set of fields that were seen is one word");

/* The place in a log line that is being parsed. */
struct scan_cursor {
	const char *at;
	const char *end; /* one past the last byte, which is "}" */
};

static void scan_skip_blanks(struct scan_cursor *cursor)
{
	while (cursor->at < cursor->end && *cursor->at == ' ')
		cursor->at++;
}

/* Moves the cursor past the byte, if that is the next one. */
static bool scan_accept_byte(struct scan_cursor *cursor, char byte)
{
	if (cursor->at >= cursor->end || *cursor->at != byte)
		return false;
	cursor->at++;
	return true;
}

/* Whether the quotation mark is part of the text: an odd number of backslashes stands before it. */
static bool scan_quote_is_escaped(const char *start, const char *quote)
{
	size_t slashes = 0;

	while (quote - slashes > start && quote[-1 - (ptrdiff_t)slashes] == '\\')
		slashes++;
	return slashes % 2;
}

/* Reads a string at the cursor. *ret_text is without the quotes. */
static bool scan_read_text(struct scan_cursor *cursor, struct scan_text *ret_text)
{
	const char *start = cursor->at + 1, *quote = start;

	if (!scan_accept_byte(cursor, '"'))
		return false;
	while ((quote = memchr(quote, '"', (size_t)(cursor->end - quote)))) {
		if (quote == start || quote[-1] != '\\' || !scan_quote_is_escaped(start, quote))
			break;
		quote++;
	}
	if (!quote)
		return false;
	*ret_text = (struct scan_text){start, (size_t)(quote - start)};
	cursor->at = quote + 1;
	return true;
}

/* Moves the cursor past the word, if it comes next. */
static bool scan_accept_word(struct scan_cursor *cursor, const char *word, size_t len)
{
	if ((size_t)(cursor->end - cursor->at) < len || memcmp(cursor->at, word, len) != 0)
		return false;
	cursor->at += len;
	return true;
}
/* skips a literal word if it comes next; false: other text comes next */
#define SCAN_ACCEPT_WORD(cursor, word) scan_accept_word((cursor), "" word, sizeof(word) - 1)

/* Reads a number that is not negative. False when it needs more than 64 bits. */
static bool scan_read_number(struct scan_cursor *cursor, uint64_t *ret_number)
{
	const char *start = cursor->at;
	uint64_t number = 0;

	while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*cursor->at - '0'), &number))
			return false;
		cursor->at++;
	}
	*ret_number = number;
	return cursor->at > start && (*start != '0' || cursor->at == start + 1);
}

/* Reads a number of 64 bits that may be negative. */
static bool scan_read_int(struct scan_cursor *cursor, int64_t *ret_number)
{
	bool negative = scan_accept_byte(cursor, '-');
	uint64_t number;

	if (!scan_read_number(cursor, &number) || number > INT64_MAX)
		return false;
	*ret_number = negative ? -(int64_t)number : (int64_t)number;
	return true;
}

/* Reads a number with or without decimal places. */
static bool scan_read_decimal(struct scan_cursor *cursor, struct scan_text *ret_digits)
{
	const char *start = cursor->at, *places;
	int64_t number;

	if (!scan_read_int(cursor, &number))
		return false;
	if (scan_accept_byte(cursor, '.')) {
		for (places = cursor->at; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';)
			cursor->at++;
		if (cursor->at == places)
			return false;
	}
	*ret_digits = (struct scan_text){start, (size_t)(cursor->at - start)};
	return true;
}

/* Skips a value: a text, a word or a number. */
static bool scan_skip_value(struct scan_cursor *cursor)
{
	struct scan_text text;
	uint64_t large;

	if (cursor->at < cursor->end && *cursor->at == '"')
		return scan_read_text(cursor, &text);
	if (SCAN_ACCEPT_WORD(cursor, "true") || SCAN_ACCEPT_WORD(cursor, "false") || SCAN_ACCEPT_WORD(cursor, "null"))
		return true;
	return scan_read_decimal(cursor, &text) || scan_read_number(cursor, &large);
}

/* Reads `"name":`. *ret_name is the name. */
static bool scan_read_name(struct scan_cursor *cursor, struct scan_text *ret_name)
{
	if (!scan_read_text(cursor, ret_name) || !scan_accept_byte(cursor, ':'))
		return false;
	scan_skip_blanks(cursor);
	return true;
}

/* Takes flags: "0x80000". */
static bool scan_read_flags(struct scan_cursor *cursor, uint64_t *ret_flags)
{
	struct scan_text text;
	uint64_t flags = 0;

	if (!scan_read_text(cursor, &text) || text.len < 3 || text.len > 18 || memcmp(text.at, "0x", 2) != 0)
		return false;
	for (size_t i = 2; i < text.len; i++) {
		int digit = text_parse_hex_digit(text.at[i]);

		if (digit < 0)
			return false;
		flags = flags << 4 | (unsigned)digit;
	}
	*ret_flags = flags;
	return true;
}

/* Reads an argument of a call. `target` of symlink(2) and `flags` have fields of their own in the record. */
static bool scan_store_arg(struct scan_cursor *cursor, const struct scan_text *name, struct scan_record *record)
{
	if (scan_text_equals(name, "target"))
		return scan_read_text(cursor, &record->symlink_target);
	if (scan_text_equals(name, "flags") && cursor->at < cursor->end && *cursor->at == '"')
		return scan_read_flags(cursor, &record->call_flags);
	return scan_skip_value(cursor);
}

/* Reads the object "args", and stores those of its members that the record has fields for. */
static bool scan_read_args(struct scan_cursor *cursor, struct scan_record *record)
{
	const char *start = cursor->at;
	struct scan_text name;

	if (!scan_accept_byte(cursor, '{'))
		return false;
	while (scan_read_name(cursor, &name)) {
		if (!scan_store_arg(cursor, &name, record))
			return false;
		if (scan_accept_byte(cursor, '}')) {
			record->args_json = (struct scan_text){start, (size_t)(cursor->at - start)};
			return true;
		}
		if (!scan_accept_byte(cursor, ','))
			return false;
	}
	return false;
}

/* Reads a path, or "null" if the path could not be resolved. */
static bool scan_read_resolved_path(struct scan_cursor *cursor, struct scan_path *path)
{
	path->is_unresolved = SCAN_ACCEPT_WORD(cursor, "null");
	return path->is_unresolved || scan_read_text(cursor, &path->resolved_path);
}

/* Reads the call's return value. "null": it has none. */
static bool scan_read_return_value(struct scan_cursor *cursor, struct scan_record *record)
{
	if (SCAN_ACCEPT_WORD(cursor, "null"))
		return true;
	record->has_ret = true;
	return scan_read_int(cursor, &record->ret);
}

/* Reads the call's duration. "null": its outcome is not on record. */
static bool scan_read_ns(struct scan_cursor *cursor, struct scan_record *record)
{
	if (SCAN_ACCEPT_WORD(cursor, "null"))
		return true;
	record->has_ns = true;
	return scan_read_number(cursor, &record->ns);
}

/* Reads an error: its name, or its number if it has no name. */
static bool scan_read_errno_name(struct scan_cursor *cursor, struct scan_text *error)
{
	const char *start = cursor->at;
	uint64_t number;

	if (cursor->at < cursor->end && *start == '"')
		return scan_read_text(cursor, error);
	if (!scan_read_number(cursor, &number))
		return false;
	*error = (struct scan_text){start, (size_t)(cursor->at - start)};
	return true;
}

static bool scan_read_bool(struct scan_cursor *cursor, bool *ret_flag)
{
	*ret_flag = SCAN_ACCEPT_WORD(cursor, "true");
	return *ret_flag || SCAN_ACCEPT_WORD(cursor, "false");
}

/* Reads a field's value into its member of the record. Returns false if the value is not of the field's kind. */
static bool scan_read_value(struct scan_cursor *cursor, const struct scan_field *field, struct scan_record *record)
{
	char *to = (char *)record + field->offset_in_record;

	switch (field->kind) {
	case SCAN_TEXT:
		return field->offset_in_record == SCAN_RECORD_OFFSET(error) ? scan_read_errno_name(cursor, (void *)to)
								      : scan_read_text(cursor, (void *)to);
	case SCAN_NUMBER:
		return scan_read_number(cursor, (void *)to);
	case SCAN_HTTP_STATUS_OR_TEXT:
		return scan_read_number(cursor, (void *)to) || scan_skip_value(cursor);
	case SCAN_BYTE_COUNT:
		record->has_byte_counts = true;
		return scan_read_number(cursor, (void *)to);
	case SCAN_SIGNED_NUMBER:
		return scan_read_int(cursor, (void *)to);
	case SCAN_DECIMAL_AS_TEXT:
		return scan_read_decimal(cursor, (void *)to);
	case SCAN_BOOL:
		return scan_read_bool(cursor, (void *)to);
	case SCAN_TEXT_OR_NULL:
		return scan_read_resolved_path(cursor, (void *)to);
	case SCAN_NUMBER_OR_NULL:
		return scan_read_return_value(cursor, record);
	case SCAN_NS_OR_NULL:
		return scan_read_ns(cursor, record);
	case SCAN_ARGS_OBJECT:
		return scan_read_args(cursor, record);
	default:
		return false;
	}
}

/*
 * Finds the field whose name is at the cursor, beginning at index `next` of the table. Returns SCAN_FIELD_COUNT if the
 * name is not in the table, because no verb needs that field.
 */
static size_t scan_find_field(const struct scan_cursor *cursor, size_t next)
{
	const char *name = cursor->at + 1; /* behind the quote */
	size_t left = (size_t)(cursor->end - cursor->at);

	for (size_t i = 0; i < SCAN_FIELD_COUNT; i++) {
		size_t at = next + i < SCAN_FIELD_COUNT ? next + i : next + i - SCAN_FIELD_COUNT, len = fields[at].len;

		if (left > len + 2 && name[0] == fields[at].name[0] && name[len] == '"' && name[len + 1] == ':' &&
		    memcmp(fields[at].name, name, len) == 0)
			return at;
	}
	return SCAN_FIELD_COUNT;
}

/*
 * Reads one field of a line into the record; an unknown one is skipped. *next: which known field is tried first. *seen:
 * bits of those read.
 */
static bool scan_read_field(struct scan_cursor *cursor, size_t *next, uint64_t *seen, struct scan_record *record)
{
	size_t field = scan_find_field(cursor, *next);
	struct scan_text name;

	if (field == SCAN_FIELD_COUNT)
		return scan_read_name(cursor, &name) && scan_skip_value(cursor);
	if (!scan_accept_byte(cursor, '"') || *seen & UINT64_C(1) << field)
		return false; /* no name, or the line has the field twice */
	cursor->at += fields[field].len + 2; /* the name, its quote and the colon */
	scan_skip_blanks(cursor);
	*seen |= UINT64_C(1) << field;
	*next = field + 1;
	return scan_read_value(cursor, &fields[field], record);
}

int scan_parse_line_fast(const char *text, size_t len, struct scan_record *ret_record)
{
	struct scan_cursor cursor = {text, text + len};
	uint64_t seen = 0;
	size_t next = 0;

	memset(ret_record, 0, sizeof(*ret_record));
	if (!scan_accept_byte(&cursor, '{'))
		return -EBADMSG;
	while (scan_read_field(&cursor, &next, &seen, ret_record)) {
		scan_skip_blanks(&cursor);
		if (scan_accept_byte(&cursor, '}'))
			return cursor.at == cursor.end && seen & 1 ? 0 : -EBADMSG;
		if (!scan_accept_byte(&cursor, ','))
			break;
		scan_skip_blanks(&cursor); /* the writer inserts blanks so that no outcome crosses the end of a page */
	}
	return -EBADMSG;
}

int scan_line_else_parse_json(struct audit_reader *reader, struct audit_line *line, char **buffer,
		       struct scan_record *ret_record)
{
	int r = scan_parse_line_fast(line->text, line->len, ret_record);

	if (r == 0)
		return 0;
	r = audit_reader_parse_line(reader, line);
	if (r < 0)
		return r;
	free(*buffer);
	*buffer = json_dumps(line->json, JSON_COMPACT);
	if (!*buffer)
		return -ENOMEM;
	return scan_parse_line_fast(*buffer, strlen(*buffer), ret_record) < 0 ? 1 : 0;
}

bool scan_next_arg(struct scan_text *rest, struct scan_text *ret_name, struct scan_text *ret_value)
{
	struct scan_cursor cursor = {rest->at, rest->at ? rest->at + rest->len : NULL};
	const char *value;

	if (!rest->at || rest->len < 2)
		return false;
	cursor.at++; /* skips the brace or comma */
	if (!scan_read_name(&cursor, ret_name))
		return false;
	value = cursor.at;
	if (cursor.at < cursor.end && *value == '"') {
		if (!scan_read_text(&cursor, ret_value))
			return false;
	} else if (scan_skip_value(&cursor)) {
		*ret_value = (struct scan_text){value, (size_t)(cursor.at - value)};
	} else {
		return false;
	}
	*rest = (struct scan_text){cursor.at, (size_t)(cursor.end - cursor.at)};
	return true;
}
