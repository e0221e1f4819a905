/*
 * Writes numbers and JSON texts into a buffer that the caller has made large enough. Each function returns the end of
 * what it wrote. No function writes a NUL or allocates: a system call waits while an audit record is made.
 */
#ifndef CALLGATE_AUDIT_PUT_H
#define CALLGATE_AUDIT_PUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PUT(out, literal) put_bytes(out, "" literal, sizeof(literal) - 1)
static inline char *put_bytes(char *out, const char *bytes, size_t len)
{
	memcpy(out, bytes, len);
	return out + len;
}

/* Writes at most 20 decimal digits. May also overwrite up to 7 bytes after the digits with blanks. */
char *put_uint(char *out, uint64_t value);
char *put_int(char *out, int64_t value);
/* Writes exactly eight decimal digits of a value below 10^8. */
char *put_8_digits(char *out, uint32_t value);

/*
 * Both write a text, escaped for JSON, after the opening quote, which the caller has written. put_quoted writes the
 * closing quote, too; put_text does not.
 */
char *put_text(char *out, const char *text, size_t len);
char *put_quoted(char *out, const char *text, size_t len);

/* Writes a text field; key is such as `,"name":"`. NULL leaves the field out. */
static inline char *put_field(char *out, const char *key, const char *text, size_t len)
{
	return text ? put_quoted(put_bytes(out, key, strlen(key)), text, len) : out;
}

/* Returns the length of a text; 0 for NULL. */
static inline size_t put_measure_text(const char *text)
{
	return text ? strlen(text) : 0;
}

#endif
