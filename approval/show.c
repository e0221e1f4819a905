#include "approval/show.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define SHOW_TAIL_BYTES_MAX 120u /* the most of any of the limits */
#define SHOW_ONE_BYTES_MAX 16u   /* room for one character, escaped: "\u{10ffff}" */

/* Bytes that are shown of a text, as escaped: at most `whole`, else of its beginning and of its end. */
struct show_limits {
	size_t whole, head, tail;
};
static const struct show_limits show_limits = {420, 300, SHOW_TAIL_BYTES_MAX};
static const struct show_limits show_long_limits = {2048, 300, SHOW_TAIL_BYTES_MAX};
static const struct show_limits show_short_limits = {150, 90, 60};

/* Escapes the first character of bytes (len > 0). Returns its length; *ret_shown_len is that of what was written. */
static size_t show_one(const char *bytes, size_t len, char shown[SHOW_ONE_BYTES_MAX], size_t *ret_shown_len)
{
	const unsigned char first = (unsigned char)bytes[0];
	uint32_t point = 0;
	size_t bad, used = text_decode_utf8(bytes, len, &point, &bad);
	int written;

	if (used == 0)
		written = snprintf(shown, SHOW_ONE_BYTES_MAX, "\\x%02x", first);
	else if (first == '"' || first == '\\')
		written = snprintf(shown, SHOW_ONE_BYTES_MAX, "\\%c", first);
	else if (used == 1 && first >= ' ' && first <= '~')
		written = snprintf(shown, SHOW_ONE_BYTES_MAX, "%c", first);
	else
		written = snprintf(shown, SHOW_ONE_BYTES_MAX, "\\u{%x}", (unsigned)point);
	*ret_shown_len = (size_t)written;
	return used ? used : 1;
}

/* Writes characters until `max` bytes are full. Returns how many of the bytes were shown; *at goes on in `out`. */
static size_t show_some(char *out, size_t *at, size_t max, const char *bytes, size_t len)
{
	const size_t end = *at + max;
	size_t done = 0;

	while (done < len) {
		char shown[SHOW_ONE_BYTES_MAX];
		size_t shown_len, used = show_one(bytes + done, len - done, shown, &shown_len);

		if (*at + shown_len > end)
			break;
		memcpy(out + *at, shown, shown_len);
		*at += shown_len;
		done += used;
	}
	return done;
}

/* Where the end of a long text begins that fits into `max` bytes, at a character's first byte. */
static size_t show_find_tail(const char *bytes, size_t from, size_t len, size_t max)
{
	size_t start = len - from > max ? len - max : from;

	while (start < len) {
		char ignored[SHOW_TAIL_BYTES_MAX + SHOW_ONE_BYTES_MAX];
		size_t at = 0;

		if (((unsigned char)bytes[start] & 0xc0) != 0x80 &&
		    show_some(ignored, &at, max, bytes + start, len - start) == len - start)
			break;
		start++;
	}
	return start;
}

/*
 * Writes a text, or its beginning and its end. `out` has room for as much, what stands between, two quotation marks and
 * the NUL. Returns how many bytes of the text were left out.
 */
static size_t show_within(char *out, const struct show_limits *limits, const char *bytes, size_t len)
{
	size_t at = 1, hidden = 0, head;

	out[0] = '"';
	head = show_some(out, &at, limits->whole, bytes, len);
	if (head < len) {
		size_t tail;

		at = 1;
		head = show_some(out, &at, limits->head, bytes, len);
		tail = show_find_tail(bytes, head, len, limits->tail);
		hidden = tail - head;
		at += (size_t)snprintf(out + at, SHOW_BYTES_MAX - at, "\\...%zu bytes...\\", hidden);
		(void)show_some(out, &at, limits->tail, bytes + tail, len - tail);
	}
	out[at++] = '"';
	out[at] = '\0';
	return hidden;
}

void show_text(char out[SHOW_BYTES_MAX], const char *bytes, size_t len)
{
	(void)show_within(out, &show_limits, bytes, len); /* the text says it, too */
}

size_t show_long_text(char out[SHOW_LONG_BYTES_MAX], const char *bytes, size_t len)
{
	return show_within(out, &show_long_limits, bytes, len);
}

void show_short_text(char out[SHOW_BYTES_MAX], const char *bytes, size_t len)
{
	(void)show_within(out, &show_short_limits, bytes, len);
}

char *show_as_json(const json_t *value, size_t flags)
{
	char *text = value ? json_dumps(value, flags | JSON_ENSURE_ASCII) : NULL;
	struct buf escaped = {0};
	const char *from, *del;

	if (!text || !strchr(text, '\x7f'))
		return text;
	for (from = text; (del = strchr(from, '\x7f')); from = del + 1) { /* it is only within strings */
		buf_add(&escaped, from, (size_t)(del - from));
		buf_puts(&escaped, "\\u007f");
	}
	buf_puts(&escaped, from);
	free(text);
	return buf_take_text(&escaped);
}
