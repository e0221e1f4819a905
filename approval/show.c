#include "approval/show.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define SHOW_HEAD_BYTES_MAX 300u /* of a long text: most bytes that are shown of its beginning, escaped */
#define SHOW_TAIL_BYTES_MAX 120u /* and of its end */
#define SHOW_WHOLE_BYTES_MAX 2048u /* of show_long_text(): a text that takes less is not cut */
#define SHOW_ONE_BYTES_MAX 16u   /* room for one character, escaped: "\u{10ffff}" */

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

/* Where the end of a long text begins that fits into SHOW_TAIL_BYTES_MAX, at a character's first byte. */
static size_t show_find_tail(const char *bytes, size_t from, size_t len)
{
	size_t start = len - from > SHOW_TAIL_BYTES_MAX ? len - SHOW_TAIL_BYTES_MAX : from;

	while (start < len) {
		char ignored[SHOW_TAIL_BYTES_MAX + SHOW_ONE_BYTES_MAX];
		size_t at = 0;

		if (((unsigned char)bytes[start] & 0xc0) != 0x80 &&
		    show_some(ignored, &at, SHOW_TAIL_BYTES_MAX, bytes + start, len - start) == len - start)
			break;
		start++;
	}
	return start;
}

/*
 * Writes a text whole, if that takes at most `whole_max` bytes, else its beginning and its end. `out` has room for as
 * much, two quotation marks and the NUL. Returns how many bytes of the text were left out.
 */
static size_t show_within(char *out, size_t whole_max, const char *bytes, size_t len)
{
	size_t at = 1, hidden = 0, head;

	out[0] = '"';
	head = show_some(out, &at, whole_max, bytes, len);
	if (head < len) {
		size_t tail;

		at = 1;
		head = show_some(out, &at, SHOW_HEAD_BYTES_MAX, bytes, len);
		tail = show_find_tail(bytes, head, len);
		hidden = tail - head;
		at += (size_t)snprintf(out + at, SHOW_BYTES_MAX - at, "\\...%zu bytes...\\", hidden);
		(void)show_some(out, &at, SHOW_TAIL_BYTES_MAX, bytes + tail, len - tail);
	}
	out[at++] = '"';
	out[at] = '\0';
	return hidden;
}

void show_text(char out[SHOW_BYTES_MAX], const char *bytes, size_t len)
{
	(void)show_within(out, SHOW_HEAD_BYTES_MAX + SHOW_TAIL_BYTES_MAX, bytes, len); /* the text says it, too */
}

size_t show_long_text(char out[SHOW_LONG_BYTES_MAX], const char *bytes, size_t len)
{
	return show_within(out, SHOW_WHOLE_BYTES_MAX, bytes, len);
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
