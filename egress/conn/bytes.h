/*
 * Bytes on their way from one socket to another: added at the end, read at the start. For all of egress. Memory is
 * wiped before it is freed, since it may hold secrets.
 */
#ifndef CALLGATE_EGRESS_CONN_BYTES_H
#define CALLGATE_EGRESS_CONN_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct bytes {
	uint8_t *data; /* owned; NULL exactly when nothing is left to read, but for bytes_reserve */
	size_t at, len, cap; /* unread: from at to len */
};

static inline size_t bytes_count_left(const struct bytes *bytes)
{
	return bytes->len - bytes->at;
}

/* The unread bytes, for parsers of text. */
static inline const char *bytes_get_text(const struct bytes *bytes)
{
	return (const char *)bytes->data + bytes->at;
}

/* Wipes, frees, empties. */
void bytes_release(struct bytes *bytes);
/* Makes room for `room` bytes at data + len. 0 or -ENOMEM. */
int bytes_reserve(struct bytes *bytes, size_t room);
/* 0 or -ENOMEM. */
int bytes_add(struct bytes *bytes, const void *data, size_t len);
/* Removes bytes from the start. Frees the memory when no bytes are left. */
void bytes_drop(struct bytes *bytes, size_t count);
/* Moves at most cap bytes from the start to data. Returns their number. */
size_t bytes_take(struct bytes *bytes, void *data, size_t cap);

#endif
