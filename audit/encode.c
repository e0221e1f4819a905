/* A record's line. Everything is copied by known lengths; texts without anything to escape take a fast path. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/digits.h"
#include "audit/encode-private.h"
#include "base/text.h"

#include "base/banned.h"

#define FIXED_BYTES 3072 /* more than all keys, numbers and the room of one record */

static const struct encoder_name effect_name[] = {
	[AUDIT_REFUSED] = {"refused", 7},
	[AUDIT_PERFORMED] = {"performed", 9},
	[AUDIT_CONTINUED] = {"continued", 9},
};
_Static_assert(sizeof(effect_name) / sizeof(*effect_name) == AUDIT_EFFECT_MAX, "an effect lacks its name");

/* Up to eight at once, blanks behind what there is. */
static char *put_below_8(char *out, uint32_t value)
{
	uint64_t word = digits_of(value);
	unsigned zeroes = value > 0 ? (unsigned)__builtin_ctzll(word) & ~7u : 56;

	word = (word | UINT64_C(0x3030303030303030)) >> zeroes;
	if (zeroes > 0)
		word |= UINT64_C(0x2020202020202020) << (64 - zeroes);
	memcpy(out, &word, sizeof(word));
	return out + sizeof(word) - zeroes / 8;
}

char *encode_uint(char *out, uint64_t value)
{
	const uint32_t eight = 100000000;

	if (value < eight)
		return put_below_8(out, (uint32_t)value);
	return digits_put_8(encode_uint(out, value / eight), (uint32_t)(value % eight));
}

static char *put_int(char *out, int64_t value)
{
	if (value >= 0)
		return encode_uint(out, (uint64_t)value);
	*out++ = '-';
	return encode_uint(out, -(uint64_t)value);
}

/* Powers of two digits: 3 bits a digit for modes, 4 for flags and addresses. */
static char *put_based(char *out, uint64_t value, unsigned bits)
{
	static const char digit[] = "0123456789abcdef";
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = digit[value & ((1u << bits) - 1)];
		value >>= bits;
	} while (value > 0);
	return put_bytes(out, digits + at, sizeof(digits) - at);
}

/* True when none of the bytes needs an escape: all in 0x20-0x7e, neither quote nor backslash. */
static inline bool plain_word(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101u, highs = ones * 0x80;
	uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\', delete = word ^ ones * 0x7f;
	uint64_t odd = word | (word - ones * 0x20) | (quote - ones) | (backslash - ones) | (delete - ones);

	return (odd & highs) == 0;
}

/* Copies as many as can be taken at once. False: not all of them are plain. */
static inline bool copy_8(char *out, const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	memcpy(out, &word, sizeof(word));
	return plain_word(word);
}

static inline bool copy_4(char *out, const char *text)
{
	uint32_t half;

	memcpy(&half, text, sizeof(half));
	memcpy(out, &half, sizeof(half));
	return plain_word(half | UINT64_C(0x2020202000000000));
}

/* The last bytes are taken once more instead of one by one. */
static inline bool copy_plain(char *out, const char *text, size_t len)
{
	size_t at = 0;

	if (len >= 8) {
		for (; len - at > 8; at += 8)
			if (!copy_8(out + at, text + at))
				return false;
		return copy_8(out + len - 8, text + len - 8);
	}
	return len >= 4 && copy_4(out, text) && copy_4(out + len - 4, text + len - 4);
}

static char *put_text(char *out, const char *text, size_t len)
{
	return out + (copy_plain(out, text, len) ? len : text_escape(out, text, len));
}

static char *put_name(char *out, const char *key, const struct encoder_name *name)
{
	out = put_bytes(out, key, strlen(key));
	out = put_bytes(out, name->text, name->len);
	*out++ = '"';
	return out;
}

char *put_field(char *out, const char *key, const char *text, size_t len)
{
	if (!text)
		return out;
	out = put_bytes(out, key, strlen(key));
	out = put_text(out, text, len);
	*out++ = '"';
	return out;
}

/* The same of a literal key, whose length the compiler knows. */
#define PUT_FIELD(out, key, text, len) ((text) ? end_field(PUT(out, key), text, len) : (out))

