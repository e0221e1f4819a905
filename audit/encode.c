/* A record's line. Everything is copied by known lengths; texts without anything to escape take a fast path. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

char *encode_uint(char *out, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
				    "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
				    "9899";
	char digits[20];
	size_t at = sizeof(digits);

	for (; value >= 100; value /= 100)
		memcpy(digits + (at -= 2), pairs + value % 100 * 2, 2);
	if (value >= 10)
		memcpy(digits + (at -= 2), pairs + value * 2, 2);
	else
		digits[--at] = (char)('0' + value);
	return put_bytes(out, digits + at, sizeof(digits) - at);
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

/* True when none of eight bytes needs an escape: all in 0x20-0x7e, neither quote nor backslash. */
static inline bool plain_word(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101u, highs = ones * 0x80;
	uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\', delete = word ^ ones * 0x7f;
	uint64_t odd = word | (word - ones * 0x20) | (quote - ones) | (backslash - ones) | (delete - ones);

	return (odd & highs) == 0;
}

/* Whole words, and then the last eight bytes once more instead of single ones. */
static char *put_text(char *out, const char *text, size_t len)
{
	size_t at = 0;
	uint64_t word;

	for (; len - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, text + at, sizeof(word));
		if (!plain_word(word))
			return out + at + text_escape(out + at, text + at, len - at);
		memcpy(out + at, &word, sizeof(word));
	}
	if (at > 0) {
		memcpy(&word, text + len - sizeof(word), sizeof(word));
		if (!plain_word(word))
			return out + at + text_escape(out + at, text + at, len - at);
		memcpy(out + len - sizeof(word), &word, sizeof(word));
		return out + len;
	}
	word = UINT64_C(0x2020202020202020);
	memcpy(&word, text, len);
	if (!plain_word(word))
		return out + text_escape(out, text, len);
	memcpy(out, text, len);
	return out + len;
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
 * One path and what it resolved to, which is left out when it is the very same text. It is canonical, so it is never the
 * text of a relative path: leaving it out there says that nothing was resolved, which an absolute path needs null for.
 */
static char *put_path(char *out, bool second, const struct audit_record *record)
{
	const char *path = second ? record->path2 : record->path, *resolved = second ? record->resolved2 : record->resolved;
	size_t path_len = second ? record->path2_len : record->path_len;
	size_t resolved_len = second ? record->resolved2_len : record->resolved_len;

	out = put_field(out, second ? ",\"path2\":\"" : ",\"path\":\"", path, path_len);
	if (path && resolved && path_len == resolved_len && memcmp(path, resolved, path_len) == 0)
		return out;
	if (path && path_len > 0 && path[0] == '/' && !resolved)
		return second ? PUT(out, ",\"resolved2\":null") : PUT(out, ",\"resolved\":null");
	return put_field(out, second ? ",\"resolved2\":\"" : ",\"resolved\":\"", resolved, resolved_len);
}

/* Left out where it only says the verdict again. */
static char *put_reason(char *out, const struct audit_record *record)
{
	static const char *const plain[VERDICT_MAX] = {
		[VERDICT_ALLOW] = "granted", [VERDICT_REDIRECT] = "redirected", [VERDICT_PROVIDE] = "provided"};

	if (record->reason && plain[record->verdict] && strcmp(record->reason, plain[record->verdict]) == 0)
		return out;
	return put_field(out, ",\"reason\":\"", record->reason, text_len(record->reason));
}

static char *put_process(char *out, const struct audit_record *record)
{
	if (record->pid > 0 || !record->net)
		out = put_int(PUT(out, ",\"ppid\":"), record->ppid);
	if (record->host_pid > 0)
		out = put_int(PUT(out, ",\"host_pid\":"), record->host_pid);
	return put_field(out, ",\"exe\":\"", record->exe, text_len(record->exe));
}

static char *put_who(struct encoder *encoder, char *out, const struct audit_record *record, uint64_t seq)
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
		out = put_process(out, record);
	return put_field(out, ",\"syscall\":\"", record->syscall, text_len(record->syscall));
}

static size_t line_bound(const struct audit_record *record)
{
	size_t text = record->path_len + record->resolved_len + record->path2_len + record->resolved2_len +
		      text_len(record->exe) + text_len(record->syscall) + text_len(record->host) + text_len(record->rule) +
		      text_len(record->reason);

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
	int r = encode_reserve(encoder, line_bound(record));
	size_t in_page;
	char *out;

	if (r < 0)
		return r;
	out = put_who(encoder, encoder->line, record, seq);
	if (record->net)
		out = encode_net(out, record->net);
	out = put_args(out, record);
	out = put_path(out, false, record);
	out = put_path(out, true, record);
	out = put_field(out, ",\"host\":\"", record->host, text_len(record->host));
	out = put_name(out, ",\"verdict\":\"", &encoder->verdict[record->verdict]);
	if (!encode_follows(encoder, record))
		out = put_name(out, ",\"effect\":\"", &effect_name[record->effect]);
	out = put_field(out, ",\"rule\":\"", record->rule, text_len(record->rule));
	out = put_reason(out, record);
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
