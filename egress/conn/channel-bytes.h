/* Between channel.c and channel-tls.c only. */
#ifndef CALLGATE_EGRESS_CONN_CHANNEL_BYTES_H
#define CALLGATE_EGRESS_CONN_CHANNEL_BYTES_H

#include "egress/conn/channel.h"

/* Adds at the end. 0 or -ENOMEM. */
int channel_bytes_add(struct channel_bytes *bytes, const void *data, size_t len);
/* Puts before what is there. 0 or -ENOMEM. */
int channel_bytes_put_back(struct channel_bytes *bytes, const void *data, size_t len);
/* Takes from the front, at most cap; 0: there are none. The buffer is wiped and freed with the last byte. */
size_t channel_bytes_take(struct channel_bytes *bytes, void *data, size_t cap);
void channel_bytes_drop(struct channel_bytes *bytes, size_t count);
void channel_bytes_done(struct channel_bytes *bytes);

/* recv(2) and send(2), again after EINTR: bytes, 0 at the end, -errno. */
ssize_t channel_receive(int fd, void *data, size_t cap);
ssize_t channel_send(int fd, const void *data, size_t len);

/* What the plain calls do when there is TLS. */
ssize_t channel_tls_read(struct channel *channel, void *data, size_t cap);
ssize_t channel_tls_write(struct channel *channel, const void *data, size_t len);
/* Makes the close_notify, once. 0 or -errno. */
int channel_tls_close(struct channel *channel);
/* Sends what there was no room for. 0: nothing is left; -EAGAIN; -errno. */
int channel_flush(struct channel *channel);

#endif
