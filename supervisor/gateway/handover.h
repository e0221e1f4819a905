/*
 * What callgate hands to callgate-egress for a run (base/helper.h): after the greeting one message, then the secrets, a
 * message each (secrets_send). A reply ends it; from then on the socket is control.h's.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_HANDOVER_H
#define CALLGATE_SUPERVISOR_GATEWAY_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "confine/privs.h"

#define HANDOVER_RUN_ID_SIZE 64
#define HANDOVER_PEM_SIZE 4096

/* With a descriptor: a memfd that has the packed network (policy/network/pack.h), then the roots, PEM. */
struct handover {
	pid_t keeper;
	struct privs_user user;
	bool self_filter, landlock; /* whether it locks itself by that */
	bool makes_ca;
	char run_id[HANDOVER_RUN_ID_SIZE];
	uint64_t policy_len, roots_len;
};

struct handover_reply {
	int32_t error;
	char step[64];               /* that failed */
	char pem[HANDOVER_PEM_SIZE]; /* the run's authority; "": none */
};

/* Wait for room, and for a message. 0 or -errno; -EPIPE: the other side is gone. */
int handover_send(int fd, const struct handover *handover, int bytes_fd);
int handover_receive(int fd, struct handover *ret_handover, int *ret_bytes_fd);
int handover_reply(int fd, const struct handover_reply *reply);
int handover_await(int fd, struct handover_reply *ret_reply);

#endif
