/* The section "network", except for its rules: those are in net-rule.c. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/parse/parser.h"

#include "base/banned.h"

/* ---- listen ---- */

/* 8000, "9000-9010", "*"; 0: a port that the kernel chooses. */
static bool network_parse_range(const json_t *value, struct net_range *range)
{
	const char *text = json_string_value(value);
	json_int_t number = json_integer_value(value);

	if (json_is_integer(value)) {
		range->first = range->last = (uint16_t)number;
		return number >= 0 && number <= 65535;
	}
	return text && net_range_parse(text, range) == 0;
}

static void network_listen(struct parser *parser, const json_t *list)
{
	struct source_network *network = &parser->source->network;

	for (size_t i = 0; i < json_array_size(list) && i < NET_RULES_MAX && !parser->no_memory; i++) {
		struct net_range range = {0};

		parser_push_index(parser, i);
		if (!network_parse_range(json_array_get(list, i), &range))
			parser_fail(parser, "must be a port such as 8000, a range \"9000-9010\", 0 (any the kernel "
					    "chooses) or \"*\"");
		range.label = parser_label(parser, NULL);
		PARSER_APPEND(parser, network->listen, network->listens, range);
		parser_pop(parser);
	}
}

/* ---- resolve ---- */

static void network_address(struct parser *parser, const json_t *value, struct net_fixed *fixed)
{
	const char *text = json_string_value(value);
	struct sockaddr_storage *address = &fixed->address[fixed->addresses];
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)address;

	if (text && inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		address->ss_family = AF_INET;
	else if (text && inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		address->ss_family = AF_INET6;
	if (address->ss_family)
		fixed->addresses++;
	else
		parser_fail(parser, "must be an address \"192.0.2.1\" or \"2001:db8::1\", or a list of 1 to %d of them",
			    NET_ADDRESSES_MAX);
}

static void network_fixed(struct parser *parser, const char *name, const json_t *value)
{
	struct source_network *network = &parser->source->network;
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	char host[NET_HOST_MAX];
	struct net_fixed fixed = {.where = parser_keep_here(parser, "").where};
	const char *why;

	if (net_host_parse(name, host, &why) < 0) {
		parser_fail(parser, "\"%s\" %s", name, name[0] == '*' ? "is a wildcard; name each host" : why);
		return;
	}
	if (net_is_address(host)) {
		parser_fail(parser, "is an address already; \"resolve\" is for names");
		return;
	}
	if (json_is_array(value) && (count == 0 || count > NET_ADDRESSES_MAX)) {
		network_address(parser, NULL, &fixed);
		return;
	}
	for (size_t i = 0; i < count; i++)
		network_address(parser, json_is_array(value) ? json_array_get(value, i) : value, &fixed);
	fixed.host = parser_keep(parser, host);
	PARSER_APPEND(parser, network->fixed, network->fixeds, fixed);
}

static void network_resolve(struct parser *parser, const json_t *object)
{
	size_t count = 0;

	PARSER_EACH (parser, object, at) {
		parser_push_name(parser, json_object_iter_key(at));
		if (count++ == NET_RULES_MAX)
			parser_fail(parser, "more than %d names", NET_RULES_MAX);
		if (count <= NET_RULES_MAX)
			network_fixed(parser, json_object_iter_key(at), json_object_iter_value(at));
		parser_pop(parser);
	}
}

/* ---- pool, upstream_ca, proxy ---- */

/* "198.18.0.0/15": a prefix of `least` to `most` bits, the other bits 0, of addresses that are not public. */
static bool network_parse_prefix(const char *text, int family, unsigned least, unsigned most, void *ret_address,
				 unsigned *ret_bits)
{
	struct sockaddr_storage base = {.ss_family = (sa_family_t)family};
	struct sockaddr *address = (struct sockaddr *)&base;
	unsigned char *bytes = family == AF_INET ? (unsigned char *)&((struct sockaddr_in *)(void *)&base)->sin_addr
						 : (unsigned char *)&((struct sockaddr_in6 *)(void *)&base)->sin6_addr;
	const char *slash = strchr(text, '/');
	char literal[NET_ADDRESS_TEXT];
	uint16_t bits;

	if (!slash || (size_t)(slash - text) >= sizeof(literal) || net_port_parse(slash + 1, &bits) < 0 ||
	    bits < least || bits > most)
		return false;
	memcpy(literal, text, (size_t)(slash - text));
	literal[slash - text] = '\0';
	if (inet_pton(family, literal, bytes) != 1)
		return false;
	for (unsigned bit = bits; bit < (family == AF_INET ? 32u : 128u); bit++)
		if (bytes[bit / 8] & 0x80 >> bit % 8)
			return false;
	memcpy(ret_address, bytes, family == AF_INET ? 4 : 16);
	*ret_bits = bits;
	return net_address_denied(address) && !net_address_refused(address, NET_LIFT_PRIVATE);
}

static void network_pool(struct parser *parser, const struct policy_key *key, const char *text)
{
	struct source_network *network = &parser->source->network;
	struct net_pool *pool = &network->pool;
	bool v4 = key->id == KEY_ID_NET_POOL_V4;

	if (v4 && network_parse_prefix(text, AF_INET, 8, 24, &pool->v4, &pool->v4_bits))
		network->has_pool_v4 = true;
	else if (!v4 && network_parse_prefix(text, AF_INET6, 8, 112, &pool->v6, &pool->v6_bits))
		network->has_pool_v6 = true;
	else
		parser_fail(parser, "\"%s\" is no network of private addresses; write %s", text,
			    v4 ? "\"198.18.0.0/15\" (8 to 24 bits)" : "\"fd00:5a::/32\" (8 to 112 bits)");
}

void parser_net_text(struct parser *parser, const struct policy_key *key, const char *text)
{
	struct source_network *network = &parser->source->network;
	struct source_text here;

	if (key->id != KEY_ID_NET_UPSTREAM_CA) {
		network_pool(parser, key, text);
		return;
	}
	here = parser_keep_here(parser, text);
	network->upstream_ca = here.text;
	network->upstream_ca_where = here.where;
}

static void network_proxy(struct parser *parser, const json_t *value)
{
	struct source_network *network = &parser->source->network;

	if (json_is_boolean(value))
		network->proxy = json_is_true(value) ? NET_PROXY_ON : NET_PROXY_OFF;
	else if (json_is_string(value) && strcmp(json_string_value(value), "env") == 0)
		network->proxy = NET_PROXY_ENV;
	else
		parser_fail_type(parser, KEY_PROXY, value);
}

static void network_section(struct parser *parser, const json_t *value)
{
	struct source_network *network = &parser->source->network;

	if (json_is_string(value) && strcmp(json_string_value(value), "none") == 0) {
		network->said = NET_NOTHING;
	} else if (json_is_object(value)) {
		network->said = NET_SAID;
		parser_members(parser, "network", value);
	} else {
		parser_fail_type(parser, KEY_NETWORK, value);
	}
}

void parser_network(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	bool list = key->type == KEY_LISTEN;

	if (key->type == KEY_NETWORK)
		network_section(parser, value);
	else if (key->type == KEY_PROXY)
		network_proxy(parser, value);
	else if (list ? !json_is_array(value) : !json_is_object(value))
		parser_fail_type(parser, key->type, value);
	else if (list)
		network_listen(parser, value);
	else
		network_resolve(parser, value);
}
