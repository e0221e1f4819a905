/*
 * TLS on a channel. OpenSSL reads and writes through a BIO of our own, which takes early bytes first and never refuses
 * ordinary writes: what the socket has no room for is kept in channel->out. So no call has to be repeated with the same
 * bytes, and a write that is the answer to what was read (a key update, an alert) needs no care by the caller.
 */
#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <string.h>

#include "egress/conn/channel-bytes.h"

#include "base/banned.h"

/* Past it the BIO asks for a repetition: a peer must not fill memory by requests for key updates that it does not read. */
#define OUT_MAX (128 * 1024)

/*
 * System calls one call of OpenSSL's may make for reading. It goes on for as long as there are records without data in them
 * (tickets, key updates), while everybody else waits; told to come back, it leaves the rest to the next round of the loop.
 */
#define READS_MAX 64

static int bio_read(BIO *bio, char *data, size_t cap, size_t *ret_read)
{
	struct channel *channel = BIO_get_data(bio);
	ssize_t got = (ssize_t)channel_bytes_take(&channel->below, data, cap);

	BIO_clear_retry_flags(bio);
	if (!got && !channel->reads_left)
		got = -EAGAIN;
	else if (!got) {
		channel->reads_left--;
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
	int error = channel_flush(channel);
	ssize_t sent = 0;

	BIO_clear_retry_flags(bio);
	*ret_written = 0;
	if (channel->shut) { /* an alert or a key update after the FIN: the peer was told that nothing comes */
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
	if (channel->out.len - channel->out.at + len > OUT_MAX) {
		BIO_set_retry_write(bio);
		*ret_written = (size_t)sent;
		return sent > 0;
	}
	if (channel_bytes_add(&channel->out, data + sent, len - (size_t)sent)) {
		channel->error = -ENOMEM;
		return 0;
	}
	*ret_written = len;
	return 1;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_EOF)
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

/* One for the process, which has one thread. */
static const BIO_METHOD *bio_method(void)
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

int channel_tls(struct channel *channel, SSL *ssl)
{
	const BIO_METHOD *method = bio_method();
	BIO *bio = ssl && method ? BIO_new(method) : NULL;

	if (!bio) {
		SSL_free(ssl);
		return -ENOMEM;
	}
	BIO_set_data(bio, channel);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio); /* takes it */
	(void)SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	channel->ssl = ssl;
	channel->below = channel->early;
	channel->early = (struct channel_bytes){0};
	return 0;
}

/* What a call that did not succeed means. ECONNRESET for an end without close_notify: it proves nothing. */
static int failure(struct channel *channel, int result)
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

/* After a failure nothing may be asked of OpenSSL any more, least of all an orderly end. */
static int begin(struct channel *channel)
{
	channel->reads_left = READS_MAX;
	ERR_clear_error();
	return channel->error;
}

int channel_handshake(struct channel *channel)
{
	int result, error = begin(channel);

	if (error)
		return error;
	result = SSL_do_handshake(channel->ssl);
	if (result == 1)
		return 0;
	error = failure(channel, result);
	return error ? error : -ECONNRESET; /* a close_notify instead of a handshake */
}

ssize_t channel_tls_read(struct channel *channel, void *data, size_t cap)
{
	int result, error = begin(channel);
	size_t got;

	if (error)
		return error;
	result = SSL_read_ex(channel->ssl, data, cap, &got);
	return result == 1 ? (ssize_t)got : failure(channel, result);
}

ssize_t channel_tls_write(struct channel *channel, const void *data, size_t len)
{
	const uint8_t *from = data;
	size_t done = 0;
	int error = channel_flush(channel);

	if (error)
		return error;
	if (len > SSIZE_MAX)
		len = SSIZE_MAX;
	while (done < len && !channel->out.data) {
		size_t written;
		int result;

		error = begin(channel);
		if (error)
			return error;
		result = SSL_write_ex(channel->ssl, from + done, len - done, &written);
		if (result != 1) {
			error = failure(channel, result);
			return done ? (ssize_t)done : error ? error : -EPIPE;
		}
		done += written;
	}
	return (ssize_t)done;
}

int channel_tls_close(struct channel *channel)
{
	int result, error = begin(channel);

	if (error)
		return error;
	if (!SSL_is_init_finished(channel->ssl))
		return 0; /* before the keys are there an end needs no proof */
	result = SSL_shutdown(channel->ssl);
	return result < 0 ? failure(channel, result) : 0;
}
