/*
 * Parses a TLS ClientHello: server name, ALPN, Encrypted ClientHello (RFC 8446, 4.1.2; RFC 6066, 3). Pure; fuzzed.
 * Called in the egress process by intercept.c.
 */
#ifndef CALLGATE_EGRESS_TLS_HELLO_H
#define CALLGATE_EGRESS_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

#define CLIENT_HELLO_BYTES_MAX 16384 /* bytes of a ClientHello, in any number of records */

/* What the ClientHello of a program says. */
struct client_hello {
	char sni[NET_HOST_SIZE]; /* canonical server name; "": none */
	bool has_bad_sni;       /* the SNI is malformed, or has several names */
	char alpn[256];         /* ALPN protocols, as far as they fit: "h2,http/1.1" */
	bool ech;               /* has Encrypted ClientHello: `sni` is the outer name */
};

/* Parses a ClientHello. 1: complete; 0: more bytes are needed; -EPROTO: not TLS, or no ClientHello; -EMSGSIZE. */
int hello_parse(const uint8_t *data, size_t len, struct client_hello *ret_hello);

#endif
