/*
 * What the keeper sends to callgate-egress at the start (base/helper.h): after the greeting one `struct handover`, then
 * each secret (secrets_send). Egress sends one reply. Afterwards the socket carries the messages of control.h.
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

/* Sent with a memfd that holds the packed network (policy/network/pack.h) and the root certificates in PEM. */
struct handover {
	pid_t keeper;
	struct privs_user user;
	bool self_filter, landlock; /* sandbox layers that egress uses for itself */
	bool makes_ca;
	char run_id[HANDOVER_RUN_ID_SIZE];
	uint64_t policy_len, roots_len;
};

struct handover_reply {
	int32_t error;
	char failed_step[64];        /* the step that failed */
	char pem[HANDOVER_PEM_SIZE]; /* the certificate of the run's authority; "": there is none */
};

/*
 * Send and receive one of these structures, with a descriptor unless passed_fd is -1 or ret_fd is NULL. They may block.
 * 0 or -errno; -EPIPE: the other process is dead.
 */
int handover_send(int fd, const void *bytes, size_t len, int passed_fd);
int handover_receive(int fd, void *bytes, size_t len, int *ret_fd);

#endif
