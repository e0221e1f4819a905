/* The lists network.allow and network.deny. parser_members has checked the types of a rule's members. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/parse/parser.h"

#include "base/banned.h"

/* ---- host and port ---- */

/* The host pattern in the arena; NULL: missing or wrong, with a message. */
static const char *net_rule_host(struct parser *parser, const json_t *object)
{
	const json_t *value = json_object_get(object, "host");
	const char *text = json_string_value(value), *why, *kept = NULL;
	char pattern[NET_HOST_MAX];

	if (!value)
		parser_fail(parser, "lacks \"host\"; write {\"host\": \"api.example.com\"}");
	if (!text || !*text)
		return NULL; /* there was a message */
	parser_push_name(parser, "host");
	if (net_pattern_parse(text, pattern, &why) < 0)
		parser_fail(parser, "\"%s\" %s", text, why);
	else
		kept = parser_keep(parser, pattern);
	parser_pop(parser);
	return kept;
}

static bool net_rule_port(struct parser *parser, const json_t *value, uint16_t *ret_port)
{
	json_int_t number = json_integer_value(value);

	if (json_is_integer(value) && number >= 1 && number <= 65535) {
		*ret_port = (uint16_t)number;
		return true;
	}
	parser_fail(parser, "must be a port from 1 to 65535, or a list of them");
	return false;
}

/* A port or a list of ports. False with a message, and *ret_count is 0. */
static bool net_rule_ports(struct parser *parser, const json_t *value, const uint16_t **ret_port, size_t *ret_count)
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
		good = net_rule_port(parser, json_is_array(value) ? json_array_get(value, i) : value, &port[i]);
		if (json_is_array(value))
			parser_pop(parser);
	}
	*ret_port = port;
	*ret_count = good ? count : 0;
	return good;
}

/* ---- protocol and ports ---- */

static bool net_rule_has(const json_t *object, const char *name)
{
	return json_object_get(object, name) != NULL;
}

static enum net_proto net_rule_proto(const char *name)
{
	enum net_proto proto = 0;

	while (proto < NET_PROTO_MAX && (!name || strcmp(net_proto_name(proto), name) != 0))
		proto++;
	return proto;
}

/* Without "proto": the usual protocol of the ports, which must be the same for all. */
static bool net_rule_guess_proto(struct parser *parser, struct net_rule *rule)
{
	rule->proto = net_port_proto(rule->port[0]);
	for (size_t i = 1; i < rule->ports; i++) {
		if (net_port_proto(rule->port[i]) == rule->proto)
			continue;
		parser_fail(parser,
			    "has ports of different protocols (%u is %s, %u is %s); add \"proto\" or make it two rules",
			    rule->port[0], net_proto_name(rule->proto), rule->port[i],
			    net_proto_name(net_port_proto(rule->port[i])));
		return false;
	}
	return true;
}

static bool net_rule_endpoint(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	static const uint16_t usual[NET_PROTO_MAX] = {[NET_HTTPS] = 443, [NET_HTTP] = 80};
	enum net_proto proto = net_rule_proto(json_string_value(json_object_get(object, "proto")));
	bool good;

	if (net_rule_has(object, "proto") && proto == NET_PROTO_MAX)
		return false; /* there was a message */
	if (!net_rule_has(object, "port")) {
		rule->proto = proto == NET_PROTO_MAX ? NET_HTTPS : proto;
		rule->port = &usual[rule->proto];
		rule->ports = 1;
		if (usual[rule->proto])
			return true;
		parser_fail(parser, "has no \"port\", and %s has no usual one; write \"port\": 5432",
			    net_proto_name(rule->proto));
		return false;
	}
	parser_push_name(parser, "port");
	good = net_rule_ports(parser, json_object_get(object, "port"), &rule->port, &rule->ports);
	parser_pop(parser);
	if (!good)
		return false;
	rule->proto = proto;
	return proto != NET_PROTO_MAX || net_rule_guess_proto(parser, rule);
}

/* ---- http, credential ---- */

static void net_rule_http(struct parser *parser, const json_t *list, struct net_rule *rule)
{
	size_t count = json_array_size(list);
	struct net_http_rule *http;
	char why[NET_PATH_MAX + 256];

	if (!json_is_array(list))
		return;
	if (count == 0 || count > NET_HTTP_MAX) {
		parser_fail(parser, "must have 1 to %d rules; leave it out to allow every request", NET_HTTP_MAX);
		return;
	}
	http = arena_alloc(parser->arena, count * sizeof(*http));
	if (!http)
		parser->no_memory = true;
	for (size_t i = 0; http && i < count; i++) {
		const char *text;
		int ret;

		parser_push_index(parser, i);
		text = parser_text(parser, KEY_STRING, json_array_get(list, i));
		ret = text ? net_http_parse(parser->arena, text, &http[i], why, sizeof(why)) : 0;
		if (ret == -ENOMEM)
			parser->no_memory = true;
		else if (ret < 0)
			parser_fail(parser, "\"%s\" %s", text, why);
		parser_pop(parser);
	}
	rule->http = http;
	rule->http_count = http ? count : 0;
}

