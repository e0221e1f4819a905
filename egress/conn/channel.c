#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/channel-bytes.h"

#include "base/banned.h"

int channel_init(struct channel *channel, struct loop *loop, int fd,
		 void (*ready)(struct watch *watch, unsigned events))
{
	int error;

	*channel = (struct channel){.loop = loop, .watch = {.fd = fd, .ready = ready}};
	error = loop_add(loop, &channel->watch, 0);
	if (error)
		channel->watch.fd = -1;
	return error;
}

void channel_done(struct channel *channel, bool abort)
{
	static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	int fd = channel->watch.fd;

	if (fd < 0)
		return;
	if (channel->ssl && !abort)
		/* best effort: the peer has its data and only misses the close_notify */
		(void)channel_shutdown(channel);
	if (abort)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset,
				 /* without it the connection ends by FIN; the close record is right either way */
				 sizeof(reset));
	loop_remove(channel->loop, &channel->watch);
	(void)close(fd);
	channel->watch.fd = -1;
	SSL_free(channel->ssl);
	channel->ssl = NULL;
	channel_bytes_done(&channel->early);
	channel_bytes_done(&channel->below);
	channel_bytes_done(&channel->out);
}

ssize_t channel_read(struct channel *channel, void *data, size_t cap)
{
	ssize_t got;

	if (cap > SSIZE_MAX)
		cap = SSIZE_MAX;
	got = (ssize_t)channel_bytes_take(&channel->early, data, cap);
	if (!got) {
		if (channel->ended)
			return 0;
		got = channel->ssl ? channel_tls_read(channel, data, cap)
				   : channel_receive(channel->watch.fd, data, cap);
	}
	if (!got)
		channel->ended = true;
	if (got > 0)
		channel->bytes_in += (uint64_t)got;
	return got;
}

ssize_t channel_write(struct channel *channel, const void *data, size_t len)
{
	ssize_t sent;

	if (channel->closing || channel->shut)
		return -EPIPE;
	sent = channel->ssl ? channel_tls_write(channel, data, len) : channel_send(channel->watch.fd, data, len);
	if (sent > 0)
		channel->bytes_out += (uint64_t)sent;
	return sent;
}

int channel_unread(struct channel *channel, const void *data, size_t len)
{
	int error = channel_bytes_put_back(&channel->early, data, len);

	if (!error)
		channel->bytes_in -= len; /* they are counted again when they are read again */
	return error;
}

int channel_shutdown(struct channel *channel)
{
	int error;

	if (channel->shut)
		return 0;
	if (channel->ssl && !channel->closing) {
		error = channel_tls_close(channel);
		if (error)
			return error;
		channel->closing = true;
	}
	error = channel_flush(channel);
	if (error)
		return error;
	if (shutdown(channel->watch.fd, SHUT_WR) < 0)
		return -errno;
	channel->shut = true;
	return 0;
}

/* Not SSL_has_pending: it counts an incomplete record, and the caller would spin until the rest arrives. */
bool channel_has_bytes(const struct channel *channel)
{
	return channel->early.data || channel->below.data || (channel->ssl && SSL_pending(channel->ssl) > 0);
}

void channel_wait(struct channel *channel, bool read, bool write)
{
	unsigned interest;

	if (channel->watch.fd < 0)
		return;
	(void)channel_flush(channel); /* the next read or write reports an error */
	if (channel->closing && !channel->out.data)
		(void)channel_shutdown(channel); /* the FIN after a delayed close_notify */
	interest = (read && !channel->ended ? (unsigned)EPOLLIN : 0) |
		   (write || channel->out.data ? (unsigned)EPOLLOUT : 0);
	loop_set(channel->loop, &channel->watch, interest);
}
