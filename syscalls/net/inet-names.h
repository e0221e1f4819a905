/*
 * The names of sockets as the target knows them, where the kernel's differ: the peer of a connection that was led to
 * egress, or an address that stands for the run's own. One entry for each local port; a socket cookie tells whether it
 * is still about the same socket.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_NAMES_H
#define CALLGATE_SYSCALLS_NET_INET_NAMES_H

#include "syscalls/net/inet-address.h"

struct inet_names;

/*
 * Owned by the caller, to be released by free(3); or NULL: no memory. Reserves megabytes of address space, of which
 * only pages of used ports are touched.
 */
struct inet_names *inet_names_create(void);

/*
 * Stores the names of a bound socket. table (0-3): keeps sockets apart that may have the same local port. own, peer:
 * NULL: the kernel's name; port 0 in own: local_port.
 */
void inet_names_set(struct inet_names *names, unsigned table, uint16_t local_port, int socket_fd,
		    const struct inet_address *own, const struct inet_address *peer);

/* The stored name of this very socket, borrowed; NULL: none. */
const struct inet_address *inet_names_get(const struct inet_names *names, unsigned table, uint16_t local_port,
					  int socket_fd, bool peer);

#endif
