#include "syscalls/net/inet-address.h"

#include <errno.h>

static void inet_address_from_v4(const struct sockaddr_storage *address, struct inet_address *ret)
{
	struct sockaddr_in in;

	memcpy(&in, address, sizeof(in));
	*ret = inet_make_v4(in.sin_addr, ntohs(in.sin_port));
}

/* Reads an IPv6 address. A short address was padded with zeroes when it was copied. */
static void inet_address_from_v6(const struct sockaddr_storage *address, struct inet_address *ret)
{
	struct sockaddr_in6 in;

	memcpy(&in, address, sizeof(in));
	*ret = (struct inet_address){
		.family = AF_INET6, .v6 = in.sin6_addr, .scope_id = in.sin6_scope_id, .port = ntohs(in.sin6_port)};
	if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
		ret->family = AF_INET;
		memcpy(&ret->v4, &in.sin6_addr.s6_addr[12], sizeof(ret->v4));
		ret->v6 = in6addr_any;
		ret->scope_id = 0;
	}
}

struct inet_address inet_make_v4(struct in_addr address, uint16_t port)
{
	return (struct inet_address){.family = AF_INET, .v4 = address, .port = port};
}

bool inet_address_is_wildcard(const struct inet_address *address)
{
	return address->family == AF_INET ? address->v4.s_addr == INADDR_ANY : IN6_IS_ADDR_UNSPECIFIED(&address->v6);
}

bool inet_address_is_loopback(const struct inet_address *address)
{
	return address->family == AF_INET ? ntohl(address->v4.s_addr) >> 24 == IN_LOOPBACKNET
					  : IN6_IS_ADDR_LOOPBACK(&address->v6);
}

bool inet_address_is_multicast(const struct inet_address *address)
{
	return address->family == AF_INET ? IN_MULTICAST(ntohl(address->v4.s_addr))
					  : IN6_IS_ADDR_MULTICAST(&address->v6);
}

bool inet_address_equals(const struct inet_address *a, const struct inet_address *b)
{
	if (a->family != b->family)
		return false;
	return a->family == AF_INET ? a->v4.s_addr == b->v4.s_addr : IN6_ARE_ADDR_EQUAL(&a->v6, &b->v6);
}

/* Checks the length as tcp_v4_connect(), __ip4_datagram_connect(), tcp_v6_connect() and __ip6_datagram_connect() do. */
static int inet_read_address_of_family(int family, const struct sockaddr_storage *address, int len,
				       struct inet_address *ret)
{
	if ((size_t)len < (family == AF_INET ? sizeof(struct sockaddr_in) : SOCKADDR_IN6_BYTES_MIN))
		return -EINVAL;
	return address->ss_family == family && inet_read_socket_name(address, ret) ? 0 : -EAFNOSUPPORT;
}

/* Returns 0, or the kernel's -errno for an address that cannot be connected to. */
static int inet_get_connect_address_error(const struct inet_kind *kind, const struct inet_address *peer)
{
	if (peer->family == AF_INET) {
		if (kind->domain == AF_INET6 && kind->is_v6_only)
			return -ENETUNREACH;
		if (kind->is_stream && (IN_MULTICAST(ntohl(peer->v4.s_addr)) || peer->v4.s_addr == INADDR_BROADCAST))
			return -ENETUNREACH;
		return 0;
	}
	if (kind->is_stream && IN6_IS_ADDR_MULTICAST(&peer->v6))
		return -ENETUNREACH;
	return IN6_IS_ADDR_LINKLOCAL(&peer->v6) && peer->scope_id == 0 ? -EINVAL : 0;
}

static void inet_replace_wildcard_by_loopback(struct inet_address *address)
{
	if (!inet_address_is_wildcard(address))
		return;
	address->v4.s_addr = htonl(INADDR_LOOPBACK);
	if (address->family == AF_INET6)
		*address = (struct inet_address){.family = AF_INET6, .v6 = in6addr_loopback, .port = address->port};
}

