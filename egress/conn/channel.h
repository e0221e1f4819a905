/*
 * One end of a connection: a non-blocking socket, with or without TLS on it. Called in the egress process by conn.c and
 * the modes. Owns the socket, the SSL object and bytes in transit.
 */
#ifndef CALLGATE_EGRESS_CONN_CHANNEL_H
#define CALLGATE_EGRESS_CONN_CHANNEL_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/conn/bytes.h"
#include "egress/conn/loop.h"

struct channel {
	struct loop *loop;
	struct watch watch; /* fd -1: closed */
	SSL *ssl;           /* NULL: plain. Owned */
	struct bytes early; /* put back by channel_put_back_bytes */
	struct bytes below; /* put back before TLS was added: ciphertext */
	struct bytes out;   /* ciphertext that the socket has no room for */
	int error;          /* the error that ended TLS; 0: none */
	unsigned reads_left; /* reads OpenSSL may still make in this call */
	bool ended;         /* the peer's end of stream was read (half-close) */
	bool closing;       /* close_notify was queued; it may still be in out */
	bool shut;          /* FIN was sent */
	uint64_t bytes_in, bytes_out; /* of application data, without the overhead of TLS */
};

/* Takes fd, which is non-blocking. Waits for nothing yet. */
void channel_init(struct channel *channel, struct loop *loop, int fd, void (*ready)(struct watch *watch));
/*
 * Closes, by reset when abort is set. Otherwise a close_notify is sent if there is room for it, so a stream that was
 * cut off must be ended with abort. Idempotent.
 */
void channel_close(struct channel *channel, bool abort);

/*
 * Reads. > 0: bytes; 0: the orderly end (FIN, with TLS close_notify); -EAGAIN; -errno. -EPROTO: TLS failed. -ECONNRESET
 * also for a FIN without close_notify: anybody on the path could have sent it.
 */
ssize_t channel_read(struct channel *channel, void *data, size_t cap);
/* Writes. > 0: bytes accepted, perhaps not all; -EAGAIN; -errno. The next attempt may have other bytes. */
ssize_t channel_write(struct channel *channel, const void *data, size_t len);
/* Writes and removes what the channel has room for. 0: all; -EAGAIN; -errno. */
int channel_write_bytes(struct channel *channel, struct bytes *bytes);
/* Puts bytes back, which are read again first. Before channel_start_tls they become its ciphertext. 0 or -ENOMEM. */
int channel_put_back_bytes(struct channel *channel, const void *data, size_t len);
/* Half-close: sends what is queued, with TLS a close_notify, then FIN. 0, -EAGAIN, -errno. */
int channel_half_close(struct channel *channel);

/* Adds TLS, which reads bytes put back first. Takes ssl, also on failure. 0 or -ENOMEM, also when ssl is NULL. */
int channel_start_tls(struct channel *channel, SSL *ssl);
/*
 * One step of the handshake, as server or client as ssl was set. 0, -EAGAIN, -EPROTO (see tls_describe_error), -errno
 * of the socket.
 */
int channel_shake_hands(struct channel *channel);

/* Whether there are bytes to read that do not make the socket readable: put back, or decrypted inside TLS. */
bool channel_has_bytes(const struct channel *channel);
/*
 * Sets what the channel waits for: bytes to read, room to write, both or none; sends queued ciphertext. A caller that
 * stops reading before -EAGAIN and waits to read must check channel_has_bytes. A handshake waits to read.
 */
void channel_set_wait(struct channel *channel, bool read, bool write);

#endif
