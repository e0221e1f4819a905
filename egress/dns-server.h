/* The program's name server, over UDP and TCP: approved names only. */
#ifndef CALLGATE_EGRESS_DNS_SERVER_H
#define CALLGATE_EGRESS_DNS_SERVER_H

struct egress;
struct dns_server;

/* Takes both sockets (-1: there is none), also on failure. 0 or -errno. */
int dns_server_create(struct egress *egress, int udp_fd, int tcp_fd, struct dns_server **ret_server);
void dns_server_free(struct dns_server *server);

#endif
