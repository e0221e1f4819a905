/* Shared by the socket handlers: duplicates of the target's socket, and the address in its memory, copied once. */
#ifndef CALLGATE_SYSCALLS_NET_ADDRESS_H
#define CALLGATE_SYSCALLS_NET_ADDRESS_H

#include <fcntl.h>
#include <sys/stat.h>

#include "syscalls/call/call.h"

/* Checks argument 0. 0, -EBADF or -ENOTSOCK, for the errno only: a thread may replace the descriptor. */
int net_check_fd_is_socket(const struct call *call);
/* Allows the call if argument 0 is a socket. False: the outcome is set. */
bool net_allow_if_fd_is_socket(struct call *call);
/*
 * Allows the call if argument 0 is a socket, and duplicates it. Returns the duplicate, owned by the caller; or -1 with
 * the outcome set: not a unix socket, nor an internet socket in a run with a network.
 */
int net_allow_and_copy_socket(struct call *call, int *ret_domain);

/* Whether a socket is nonblocking. False if its flags cannot be read. */
static inline bool net_is_nonblocking(int socket_fd)
{
	int flags = fcntl(socket_fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK;
}

/* The value of an int option of a socket, or -1 with errno. */
static inline int net_get_option(int socket_fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(socket_fd, level, name, &value, &len) < 0 ? -1 : value;
}

/* The inode number by which the kernel and /proc name a socket; 0: it cannot be read. */
static inline ino_t net_get_inode(int socket_fd)
{
	struct stat st;

	return fstat(socket_fd, &st) < 0 ? 0 : st.st_ino;
}

/* Judges bind(2) or connect(2) with an address of one family; len: of the address, as the target gave it. */
typedef void net_address_fn(struct call *call, const struct sockaddr_storage *address, int len);
/*
 * For bind(2) and connect(2). Checks the socket, copies the address of arguments 1 and 2, pads it with zeros, and calls
 * the function for its family.
 */
void net_judge_address(struct call *call, net_address_fn *judge_unix, net_address_fn *judge_netlink,
		       net_address_fn *judge_inet);

enum net_unix_kind {
	NET_UNIX_INVALID,  /* unix_validate_addr() in net/unix/af_unix.c fails with EINVAL */
	NET_UNIX_UNNAMED,  /* bind(2) chooses an abstract name */
	NET_UNIX_ABSTRACT, /* the name, which begins with NUL, was copied to call->path[0], for the record */
	NET_UNIX_PATH,     /* the path was copied to call->path[0] */
};

enum net_unix_kind net_read_unix_address(struct call *call, const struct sockaddr_storage *address, int len);

/* Replaces the errno `from` of a file handler by `to`, the errno of unix sockets. */
void net_replace_error(struct call *call, int from, int to);

/* Refuses an address or a socket of a family that is not offered. error is -errno. */
void net_refuse_family(struct call *call, int family, int error);

/* Duplicates the target's unix socket. Returns the duplicate, owned by the caller; or -1 with the outcome set. */
int net_copy_socket(struct call *call);
/*
 * Duplicates the target's unix socket or, when the run has a network, its internet socket. Returns the duplicate, owned
 * by the caller; or -1 with the outcome set.
 */
int net_copy_unix_or_inet_socket(struct call *call, int *ret_domain);
/*
 * Duplicates the target's socket, of any family; the caller must judge the family. Returns the duplicate, owned by the
 * caller; or -1 with the outcome set.
 */
int net_copy_socket_of_any_family(struct call *call, int *ret_domain);

#endif
