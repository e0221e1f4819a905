/* One end of a connection: a non-blocking socket, with or without TLS on it, and bytes that were read too early. */
#ifndef CALLGATE_EGRESS_CHANNEL_H
#define CALLGATE_EGRESS_CHANNEL_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/loop.h"

struct channel {
	struct loop *loop;
	struct watch watch; /* fd -1: closed */
	SSL *ssl;           /* NULL: plain. Owned */
	uint8_t *early;     /* owned: read and given back by channel_unread */
	size_t early_at, early_len;
	bool ended;         /* the other side has sent its last byte */
	bool shut;          /* and we ours */
	bool tls_wants_write, tls_wants_read; /* what the last TLS call waits for */
	uint64_t bytes_in, bytes_out; /* of the program's or the server's data: not of TLS around it */
};

/* Takes fd, which is non-blocking. */
int channel_init(struct channel *channel, struct loop *loop, int fd, void (*ready)(struct watch *watch, unsigned events));
/* Closes; a reset instead of an orderly end when abort is set. Idempotent. */
void channel_done(struct channel *channel, bool abort);

/* > 0 bytes; 0: the orderly end (FIN, close_notify); -EAGAIN; -errno (-ECONNRESET, -EPROTO: TLS, a missing close_notify). */
ssize_t channel_read(struct channel *channel, void *data, size_t cap);
ssize_t channel_write(struct channel *channel, const void *data, size_t len);
/* Gives bytes back, to be read again first. Below TLS when it is called before channel_tls. 0 or -ENOMEM. */
int channel_unread(struct channel *channel, const void *data, size_t len);
/* Sends FIN or close_notify once all is written. 0, -EAGAIN, -errno. */
int channel_shutdown(struct channel *channel);

/* Takes ssl and puts it on the channel, early bytes first. 0 or -ENOMEM. */
int channel_tls(struct channel *channel, SSL *ssl);
/* SSL_accept or SSL_connect, whichever it was set to. 0, -EAGAIN, -EPROTO (see tls_error). */
int channel_handshake(struct channel *channel);

/*
 * Waits for room to write, for bytes to read, both or none; knows what TLS needs for it. Bytes that are there already
 * (early ones, or decrypted ones in TLS) do not make the socket readable: read until -EAGAIN before waiting.
 */
void channel_wait(struct channel *channel, bool read, bool write);

#endif
