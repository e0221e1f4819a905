/* One rule of network.allow: its members are checked by their keys already, here they get their meaning. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/parse/net.h"

#include "base/banned.h"

const char *parser_label(struct parser *parser, const char *detail)
{
	char key[PARSER_WHERE_MAX];
	const char *label;

	(void)locate_print(&parser->at, key, sizeof(key));
	label = arena_printf(parser->arena, "%s: %s%s%s", parser->source->label, key, detail ? " " : "",
			     detail ? detail : "");
	if (!label)
		parser->no_memory = true;
	return label;
}

/* ---- protocol and ports ---- */

static bool is_said(const json_t *object, const char *name)
{
	return json_object_get(object, name) != NULL;
}

static enum net_proto proto_of(const char *name)
{
	enum net_proto proto = 0;

	while (proto < NET_PROTO_MAX && (!name || strcmp(net_proto_name(proto), name) != 0))
		proto++;
	return proto;
}

/* Which protocol the ports usually have, all of them. */
static bool guess_proto(struct parser *parser, struct net_rule *rule)
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

static bool take_ports(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	static const uint16_t usual[NET_PROTO_MAX] = {[NET_HTTPS] = 443, [NET_HTTP] = 80};
	enum net_proto proto = proto_of(json_string_value(json_object_get(object, "proto")));
	bool good;

	if (is_said(object, "proto") && proto == NET_PROTO_MAX)
		return false; /* a message is there */
	if (!is_said(object, "port")) {
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
	good = parser_ports(parser, json_object_get(object, "port"), &rule->port, &rule->ports);
	parser_pop(parser);
	if (!good)
		return false;
	rule->proto = proto;
	return proto != NET_PROTO_MAX || guess_proto(parser, rule);
}

/* ---- http, credential ---- */

static void take_http(struct parser *parser, const json_t *list, struct net_rule *rule)
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

static void take_credential(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	const char *header = json_string_value(json_object_get(object, "header"));
	const char *value = json_string_value(json_object_get(object, "value"));
	char *lower;

	if (!json_is_object(object))
		return;
	if (!is_said(object, "header") || !is_said(object, "value")) {
		parser_fail(parser, "lacks \"%s\"; write {\"header\": \"Authorization\", \"value\": \"Bearer {NAME}\"}",
			    is_said(object, "header") ? "value" : "header");
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

static bool parse_amount(const json_t *value, bool bytes, uint64_t *ret)
{
	const char *text = json_string_value(value);
	char number[32];

	if (json_is_integer(value)) {
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		text = number;
	}
	if (text && strcmp(text, "none") == 0) {
		*ret = 0;
		return true;
	}
	return text && (bytes ? text_size(text, ret) : text_number(text, 1, UINT32_MAX, ret)) == 0 && *ret > 0 &&
	       *ret <= UINT64_C(1) << 60;
}

static void take_budget(struct parser *parser, const json_t *object, struct net_budget *budget)
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

		if (!value || parse_amount(value, amounts[i].bytes, amounts[i].field))
			continue;
		parser_push_name(parser, amounts[i].name);
		parser_fail(parser, "must be %s", policy_key_expects(amounts[i].bytes ? KEY_AMOUNT : KEY_COUNT));
		parser_pop(parser);
	}
}

/* ---- all of it ---- */

static void take_members(struct parser *parser, const json_t *object, struct net_rule *rule)
{
	const char *reason = json_string_value(json_object_get(object, "reason"));
	const char *dns = json_string_value(json_object_get(object, "dns"));

	if (is_said(object, "http")) {
		parser_push_name(parser, "http");
		take_http(parser, json_object_get(object, "http"), rule);
		parser_pop(parser);
	}
	if (is_said(object, "credential")) {
		parser_push_name(parser, "credential");
		take_credential(parser, json_object_get(object, "credential"), rule);
		parser_pop(parser);
	}
	take_budget(parser, object, &rule->budget);
	rule->private_addresses = json_is_true(json_object_get(object, "private"));
	rule->dns_real = dns && strcmp(dns, "real") == 0;
	rule->any_body = json_is_true(json_object_get(object, "any_body"));
	if (reason)
		rule->reason = parser_keep(parser, reason);
}

void parser_net_rule(struct parser *parser, const json_t *object)
{
	struct source_network *network = &parser->source->network;
	struct net_rule rule = {.host = parser_pattern(parser, object, "host")};
	bool good = take_ports(parser, object, &rule), failed = parser->failed;
	char why[256], detail[NET_HOST_MAX + 8];

	parser->failed = false;
	take_members(parser, object, &rule);
	good = good && !parser->failed;
	parser->failed |= failed;
	if (!rule.host || !good || parser->no_memory)
		return;
	rule.is_address = net_is_address(rule.host);
	if (net_rule_check(&rule, why, sizeof(why)) < 0)
		parser_fail(parser, "%s", why);
	(void)snprintf(detail, sizeof(detail), strchr(rule.host, ':') ? "[%s]:%u" : "%s:%u", rule.host, rule.port[0]);
	rule.label = parser_label(parser, detail);
	network->rule = arena_grow(parser->arena, network->rule, network->rules, sizeof(*network->rule));
	if (!network->rule)
		parser->no_memory = true;
	else
		network->rule[network->rules++] = (struct net_written_rule){rule, parser_keep_here(parser, "").where};
}
