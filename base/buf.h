/* A text buffer that grows, for code whose speed does not matter: results, messages, listings. */
#ifndef CALLGATE_BASE_BUF_H
#define CALLGATE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* Starts zero-initialised. The text is NUL-terminated as soon as something was added. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
	bool failed; /* memory ran out: later buf_* calls do nothing, and buf_take_text returns NULL */
};

/* Makes room for `bytes` more bytes at once, for a text whose length is about known. */
void buf_reserve(struct buf *buf, size_t bytes);
void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_puts(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a text as text_escape_for_display() makes it one line. NULL: "?". */
void buf_put_escaped(struct buf *buf, const char *text);
/* Takes the first bytes away; there are as many. */
void buf_drop(struct buf *buf, size_t len);
/* Returns the text, owned by the caller, and empties the buffer; NULL when out of memory. */
char *buf_take_text(struct buf *buf);
void buf_release(struct buf *buf);

#define _cleanup_buf_ __attribute__((cleanup(buf_release)))

#endif
