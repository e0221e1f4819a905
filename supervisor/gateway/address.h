/* Loopback addresses for a run without a network namespace of its own. */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_ADDRESS_H
#define CALLGATE_SUPERVISOR_GATEWAY_ADDRESS_H

#include <netinet/in.h>

/*
 * Reserves a free pair of addresses, 127.x.y.z with an even z and the next one, as long as *ret_fd is open. 0 or
 * -errno.
 */
int egress_address_take(struct in_addr *ret_address, int *ret_fd);

/* Binds a UDP and a listening TCP socket to the same port; port 0: any free one. 0 or -errno. */
int egress_address_bind(struct in_addr address, uint16_t port, int ret_fd[2], uint16_t *ret_port);
/* Binds one socket of the type. The descriptor or -errno. */
int egress_address_bind_one(struct in_addr address, uint16_t port, int type, uint16_t *ret_port);

#endif
