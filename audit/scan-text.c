/* Compares, unescapes and validates the texts of a log line. */
#include <errno.h>
#include <string.h>

#include "audit/scan.h"
#include "base/text.h"

bool scan_text_equals(const struct scan_text *text, const char *word)
{
	return text->at && strlen(word) == text->len && memcmp(text->at, word, text->len) == 0;
}

/* ---- escapes ---- */

/* Reads four hexadecimal digits; -1: there are not four. */
static int scan_read_hex(const char *at, const char *end)
{
	int value = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = text_parse_hex_digit(at[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static size_t scan_put_utf8(char *out, uint32_t rune)
{
	if (rune < 0x80) {
		out[0] = (char)rune;
		return 1;
	}
	if (rune < 0x800) {
		out[0] = (char)(0xc0 | rune >> 6);
		out[1] = (char)(0x80 | (rune & 0x3f));
		return 2;
	}
	if (rune < 0x10000) {
		out[0] = (char)(0xe0 | rune >> 12);
		out[1] = (char)(0x80 | (rune >> 6 & 0x3f));
		out[2] = (char)(0x80 | (rune & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | rune >> 18);
	out[1] = (char)(0x80 | (rune >> 12 & 0x3f));
	out[2] = (char)(0x80 | (rune >> 6 & 0x3f));
	out[3] = (char)(0x80 | (rune & 0x3f));
	return 4;
}

/* Undoes one escape of JSON; *at is behind its backslash. Returns the bytes written, at most 4; 0: no valid escape. */
static size_t scan_decode_json_escape(const char **at, const char *end, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known = *at < end && **at ? strchr(from, **at) : NULL;
	int unit, low;

	if (known) {
		*out = to[known - from];
		++*at;
		return 1;
	}
	if (*at >= end || **at != 'u' || (unit = scan_read_hex(*at + 1, end)) < 0)
		return 0;
	*at += 5;
	if (unit == 0 || (unit >= 0xdc00 && unit <= 0xdfff)) /* never in a log: the writer has another escape for NUL */
		return 0;
	if (unit < 0xd800 || unit > 0xdbff)
		return scan_put_utf8(out, (uint32_t)unit);
	if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u' || (low = scan_read_hex(*at + 2, end)) < 0xdc00 ||
	    low > 0xdfff)
		return 0;
	*at += 6;
	return scan_put_utf8(out, 0x10000u + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
}

ssize_t scan_copy_unescaped_utf8(const struct scan_text *text, char *out)
{
	const char *at = text->at, *end = at + text->len, *slash;
	char *start = out;

	while ((slash = memchr(at, '\\', (size_t)(end - at)))) {
		size_t put;

		memcpy(out, at, (size_t)(slash - at));
		out += slash - at;
		at = slash + 1;
		put = scan_decode_json_escape(&at, end, out);
		if (put == 0)
			return -EBADMSG;
		out += put;
	}
	memcpy(out, at, (size_t)(end - at));
	return out + (end - at) - start;
}

bool scan_line_is_valid_json_text(const char *text, size_t len)
{
	const char *end = text + len;
	bool ascii = true;
	char escaped[4];

	for (const char *at = text; at < end;) {
		unsigned char byte = (unsigned char)*at++;

		if (byte < 0x20)
			return false;
		ascii = ascii && byte < 0x80;
		if (byte == '\\' && scan_decode_json_escape(&at, end, escaped) == 0)
			return false;
	}
	return ascii || text_is_utf8(text, len);
}

int scan_copy_unescaped_bytes(const struct scan_text *text, char *out, size_t cap)
{
	const char *at = text->at, *end = at + text->len;
	size_t len = 0;

	if (!memchr(at, '\\', text->len)) {
		if (text->len >= cap)
			return -ENAMETOOLONG;
		memcpy(out, at, text->len);
		out[text->len] = '\0';
		return (int)text->len;
	}
	while (at < end) {
		size_t put = 1;

		if (len + 5 > cap)
			return -ENAMETOOLONG;
		if (*at != '\\') {
			out[len] = *at++;
		} else {
			at++;
			put = scan_decode_json_escape(&at, end, out + len);
			if (put == 0)
				return -EBADMSG;
		}
		len += put;
	}
	len = text_unescape_backslashes(out, len);
	out[len] = '\0';
	return (int)len;
}
