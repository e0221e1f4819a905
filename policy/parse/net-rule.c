/* Reads network.allow, deny and ask. parser_read_members has checked the types of the members of each rule. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/parse/parser.h"

/* Reads the host pattern of a rule. In the arena; NULL, with a message, when it is missing or wrong. */
static const char *net_rule_parse_host(struct parser *parser, const json_t *object)
{
	const json_t *value = json_object_get(object, "host");
	const char *text = json_string_value(value), *why, *kept = NULL;
	char pattern[NET_HOST_SIZE];

	if (!value)
		parser_fail(parser, "lacks \"host\"; write {\"host\": \"api.example.com\"}");
	if (!text || !*text)
		return NULL; /* a message was added already */
	(void)parser_enter_member(parser, object, "host");
	if (net_pattern_parse(text, pattern, &why) < 0)
		parser_fail_text(parser, text, why);
	else
		kept = arena_dup(parser->arena, pattern);
	parser_leave_member(parser);
	return kept;
}

static bool net_rule_get_port(struct parser *parser, const json_t *value, uint16_t *ret_port)
{
	json_int_t number = json_integer_value(value);

	if (json_is_integer(value) && number >= 1 && number <= 65535) {
		*ret_port = (uint16_t)number;
		return true;
	}
	parser_fail(parser, "must be a port from 1 to 65535, or a list of them");
	return false;
}

/* Reads a port or a list of ports. On failure: false, a message, and *ret_count is 0. */
static bool net_rule_get_ports(struct parser *parser, const json_t *value, const uint16_t **ret_port, size_t *ret_count)
{
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	uint16_t *port = arena_alloc(parser->arena, (count ? count : 1) * sizeof(*port));
	bool good = count > 0 && count <= NET_PORTS_PER_RULE_MAX;

	if (!good)
		parser_fail(parser, "must be a port or a list of 1 to %d ports", NET_PORTS_PER_RULE_MAX);
	else if (!json_is_array(value))
		good = net_rule_get_port(parser, value, port);
	else
		PARSER_FOR_EACH_ITEM (parser, value, item)
			good = good && net_rule_get_port(parser, item.value, &port[item.index]);
	*ret_port = port;
	*ret_count = good ? count : 0;
	return good;
}

static bool net_rule_has_member(const json_t *object, const char *name)
{
	return json_object_get(object, name) != NULL;
}

static enum net_proto net_rule_find_proto(const char *name)
{
	enum net_proto proto = 0;

	while (proto < NET_PROTO_MAX && (!name || strcmp(net_proto_get_name(proto), name) != 0))
		proto++;
	return proto;
}

/* Sets the protocol of a rule without "proto" from its ports. False, with a message, when the ports disagree. */
static bool net_rule_guess_proto(struct parser *parser, struct net_rule *rule)
{
	rule->proto = net_get_port_proto(rule->port[0]);
	for (size_t i = 1; i < rule->port_count; i++) {
		if (net_get_port_proto(rule->port[i]) == rule->proto)
			continue;
		parser_fail(parser,
			    "has ports of different protocols (%u is %s, %u is %s); add \"proto\" or make it two rules",
			    rule->port[0], net_proto_get_name(rule->proto), rule->port[i],
			    net_proto_get_name(net_get_port_proto(rule->port[i])));
		return false;
	}
	return true;
}

/* Reads "port" and "proto" of a network rule, each of which may follow from the other. false: an error was added. */
static bool net_rule_parse_endpoint(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	static const uint16_t usual[NET_PROTO_MAX] = {[NET_HTTPS] = 443, [NET_HTTP] = 80};
	enum net_proto proto = net_rule_find_proto(json_string_value(json_object_get(object, "proto")));
	bool good;

	if (net_rule_has_member(object, "proto") && proto == NET_PROTO_MAX)
		return false; /* a message was added already */
	if (!net_rule_has_member(object, "port")) {
		rule->proto = proto == NET_PROTO_MAX ? NET_HTTPS : proto;
		rule->port = &usual[rule->proto];
		rule->port_count = 1;
		if (usual[rule->proto])
			return true;
		parser_fail(parser, "has no \"port\", and %s has no usual one; write \"port\": 5432",
			    net_proto_get_name(rule->proto));
		return false;
	}
	good = net_rule_get_ports(parser, parser_enter_member(parser, object, "port"), &rule->port, &rule->port_count);
	parser_leave_member(parser);
	if (!good)
		return false;
	rule->proto = proto;
	return proto != NET_PROTO_MAX || net_rule_guess_proto(parser, rule);
}

