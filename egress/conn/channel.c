/*
 * OpenSSL reads and writes through a BIO defined here. The BIO first reads bytes that were put back, and accepts every
 * write: what the socket has no room for is queued in channel->out. So no OpenSSL call has to be repeated with the same
 * bytes, and callers need not care about writes that a read causes (key updates, alerts).
 */
#include "egress/conn/channel.h"

#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Most bytes queued in channel->out. Above this limit the BIO asks OpenSSL to retry: a peer that requests key updates
 * without reading the replies must not fill memory.
 */
#define CHANNEL_QUEUED_BYTES_MAX (128 * 1024)

/*
 * How many reads one call into OpenSSL may make. OpenSSL goes on reading while records carry no data (tickets, key
 * updates), which would block other connections. The rest is read in the next round of the loop.
 */
#define CHANNEL_READS_PER_TLS_CALL_MAX 64

/* ---- input and output without TLS ---- */

static ssize_t channel_receive(int fd, void *data, size_t cap)
{
	ssize_t got = TEMP_FAILURE_RETRY(recv(fd, data, cap, MSG_DONTWAIT));

	return got < 0 ? -errno : got;
}

static ssize_t channel_send(int fd, const void *data, size_t len)
{
	ssize_t sent = TEMP_FAILURE_RETRY(send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL));

	return sent < 0 ? -errno : sent;
}

/* Sends what TLS has encrypted. 0, or -errno such as -EAGAIN. */
static int channel_flush_ciphertext(struct channel *channel)
{
	while (channel->out.data) {
		struct bytes *out = &channel->out;
		ssize_t sent = channel_send(channel->watch.fd, out->data + out->at, bytes_count_left(out));

		if (sent < 0)
			return (int)sent;
		bytes_drop(out, (size_t)sent);
	}
	return 0;
}

/* ---- input and output with TLS ---- */

static int bio_read(BIO *bio, char *data, size_t cap, size_t *ret_read)
{
	struct channel *channel = BIO_get_data(bio);
	ssize_t got = (ssize_t)bytes_take(&channel->early_ciphertext, data, cap);

	BIO_clear_retry_flags(bio);
	if (!got && !channel->reads_left_in_tls_call)
		got = -EAGAIN;
	else if (!got) {
		channel->reads_left_in_tls_call--;
		got = channel_receive(channel->watch.fd, data, cap);
	}
	*ret_read = got > 0 ? (size_t)got : 0;
	if (got == -EAGAIN)
		BIO_set_retry_read(bio);
	else if (got < 0)
		channel->error = (int)got;
	else if (!got)
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	return got > 0;
}

static int bio_write(BIO *bio, const char *data, size_t len, size_t *ret_written)
{
	struct channel *channel = BIO_get_data(bio);
	int error = channel_flush_ciphertext(channel);
	ssize_t sent = 0;

	BIO_clear_retry_flags(bio);
	*ret_written = 0;
	if (channel->fin_was_sent) { /* an alert or a key update after the FIN cannot be sent */
		*ret_written = len;
		return 1;
	}
	if (!error) {
		sent = channel_send(channel->watch.fd, data, len);
		error = sent < 0 ? (int)sent : 0;
		sent = sent < 0 ? 0 : sent;
	}
	if (error && error != -EAGAIN) {
		channel->error = error;
		return 0;
	}
	if (bytes_count_left(&channel->out) + len > CHANNEL_QUEUED_BYTES_MAX) {
		BIO_set_retry_write(bio);
		*ret_written = (size_t)sent;
		return sent > 0;
	}
	if (bytes_add(&channel->out, data + sent, len - (size_t)sent)) {
		channel->error = -ENOMEM;
		return 0;
	}
	*ret_written = len;
	return 1;
}

/* OpenSSL's callback for queries about the BIO: only end of file, flush and duplication are known. */
static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_EOF)
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

/* The methods of the BIO. One object serves the whole process, which has one thread. */
static const BIO_METHOD *bio_get_method(void)
{
	static BIO_METHOD *method;

	if (method)
		return method;
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "channel");
	if (!method || !BIO_meth_set_read_ex(method, bio_read) || !BIO_meth_set_write_ex(method, bio_write) ||
	    !BIO_meth_set_ctrl(method, bio_ctrl)) {
		BIO_meth_free(method);
		method = NULL;
	}
	return method;
}

