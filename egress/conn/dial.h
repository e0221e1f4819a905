/* From a name to a connected socket: resolve, drop what may not be dialled, connect to the very addresses that were judged. */
#ifndef CALLGATE_EGRESS_CONN_DIAL_H
#define CALLGATE_EGRESS_CONN_DIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "policy/network/net.h"

#define DIAL_DNS_MS 5000
#define DIAL_CONNECT_MS 10000 /* an address; several are tried one after the other, 250 ms apart (RFC 8305) */

struct egress;

struct dial_result {
	int error;            /* 0 or -errno for the program */
	const char *reason;   /* static: NULL, dns_fail denied_addr connect_failed budget … */
	int fd;               /* connected, non-blocking; owned by the receiver */
	struct sockaddr_storage address; /* of it */
	char dropped[256];    /* "10.0.0.1 private, …" */
	uint64_t dns_us, connect_us;
};

struct dial;

/*
 * Calls answer once, from the loop, never before it returns; not after dial_cancel. rule says what of the deny set is
 * lifted. NULL when there is no memory.
 */
struct dial *dial_start(struct egress *egress, const char *host, uint16_t port, const struct net_rule *rule,
			void (*answer)(void *ctx, const struct dial_result *result), void *ctx);
void dial_cancel(struct dial *dial);

#endif