/* Reads the requests that a rule allows. */
static void net_rule_parse_http(struct parser *parser, const json_t *list, struct net_rule *rule)
{
	size_t count = json_array_size(list);
	struct net_http_rule *http;
	char why[NET_PATH_SIZE + 256];

	if (!json_is_array(list))
		return;
	if (count == 0 || count > NET_HTTP_RULES_PER_RULE_MAX) {
		parser_fail(parser, "must have 1 to %d rules; leave it out to allow every request",
			    NET_HTTP_RULES_PER_RULE_MAX);
		return;
	}
	http = arena_alloc(parser->arena, count * sizeof(*http));
	PARSER_FOR_EACH_ITEM (parser, list, item) {
		const char *text = parser_get_nonempty_string(parser, KEY_STRING, item.value);

		if (text && net_http_parse_rule(parser->arena, text, &http[item.index], why, sizeof(why)) < 0)
			parser_fail_text(parser, text, why);
	}
	rule->http_rule = http;
	rule->http_rule_count = count;
}

/* Reads the credential of a rule. The header's name is kept in lower case. */
static void net_rule_parse_credential(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	const char *header = json_string_value(json_object_get(object, "header"));
	const char *value = json_string_value(json_object_get(object, "value"));
	char *lower;

	if (!json_is_object(object))
		return;
	if (!net_rule_has_member(object, "header") || !net_rule_has_member(object, "value")) {
		parser_fail(parser, "lacks \"%s\"; write {\"header\": \"Authorization\", \"value\": \"Bearer {NAME}\"}",
			    net_rule_has_member(object, "header") ? "value" : "header");
		return;
	}
	if (!header || !value || !*header || !*value)
		return;
	rule->credential_header = lower = arena_dup(parser->arena, header);
	rule->credential_value = arena_dup(parser->arena, value);
	for (; *lower; lower++)
		*lower = *lower >= 'A' && *lower <= 'Z' ? (char)(*lower | 0x20) : *lower;
}

/* Parses a number, or a size if `bytes` is set, of a budget. "none" gives 0, no limit. Returns false if invalid. */
static bool net_rule_parse_amount(const json_t *value, bool bytes, uint64_t *ret)
{
	char number[32];
	const char *text = parser_get_amount_text(value, number);

	if (text && strcmp(text, "none") == 0) {
		*ret = 0;
		return true;
	}
	return text && (bytes ? text_parse_size(text, ret) : text_parse_number(text, 1, UINT32_MAX, ret)) == 0 &&
	       *ret > 0 && *ret <= UINT64_C(1) << 60;
}

/* Reads the limits of a rule, or adds errors. */
static void net_rule_parse_budget(struct parser *parser, const json_t *object, struct net_budget *budget)
{
	const struct {
		const char *name;
		uint64_t *field;
		bool bytes;
	} amounts[] = {
		{"max_bytes_up", &budget->bytes_up, true},
		{"max_bytes_down", &budget->bytes_down, true},
		{"max_bytes_per_second", &budget->bytes_per_second, true},
		{"requests_per_minute", &budget->requests_per_minute, false},
		{"max_requests", &budget->requests_max, false},
		{"max_connections", &budget->connections_max, false},
	};

	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		const json_t *value = json_object_get(object, amounts[i].name);

		if (!value || net_rule_parse_amount(value, amounts[i].bytes, amounts[i].field))
			continue;
		(void)parser_enter_member(parser, object, amounts[i].name);
		parser_fail(parser, "must be %s",
			    policy_key_type_describe_value(amounts[i].bytes ? KEY_SIZE_OR_NONE : KEY_NUMBER_OR_NONE));
		parser_leave_member(parser);
	}
}