int channel_start_tls(struct channel *channel, SSL *ssl)
{
	const BIO_METHOD *method = bio_get_method();
	BIO *bio = ssl && method ? BIO_new(method) : NULL;

	if (!bio) {
		SSL_free(ssl);
		return -ENOMEM;
	}
	BIO_set_data(bio, channel);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio); /* `ssl` now owns the BIO */
	(void)SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
			   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	channel->ssl = ssl;
	channel->early_ciphertext = channel->put_back_bytes;
	channel->put_back_bytes = (struct bytes){0};
	return 0;
}

/* The error of a failed OpenSSL call. A stream without close_notify at its end is -ECONNRESET: it may be forged. */
static int channel_get_tls_errno(struct channel *channel, int result)
{
	switch (SSL_get_error(channel->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		if (!channel->error)
			channel->error = -ECONNRESET;
		return channel->error;
	default:
		if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
			channel->error = -ECONNRESET;
		else if (!channel->error)
			channel->error = -EPROTO;
		return channel->error;
	}
}

/* To be called before each OpenSSL call. An error: TLS has failed, and OpenSSL must not be called again. */
static int channel_prepare_tls_call(struct channel *channel)
{
	channel->reads_left_in_tls_call = CHANNEL_READS_PER_TLS_CALL_MAX;
	ERR_clear_error();
	return channel->error;
}

int channel_step_tls_handshake(struct channel *channel)
{
	int result, error = channel_prepare_tls_call(channel);

	if (error)
		return error;
	result = SSL_do_handshake(channel->ssl);
	if (result == 1)
		return 0;
	error = channel_get_tls_errno(channel, result);
	return error ? error : -ECONNRESET; /* the peer sent close_notify instead of a handshake */
}

static ssize_t channel_tls_read(struct channel *channel, void *data, size_t cap)
{
	int result, error = channel_prepare_tls_call(channel);
	size_t got;

	if (error)
		return error;
	result = SSL_read_ex(channel->ssl, data, cap, &got);
	return result == 1 ? (ssize_t)got : channel_get_tls_errno(channel, result);
}

static ssize_t channel_tls_write(struct channel *channel, const void *data, size_t len)
{
	const uint8_t *from = data;
	size_t done = 0;
	int error = channel_flush_ciphertext(channel);

	if (error)
		return error;
	if (len > SSIZE_MAX)
		len = SSIZE_MAX;
	while (done < len && !channel->out.data) {
		size_t written;
		int result;

		error = channel_prepare_tls_call(channel);
		if (error)
			return error;
		result = SSL_write_ex(channel->ssl, from + done, len - done, &written);
		if (result != 1) {
			error = channel_get_tls_errno(channel, result);
			return done ? (ssize_t)done : error ? error : -EPIPE;
		}
		done += written;
	}
	return (ssize_t)done;
}

/* Sends close_notify, if the handshake is done. 0 or -errno. */
static int channel_tls_close(struct channel *channel)
{
	int result, error = channel_prepare_tls_call(channel);

	if (error)
		return error;
	if (!SSL_is_init_finished(channel->ssl))
		return 0; /* before the handshake is done there is nothing to authenticate */
	result = SSL_shutdown(channel->ssl);
	return result < 0 ? channel_get_tls_errno(channel, result) : 0;
}

/* ---- functions for channels with and without TLS ---- */

void channel_init(struct channel *channel, struct loop *loop, int fd, void (*ready)(struct watch *watch))
{
	*channel = (struct channel){.loop = loop, .watch = {.fd = fd, .ready = ready}};
}

void channel_close(struct channel *channel, bool abort)
{
	static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	int fd = channel->watch.fd;

	if (fd < 0)
		return;
	if (channel->ssl && !abort)
		/* best effort: without close_notify the peer still has all data */
		(void)channel_half_close(channel);
	if (abort)
		/* if this fails, the connection ends by FIN, not by a reset; the close record is right in both cases */
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	loop_close_watch(channel->loop, &channel->watch);
	SSL_free(channel->ssl);
	channel->ssl = NULL;
	bytes_release(&channel->put_back_bytes);
	bytes_release(&channel->early_ciphertext);
	bytes_release(&channel->out);
}

ssize_t channel_read(struct channel *channel, void *data, size_t cap)
{
	ssize_t got;

	if (cap > SSIZE_MAX)
		cap = SSIZE_MAX;
	got = (ssize_t)bytes_take(&channel->put_back_bytes, data, cap);
	if (!got) {
		if (channel->peer_has_ended)
			return 0;
		got = channel->ssl ? channel_tls_read(channel, data, cap)
				   : channel_receive(channel->watch.fd, data, cap);
	}
	if (!got)
		channel->peer_has_ended = true;
	if (got > 0)
		channel->bytes_in += (uint64_t)got;
	return got;
}

ssize_t channel_write(struct channel *channel, const void *data, size_t len)
{
	ssize_t sent;

	if (channel->close_notify_is_queued || channel->fin_was_sent)
		return -EPIPE;
	sent = channel->ssl ? channel_tls_write(channel, data, len) : channel_send(channel->watch.fd, data, len);
	if (sent > 0)
		channel->bytes_out += (uint64_t)sent;
	return sent;
}

int channel_write_bytes(struct channel *channel, struct bytes *bytes)
{
	while (bytes->data) {
		ssize_t sent = channel_write(channel, bytes->data + bytes->at, bytes_count_left(bytes));

		if (sent < 0)
			return (int)sent;
		bytes_drop(bytes, (size_t)sent);
	}
	return 0;
}

int channel_put_back_bytes(struct channel *channel, const void *data, size_t len)
{
	struct bytes early = {0};
	int error = bytes_add(&early, data, len);

	if (!error && channel->put_back_bytes.data)
		error = bytes_add(&early, channel->put_back_bytes.data + channel->put_back_bytes.at,
				  bytes_count_left(&channel->put_back_bytes));
	if (error) {
		bytes_release(&early);
		return error;
	}
	bytes_release(&channel->put_back_bytes);
	channel->put_back_bytes = early;
	channel->bytes_in -= len; /* the bytes are counted again when they are read again */
	return 0;
}

int channel_half_close(struct channel *channel)
{
	int error;

	if (channel->fin_was_sent)
		return 0;
	if (channel->ssl && !channel->close_notify_is_queued) {
		error = channel_tls_close(channel);
		if (error)
			return error;
		channel->close_notify_is_queued = true;
	}
	error = channel_flush_ciphertext(channel);
	if (error)
		return error;
	if (shutdown(channel->watch.fd, SHUT_WR) < 0)
		return -errno;
	channel->fin_was_sent = true;
	return 0;
}

/* SSL_has_pending() is not used: it counts an incomplete record, and the caller would spin until the rest arrives. */
bool channel_has_bytes(const struct channel *channel)
{
	return channel->put_back_bytes.data || channel->early_ciphertext.data ||
	       (channel->ssl && SSL_pending(channel->ssl) > 0);
}

void channel_set_events(struct channel *channel, bool read, bool write)
{
	unsigned interest;

	if (channel->watch.fd < 0)
		return;
	(void)channel_flush_ciphertext(channel); /* the next read or write reports an error */
	if (channel->close_notify_is_queued && !channel->out.data)
		(void)channel_half_close(channel); /* the FIN after a delayed close_notify */
	interest = (read && !channel->peer_has_ended ? (unsigned)EPOLLIN : 0) |
		   (write || channel->out.data ? (unsigned)EPOLLOUT : 0);
	loop_set_interest(channel->loop, &channel->watch, interest);
}

void channel_await_hangup(struct channel *channel)
{
	if (channel->watch.fd < 0)
		return;
	(void)channel_flush_ciphertext(channel); /* as in channel_set_events() */
	loop_set_interest(channel->loop, &channel->watch,
			  (unsigned)EPOLLRDHUP | (channel->out.data ? (unsigned)EPOLLOUT : 0));
}

bool channel_peer_has_hung_up(const struct channel *channel)
{
	struct pollfd end = {.fd = channel->watch.fd, .events = POLLRDHUP};

	return channel->peer_has_ended || (poll(&end, 1, 0) > 0 && end.revents);
}
