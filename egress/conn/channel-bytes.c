#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/conn/channel-bytes.h"

#include "base/banned.h"

/* Replaces the buffer by one that holds both texts. Short and rare, so each call allocates. */
static int bytes_replace(struct channel_bytes *bytes, const void *first, size_t first_len, const void *second,
		   size_t second_len)
{
	struct channel_bytes made = {.len = first_len + second_len};

	if (!made.len)
		return 0;
	made.data = malloc(made.len);
	if (!made.data)
		return -ENOMEM;
	if (first)
		memcpy(made.data, first, first_len);
	if (second)
		memcpy(made.data + first_len, second, second_len);
	channel_bytes_done(bytes);
	*bytes = made;
	return 0;
}

int channel_bytes_add(struct channel_bytes *bytes, const void *data, size_t len)
{
	return bytes_replace(bytes, bytes->data ? bytes->data + bytes->at : NULL, bytes->len - bytes->at, data, len);
}

int channel_bytes_put_back(struct channel_bytes *bytes, const void *data, size_t len)
{
	return bytes_replace(bytes, data, len, bytes->data ? bytes->data + bytes->at : NULL, bytes->len - bytes->at);
}

size_t channel_bytes_take(struct channel_bytes *bytes, void *data, size_t cap)
{
	size_t count = bytes->len - bytes->at < cap ? bytes->len - bytes->at : cap;

	if (!count)
		return 0;
	memcpy(data, bytes->data + bytes->at, count);
	channel_bytes_drop(bytes, count);
	return count;
}

void channel_bytes_drop(struct channel_bytes *bytes, size_t count)
{
	bytes->at += count;
	if (bytes->at == bytes->len)
		channel_bytes_done(bytes);
}

void channel_bytes_done(struct channel_bytes *bytes)
{
	if (bytes->data)
		explicit_bzero(bytes->data, bytes->len);
	free(bytes->data);
	*bytes = (struct channel_bytes){0};
}

ssize_t channel_receive(int fd, void *data, size_t cap)
{
	for (;;) {
		ssize_t got = recv(fd, data, cap, MSG_DONTWAIT);

		if (got >= 0)
			return got;
		if (errno != EINTR)
			return -errno;
	}
}

ssize_t channel_send(int fd, const void *data, size_t len)
{
	for (;;) {
		ssize_t sent = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent >= 0)
			return sent;
		if (errno != EINTR)
			return -errno;
	}
}

int channel_flush(struct channel *channel)
{
	while (channel->out.data) {
		struct channel_bytes *out = &channel->out;
		ssize_t sent = channel_send(channel->watch.fd, out->data + out->at, out->len - out->at);

		if (sent < 0)
			return (int)sent;
		channel_bytes_drop(out, (size_t)sent);
	}
	return 0;
}
