/* The layer below TLS of a channel: its byte buffers and its socket. Private to conn/channel.c and tls/channel.c. */
#ifndef CALLGATE_EGRESS_CONN_CHANNEL_BYTES_H
#define CALLGATE_EGRESS_CONN_CHANNEL_BYTES_H

#include "egress/conn/channel.h"

/* Appends. 0 or -ENOMEM. */
int channel_bytes_add(struct channel_bytes *bytes, const void *data, size_t len);
/* Prepends. 0 or -ENOMEM. */
int channel_bytes_put_back(struct channel_bytes *bytes, const void *data, size_t len);
/* Removes up to cap bytes from the front and returns their number. The buffer is wiped and freed when it is empty. */
size_t channel_bytes_take(struct channel_bytes *bytes, void *data, size_t cap);
void channel_bytes_drop(struct channel_bytes *bytes, size_t count);
void channel_bytes_done(struct channel_bytes *bytes);

/* recv(2) and send(2), repeated after EINTR. Bytes, 0 at the end of the stream, or -errno. */
ssize_t channel_receive(int fd, void *data, size_t cap);
ssize_t channel_send(int fd, const void *data, size_t len);

/* tls/channel.c: reading and writing when the channel has TLS. */
ssize_t channel_tls_read(struct channel *channel, void *data, size_t cap);
ssize_t channel_tls_write(struct channel *channel, const void *data, size_t len);
/* Queues the close_notify, once. 0 or -errno. */
int channel_tls_close(struct channel *channel);
/* Sends the ciphertext that the socket had no room for. 0: all of it; -EAGAIN; -errno. */
int channel_flush(struct channel *channel);

#endif
