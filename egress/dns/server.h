/*
 * The program's name server, over UDP and TCP. It answers approved names only and forwards no query. It has a name
 * looked up only if a rule asks for real addresses of that name. Called in the egress process by main.c. Owns its
 * sockets.
 */
#ifndef CALLGATE_EGRESS_DNS_SERVER_H
#define CALLGATE_EGRESS_DNS_SERVER_H

struct egress;
struct dns_server;

/* Takes both sockets, also on failure. They are bound, the TCP socket listens; -1: no such socket. 0 or -errno. */
int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server);
/* Frees the server. First writes the pending records of refused names. */
void dns_server_free(struct dns_server *server);

#endif
