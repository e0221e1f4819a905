/* The section "network", but for the rules of endpoints: see parse-net-rule.c. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/parse/net.h"

#include "base/banned.h"

/* ---- pieces that rules have as well ---- */

const char *parser_pattern(struct parser *parser, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	const char *text = json_string_value(value), *why, *kept = NULL;
	char pattern[NET_HOST_MAX];

	if (!value)
		parser_fail(parser, "lacks \"%s\"; write {\"%s\": \"api.example.com\"}", name, name);
	if (!text || !*text)
		return NULL; /* parser_members has said so */
	parser_push_name(parser, name);
	if (net_pattern_parse(text, pattern, &why) < 0)
		parser_fail(parser, "\"%s\" %s", text, why);
	else
		kept = parser_keep(parser, pattern);
	parser_pop(parser);
	return kept;
}

static bool take_port(struct parser *parser, const json_t *value, uint16_t *ret_port)
{
	json_int_t number = json_integer_value(value);

	if (json_is_integer(value) && number >= 1 && number <= 65535) {
		*ret_port = (uint16_t)number;
		return true;
	}
	parser_fail(parser, "must be a port from 1 to 65535, or a list of them");
	return false;
}

bool parser_ports(struct parser *parser, const json_t *value, const uint16_t **ret_port, size_t *ret_count)
{
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	uint16_t *port = arena_alloc(parser->arena, (count ? count : 1) * sizeof(*port));
	bool good = count > 0 && count <= NET_PORTS_MAX;

	if (!port) {
		parser->no_memory = true;
		return false;
	}
	if (!good)
		parser_fail(parser, "must be a port or a list of 1 to %d ports", NET_PORTS_MAX);
	for (size_t i = 0; good && i < count; i++) {
		if (json_is_array(value))
			parser_push_index(parser, i);
		good = take_port(parser, json_is_array(value) ? json_array_get(value, i) : value, &port[i]);
		if (json_is_array(value))
			parser_pop(parser);
	}
	*ret_port = port;
	*ret_count = good ? count : 0;
	return good;
}

/* ---- deny ---- */

static void take_deny(struct parser *parser, const json_t *object)
{
	struct source_network *network = &parser->source->network;
	const json_t *port = json_object_get(object, "port");
	struct net_deny deny = {.host = parser_pattern(parser, object, "host")};
	const char *reason = json_string_value(json_object_get(object, "reason"));

	if (port) {
		parser_push_name(parser, "port");
		(void)parser_ports(parser, port, &deny.port, &deny.ports); /* a failure is the parser's */
		parser_pop(parser);
	}
	if (reason)
		deny.reason = parser_keep(parser, reason);
	if (!deny.host)
		return;
	deny.label = parser_label(parser, deny.host);
	network->deny = arena_grow(parser->arena, network->deny, network->denies, sizeof(*network->deny));
	if (network->deny)
		network->deny[network->denies++] = deny;
	else
		parser->no_memory = true;
}

void parser_net_objects(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	bool allow = key->id == KEY_ID_NET_ALLOW;

	for (size_t i = 0; i < json_array_size(list) && !parser->no_memory; i++) {
		const json_t *object = json_array_get(list, i);

		parser_push_index(parser, i);
		if (i == NET_RULES_MAX)
			parser_fail(parser, "more than %d rules in one list; use wildcards", NET_RULES_MAX);
		else if (!json_is_object(object))
			parser_fail_type(parser, KEY_OBJECT, object);
		else
			parser_members(parser, allow ? "network.allow[]" : "network.deny[]", object);
		if (i < NET_RULES_MAX && json_is_object(object))
			(allow ? parser_net_rule : take_deny)(parser, object);
		parser_pop(parser);
		if (i == NET_RULES_MAX)
			return;
	}
}

/* ---- listen ---- */

/* 8000, "9000-9010", "*"; 0: whatever the kernel chooses. */
static bool parse_range(const json_t *value, struct net_range *range)
{
	const char *text = json_string_value(value), *dash = text ? strchr(text, '-') : NULL;
	json_int_t number = json_integer_value(value);
	char first[8];

	if (json_is_integer(value)) {
		range->first = range->last = (uint16_t)number;
		return number >= 0 && number <= 65535;
	}
	if (!text)
		return false;
	if (strcmp(text, "*") == 0) {
		range->first = 0;
		range->last = 65535;
		return true;
	}
	if (!dash || (size_t)(dash - text) >= sizeof(first))
		return net_port_parse(text, &range->first) == 0 && net_port_parse(text, &range->last) == 0;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	return net_port_parse(first, &range->first) == 0 && net_port_parse(dash + 1, &range->last) == 0 &&
	       range->first <= range->last;
}

