/* Reads the section "network", except for its rules: net-rule.c reads those. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/parse/parser.h"

/* Reads an item of network.listen: 8000, "9000-9010", "*", or 0 for a port that the kernel chooses. */
static bool network_parse_listen_range(const json_t *value, struct net_listen_range *range)
{
	const char *text = json_string_value(value);
	json_int_t number = json_integer_value(value);

	if (json_is_integer(value)) {
		range->first = range->last = (uint16_t)number;
		return number >= 0 && number <= 65535;
	}
	return text && net_range_parse(text, range) == 0;
}

/* Reads "network.listen". */
void parser_read_listen(struct parser *parser, const struct policy_key *key, const json_t *list)
{
	struct policy_network *network = &parser->source->network;

	(void)key;
	PARSER_FOR_EACH_ITEM (parser, list, item) {
		struct net_listen_range range = {.label = parser_make_rule_label(parser, NULL)};

		if (!network_parse_listen_range(item.value, &range))
			parser_fail(parser, "must be a port such as 8000, a range \"9000-9010\", 0 (any the kernel "
					    "chooses) or \"*\"");
		ARENA_APPEND(parser->arena, network->listen_range, network->listen_range_count, range);
	}
}

/* Adds an address of a name in "resolve", or an error. */
static void network_add_address(struct parser *parser, const json_t *value, struct net_fixed_host *fixed)
{
	const char *text = json_string_value(value);

	if (text && net_address_parse(text, &fixed->address[fixed->address_count]))
		fixed->address_count++;
	else
		parser_fail(parser, "must be an address \"192.0.2.1\" or \"2001:db8::1\", or a list of 1 to %d of them",
			    NET_ADDRESSES_MAX);
}

static void network_add_fixed_host(struct parser *parser, const char *name, const json_t *value)
{
	struct policy_network *network = &parser->source->network;
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	char host[NET_HOST_SIZE];
	struct net_fixed_host fixed = {.source_location = parser_keep_text(parser, "").source_location};
	const char *why;

	if (net_host_parse(name, host, &why) < 0) {
		parser_fail_text(parser, name, name[0] == '*' ? "is a wildcard; name each host" : why);
		return;
	}
	if (net_is_address(host)) {
		parser_fail(parser, "is an address already; \"resolve\" is for names");
		return;
	}
	if (json_is_array(value) && (count == 0 || count > NET_ADDRESSES_MAX)) {
		network_add_address(parser, NULL, &fixed);
		return;
	}
	for (size_t i = 0; i < count; i++)
		network_add_address(parser, json_is_array(value) ? json_array_get(value, i) : value, &fixed);
	fixed.host = arena_dup(parser->arena, host);
	ARENA_APPEND(parser->arena, network->fixed_host, network->fixed_host_count, fixed);
}

/* Reads "network.resolve". */
void parser_read_addresses(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	(void)key;
	if (json_object_size(object) > NET_RULES_MAX) {
		parser_fail(parser, "more than %d names", NET_RULES_MAX);
		return;
	}
	PARSER_FOR_EACH_ITEM (parser, object, item)
		network_add_fixed_host(parser, item.name, item.value);
}

/*
 * Reads a prefix like "198.18.0.0/15". False: it has not `least` to `most` bits, has other bits that are not 0, or
 * contains public addresses.
 */
static bool network_parse_prefix(const char *text, int family, unsigned least, unsigned most, void *ret_address,
				 unsigned *ret_bits)
{
	const char *slash = strchrnul(text, '/');
	struct sockaddr_storage base;
	struct sockaddr *address = (struct sockaddr *)&base;
	const unsigned char *bytes;
	char literal[NET_ADDRESS_TEXT_SIZE];
	uint64_t bits;

	if (!*slash || (size_t)(slash - text) >= sizeof(literal))
		return false;
	(void)snprintf(literal, sizeof(literal), "%.*s", (int)(slash - text), text);
	if (text_parse_number(slash + 1, least, most, &bits) < 0 || !net_address_parse(literal, &base) ||
	    base.ss_family != family)
		return false;
	bytes = net_address_get_bytes(address);
	for (unsigned bit = (unsigned)bits; bit < (family == AF_INET ? 32u : 128u); bit++)
		if (bytes[bit / 8] & 0x80 >> bit % 8)
			return false;
	memcpy(ret_address, bytes, family == AF_INET ? 4 : 16);
	*ret_bits = (unsigned)bits;
	return net_address_get_nonpublic_class(address) && !net_address_get_refusal_reason(address, NET_LIFT_PRIVATE);
}

/* Reads an IPv4 or IPv6 network of the pool. */
static void network_parse_pool(struct parser *parser, const struct policy_key *key, const char *text)
{
	struct net_pool_ranges *pool = &parser->source->network.pool;
	bool v4 = key->id == KEY_ID_NET_POOL_V4;

	if (v4 ? !network_parse_prefix(text, AF_INET, 8, 24, &pool->v4, &pool->v4_bits)
	       : !network_parse_prefix(text, AF_INET6, 8, 112, &pool->v6, &pool->v6_bits))
		parser_fail_text(parser, text,
				 v4 ? "is no network of private addresses; write \"198.18.0.0/15\" (8 to 24 bits)"
				    : "is no network of private addresses; write \"fd00:5a::/32\" (8 to 112 bits)");
}

/* Reads a text of "network": the file "upstream_ca", or an address range of the pool. */
void parser_read_net_text(struct parser *parser, const struct policy_key *key, const char *text)
{
	struct policy_network *network = &parser->source->network;
	struct source_text here;

	if (key->id != KEY_ID_NET_UPSTREAM_CA) {
		network_parse_pool(parser, key, text);
		return;
	}
	here = parser_keep_text(parser, text);
	network->upstream_ca = here.text;
	network->upstream_ca_source_location = here.source_location;
}

/* Reads "network.proxy": true, false or "env". */
void parser_read_proxy(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	struct policy_network *network = &parser->source->network;

	if (json_is_boolean(value))
		network->proxy = json_is_true(value) ? NET_PROXY_ON : NET_PROXY_OFF;
	else if (json_is_string(value) && strcmp(json_string_value(value), "env") == 0)
		network->proxy = NET_PROXY_ON_WITH_VARIABLES;
	else
		parser_fail_type(parser, key->type, value);
}

/* Reads "network": an object, or "none". */
void parser_read_network(struct parser *parser, const struct policy_key *key, const json_t *value)
{
	struct policy_network *network = &parser->source->network;

	if (json_is_string(value) && strcmp(json_string_value(value), "none") == 0) {
		network->said = NET_SECTION_NONE;
	} else if (json_is_object(value)) {
		network->said = NET_SECTION_GIVEN;
		parser_read_section(parser, key, "", value);
	} else {
		parser_fail_type(parser, key->type, value);
	}
}
