/* The sending itself, on a duplicate of the program's socket; what would wait goes on in a worker (inet-work.h). */
#ifndef CALLGATE_SYSCALLS_NET_INET_TRANSFER_H
#define CALLGATE_SYSCALLS_NET_INET_TRANSFER_H

#include "syscalls/net/inet-message.h"
#include "syscalls/net/inet-work.h"

#define TRANSFER_DATAGRAM_MAX (512u * 1024) /* larger ones are EMSGSIZE; UDP's are smaller anyway */
#define TRANSFER_NOW_MAX (1u << 20)         /* of a stream, before others get their turn */

struct transfer {
	struct message *message;           /* borrowed until a worker takes over */
	const struct sockaddr_storage *to; /* NULL: the peer */
	socklen_t to_len;
	int flags; /* the program's */
	bool stream;
	uint64_t told_addr; /* where the length is to be written (sendmmsg's msg_len); 0: it is the answer */
};

/*
 * Sends what can be sent without waiting. The bytes sent or -errno; -EINPROGRESS: OUTCOME_INET is set, which has taken the
 * message and fd. `wait` false: then it is -EAGAIN instead, as for a socket that does not block.
 */
int64_t transfer_send(struct call *call, int *fd, const struct transfer *transfer, bool wait);

#endif
