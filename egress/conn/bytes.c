#include "egress/conn/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bytes_release(struct bytes *bytes)
{
	if (bytes->data)
		explicit_bzero(bytes->data, bytes->len);
	free(bytes->data);
	*bytes = (struct bytes){0};
}

int bytes_reserve(struct bytes *bytes, size_t room)
{
	size_t left = bytes_count_left(bytes), need = left + room;
	struct bytes grown = {.len = left, .cap = need > 2 * bytes->cap ? need : 2 * bytes->cap};

	if (room <= bytes->cap - bytes->len)
		return 0;
	if (need <= bytes->cap) {
		memmove(bytes->data, bytes->data + bytes->at, left);
		explicit_bzero(bytes->data + left, bytes->at);
		bytes->at = 0;
		bytes->len = left;
		return 0;
	}
	grown.data = malloc(grown.cap);
	if (!grown.data)
		return -ENOMEM;
	if (left)
		memcpy(grown.data, bytes->data + bytes->at, left);
	bytes_release(bytes);
	*bytes = grown;
	return 0;
}

int bytes_add(struct bytes *bytes, const void *data, size_t len)
{
	int error = bytes_reserve(bytes, len);

	if (error || !len)
		return error;
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return 0;
}

void bytes_drop(struct bytes *bytes, size_t count)
{
	bytes->at += count;
	if (bytes->at == bytes->len)
		bytes_release(bytes);
}

size_t bytes_take(struct bytes *bytes, void *data, size_t cap)
{
	size_t count = bytes_count_left(bytes) < cap ? bytes_count_left(bytes) : cap;

	if (!count)
		return 0;
	memcpy(data, bytes->data + bytes->at, count);
	bytes_drop(bytes, count);
	return count;
}
