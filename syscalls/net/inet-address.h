/*
 * Addresses of internet sockets, brought to one form: whatever of them may be judged is an IPv4 address, or an IPv6 one that
 * does not stand for one of IPv4. Pure.
 */
#ifndef CALLGATE_SYSCALLS_NET_INET_ADDRESS_H
#define CALLGATE_SYSCALLS_NET_INET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* The socket an address is for. */
struct inet_kind {
	int domain; /* AF_INET, AF_INET6 */
	bool stream;
	bool v6only;
};

struct inet_address {
	int family; /* AF_INET, AF_INET6; AF_UNSPEC: to disconnect */
	struct in_addr v4;
	struct in6_addr v6;
	uint32_t scope;
	uint16_t port; /* host order */
};

/*
 * As connect(2) and addressed sends read it: "any" means the loopback address. 0, or the -errno the kernel has for such an
 * address whatever the network is like.
 */
int inet_read_peer(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		   struct inet_address *ret_address);

/* As sends of datagrams read it. AF_UNSPEC: as if there were none. */
int inet_read_target(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		     struct inet_address *ret_address);

/* As bind(2) reads it. */
int inet_read_own(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		  struct inet_address *ret_address);

/* The form a socket of this domain takes and tells: IPv4 addresses as mapped ones on AF_INET6. */
socklen_t inet_write(int domain, const struct inet_address *address, struct sockaddr_storage *ret_address);

/* What a socket tells (getsockname), brought to one form. False: of another family. */
bool inet_read_told(const struct sockaddr_storage *told, struct inet_address *ret_address);

bool inet_is_any(const struct inet_address *address);
bool inet_is_loopback(const struct inet_address *address);
/* The same address; ports are not compared. */
bool inet_same(const struct inet_address *a, const struct inet_address *b);
struct inet_address inet_v4(struct in_addr address, uint16_t port);

#endif
