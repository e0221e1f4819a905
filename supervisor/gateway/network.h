/* What supervise.c has of the run's network: made before the program, watched with everything else, ended after it. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_NETWORK_H
#define CALLGATE_SUPERVISOR_GATEWAY_NETWORK_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/gateway/client.h"
#include "supervisor/gateway/start.h"
#include "syscalls/call/call.h"

struct supervise_network { /* all zero: there is none */
	struct pool *pool;
	struct egress_client *client;
	unsigned interest; /* epoll's, as it is registered; 0: not */
};

/* Takes side's control_fd; sandbox->inet is set. 0 or -errno; supervise_network_done releases in both cases. */
int supervise_network_create(struct supervise_network *network, struct sandbox *sandbox, struct egress_side *side,
			     const struct egress_guest *guest);
/* Has the client's descriptor watched for what it now waits for, with data.ptr = mark. 0 or -errno. */
int supervise_network_watch(struct supervise_network *network, int epoll_fd, void *mark);
void supervise_network_done(struct supervise_network *network, struct sandbox *sandbox);

/* For the report; owned by it. Zeroed: there was no network. */
struct network_report {
	json_t *list, *advice, *budgets;
	uint64_t unlisted, denied;
};
void supervise_network_report(const struct supervise_network *network, struct network_report *ret_report);
void network_report_done(struct network_report *report);

#endif
