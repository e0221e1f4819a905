/*
 * The program's name server, over UDP and TCP: approved names only, and nothing is forwarded. A query costs the world
 * nothing unless a rule asks for real addresses of that very name.
 */
#ifndef CALLGATE_EGRESS_DNS_SERVER_H
#define CALLGATE_EGRESS_DNS_SERVER_H

struct egress;
struct dns_server;

/* Takes both sockets, bound and (TCP) listening (-1: there is none), also on failure. 0 or -errno. */
int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server);
/* Records of refused names that are still due are sent first. */
void dns_server_free(struct dns_server *server);

#endif
