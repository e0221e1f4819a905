/*
 * Connects to a host name: resolves it, drops addresses that may not be dialled, and connects to the addresses that
 * were judged. Called in the egress process by conn.c and udp.c.
 */
#ifndef CALLGATE_EGRESS_CONN_DIAL_H
#define CALLGATE_EGRESS_CONN_DIAL_H

#include <stdint.h>
#include <sys/socket.h>

#include "policy/network/net.h"

#define DIAL_DNS_TIMEOUT_MS 5000
#define DIAL_CONNECT_TIMEOUT_MS 10000 /* time limit for each address; attempts start 250 ms apart (RFC 8305) */

struct control_record;
struct egress;

/* The result of dialling a name or address. */
struct dial_result {
	int error;            /* 0 or -errno for the program */
	const char *reason;   /* static code: dns_fail, denied_addr, connect_failed, budget …; NULL: connected */
	int fd;               /* the connected, non-blocking socket, which the callback owns */
	struct sockaddr_storage address; /* the address that the socket is connected to */
	char addresses_not_dialled[256]; /* addresses that may not be dialled: "10.0.0.1 private, …" */
	uint64_t dns_us, connect_us;
};

struct dial;

/*
 * Starts to connect. `answer` is called once, from the loop, never before dial_start returns and not after dial_cancel.
 * rule (may be NULL) selects the exceptions from the deny set and the transport. NULL: no memory.
 */
struct dial *dial_start(struct egress *egress, const char *host, uint16_t port, const struct net_rule *rule,
			void (*answer)(void *ctx, const struct dial_result *result), void *ctx);
void dial_cancel(struct dial *dial); /* `dial` may be NULL */

/* Copies a result into an "open" record: address, dropped addresses, durations. port: host order. */
void dial_fill_record(const struct dial_result *result, uint16_t port, struct control_record *record);

#endif
