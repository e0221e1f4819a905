/*
 * Internet socket addresses in one form, so that they can be judged and compared. An IPv4-mapped address becomes an
 * IPv4 address. Pure functions. The errnos and their order are the kernel's.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_ADDRESS_H
#define CALLGATE_SYSCALLS_NET_INET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define SOCKADDR_IN6_BYTES_MIN 24u /* SIN6_LEN_RFC2133 in net/ipv6.h: the length without sin6_scope_id */

/* What decides how the kernel reads an address that is given to a socket. */
struct inet_kind {
	int domain; /* AF_INET, AF_INET6 */
	bool is_stream;  /* TCP; false: UDP */
	bool is_v6_only; /* IPV6_V6ONLY: no IPv4 by mapped addresses */
};

/* An IPv4 or IPv6 address with its port. */
struct inet_address {
	int family; /* AF_INET, AF_INET6; AF_UNSPEC: connect(2) dissolves the association */
	struct in_addr v4;
	struct in6_addr v6;
	uint32_t scope_id; /* sin6_scope_id of a link-local address */
	uint16_t port; /* host order */
};

/* Reads an address as connect(2) does: "any" means loopback. 0, or the -errno for an address that it refuses. */
int inet_read_connect_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		   struct inet_address *ret_address);

/*
 * Reads an address as sendto(2) does on a UDP socket. 0, or the -errno for an address that it refuses. If
 * ret_address->family is AF_UNSPEC, the kernel ignores the address.
 */
int inet_read_sendto_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		     struct inet_address *ret_address);

/* Reads an address as bind(2) does. 0, or the -errno for an address that it refuses. */
int inet_read_bind_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		  struct inet_address *ret_address);

/* Writes the sockaddr for a socket of this domain: on AF_INET6 an IPv4 address is IPv4-mapped. Returns its length. */
socklen_t inet_write_sockaddr(int domain, const struct inet_address *address, struct sockaddr_storage *ret_address);

/* Reads an address that getsockname(2) returned. False: another family. */
bool inet_read_socket_name(const struct sockaddr_storage *told, struct inet_address *ret_address);

bool inet_address_is_wildcard(const struct inet_address *address);
bool inet_address_is_loopback(const struct inet_address *address);
bool inet_address_is_multicast(const struct inet_address *address); /* multicast */
/* Compares addresses without their ports. */
bool inet_address_equals(const struct inet_address *a, const struct inet_address *b);
struct inet_address inet_make_v4(struct in_addr address, uint16_t port);

#endif
