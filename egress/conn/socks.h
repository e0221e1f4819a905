/* Parses SOCKS5 client messages (RFC 1928). Pure; fuzzed. */
#ifndef CALLGATE_EGRESS_CONN_SOCKS_H
#define CALLGATE_EGRESS_CONN_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/network/net.h"

#define SOCKS_REPLY_GENERAL_FAILURE 1
#define SOCKS_REPLY_NOT_ALLOWED_BY_RULE 2 /* connection not allowed by ruleset */
#define SOCKS_REPLY_NETWORK_UNREACHABLE 3
#define SOCKS_REPLY_HOST_UNREACHABLE 4
#define SOCKS_REPLY_CONNECTION_REFUSED 5
#define SOCKS_REPLY_COMMAND_UNSUPPORTED 7
#define SOCKS_REPLY_ADDRESS_TYPE_UNSUPPORTED 8

/* Parses a greeting. Its length; 0: incomplete; -EPROTO. *ret_open: the client offers "no authentication". */
ssize_t socks_parse_greeting(const uint8_t *data, size_t len, bool *ret_open);

/* What a SOCKS request asks for. */
struct socks_request {
	char host[NET_HOST_SIZE]; /* canonical name, or address as text */
	uint16_t port;
};
/*
 * Parses a CONNECT request. Its length; 0: incomplete; -EPROTO; -EOPNOTSUPP: another command; -EAFNOSUPPORT: unknown
 * address type; -EINVAL: malformed name or port 0.
 */
ssize_t socks_parse_request(const uint8_t *data, size_t len, struct socks_request *ret_request);

#endif
