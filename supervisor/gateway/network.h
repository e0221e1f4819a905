/* The network of the run as supervise.c and loop.c use it. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_NETWORK_H
#define CALLGATE_SUPERVISOR_GATEWAY_NETWORK_H

#include "supervisor/gateway/client.h"
#include "supervisor/gateway/start.h"
#include "syscalls/call/call.h"

struct network { /* all zero: no network */
	struct pool *pool;
	struct egress_client *client;
	unsigned interest; /* events registered with epoll; 0: none */
};

/* Takes side's control_fd and sets sandbox->inet. 0 or -errno; network_done releases in both cases. */
int network_create(struct network *network, struct sandbox *sandbox, struct egress_side *side,
			     const struct egress_guest *guest);
/* Watches the control socket for its present interest, with data.ptr = mark. 0 or -errno. */
int network_watch(struct network *network, int epoll_fd, void *mark);
void network_done(struct network *network, struct sandbox *sandbox);

#endif