static char *end_field(char *out, const char *text, size_t len)
{
	out = put_text(out, text, len);
	*out++ = '"';
	return out;
}

/* Of the record's texts that come without. */
struct lengths {
	size_t exe, syscall, host, rule, reason;
};

static char *put_arg(char *out, const struct audit_arg *arg)
{
	*out++ = '"';
	out = put_bytes(out, arg->name, strlen(arg->name));
	out = PUT(out, "\":");
	if (arg->kind == AUDIT_ARG_INT)
		return put_int(out, (int64_t)arg->value);
	*out++ = '"';
	switch (arg->kind) {
	case AUDIT_ARG_MODE:
		*out++ = '0';
		if (arg->value)
			out = put_based(out, arg->value, 3);
		break;
	case AUDIT_ARG_TEXT:
		out = put_text(out, arg->text, arg->text ? arg->text_len : 0);
		break;
	case AUDIT_ARG_INT:
	case AUDIT_ARG_HEX:
	default:
		out = PUT(out, "0x");
		out = put_based(out, arg->value, 4);
		break;
	}
	*out++ = '"';
	return out;
}

static char *put_args(char *out, const struct audit_record *record)
{
	if (record->args == 0)
		return out;
	out = PUT(out, ",\"args\":{");
	for (size_t i = 0; i < record->args; i++) {
		if (i > 0)
			*out++ = ',';
		out = put_arg(out, &record->arg[i]);
	}
	*out++ = '}';
	return out;
}

/*
 * One path and what it resolved to, which is left out when it is the very same text. It is canonical, so it is never
 * the text of a relative path: leaving it out there says that nothing was resolved, which an absolute path needs null
 * for.
 */
static char *put_path(char *out, bool second, const struct audit_record *record)
{
	const char *path = second ? record->path2 : record->path,
		   *resolved = second ? record->resolved2 : record->resolved;
	size_t path_len = second ? record->path2_len : record->path_len;
	size_t resolved_len = second ? record->resolved2_len : record->resolved_len;

	out = second ? PUT_FIELD(out, ",\"path2\":\"", path, path_len) : PUT_FIELD(out, ",\"path\":\"", path, path_len);
	if (path && resolved && path_len == resolved_len && memcmp(path, resolved, path_len) == 0)
		return out;
	if (path && path_len > 0 && path[0] == '/' && !resolved)
		return second ? PUT(out, ",\"resolved2\":null") : PUT(out, ",\"resolved\":null");
	return second ? PUT_FIELD(out, ",\"resolved2\":\"", resolved, resolved_len)
		      : PUT_FIELD(out, ",\"resolved\":\"", resolved, resolved_len);
}

/* Left out where it only says the verdict again. */
static char *put_reason(char *out, const struct audit_record *record, size_t len)
{
	static const char *const plain[VERDICT_MAX] = {
		[VERDICT_ALLOW] = "granted", [VERDICT_REDIRECT] = "redirected", [VERDICT_PROVIDE] = "provided"};

	if (record->reason && plain[record->verdict] && strcmp(record->reason, plain[record->verdict]) == 0)
		return out;
	return PUT_FIELD(out, ",\"reason\":\"", record->reason, len);
}

static char *put_process(char *out, const struct audit_record *record, size_t exe_len)
{
	if (record->pid > 0 || !record->net)
		out = put_int(PUT(out, ",\"ppid\":"), record->ppid);
	if (record->host_pid > 0)
		out = put_int(PUT(out, ",\"host_pid\":"), record->host_pid);
	return PUT_FIELD(out, ",\"exe\":\"", record->exe, exe_len);
}

static char *put_who(struct encoder *encoder, char *out, const struct audit_record *record, uint64_t seq,
		     const struct lengths *len)
{
	const char *time;
	uint64_t mono_ns = audit_clock_now(&encoder->clock, &time);

	out = encode_uint(PUT(out, "{\"seq\":"), seq);
	out = put_bytes(PUT(out, ",\"time\":\""), time, AUDIT_TIME_LEN);
	*out++ = '"';
	if (!encoder->said) {
		out = encode_uint(PUT(out, ",\"mono_ns\":"), mono_ns);
		out = put_bytes(PUT(out, ",\"run\":\""), encoder->run, encoder->run_len);
		*out++ = '"';
	}
	if (record->pid > 0 || !record->net) /* whose name was asked for is not known */
		out = put_int(PUT(out, ",\"pid\":"), record->pid);
	if (record->tid != record->pid)
		out = put_int(PUT(out, ",\"tid\":"), record->tid);
	if (!encode_knows(encoder, record))
		out = put_process(out, record, len->exe);
	return PUT_FIELD(out, ",\"syscall\":\"", record->syscall, len->syscall);
}

