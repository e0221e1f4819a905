/* Sends a copied message on a duplicate of the socket, in a thread if it would wait. Used by send.c. */
#ifndef CALLGATE_SYSCALLS_NET_TRANSFER_H
#define CALLGATE_SYSCALLS_NET_TRANSFER_H

#include "syscalls/net/message.h"

#define TRANSFER_DATAGRAM_MAX (512u * 1024) /* bytes; larger datagrams are EMSGSIZE. UDP's are smaller anyway */
/* bytes of a stream that are sent before other notifications get their turn */
#define TRANSFER_NOW_MAX (1u << 20)

struct transfer {
	struct message *message;           /* emptied: transfer_send() takes the content */
	const struct sockaddr_storage *to; /* NULL: the peer */
	socklen_t to_len;
	int flags; /* MSG_*, from the target */
	bool stream;
	uint64_t told_addr; /* sendmmsg: target address of msg_len; 0: the length is the result */
};

/*
 * Sends what can be sent without waiting. Returns the bytes sent; -errno; or -EINPROGRESS: OUTCOME_WORK is set, which
 * has taken *fd. `wait` false: a full socket is -EAGAIN, as if it were nonblocking.
 */
int64_t transfer_send(struct call *call, int *fd, const struct transfer *transfer, bool wait);

#endif
