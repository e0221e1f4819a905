/* IPv4 and IPv6 addresses in a struct sockaddr_storage, handled without a case for each family. For all of egress. */
#ifndef CALLGATE_EGRESS_CONN_SOCKADDR_H
#define CALLGATE_EGRESS_CONN_SOCKADDR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* The length of an address in bytes: 4 or 16; 0: the family is neither AF_INET nor AF_INET6. */
static inline size_t sockaddr_get_address_len(int family)
{
	return family == AF_INET ? sizeof(struct in_addr) : family == AF_INET6 ? sizeof(struct in6_addr) : 0;
}

/* The bytes of the address in a sockaddr of AF_INET or AF_INET6. */
static inline void *sockaddr_get_bytes(const void *address)
{
	size_t v4 = offsetof(struct sockaddr_in, sin_addr), v6 = offsetof(struct sockaddr_in6, sin6_addr);

	return (char *)(uintptr_t)address + (((const struct sockaddr *)address)->sa_family == AF_INET ? v4 : v6);
}

/* Sets an address without port. family: AF_INET or AF_INET6; bytes: sockaddr_get_address_len(family) bytes. */
static inline void sockaddr_set_address(struct sockaddr_storage *ret, int family, const void *bytes)
{
	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	memcpy(sockaddr_get_bytes(ret), bytes, sockaddr_get_address_len(family));
}

static inline void sockaddr_set_port(struct sockaddr_storage *address, uint16_t port)
{
	((struct sockaddr_in *)(void *)address)->sin_port = htons(port); /* sin6_port has the same offset */
}
_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "one offset");

/* Parses the text of an address. False: the text is no address. */
static inline bool sockaddr_parse(const char *text, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < 2; i++) {
		ret->ss_family = i ? AF_INET6 : AF_INET;
		if (inet_pton(ret->ss_family, text, sockaddr_get_bytes(ret)) == 1)
			return true;
	}
	return false;
}

#endif
