/* Converts text: lossless JSON escapes, safe display on terminals, numbers with units. */
#ifndef CALLGATE_BASE_TEXT_H
#define CALLGATE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Most bytes that text_escape_for_json makes of one: 0xff becomes "\\xff" in JSON, a control byte "\u001b". */
#define TEXT_ESCAPED_BYTES_PER_BYTE_MAX 6

/*
 * Writes bytes as the inside of a JSON string, so that the decoded text maps back to the bytes without loss:
 *   valid UTF-8                stays; text_is_invisible() characters are \u-escaped, so a record stays one line
 *   a backslash                becomes two in the *decoded* text
 *   a byte that is not UTF-8   becomes \xHH in the *decoded* text
 * Returns the bytes written; out must hold len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX.
 */
size_t text_escape_for_json(char *out, const char *bytes, size_t len);

/* Most bytes that text_escape_backslashes makes of one: 0xff becomes \xff. */
#define TEXT_BACKSLASHED_BYTES_PER_BYTE_MAX 4

/*
 * Writes what a JSON reader makes of the output of text_escape_for_json: valid UTF-8, with \\ and \xHH. Returns the
 * bytes written; out must hold len * TEXT_BACKSLASHED_BYTES_PER_BYTE_MAX.
 */
size_t text_escape_backslashes(char *out, const char *bytes, size_t len);

/* Undoes the \\ and \xHH of text_escape_for_json on a decoded JSON string, in place. Returns the new length. */
size_t text_unescape_backslashes(char *text, size_t len);

/*
 * True for characters that show nothing themselves but may hide, move or reorder other text: C1 controls, bidirectional
 * and other format characters, line separators, variation selectors, fillers, tags.
 */
bool text_is_invisible(uint32_t point);

/*
 * Escapes bytes for display: controls and text_is_invisible() characters become \uXXXX (so JSON keeps its meaning),
 * bytes that are not UTF-8 become \xHH. keeps_newlines: '\n' and '\t' stay. Returns the bytes written; out must hold
 * len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX.
 */
size_t text_escape_for_display(char *out, const char *bytes, size_t len, bool keeps_newlines);

/*
 * Writes text to a stream, escaped as by text_escape_for_display(). All messages of callgate are printed by this
 * function, text_vprintf() or text_printf(). 0, -EIO, or, with a format, -ENOMEM.
 */
int text_print(FILE *out, const char *text, bool keeps_newlines);
int text_vprintf(FILE *out, bool keeps_newlines, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
/* As printf(3), to `out`, with the result escaped as by text_escape_for_display(); newlines and tabs stay. */
int text_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The length of the character at bytes (len > 0), with its code point; 0 when it is not valid UTF-8 (RFC 3629). Then
 * *ret_bad is how many bytes one U+FFFD replaces: Unicode Standard, 3.9, "substitution of maximal subparts".
 */
size_t text_decode_utf8(const char *bytes, size_t len, uint32_t *ret_point, size_t *ret_bad);

/* Writes a code point as \uXXXX, or as a surrogate pair of these. Returns 6 or 12, the number of bytes. */
size_t text_put_json_unicode_escape(char *out, uint32_t point);

/* The value of a hexadecimal digit, or -1. */
int text_parse_hex_digit(char digit);

/* True when all `len` bytes are UTF-8. */
bool text_is_utf8(const char *text, size_t len);

/* As asprintf(3), but returns the text. Owned; NULL: out of memory, with errno. */
__attribute__((format(printf, 1, 2))) char *text_format(const char *format, ...);

/* What is before the last "/" of a path: "/" of "/name"; "." if there is no "/". Owned; NULL: out of memory. */
char *text_copy_directory(const char *path);

/*
 * Copies a text. Of one that is longer than bytes_max, at least 64, only the beginning is copied, up to the end of a
 * character, and "… [N bytes]" takes the place of the rest: together at most bytes_max. Owned; NULL: out of memory.
 */
char *text_copy_shortened(const char *text, size_t bytes_max);

/* Parses a size such as "64K", "10M" or "123" (units of 1024) into bytes. 0, or -EINVAL: *ret_bytes is unchanged. */
int text_parse_size(const char *text, uint64_t *ret_bytes);

#define TEXT_SIZE_SIZE 16 /* of a text of text_format_size(), with its NUL */
/* Formats bytes as text_parse_size() reads them, with up to four digits: "512M", "1.5G", "300". */
void text_format_size(uint64_t bytes, char ret_text[TEXT_SIZE_SIZE]);

/* Parses a time such as "500ms", "10s", "2m", "1h", "1.5s" or "30" (seconds) into nanoseconds. 0, or -EINVAL. */
int text_parse_duration(const char *text, uint64_t *ret_ns);

/* Parses a whole decimal number within [min, max]. 0, or -EINVAL. */
int text_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* Finds the closest of `words` (NULL-ended) to a mistyped word. Borrows. NULL when none is similar. */
const char *text_find_nearest_word(const char *word, const char *const *words);

#endif
