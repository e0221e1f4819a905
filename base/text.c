/* Escapes bytes as JSON text without loss, and decodes UTF-8. */
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static const char text_hex[] = "0123456789abcdef";

/* Unicode Standard, table 3-7: which second bytes are valid after a first byte. */
static bool text_is_valid_second_utf8_byte(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf; /* rejects overlong encodings */
	case 0xed:
		return second >= 0x80 && second <= 0x9f; /* rejects surrogates (U+D800 to U+DFFF) */
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f; /* rejects code points above U+10FFFF */
	default:
		return second >= 0x80 && second <= 0xbf;
	}
}

size_t text_decode_utf8(const char *bytes, size_t len, uint32_t *ret_point, size_t *ret_bad)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t size = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4, have = 1;
	uint32_t point = at[0] & (0xffu >> (size + 1));

	*ret_bad = 1;
	*ret_point = at[0];
	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	for (; have < size && have < len && (at[have] & 0xc0) == 0x80; have++) {
		if (have == 1 && !text_is_valid_second_utf8_byte(at[0], at[1]))
			break;
		point = point << 6 | (at[have] & 0x3fu);
	}
	*ret_bad = have;
	*ret_point = point;
	return have == size ? size : 0;
}

/*
 * From Unicode 16.0: General_Category Cc (above ASCII), Cf, Zl and Zp (UnicodeData.txt), and
 * Default_Ignorable_Code_Point (DerivedCoreProperties.txt), which includes ranges reserved for such characters.
 * wcwidth(3) and iswprint(3) depend on the locale, and a Unicode library would be most of a static program.
 */
static const struct {
	uint32_t first, last;
} invisible[] = {
	{0x0080, 0x009f}, {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x0600, 0x0605}, {0x061c, 0x061c}, {0x06dd, 0x06dd},
	{0x070f, 0x070f}, {0x0890, 0x0891}, {0x08e2, 0x08e2}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
	{0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool text_is_invisible(uint32_t point)
{
	size_t low = 0, high = sizeof(invisible) / sizeof(invisible[0]);

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (point > invisible[middle].last)
			low = middle + 1;
		else if (point < invisible[middle].first)
			high = middle;
		else
			return true;
	}
	return false;
}

size_t text_put_json_unicode_escape(char *out, uint32_t point)
{
	if (point > 0xffff) { /* JSON writes code points above U+FFFF as a surrogate pair */
		(void)text_put_json_unicode_escape(out, 0xd7c0 + (point >> 10));
		return 6 + text_put_json_unicode_escape(out + 6, 0xdc00 + (point & 0x3ff));
	}
	out[0] = '\\';
	out[1] = 'u';
	for (unsigned int i = 0; i < 4; i++)
		out[2 + i] = text_hex[point >> (12 - 4 * i) & 15];
	return 6;
}

/* Writes a byte as \xHH. */
static size_t text_put_hex_escaped_byte(char *out, unsigned char byte)
{
	memcpy(out, "\\x", 2);
	out[2] = text_hex[byte >> 4];
	out[3] = text_hex[byte & 15];
	return 4;
}

static size_t text_put_ascii_escaped_for_json(char *out, unsigned char byte)
{
	/* NUL becomes \x00, not \u0000, which many JSON readers refuse. */
	static const char *const escapes[128] = {
		['\0'] = "\\\\x00", ['"'] = "\\\"", ['\\'] = "\\\\\\\\", ['\n'] = "\\n", ['\t'] = "\\t"};

	if (escapes[byte]) {
		size_t len = strlen(escapes[byte]);

		memcpy(out, escapes[byte], len);
		return len;
	}
	if (byte < 0x20 || byte == 0x7f)
		return text_put_json_unicode_escape(out, byte);
	*out = (char)byte;
	return 1;
}

size_t text_escape_for_json(char *out, const char *bytes, size_t len)
{
	const unsigned char *at = (const unsigned char *)bytes;
	const char *start = out;
	uint32_t point;
	size_t size, bad;

	for (size_t i = 0; i < len; i += size) {
		size = 1;
		if (at[i] < 0x80) {
			out += text_put_ascii_escaped_for_json(out, at[i]);
			continue;
		}
		size = text_decode_utf8(bytes + i, len - i, &point, &bad);
		if (size == 0) {
			size = 1;
			*out++ = '\\'; /* a JSON reader decodes "\\xHH" to \xHH */
			out += text_put_hex_escaped_byte(out, at[i]);
		} else if (text_is_invisible(point)) {
			out += text_put_json_unicode_escape(out, point);
		} else {
			memcpy(out, at + i, size);
			out += size;
		}
	}
	return (size_t)(out - start);
}

size_t text_escape_backslashes(char *out, const char *bytes, size_t len)
{
	const char *start = out;
	uint32_t point;
	size_t size, bad;

	for (size_t i = 0; i < len; i += size) {
		const unsigned char byte = (unsigned char)bytes[i];

		size = byte < 0x80 ? 1 : text_decode_utf8(bytes + i, len - i, &point, &bad);
		if (size == 0 || byte == '\0') {
			size = 1;
			out += text_put_hex_escaped_byte(out, byte);
			continue;
		}
		if (byte == '\\')
			*out++ = '\\';
		memcpy(out, bytes + i, size);
		out += size;
	}
	return (size_t)(out - start);
}

char *text_copy_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
}

char *text_format(const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	return len < 0 ? NULL : text; /* it is undefined after a failure */
}

char *text_copy_shortened(const char *text, size_t bytes_max)
{
	const size_t len = strlen(text);
	size_t kept;
	char mark[48];

	if (len <= bytes_max)
		return strdup(text);
	kept = bytes_max - (size_t)snprintf(mark, sizeof(mark), "… [%zu bytes]", len);
	while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80)
		kept--;
	return text_format("%.*s%s", (int)kept, text, mark);
}

bool text_is_utf8(const char *text, size_t len)
{
	size_t size = 1, bad;
	uint32_t point;

	for (; len > 0 && size > 0; text += size, len -= size)
		size = text_decode_utf8(text, len, &point, &bad);
	return size > 0;
}

int text_parse_hex_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

size_t text_unescape_backslashes(char *text, size_t len)
{
	size_t put = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && len - i >= 2 && text[i + 1] == '\\') {
			i++;
		} else if (text[i] == '\\' && len - i >= 4 && text[i + 1] == 'x' &&
			   text_parse_hex_digit(text[i + 2]) >= 0 && text_parse_hex_digit(text[i + 3]) >= 0) {
			text[put++] =
				(char)(text_parse_hex_digit(text[i + 2]) << 4 | text_parse_hex_digit(text[i + 3]));
			i += 3;
			continue;
		}
		text[put++] = text[i];
	}
	return put;
}
