/*
 * What sockets are called in the program's eyes, where the kernel calls them otherwise: the peer of a connection that was led
 * to egress, an address that stands for the run's own. One entry a local port; its socket is told by its cookie.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_NAMES_H
#define CALLGATE_SYSCALLS_NET_INET_NAMES_H

#include <stdbool.h>

#include "syscalls/net/inet-address.h"

struct inet_names;

/* 0 or -ENOMEM. Some megabytes of address space, used as far as ports are. */
int inet_names_create(struct inet_names **ret_names);
void inet_names_free(struct inet_names *names);

/*
 * Notes it of a bound socket. table: sockets whose local port may be the same are told apart by it (0-3). NULL: as it is;
 * a port of 0 in own is the real one.
 */
void inet_names_set(struct inet_names *names, unsigned table, uint16_t local_port, int socket_fd,
		    const struct inet_address *own, const struct inet_address *peer);

/* What was noted of this very socket; NULL: nothing. Borrowed. */
const struct inet_address *inet_names_get(const struct inet_names *names, unsigned table, uint16_t local_port,
					  int socket_fd, bool peer);

#endif
