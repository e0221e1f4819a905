/*
 * A queue of bytes on their way from one socket to another: added at the end, read at the start. For all of egress. The
 * memory is wiped before it is freed, because it may hold secrets.
 */
#ifndef CALLGATE_EGRESS_CONN_BYTES_H
#define CALLGATE_EGRESS_CONN_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* A queue of bytes. Zeroed: empty. */
struct bytes {
	uint8_t *data; /* owned; NULL if no byte is left to read, except between bytes_reserve and adding the bytes */
	size_t at, len, cap; /* the unread bytes are those from `at` to `len` */
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

/* Wipes and frees the memory. The queue is empty then. */
void bytes_release(struct bytes *bytes);
/* Makes room for `room` bytes at data + len. 0 or -ENOMEM. */
int bytes_reserve(struct bytes *bytes, size_t room);
/* Adds bytes at the end. 0 or -ENOMEM. */
int bytes_add(struct bytes *bytes, const void *data, size_t len);
/* Removes bytes from the start. Frees the memory when no bytes are left. */
void bytes_drop(struct bytes *bytes, size_t count);
/* Moves at most cap bytes from the start to data. Returns their number. */
size_t bytes_take(struct bytes *bytes, void *data, size_t cap);

#endif
