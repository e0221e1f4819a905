/* Messages between resolver.c and resolver-main.c on a SOCK_SEQPACKET pair: one query or one reply each. */
#ifndef CALLGATE_EGRESS_DNS_RESOLVER_WIRE_H
#define CALLGATE_EGRESS_DNS_RESOLVER_WIRE_H

#include <stdint.h>
#include <sys/socket.h>

#include "egress/dns/resolver.h"

/* Limit of outstanding queries. */
#define RESOLVER_QUERIES_MAX 256

struct resolver_query {
	uint64_t number;
	char host[NET_HOST_MAX];
};

struct resolver_reply {
	uint64_t number;
	int32_t error;
	uint32_t count;
	struct {
		uint8_t family, byte[16];
	} address[RESOLVER_ADDRESSES_MAX];
};

#endif
