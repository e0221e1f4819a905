/*
 * Forwards datagrams to approved endpoints, with one connected socket for each pair of a program's address and an
 * endpoint. Called in the egress process by main.c.
 */
#ifndef CALLGATE_EGRESS_CONN_UDP_H
#define CALLGATE_EGRESS_CONN_UDP_H

#include "egress/control.h"

struct egress;

#define UDP_RELAYS_MAX 256  /* most endpoints at the same time */
#define UDP_FLOWS_MAX 256   /* most client addresses of an endpoint; one more closes the flow that was idle longest */
#define UDP_FLOW_IDLE_TIMEOUT_MS 60000

/* Handles CONTROL_UDP_ENDPOINT, a new endpoint. Takes fd. */
void udp_open_endpoint(struct egress *egress, const struct control_connect *endpoint, int fd);
/* Closes all endpoints, each with its close record. */
void udp_close_all_endpoints(struct egress *egress);

#endif
