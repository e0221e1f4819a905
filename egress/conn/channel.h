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

/* One socket of a connection, with or without TLS. */
struct channel {
	struct loop *loop;
	struct watch watch; /* watches the socket; fd -1: closed */
	SSL *ssl;           /* owned; NULL: the channel has no TLS */
	struct bytes put_back_bytes; /* bytes that channel_put_back_bytes() put back */
	struct bytes early_ciphertext; /* ciphertext: bytes that were put back before TLS was added */
	struct bytes out;   /* ciphertext to send, for which the socket had no room */
	int error;          /* the error that ended TLS; 0: none */
	unsigned reads_left_in_tls_call; /* how many more reads of the socket the present call into OpenSSL may make */
	bool peer_has_ended; /* the end of the peer's stream was read (half-close) */
	bool close_notify_is_queued; /* close_notify was queued; it may still be in `out` */
	bool fin_was_sent;          /* the FIN was sent */
	uint64_t bytes_in, bytes_out; /* bytes of application data, without the overhead of TLS */
};

/* Takes fd, which is non-blocking. The channel waits for no event yet. */
void channel_init(struct channel *channel, struct loop *loop, int fd, void (*ready)(struct watch *watch));
/*
 * Closes the channel, by a TCP reset if `abort` is set. Otherwise sends a close_notify if there is room for it, so a
 * stream that was cut off must be closed with `abort`. May be called again.
 */
void channel_close(struct channel *channel, bool abort);

/*
 * Reads. > 0: number of bytes; 0: orderly end of the stream (FIN, with TLS close_notify); -EAGAIN; -errno. -EPROTO: TLS
 * failed. -ECONNRESET also for a FIN without close_notify, which any host on the path could have sent.
 */
ssize_t channel_read(struct channel *channel, void *data, size_t cap);
/* Writes. > 0: number of bytes accepted, which may be fewer; -EAGAIN; -errno. The next call may pass other bytes. */
ssize_t channel_write(struct channel *channel, const void *data, size_t len);
/* Writes from a queue and removes what was written. 0: everything was written; -EAGAIN; -errno. */
int channel_write_bytes(struct channel *channel, struct bytes *bytes);
/* Puts bytes back, to be read again first. channel_start_tls reads such bytes as ciphertext. 0 or -ENOMEM. */
int channel_put_back_bytes(struct channel *channel, const void *data, size_t len);
/* Half-close: sends what is queued, with TLS a close_notify, and then the FIN. 0, -EAGAIN or -errno. */
int channel_half_close(struct channel *channel);

/* Adds TLS, which first reads bytes put back. Takes ssl, also on failure. 0, or -ENOMEM, also if ssl is NULL. */
int channel_start_tls(struct channel *channel, SSL *ssl);
/*
 * Makes one step of the TLS handshake, as server or client as `ssl` was set. 0, -EAGAIN, -EPROTO (see
 * tls_describe_error) or -errno of the socket.
 */
int channel_step_tls_handshake(struct channel *channel);

/* Whether bytes can be read although the socket may not be readable: bytes put back, or decrypted inside OpenSSL. */
bool channel_has_bytes(const struct channel *channel);
/*
 * Sets whether the channel waits for bytes to read, for room to write, both or none, and sends queued ciphertext. A
 * caller that stops reading before -EAGAIN must check channel_has_bytes before it waits to read. A handshake waits to
 * read.
 */
void channel_set_events(struct channel *channel, bool read, bool write);

/* Waits for the peer's end alone: also while there are bytes that are not read. */
void channel_await_hangup(struct channel *channel);
/* Whether the peer has closed or half-closed, or the connection is broken, although bytes may be left to read. */
bool channel_peer_has_hung_up(const struct channel *channel);

#endif
