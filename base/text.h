/* Text in and out: lossless JSON escapes, safe display on terminals, numbers with units. */
#ifndef CALLGATE_BASE_TEXT_H
#define CALLGATE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The most bytes text_escape_for_json makes of one byte ("\\xff" in JSON is "\\\\xff"; a control byte is "\\u001b"). */
#define TEXT_ESCAPE_MAX 6

/*
 * Writes bytes as the inside of a JSON string, so that the decoded text maps back to the bytes without loss:
 *   valid UTF-8                stays; text_is_invisible() characters are \u-escaped, so a record stays one line
 *   a backslash                becomes two in the *decoded* text
 *   a byte that is not UTF-8   becomes \xHH in the *decoded* text
 * Returns the bytes written; out must hold len * TEXT_ESCAPE_MAX.
 */
size_t text_escape_for_json(char *out, const char *bytes, size_t len);

/* Undoes the \\ and \xHH of text_escape_for_json on a decoded JSON string, in place. Returns the new length. */
size_t text_unescape(char *text, size_t len);

/*
 * True for characters that show nothing themselves but may hide, move or reorder text: C1 controls, bidirectional and
 * other format characters, line separators, variation selectors, fillers, tags.
 */
bool text_is_invisible(uint32_t point);

/*
 * Escapes bytes for display: controls and text_is_invisible() characters become \uXXXX (so JSON keeps its meaning),
 * bytes that are not UTF-8 become \xHH. lines: '\n' and '\t' stay. Returns the bytes written; out must hold
 * len * TEXT_ESCAPE_MAX.
 */
size_t text_escape_for_display(char *out, const char *bytes, size_t len, bool lines);

/*
 * As text_escape_for_display, to a stream; all messages of callgate go through one of these. 0, -EIO, or -ENOMEM with a
 * format.
 */
int text_print(FILE *out, const char *text, bool lines);
int text_vprintf(FILE *out, bool lines, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
/* With lines. */
int text_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The length of the character at bytes (len > 0), with its code point; 0 when it is not valid UTF-8 (RFC 3629). Then
 * *ret_bad is how many bytes one U+FFFD replaces: Unicode Standard, 3.9, "substitution of maximal subparts".
 */
size_t text_decode_utf8(const char *bytes, size_t len, uint32_t *ret_point, size_t *ret_bad);

/* Writes \uXXXX, or a surrogate pair of them. Returns 6 or 12. */
size_t text_put_unicode(char *out, uint32_t point);

/* The value of a hexadecimal digit, or -1. */
int text_parse_hex_digit(char digit);

/* True when all `len` bytes are UTF-8. */
bool text_is_utf8(const char *text, size_t len);

/* "64K", "10M", "2G", "123" (units of 1024) to bytes. 0, or -EINVAL with *ret_bytes untouched. */
int text_parse_size(const char *text, uint64_t *ret_bytes);

/* "500ms", "10s", "2m", "1h", "1.5s", "30" (seconds) to nanoseconds. 0, or -EINVAL. */
int text_parse_duration(const char *text, uint64_t *ret_ns);

/* A whole decimal number within [min, max]. 0, or -EINVAL. */
int text_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* The closest of `words` (NULL-ended) to a mistyped word, or NULL when none is near: for "did you mean". Borrows. */
const char *text_find_nearest(const char *word, const char *const *words);

#endif