int inet_read_connect_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		   struct inet_address *ret_address)
{
	struct inet_address peer = {.family = AF_UNSPEC};
	int r;

	if ((size_t)len < sizeof(address->ss_family))
		return -EINVAL;
	if (address->ss_family == AF_UNSPEC) {
		*ret_address = peer;
		return 0;
	}
	/* only UDP sockets of AF_INET6 accept AF_INET addresses */
	if (kind->domain == AF_INET6 && address->ss_family == AF_INET && !kind->is_stream)
		r = kind->is_v6_only ? -EAFNOSUPPORT : inet_read_address_of_family(AF_INET, address, len, &peer);
	else
		r = inet_read_address_of_family(kind->domain, address, len, &peer);
	if (r == 0)
		r = inet_get_connect_address_error(kind, &peer);
	if (r < 0)
		return r;
	inet_replace_wildcard_by_loopback(&peer);
	*ret_address = peer;
	return 0;
}

/* udp_sendmsg() takes AF_UNSPEC for AF_INET. udpv6_sendmsg() takes it for no address. */
int inet_read_sendto_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		     struct inet_address *ret_address)
{
	struct sockaddr_storage copy = *address;
	struct inet_address target;
	int r;

	if (kind->domain == AF_INET) {
		if ((size_t)len >= sizeof(struct sockaddr_in) && copy.ss_family == AF_UNSPEC)
			copy.ss_family = AF_INET;
	} else if ((size_t)len >= sizeof(copy.ss_family) && copy.ss_family != AF_UNSPEC && copy.ss_family != AF_INET &&
		   copy.ss_family != AF_INET6) {
		return -EINVAL;
	}
	r = inet_read_connect_address(kind, &copy, len, &target);
	if (r == -EAFNOSUPPORT && kind->domain == AF_INET6)
		r = -ENETUNREACH; /* the kernel's errno for IPv6-only sockets */
	if (r == 0 && target.family != AF_UNSPEC && target.port == 0)
		r = -EINVAL;
	if (r == 0)
		*ret_address = target;
	return r;
}

/* Checks the address in the order of inet_bind_sk() and __inet_bind(), or inet6_bind_sk() and __inet6_bind(). */
int inet_read_bind_address(const struct inet_kind *kind, const struct sockaddr_storage *address, int len,
		  struct inet_address *ret_address)
{
	bool v4 = kind->domain == AF_INET;
	struct inet_address own;
	int r;

	if (v4 && (size_t)len >= sizeof(struct sockaddr_in) && address->ss_family == AF_UNSPEC) {
		inet_address_from_v4(address, &own); /* the kernel accepts AF_UNSPEC with INADDR_ANY for old programs */
		r = own.v4.s_addr == INADDR_ANY ? 0 : -EAFNOSUPPORT;
	} else {
		r = inet_read_address_of_family(kind->domain, address, len, &own);
	}
	if (r < 0)
		return r;
	if (!v4 && own.family == AF_INET && kind->is_v6_only)
		return -EINVAL;
	if (!v4 && own.family == AF_INET6 && kind->is_stream && IN6_IS_ADDR_MULTICAST(&own.v6))
		return -EINVAL;
	*ret_address = own;
	return 0;
}

socklen_t inet_write_sockaddr(int domain, const struct inet_address *address, struct sockaddr_storage *ret_address)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(address->port), .sin_addr = address->v4};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(address->port),
				   .sin6_addr = address->v6,
				   .sin6_scope_id = address->scope_id};

	memset(ret_address, 0, sizeof(*ret_address));
	if (domain == AF_INET) {
		memcpy(ret_address, &in, sizeof(in));
		return sizeof(in);
	}
	if (address->family == AF_INET) {
		in6.sin6_addr = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(&in6.sin6_addr.s6_addr[12], &address->v4, sizeof(address->v4));
	}
	memcpy(ret_address, &in6, sizeof(in6));
	return sizeof(in6);
}

bool inet_read_socket_name(const struct sockaddr_storage *told, struct inet_address *ret_address)
{
	if (told->ss_family == AF_INET)
		inet_address_from_v4(told, ret_address);
	else if (told->ss_family == AF_INET6)
		inet_address_from_v6(told, ret_address);
	else
		return false;
	return true;
}
