/* Reads a TLS ClientHello as far as telling whom it is for (RFC 8446, 4.1.2; RFC 6066, 3). Pure; fuzzed. */
#ifndef CALLGATE_EGRESS_TLS_HELLO_H
#define CALLGATE_EGRESS_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/net.h"

#define HELLO_MAX 16384 /* over any number of records */

struct hello {
	char sni[NET_HOST_MAX]; /* canonical; "": none */
	bool bad_sni;           /* there is one that is no host name, or several */
	char alpn[256];         /* "h2,http/1.1", what is printable of it */
	bool ech;               /* it offers an encrypted one: what is readable here is then the outer name */
};

/* 1: it is one; 0: more bytes are needed; -EPROTO: not TLS, or not a ClientHello; -EMSGSIZE. */
int hello_parse(const uint8_t *data, size_t len, struct hello *ret_hello);

#endif
