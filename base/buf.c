#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* Makes room for `cap` bytes. False, and buf->failed, when out of memory. */
static bool buf_grow(struct buf *buf, size_t cap)
{
	char *data = cap < SIZE_MAX / 2 ? realloc(buf->data, cap) : NULL;

	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->cap = cap;
	return true;
}

/* Makes room for `more` bytes and a NUL. False, and buf->failed, when out of memory. */
static bool buf_has_room(struct buf *buf, size_t more)
{
	const size_t need = buf->len + more + 1;

	if (buf->failed)
		return false;
	if (more < SIZE_MAX / 4 && need <= buf->cap)
		return true;
	return buf_grow(buf, more >= SIZE_MAX / 4 ? SIZE_MAX : need < 64 ? 128 : need * 2);
}

void buf_reserve(struct buf *buf, size_t bytes)
{
	if (!buf->failed && bytes < SIZE_MAX / 4 && buf->len + bytes + 1 > buf->cap)
		(void)buf_grow(buf, buf->len + bytes + 1);
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
	if (!buf_has_room(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_puts(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		buf->failed = true;
		return;
	}
	buf_add(buf, text, (size_t)len);
	free(text);
}

void buf_drop(struct buf *buf, size_t len)
{
	if (len == 0)
		return;
	buf->len -= len;
	memmove(buf->data, buf->data + len, buf->len);
	buf->data[buf->len] = '\0';
}

char *buf_take_text(struct buf *buf)
{
	char *data = NULL;

	if (buf_has_room(buf, 0)) {
		data = buf->data;
		data[buf->len] = '\0';
		buf->data = NULL;
	}
	buf_release(buf);
	return data;
}

void buf_release(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}
