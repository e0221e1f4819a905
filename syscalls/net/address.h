/* What the socket handlers share: the program's socket and the address it names, copied once. */
#ifndef CALLGATE_SYSCALLS_NET_ADDRESS_H
#define CALLGATE_SYSCALLS_NET_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "syscalls/call/call.h"

/* 0, or what native calls give first: -EBADF, -ENOTSOCK. A glance for the errno only: nothing is granted on it. */
int net_check_socket(const struct call *call);

/*
 * The address in registers 1 and 2. Fails as native calls do before the address matters, with the outcome set: false.
 * What is missing of *address is zero.
 */
bool net_read_address(struct call *call, struct sockaddr_storage *address, int *ret_len);

enum net_unix_kind {
	NET_UNIX_INVALID,  /* as unix_validate_addr() in net/unix/af_unix.c: EINVAL */
	NET_UNIX_UNNAMED,  /* bind(2) would choose an abstract name */
	NET_UNIX_ABSTRACT,
	NET_UNIX_PATH,     /* it is call->path[0] now */
};

enum net_unix_kind net_take_unix(struct call *call, const struct sockaddr_storage *address, int len);

/* Another errno for what was decided: those of unix sockets are not those of files. */
void net_replace_error(struct call *call, int from, int to);

/* Refuses an address, or a socket, of another family than unix. */
void net_refuse_family(struct call *call, int family, int error);

/* A duplicate of the program's unix socket, owned by the caller; or -1 with the outcome set (descriptor_copy). */
int net_copy_socket(struct call *call);
/* The same of a unix socket or, when the run has a network, an internet one. */
int net_copy_any(struct call *call, int *ret_domain);

#endif
