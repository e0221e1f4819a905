/* The loopback addresses of a run that has no network namespace of its own. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_ADDRESS_H
#define CALLGATE_SUPERVISOR_GATEWAY_ADDRESS_H

#include <netinet/in.h>

/*
 * Chooses 127.x.y.z with an even z that no other run has; the next address is the run's as well. It is taken as long as
 * *ret_fd is open. 0 or -errno.
 */
int egress_address_take(struct in_addr *ret_address, int *ret_fd);

/*
 * UDP and TCP sockets bound at a port of the address, the latter listening. port 0: the kernel's choice. 0 or -errno.
 */
int egress_address_bind(struct in_addr address, uint16_t port, int ret_fd[2], uint16_t *ret_port);
/* One of them. */
int egress_address_bind_one(struct in_addr address, uint16_t port, int type, uint16_t *ret_port);

#endif
