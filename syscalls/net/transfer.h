/* Sends a copied message on a duplicate of the target's socket, in a thread if sending would wait. Used by send.c. */
#ifndef CALLGATE_SYSCALLS_NET_TRANSFER_H
#define CALLGATE_SYSCALLS_NET_TRANSFER_H

#include "syscalls/net/message.h"

/* bytes; larger datagrams fail with EMSGSIZE. UDP allows at most 65,507 bytes anyway */
#define TRANSFER_DATAGRAM_BYTES_MAX (512u * 1024)
/* bytes of a stream that are sent before other notifications get their turn */
#define TRANSFER_BYTES_PER_TURN_MAX (1u << 20)

/* A send that the supervisor makes for the target, because its address was judged. */
struct transfer {
	/* the message to send; transfer_send_or_move_to_worker() takes its content and leaves it empty */
	struct message *message;
	const struct sockaddr_storage *to; /* NULL: the message goes to the connected peer */
	socklen_t to_len;
	int flags; /* MSG_*, from the target */
	bool is_stream;        /* SOCK_STREAM: a part of the message may be sent */
	uint64_t msg_len_addr; /* sendmmsg: target address of msg_len; 0: the length is the result */
};

/*
 * Sends what can be sent without waiting. Returns the bytes sent; -errno; or -EINPROGRESS: OUTCOME_BLOCKING_WORK is
 * set, which has taken *fd. `wait` false: a full socket is -EAGAIN, as if it were nonblocking.
 */
int64_t transfer_send_or_move_to_worker(struct call *call, int *fd, const struct transfer *transfer, bool wait);

#endif