/* Reads the members of a rule but for its endpoint. */
static void net_rule_parse_members(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	const char *reason = json_string_value(json_object_get(object, "reason"));
	const char *dns = json_string_value(json_object_get(object, "dns"));

	net_rule_parse_http(parser, parser_enter_member(parser, object, "http"), rule);
	parser_leave_member(parser);
	net_rule_parse_credential(parser, parser_enter_member(parser, object, "credential"), rule);
	parser_leave_member(parser);
	net_rule_parse_budget(parser, object, &rule->budget);
	rule->allows_private_addresses = json_is_true(json_object_get(object, "private"));
	rule->uses_real_dns = dns && strcmp(dns, "real") == 0;
	rule->allows_any_body = json_is_true(json_object_get(object, "any_body"));
	rule->on_deny = parser_find_on_deny_word(json_object_get(object, "on_deny"));
	if (reason)
		rule->reason = arena_dup(parser->arena, reason);
}

/* Adds a rule for an endpoint. asks: its "http" has the requests that are asked about, not those that are allowed. */
static void net_rule_add_endpoint(struct parser *parser, const json_t *object, bool asks)
{
	struct policy_network *network = &parser->source->network;
	struct net_rule rule = {.host = net_rule_parse_host(parser, object), .asks_about_requests = asks};
	bool good = net_rule_parse_endpoint(parser, object, &rule), failed = parser->has_failed;
	char why[256], detail[NET_HOST_SIZE + 8];

	parser->has_failed = false;
	net_rule_parse_members(parser, object, &rule);
	good = good && !parser->has_failed;
	parser->has_failed |= failed;
	if (!rule.host || !good)
		return;
	rule.is_address = net_is_address(rule.host);
	rule.on_deny = asks ? ON_DENY_ASK : rule.on_deny;
	if (net_rule_check_fields(&rule, why, sizeof(why)) < 0)
		parser_fail(parser, "%s", why);
	if (net_rule_has_member(object, "disabled"))
		return;
	(void)snprintf(detail, sizeof(detail), strchr(rule.host, ':') ? "[%s]:%u" : "%s:%u", rule.host, rule.port[0]);
	rule.label = parser_make_rule_label(parser, detail);
	rule.source_location = parser_keep_text(parser, "").source_location;
	ARENA_APPEND(parser->arena, network->rule, network->rule_count, rule);
}

static void net_rule_add_deny(struct parser *parser, const json_t *object, bool asks)
{
	struct policy_network *network = &parser->source->network;
	struct net_deny deny = {.host = net_rule_parse_host(parser, object)};
	const char *reason = json_string_value(json_object_get(object, "reason"));

	if (net_rule_has_member(object, "port")) {
		/* On failure the function adds a message to the parser. */
		(void)net_rule_get_ports(parser, parser_enter_member(parser, object, "port"), &deny.port,
					 &deny.port_count);
		parser_leave_member(parser);
	}
	if (reason)
		deny.reason = arena_dup(parser->arena, reason);
	if (!deny.host || net_rule_has_member(object, "disabled"))
		return;
	deny.on_deny = asks ? ON_DENY_ASK : parser_find_on_deny_word(json_object_get(object, "on_deny"));
	deny.label = parser_make_rule_label(parser, deny.host);
	ARENA_APPEND(parser->arena, network->deny, network->deny_count, deny);
}

/* Adds an entry of "ask": with "http" requests are asked about, else each connection. */
static void net_rule_add_ask(struct parser *parser, const json_t *object)
{
	static const char *const of_requests[] = {"proto", "any_body", "private"};

	if (net_rule_has_member(object, "http")) {
		net_rule_add_endpoint(parser, object, true);
		return;
	}
	for (size_t i = 0; i < sizeof(of_requests) / sizeof(of_requests[0]); i++) {
		if (!net_rule_has_member(object, of_requests[i]))
			continue;
		(void)parser_enter_member(parser, object, of_requests[i]);
		parser_fail(parser, "is for requests; add \"http\", or remove it to ask about each connection");
		parser_leave_member(parser);
	}
	net_rule_add_deny(parser, object, true);
}

/* Reads an entry of "network.allow", "network.deny" or "network.ask". */
void parser_read_net_rule(struct parser *parser, const struct policy_key *key, const json_t *object)
{
	if (key->id == KEY_ID_NET_ALLOW)
		net_rule_add_endpoint(parser, object, false);
	else if (key->id == KEY_ID_NET_ASK)
		net_rule_add_ask(parser, object);
	else
		net_rule_add_deny(parser, object, false);
}
