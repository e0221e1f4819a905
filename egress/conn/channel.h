/* One end of a connection: a non-blocking socket, with or without TLS on it, and bytes that were read too early. */
#ifndef CALLGATE_EGRESS_CONN_CHANNEL_H
#define CALLGATE_EGRESS_CONN_CHANNEL_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/conn/loop.h"

struct channel_bytes { /* bytes on their way, in a buffer of their own */
	uint8_t *data; /* owned; NULL when there are none */
	size_t at, len;
};

struct channel {
	struct loop *loop;
	struct watch watch; /* fd -1: closed */
	SSL *ssl;           /* NULL: plain. Owned */
	struct channel_bytes early; /* given back by channel_unread */
	struct channel_bytes below; /* the same, from before there was TLS: ciphertext */
	struct channel_bytes out;   /* ciphertext the socket had no room for */
	int error;          /* what TLS ended by; 0: it has not */
	unsigned reads_left; /* in this call */
	bool ended;         /* the other side has sent its last byte */
	bool closing;       /* close_notify was made: it may still be in out */
	bool shut;          /* we have sent our last byte */
	uint64_t bytes_in, bytes_out; /* of the program's or the server's data: not of TLS around it */
};

/* Takes fd, which is non-blocking. 0, or -errno, and then fd is the caller's. */
int channel_init(struct channel *channel, struct loop *loop, int fd, void (*ready)(struct watch *watch, unsigned events));
/*
 * Closes; a reset instead of an orderly end when abort is set. Without it a close_notify goes out if there is room for it:
 * what was cut off must be ended with abort. Idempotent.
 */
void channel_done(struct channel *channel, bool abort);

/*
 * > 0 bytes; 0: the orderly end (FIN, close_notify); -EAGAIN; -errno: -EPROTO is of TLS; a missing close_notify is
 * -ECONNRESET, since anybody on the way could have sent that FIN.
 */
ssize_t channel_read(struct channel *channel, void *data, size_t cap);
/* > 0 bytes were taken, perhaps not all; -EAGAIN; -errno. Another attempt may be made with other bytes. */
ssize_t channel_write(struct channel *channel, const void *data, size_t len);
/* Gives bytes back, to be read again first. Below TLS when it is called before channel_tls. 0 or -ENOMEM. */
int channel_unread(struct channel *channel, const void *data, size_t len);
/* Sends FIN, with TLS after a close_notify, once all is written. 0, -EAGAIN, -errno. */
int channel_shutdown(struct channel *channel);

/* Takes ssl and puts it on the channel, early bytes first. 0 or -ENOMEM, and then ssl is the caller's. */
int channel_tls(struct channel *channel, SSL *ssl);
/* SSL_accept or SSL_connect, whichever it was set to. 0, -EAGAIN, -EPROTO (see tls_error), -errno of the socket. */
int channel_handshake(struct channel *channel);

/* Whether there are bytes which do not make the socket readable: early ones, or decrypted ones in TLS. */
bool channel_has_bytes(const struct channel *channel);
/*
 * Waits for room to write, for bytes to read, both or none; sends what TLS has yet to send. Who stops reading before
 * -EAGAIN and waits to read must ask channel_has_bytes. A handshake waits to read.
 */
void channel_wait(struct channel *channel, bool read, bool write);

#endif
