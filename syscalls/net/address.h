/* What the socket handlers share: a duplicate of the target's socket, and the address in its memory, copied once. */
#ifndef CALLGATE_SYSCALLS_NET_ADDRESS_H
#define CALLGATE_SYSCALLS_NET_ADDRESS_H

#include <fcntl.h>

#include "syscalls/call/call.h"

/* Returns 0, -EBADF or -ENOTSOCK for argument 0. Only for the errno: a thread may replace the descriptor. */
int net_check_socket(const struct call *call);
/* Allows the call if argument 0 is a socket. False: the outcome is set. */
bool net_allow_socket(struct call *call);
/* net_allow_socket, then net_copy_any_socket. */
int net_allow_and_copy_socket(struct call *call, int *ret_domain);

/* True for a nonblocking socket. False also when the flags cannot be read. */
static inline bool net_is_nonblocking(int socket_fd)
{
	int flags = fcntl(socket_fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK;
}

/* The value of an int option of our socket; -1 with errno. */
static inline int net_get_option(int socket_fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(socket_fd, level, name, &value, &len) < 0 ? -1 : value;
}

/*
 * Copies the address of arguments 1 and 2, zero-padded, after checking the socket, and passes it to the function for
 * its family. For bind(2) and connect(2).
 */
typedef void net_address_fn(struct call *call, const struct sockaddr_storage *address, int len);
void net_judge_address(struct call *call, net_address_fn *judge_unix, net_address_fn *judge_netlink,
		       net_address_fn *judge_inet);

enum net_unix_kind {
	NET_UNIX_INVALID,  /* as unix_validate_addr() in net/unix/af_unix.c: EINVAL */
	NET_UNIX_UNNAMED,  /* bind(2) would choose an abstract name */
	NET_UNIX_ABSTRACT,
	NET_UNIX_PATH,     /* copied to call->path[0] */
};

enum net_unix_kind net_read_unix_address(struct call *call, const struct sockaddr_storage *address, int len);

/* Replaces an errno of the file handlers by that of unix sockets. */
void net_replace_error(struct call *call, int from, int to);

/* Refuses an address or a socket of another family than AF_UNIX. error is -errno. */
void net_refuse_family(struct call *call, int family, int error);

/* A duplicate of the target's unix socket, owned by the caller; or -1 with the outcome set (descriptor_copy). */
int net_copy_socket(struct call *call);
/* As net_copy_socket, for a unix socket or, when the run has a network, an internet socket. */
int net_copy_any_socket(struct call *call, int *ret_domain);
/* As net_copy_socket, for a socket of any family, which the caller must judge. */
int net_copy_domain(struct call *call, int *ret_domain);

#endif
