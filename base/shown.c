/* Escapes text of others (files, logs, programs) for terminals, so that it cannot move, hide or reorder text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define ESCAPED_PIECE_BYTES 2048u /* how many bytes are escaped at a time */

/* Writes one character of `size` bytes, escaped if necessary. Returns the number of bytes written. */
static size_t text_escape_character(char *out, const char *bytes, size_t size, uint32_t point, bool keeps_newlines)
{
	bool kept = keeps_newlines && (point == '\n' || point == '\t');

	if (!kept && (point < 0x20 || point == 0x7f || text_is_invisible(point)))
		return text_put_json_unicode_escape(out, point);
	memcpy(out, bytes, size);
	return size;
}

size_t text_escape_for_display(char *out, const char *bytes, size_t len, bool keeps_newlines)
{
	static const char hex[] = "0123456789abcdef";
	const char *start = out;
	uint32_t point;
	size_t size, bad;

	for (size_t i = 0; i < len; i += size) {
		size = text_decode_utf8(bytes + i, len - i, &point, &bad);
		if (size > 0) {
			out += text_escape_character(out, bytes + i, size, point, keeps_newlines);
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

int text_print(FILE *out, const char *text, bool keeps_newlines)
{
	char shown[ESCAPED_PIECE_BYTES * TEXT_ESCAPED_BYTES_PER_BYTE_MAX];
	size_t len = strlen(text), piece;

	for (; len > 0; text += piece, len -= piece) {
		size_t put;

		piece = len;
		if (piece > ESCAPED_PIECE_BYTES) /* end the piece between two characters, not inside one */
			for (piece = ESCAPED_PIECE_BYTES;
			     piece > ESCAPED_PIECE_BYTES - 4 && ((unsigned char)text[piece] & 0xc0) == 0x80;)
				piece--;
		put = text_escape_for_display(shown, text, piece, keeps_newlines);
		if (fwrite(shown, 1, put, out) != put)
			return -EIO;
	}
	return 0;
}

int text_vprintf(FILE *out, bool keeps_newlines, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return text_print(out, text, keeps_newlines);
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
