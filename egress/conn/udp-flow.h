/* One program's address at one endpoint: an upstream socket of its own. Private to udp*.c. */
#ifndef CALLGATE_EGRESS_CONN_UDP_FLOW_H
#define CALLGATE_EGRESS_CONN_UDP_FLOW_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "egress/conn/udp.h"
#include "egress/state.h"

#define UDP_DATAGRAM_MAX 65536
#define UDP_WAITING_MAX 8 /* datagrams a flow keeps while it is being dialled: more are lost, as anywhere */

struct udp_relay {
	struct udp_relay *next;
	struct egress *egress;
	uint64_t conn;
	pid_t pid;
	uint16_t port;
	char host[NET_HOST_MAX];
	const struct net_rule *rule;
	struct watch guest;      /* the program's datagrams come here, and go out from here */
	struct udp_flow *flows;
	size_t flow_count;
	enum { UDP_NEW, UDP_ASKED, UDP_OPEN, UDP_REFUSED } state; /* of its one "open" record */
	uint64_t start_ns, bytes_up, bytes_down;
	struct task_later later;
	bool closed;
};

struct udp_waiting {
	struct udp_waiting *next;
	size_t len;
	uint8_t data[];
};

struct udp_flow {
	struct udp_flow *next;
	struct udp_relay *relay;
	struct sockaddr_storage client;
	socklen_t client_len;
	struct dial *dial;
	struct watch upstream;
	struct budget_use use;
	struct timer idle;
	uint64_t active_ns;
	struct udp_waiting *first, **end;
	size_t waiting;
	struct task_later later;
};

/* The flow of that address, made when it is new. NULL: there can be none. */
struct udp_flow *udp_flow_get(struct udp_relay *relay, const struct sockaddr *client, socklen_t len);
void udp_flow_send(struct udp_flow *flow, const uint8_t *data, size_t len);
void udp_flow_close(struct udp_flow *flow);
/* Sends what waits, if it may by now. */
void udp_flow_flush(struct udp_flow *flow);

/* Records what came of the first dial, once. */
void udp_relay_dialled(struct udp_relay *relay, const struct dial_result *result);
void udp_relay_close(struct udp_relay *relay, const char *cause, const char *reason);

#endif
