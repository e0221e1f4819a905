/*
 * What text from files, logs and programs looks like to people: nothing in it moves, hides or reorders what is around
 * it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#include "base/banned.h"

#define PIECE 2048u /* bytes at a time */

/*
 * From Unicode 16.0: General_Category Cc past ASCII, Cf, Zl and Zp (UnicodeData.txt), and Default_Ignorable_Code_Point
 * (DerivedCoreProperties.txt), which has what is reserved for more of the kind. In a table of our own because
 * wcwidth(3) and iswprint(3) depend on the locale, and a library for it would be most of a static program.
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

/* One sequence. Returns the bytes written. */
static size_t show_point(char *out, const char *bytes, size_t size, uint32_t point, bool lines)
{
	bool kept = lines && (point == '\n' || point == '\t');

	if (!kept && (point < 0x20 || point == 0x7f || text_is_invisible(point)))
		return text_put_unicode(out, point);
	memcpy(out, bytes, size);
	return size;
}

size_t text_show(char *out, const char *bytes, size_t len, bool lines)
{
	static const char hex[] = "0123456789abcdef";
	const char *start = out;
	uint32_t point;
	size_t size;

	for (size_t i = 0; i < len; i += size) {
		size = text_sequence(bytes + i, len - i, &point);
		if (size > 0) {
			out += show_point(out, bytes + i, size, point, lines);
			continue;
		}
		size = 1;
		*out++ = '\\';
		*out++ = 'x';
		*out++ = hex[(unsigned char)bytes[i] >> 4];
		*out++ = hex[bytes[i] & 15];
	}
	return (size_t)(out - start);
}

int text_print(FILE *out, const char *text, bool lines)
{
	char shown[PIECE * TEXT_ESCAPE_MAX];
	size_t len = strlen(text), piece;

	for (; len > 0; text += piece, len -= piece) {
		size_t put;

		piece = len;
		if (piece > PIECE) /* between two characters, if it is text at all */
			for (piece = PIECE; piece > PIECE - 4 && ((unsigned char)text[piece] & 0xc0) == 0x80;)
				piece--;
		put = text_show(shown, text, piece, lines);
		if (fwrite(shown, 1, put, out) != put)
			return -EIO;
	}
	return 0;
}

int text_vprintf(FILE *out, bool lines, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return text_print(out, text, lines);
}

int text_printf(FILE *out, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = text_vprintf(out, true, format, args);
	va_end(args);
	return r;
}
