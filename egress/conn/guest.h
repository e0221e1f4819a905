/*
 * The program's side. TCP (guest.c): announced connections, and the one listener at the run's loopback address, which
 * serves announced source ports only. UDP (udp.c): datagrams to approved endpoints, with one connected socket for each
 * address of the program and endpoint. Called in the egress process by main.c. Owns the sockets.
 */
#ifndef CALLGATE_EGRESS_CONN_GUEST_H
#define CALLGATE_EGRESS_CONN_GUEST_H

struct control_connect;
struct egress;

/* CONTROL_CONNECT: judges, dials, records, answers with CONNECTED. */
void conn_announce(struct egress *egress, const struct control_connect *connect);

/* Takes fd, a listening TCP socket, on success. 0 or -errno. */
int guest_listen(struct egress *egress, int fd);
void guest_end(struct egress *egress);

#define UDP_RELAYS_MAX 256  /* endpoints */
#define UDP_FLOWS_MAX 256   /* of one endpoint; then the longest idle one is closed */
#define UDP_IDLE_MS 60000

/* CONTROL_UDP: a new endpoint. Takes fd. */
void udp_announce(struct egress *egress, const struct control_connect *endpoint, int fd);
/* Closes all endpoints, each with its close record. */
void udp_end(struct egress *egress);

#endif
