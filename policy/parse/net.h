/* What the files that parse the network share. */
#ifndef CALLGATE_POLICY_PARSE_NET_H
#define CALLGATE_POLICY_PARSE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/network.h"
#include "policy/parse/parser.h"

/* The member's host pattern in the arena, or NULL with a message (none of the parser's own when its type is wrong). */
const char *parser_pattern(struct parser *parser, const json_t *object, const char *name);
/* A port or a list. False with a message; then *ret_count is 0. */
bool parser_ports(struct parser *parser, const json_t *value, const uint16_t **ret_port, size_t *ret_count);
/* "data.json: network.allow[0] api.github.com:443" for the value the parser is at; detail may be NULL. In the arena. */
const char *parser_label(struct parser *parser, const char *detail);

/* parse-secrets.c: the whole section. */
void parser_secrets(struct parser *parser, const json_t *object);

/* parse-net-rule.c: one of network.allow. */
void parser_net_rule(struct parser *parser, const json_t *object);

#endif