static size_t line_bound(const struct audit_record *record, const struct lengths *len)
{
	size_t text = record->path_len + record->resolved_len + record->path2_len + record->resolved2_len + len->exe +
		      len->syscall + len->host + len->rule + len->reason;

	for (size_t i = 0; i < record->args; i++)
		text += strlen(record->arg[i].name) + record->arg[i].text_len;
	if (record->net)
		text += encode_net_texts(record->net);
	return text * TEXT_ESCAPE_MAX + FIXED_BYTES;
}

static int encode_reserve(struct encoder *encoder, size_t bytes)
{
	char *line;

	if (bytes <= encoder->cap)
		return 0;
	line = realloc(encoder->line, bytes);
	if (!line)
		return -ENOMEM;
	encoder->line = line;
	encoder->cap = bytes;
	return 0;
}

int encode_record(struct encoder *encoder, const struct audit_record *record, uint64_t seq, uint64_t offset,
		  size_t *ret_len, size_t *ret_room)
{
	const struct lengths len = {.exe = text_len(record->exe),
				    .syscall = text_len(record->syscall),
				    .host = text_len(record->host),
				    .rule = text_len(record->rule),
				    .reason = text_len(record->reason)};
	int r = encode_reserve(encoder, line_bound(record, &len));
	size_t in_page;
	char *out;

	if (r < 0)
		return r;
	out = put_who(encoder, encoder->line, record, seq, &len);
	if (record->net)
		out = encode_net(out, record->net);
	out = put_args(out, record);
	out = put_path(out, false, record);
	out = put_path(out, true, record);
	out = PUT_FIELD(out, ",\"host\":\"", record->host, len.host);
	out = put_name(out, ",\"verdict\":\"", &encoder->verdict[record->verdict]);
	if (!encode_follows(encoder, record))
		out = put_name(out, ",\"effect\":\"", &effect_name[record->effect]);
	out = PUT_FIELD(out, ",\"rule\":\"", record->rule, len.rule);
	out = put_reason(out, record, len.reason);
	*out++ = ',';
	in_page = (offset + (size_t)(out - encoder->line)) % AUDIT_ROOM_PAGE;
	/* The store of ns takes "}\n" along: the page holds them too. */
	while (in_page + AUDIT_ROOM_BYTES + 2 > AUDIT_ROOM_PAGE && in_page++ < AUDIT_ROOM_PAGE)
		*out++ = ' ';
	*ret_room = (size_t)(out - encoder->line);
	encode_empty_room(out);
	out = PUT(out + AUDIT_ROOM_BYTES, "}\n");
	*ret_len = (size_t)(out - encoder->line);
	return 0;
}

int encode_init(struct encoder *encoder, const char *run_id, bool compact)
{
	int r;

	memset(encoder, 0, sizeof(*encoder));
	encoder->clock.second = -1;
	if (run_id)
		encoder->run_len = text_escape(encoder->run, run_id, strnlen(run_id, AUDIT_RUN_MAX));
	for (unsigned i = 0; i < VERDICT_MAX; i++) {
		encoder->verdict[i].text = verdict_name((enum verdict)i);
		encoder->verdict[i].len = strlen(encoder->verdict[i].text);
	}
	for (int i = 0; i <= AUDIT_ERRNO_MAX; i++) {
		encoder->error[i].text = strerrorname_np(i);
		encoder->error[i].len = text_len(encoder->error[i].text);
	}
	r = compact ? encode_compact(encoder) : 0;
	return r < 0 ? r : encode_reserve(encoder, 16384);
}

void encode_done(struct encoder *encoder)
{
	free(encoder->line);
	encoder->line = NULL;
	encode_forget(encoder);
}
