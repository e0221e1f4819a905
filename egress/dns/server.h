/*
 * The program's name server, over UDP and TCP: answers approved names only and forwards nothing. It sends a query to
 * the real world only if a rule asks for real addresses of that name. Called in the egress process by main.c. Owns its
 * sockets.
 */
#ifndef CALLGATE_EGRESS_DNS_SERVER_H
#define CALLGATE_EGRESS_DNS_SERVER_H

struct egress;
struct dns_server;

/* Takes both sockets, also on failure: bound, the TCP one listening; -1: none. 0 or -errno. */
int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server);
/* Writes the pending records of refused names first. */
void dns_server_free(struct dns_server *server);

#endif
