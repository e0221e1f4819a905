/*
 * Internet socket addresses in one form, so that they can be judged and compared: IPv4, or IPv6 that is not
 * IPv4-mapped. Pure functions. The errnos and their order are the kernel's.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_ADDRESS_H
#define CALLGATE_SYSCALLS_NET_INET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The socket that an address is given to: the kernel reads addresses differently for each. */
struct inet_kind {
	int domain; /* AF_INET, AF_INET6 */
	bool stream;
	bool v6only;
};

struct inet_address {
	int family; /* AF_INET, AF_INET6; AF_UNSPEC: disconnect */
	struct in_addr v4;
	struct in6_addr v6;
	uint32_t scope;
	uint16_t port; /* host order */
};

/*
 * How connect(2) reads it: "any" means the loopback address. 0, or the -errno of an address that no network can reach.
 */
int inet_read_peer_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		   struct inet_address *ret_address);

/* Reads an address as sendto(2) of UDP does. AF_UNSPEC: no address is given. */
int inet_read_target_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		     struct inet_address *ret_address);

/* Reads an address as bind(2) does. */
int inet_read_own_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		  struct inet_address *ret_address);

/* The sockaddr for a socket of this domain, IPv4 as IPv4-mapped on AF_INET6. Returns its length. */
socklen_t inet_write_sockaddr(int domain, const struct inet_address *address, struct sockaddr_storage *ret_address);

/* Reads an address of getsockname(2). False: another family. */
bool inet_read_socket_name(const struct sockaddr_storage *told, struct inet_address *ret_address);

bool inet_is_any(const struct inet_address *address);
bool inet_is_loopback(const struct inet_address *address);
bool inet_is_group(const struct inet_address *address); /* multicast */
/* Compares addresses without their ports. */
bool inet_is_same_address(const struct inet_address *a, const struct inet_address *b);
struct inet_address inet_make_v4(struct in_addr address, uint16_t port);

#endif
