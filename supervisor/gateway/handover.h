/*
 * What callgate-egress receives at its start (base/helper.h) from the process that the starter has forked before it
 * executed callgate-egress (starter.c): after the greeting one `struct handover` with descriptors, then each secret
 * (secrets_send). Egress sends one reply. One of the descriptors is the socket for the messages of control.h.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_HANDOVER_H
#define CALLGATE_SUPERVISOR_GATEWAY_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/control.h"
#include "egress/tls/authority.h"

/* The descriptors that come with a struct handover. */
enum handover_fd {
	/* a memfd: the packed network (policy/network/pack.h) and the root certificates in PEM */
	HANDOVER_FD_POLICY_AND_ROOT_CAS,
	HANDOVER_FD_CONTROL_SOCKET,          /* the control socket to the supervisor */
	/* index of the first descriptor of those that came with CONTROL_PROGRAM_SOCKETS */
	HANDOVER_FD_FIRST_PROGRAM_SOCKET,
	HANDOVER_FD_COUNT = HANDOVER_FD_FIRST_PROGRAM_SOCKET + CONTROL_FDS_MAX,
};

struct handover {
	pid_t keeper;
	pid_t sender; /* a child of egress, which ends after the reply */
	bool self_filter, landlock; /* sandbox layers that egress uses for itself */
	bool has_authority;         /* TLS is intercepted: `authority` is set */
	struct authority authority;
	uint64_t policy_len, roots_len;
};

/* Egress' answer once it has received the handover. */
struct handover_reply {
	int32_t error; /* 0 or the -errno with which egress could not start */
	char failed_step[64]; /* what egress could not do, for the message */
};

/*
 * Send and receive a struct handover or handover_reply with `count` descriptors. They may block. 0 or -errno; -EPIPE:
 * the other process is dead.
 */
int handover_send(int fd, const void *bytes, size_t len, const int *fds, size_t count);
int handover_receive(int fd, void *bytes, size_t len, int *ret_fds, size_t count);

#endif
