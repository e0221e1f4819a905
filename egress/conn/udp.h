/* Datagrams to approved endpoints: for each address of the program's one connected socket to the endpoint. */
#ifndef CALLGATE_EGRESS_CONN_UDP_H
#define CALLGATE_EGRESS_CONN_UDP_H

#include "egress/control.h"

struct egress;

#define UDP_RELAYS_MAX 256  /* endpoints */
#define UDP_FLOWS_MAX 256   /* of one: then the longest idle goes */
#define UDP_IDLE_MS 60000

/* CONTROL_UDP. Takes fd. */
void udp_announce(struct egress *egress, const struct control_connect *endpoint, int fd);
/* All of them, each with its close record. */
void udp_end(struct egress *egress);

#endif