static void take_listen(struct parser *parser, const json_t *list)
{
	struct source_network *network = &parser->source->network;

	for (size_t i = 0; i < json_array_size(list) && i < NET_RULES_MAX && !parser->no_memory; i++) {
		struct net_range range = {0};

		parser_push_index(parser, i);
		if (!parse_range(json_array_get(list, i), &range))
			parser_fail(parser, "must be a port such as 8000, a range \"9000-9010\", 0 (any the kernel "
					    "chooses) or \"*\"");
		range.label = parser_label(parser, NULL);
		network->listen =
			arena_grow(parser->arena, network->listen, network->listens, sizeof(*network->listen));
		if (network->listen)
			network->listen[network->listens++] = range;
		else
			parser->no_memory = true;
		parser_pop(parser);
	}
}

/* ---- resolve ---- */

static void take_address(struct parser *parser, const json_t *value, struct net_fixed *fixed)
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

static void take_fixed(struct parser *parser, const char *name, const json_t *value)
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
		parser_fail(parser, "is an address already; \"resolve\" gives names addresses");
		return;
	}
	if (json_is_array(value) && (count == 0 || count > NET_ADDRESSES_MAX)) {
		take_address(parser, NULL, &fixed);
		return;
	}
	for (size_t i = 0; i < count; i++)
		take_address(parser, json_is_array(value) ? json_array_get(value, i) : value, &fixed);
	fixed.host = parser_keep(parser, host);
	network->fixed = arena_grow(parser->arena, network->fixed, network->fixeds, sizeof(*network->fixed));
	if (network->fixed)
		network->fixed[network->fixeds++] = fixed;
	else
		parser->no_memory = true;
}

static void take_resolve(struct parser *parser, const json_t *object)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object);
	size_t count = 0;

	for (; at && !parser->no_memory; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		parser_push_name(parser, json_object_iter_key(at));
		if (count++ == NET_RULES_MAX)
			parser_fail(parser, "more than %d names", NET_RULES_MAX);
		if (count <= NET_RULES_MAX)
			take_fixed(parser, json_object_iter_key(at), json_object_iter_value(at));
		parser_pop(parser);
	}
}

/* ---- the rest ---- */

/*
 * "198.18.0.0/15": a prefix of at least `least` and at most `most` bits, its other bits clear, of a network nobody
 * owns.
 */
static bool parse_prefix(const char *text, int family, unsigned least, unsigned most, void *ret_address,
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

static void take_pool(struct parser *parser, const struct policy_key *key, const char *text)
{
	struct source_network *network = &parser->source->network;
	struct net_pool *pool = &network->pool;

	if (key->id == KEY_ID_NET_POOL_V4 && parse_prefix(text, AF_INET, 8, 24, &pool->v4, &pool->v4_bits))
		network->has_pool_v4 = true;
	else if (key->id == KEY_ID_NET_POOL_V6 && parse_prefix(text, AF_INET6, 8, 112, &pool->v6, &pool->v6_bits))
		network->has_pool_v6 = true;
	else
		parser_fail(parser, "\"%s\" is no network of private addresses; write %s", text,
			    key->id == KEY_ID_NET_POOL_V4 ? "\"198.18.0.0/15\" (8 to 24 bits)"
							  : "\"fd00:5a::/32\" (8 to 112 bits)");
}

void parser_net_text(struct parser *parser, const struct policy_key *key, const char *text)
{
	struct source_network *network = &parser->source->network;
	struct source_text here;

	if (key->id != KEY_ID_NET_UPSTREAM_CA) {
		take_pool(parser, key, text);
		return;
	}
	here = parser_keep_here(parser, text);
	network->upstream_ca = here.text;
	network->upstream_ca_where = here.where;
}

static void take_proxy(struct parser *parser, const json_t *value)
{
	struct source_network *network = &parser->source->network;

	if (json_is_boolean(value))
		network->proxy = json_is_true(value) ? NET_PROXY_ON : NET_PROXY_OFF;
	else if (json_is_string(value) && strcmp(json_string_value(value), "env") == 0)
		network->proxy = NET_PROXY_ENV;
	else
		parser_fail_type(parser, KEY_PROXY, value);
}

static void take_network(struct parser *parser, const json_t *value)
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
		take_network(parser, value);
	else if (key->type == KEY_PROXY)
		take_proxy(parser, value);
	else if (list ? !json_is_array(value) : !json_is_object(value))
		parser_fail_type(parser, key->type, value);
	else if (list)
		take_listen(parser, value);
	else if (key->type == KEY_ADDRESSES)
		take_resolve(parser, value);
	else
		parser_secrets(parser, value);
}