static void net_rule_credential(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	const char *header = json_string_value(json_object_get(object, "header"));
	const char *value = json_string_value(json_object_get(object, "value"));
	char *lower;

	if (!json_is_object(object))
		return;
	if (!net_rule_has(object, "header") || !net_rule_has(object, "value")) {
		parser_fail(parser, "lacks \"%s\"; write {\"header\": \"Authorization\", \"value\": \"Bearer {NAME}\"}",
			    net_rule_has(object, "header") ? "value" : "header");
		return;
	}
	if (!header || !value || !*header || !*value)
		return;
	lower = arena_dup(parser->arena, header);
	rule->header_value = parser_keep(parser, value);
	if (!lower)
		parser->no_memory = true;
	for (char *c = lower; c && *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
	rule->header = rule->header_value ? lower : NULL;
}

/* ---- budget ---- */

static bool net_rule_amount(const json_t *value, bool bytes, uint64_t *ret)
{
	char number[32];
	const char *text = parser_amount(value, number);

	if (text && strcmp(text, "none") == 0) {
		*ret = 0;
		return true;
	}
	return text && (bytes ? text_size(text, ret) : text_number(text, 1, UINT32_MAX, ret)) == 0 && *ret > 0 &&
	       *ret <= UINT64_C(1) << 60;
}

static void net_rule_budget(struct parser *parser, const json_t *object, struct net_budget *budget)
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
		{"max_requests", &budget->requests, false},
		{"max_connections", &budget->connections, false},
	};

	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		const json_t *value = json_object_get(object, amounts[i].name);

		if (!value || net_rule_amount(value, amounts[i].bytes, amounts[i].field))
			continue;
		parser_push_name(parser, amounts[i].name);
		parser_fail(parser, "must be %s", policy_key_expects(amounts[i].bytes ? KEY_AMOUNT : KEY_COUNT));
		parser_pop(parser);
	}
}

/* ---- allow ---- */

static void net_rule_members(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	const char *reason = json_string_value(json_object_get(object, "reason"));
	const char *dns = json_string_value(json_object_get(object, "dns"));

	if (net_rule_has(object, "http")) {
		parser_push_name(parser, "http");
		net_rule_http(parser, json_object_get(object, "http"), rule);
		parser_pop(parser);
	}
	if (net_rule_has(object, "credential")) {
		parser_push_name(parser, "credential");
		net_rule_credential(parser, json_object_get(object, "credential"), rule);
		parser_pop(parser);
	}
	net_rule_budget(parser, object, &rule->budget);
	rule->private_addresses = json_is_true(json_object_get(object, "private"));
	rule->dns_real = dns && strcmp(dns, "real") == 0;
	rule->any_body = json_is_true(json_object_get(object, "any_body"));
	if (reason)
		rule->reason = parser_keep(parser, reason);
}

static void net_rule_allow(struct parser *parser, const json_t *object)
{
	struct source_network *network = &parser->source->network;
	struct net_rule rule = {.host = net_rule_host(parser, object)};
	bool good = net_rule_endpoint(parser, object, &rule), failed = parser->failed;
	struct net_written_rule written;
	char why[256], detail[NET_HOST_MAX + 8];

	parser->failed = false;
	net_rule_members(parser, object, &rule);
	good = good && !parser->failed;
	parser->failed |= failed;
	if (!rule.host || !good || parser->no_memory)
		return;
	rule.is_address = net_is_address(rule.host);
	if (net_rule_check(&rule, why, sizeof(why)) < 0)
		parser_fail(parser, "%s", why);
	(void)snprintf(detail, sizeof(detail), strchr(rule.host, ':') ? "[%s]:%u" : "%s:%u", rule.host, rule.port[0]);
	rule.label = parser_label(parser, detail);
	written = (struct net_written_rule){.rule = rule, .where = parser_keep_here(parser, "").where};
	PARSER_APPEND(parser, network->rule, network->rules, written);
}

/* ---- deny ---- */

static void net_rule_deny(struct parser *parser, const json_t *object)
{
	struct source_network *network = &parser->source->network;
	const json_t *port = json_object_get(object, "port");
	struct net_deny deny = {.host = net_rule_host(parser, object)};
	const char *reason = json_string_value(json_object_get(object, "reason"));

	if (port) {
		parser_push_name(parser, "port");
		(void)net_rule_ports(parser, port, &deny.port, &deny.ports); /* the parser remembers a failure */
		parser_pop(parser);
	}
	if (reason)
		deny.reason = parser_keep(parser, reason);
	if (!deny.host)
		return;
	deny.label = parser_label(parser, deny.host);
	PARSER_APPEND(parser, network->deny, network->denies, deny);
}

/* ---- the lists ---- */

void parser_net_rules(struct parser *parser, const struct policy_key *key, const json_t *list)
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
			(allow ? net_rule_allow : net_rule_deny)(parser, object);
		parser_pop(parser);
		if (i == NET_RULES_MAX)
			return;
	}
}
