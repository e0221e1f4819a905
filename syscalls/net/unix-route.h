/*
 * Addresses of unix sockets to connect or send to. Reaching a path is judged as writing to the socket file. Only
 * sockets that the run has bound are reached (unix-sockets.h), because the program could otherwise exchange descriptors
 * and messages with processes outside the run. Used by connect.c and send.c.
 */
#ifndef CALLGATE_SYSCALLS_NET_UNIX_ROUTE_H
#define CALLGATE_SYSCALLS_NET_UNIX_ROUTE_H

#include "syscalls/call/call.h"
#include "syscalls/net/unix-sockets.h"

/*
 * Finds the socket at call->path[0]. Returns an O_PATH descriptor, owned by the caller, which must stay open while
 * *ret_address is used; or -1 with the outcome set.
 */
int unix_find_socket_of_path(struct call *call, struct sockets_address *ret_address);
/*
 * Finds the socket of the run that has an abstract name and socket_fd's type. *address is the name, and then the
 * address to connect to. *ret_pin_fd: as for unix_find_datagram_destination(). 0; or -1 with the outcome set.
 */
int unix_find_abstract_socket(struct call *call, int socket_fd, struct sockets_address *address, int *ret_pin_fd);
/*
 * Finds the socket of the run to which a datagram is sent. name: the datagram's address, copied from target memory.
 * *ret_pin_fd, owned by the caller, must stay open while *ret_address is used; -1: there is nothing to keep open. 0; or
 * -1 with the outcome set.
 */
int unix_find_datagram_destination(struct call *call, int socket_fd, const struct sockaddr_storage *name, int len,
			struct sockets_address *ret_address, int *ret_pin_fd);

#endif
