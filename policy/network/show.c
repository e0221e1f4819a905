/* Prints the network of the effective policy as JSON. */
#include <arpa/inet.h>
#include <jansson.h>
#include <string.h>

#include "policy/model.h"

static json_t *net_show_ports(const uint16_t *port, size_t count)
{
	json_t *list = count == 1 ? NULL : json_array();

	if (count == 1)
		return json_integer(port[0]);
	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(list, json_integer(port[i])); /* without memory json_dumps() fails later */
	return list;
}

/* The requests of a rule as texts, such as "GET /path". */
static json_t *net_show_http(const struct net_rule *rule)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rule->http_rule_count; i++) {
		const struct net_http_rule *http = &rule->http_rule[i];

		(void)json_array_append_new(
			list, json_sprintf("%s %s", http->is_websocket ? "WEBSOCKET" : http->methods, http->path));
	}
	return list;
}

/* Adds the limits that are set to the rule's JSON. Not 0: out of memory. */
static int net_show_budget(json_t *object, const struct net_budget *budget)
{
	const struct {
		const char *name;
		uint64_t value;
	} amounts[] = {
		{"max_bytes_up", budget->bytes_up},
		{"max_bytes_down", budget->bytes_down},
		{"max_bytes_per_second", budget->bytes_per_second},
		{"requests_per_minute", budget->requests_per_minute},
		{"max_requests", budget->requests_max},
		{"max_connections", budget->connections_max},
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		if (amounts[i].value)
			ret |= json_object_set_new(object, amounts[i].name, json_integer((json_int_t)amounts[i].value));
	return ret;
}

/* Appends a rule for an endpoint as JSON to the list. Not 0: out of memory. */
static int net_show_rule(json_t *list, const struct net_rule *rule)
{
	json_t *object = json_object();
	int ret = json_object_set_new(object, "host", json_string(rule->host));

	ret |= json_object_set_new(object, "port", net_show_ports(rule->port, rule->port_count));
	ret |= json_object_set_new(object, "proto", json_string(net_proto_get_name(rule->proto)));
	if (rule->http_rule_count)
		ret |= json_object_set_new(object, "http", net_show_http(rule));
	if (rule->credential_header)
		ret |= json_object_set_new(object, "credential",
					   json_pack("{s:s, s:s}", "header", rule->credential_header, "value",
						     rule->credential_value));
	if (rule->allows_any_body)
		ret |= json_object_set_new(object, "any_body", json_true());
	if (rule->allows_private_addresses)
		ret |= json_object_set_new(object, "private", json_true());
	if (rule->uses_real_dns)
		ret |= json_object_set_new(object, "dns", json_string("real"));
	ret |= net_show_budget(object, &rule->budget);
	if (rule->reason)
		ret |= json_object_set_new(object, "reason", json_string(rule->reason));
	if (rule->on_deny && !rule->asks_about_requests)
		ret |= json_object_set_new(object, "on_deny", json_string(policy_on_deny_get_name(rule->on_deny)));
	return json_array_append_new(list, object) | ret;
}

/* Appends a deny rule as JSON to the list. Not 0: out of memory. */
static int net_show_deny(json_t *list, const struct net_deny *deny)
{
	json_t *object = json_object();
	int ret = json_object_set_new(object, "host", json_string(deny->host));

	if (deny->port_count)
		ret |= json_object_set_new(object, "port", net_show_ports(deny->port, deny->port_count));
	if (deny->reason)
		ret |= json_object_set_new(object, "reason", json_string(deny->reason));
	if (deny->on_deny)
		ret |= json_object_set_new(object, "on_deny", json_string(policy_on_deny_get_name(deny->on_deny)));
	return json_array_append_new(list, object) | ret;
}

/* A range of ports to listen on, as JSON: "*", a number, or "first-last". */
static json_t *net_show_range(const struct net_listen_range *range)
{
	if (range->first == 0 && range->last == 65535)
		return json_string("*");
	if (range->first == range->last)
		return json_integer(range->first);
	return json_sprintf("%u-%u", range->first, range->last);
}

/* The addresses of "resolve" for one name, as JSON. */
static json_t *net_show_fixed_host(const struct net_fixed_host *fixed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fixed->address_count; i++) {
		char text[NET_ADDRESS_TEXT_SIZE];

		net_address_format((const struct sockaddr *)&fixed->address[i], text);
		(void)json_array_append_new(list, json_string(text));
	}
	return list;
}

/* Adds the pool's IPv4 and IPv6 networks, as "address/bits", to the JSON of "network". Not 0: out of memory. */
static int net_show_pool(json_t *object, const struct policy_network *network)
{
	json_t *pool = json_object();
	char text[NET_ADDRESS_TEXT_SIZE];

	if (network->pool.v4_bits) {
		(void)inet_ntop(AF_INET, &network->pool.v4, text, sizeof(text));
		(void)json_object_set_new(pool, "v4", json_sprintf("%s/%u", text, network->pool.v4_bits));
	}
	if (network->pool.v6_bits) {
		(void)inet_ntop(AF_INET6, &network->pool.v6, text, sizeof(text));
		(void)json_object_set_new(pool, "v6", json_sprintf("%s/%u", text, network->pool.v6_bits));
	}
	return json_object_set_new(object, "pool", pool);
}

/* Adds the rules "allow", "deny", "listen" and "resolve" to the JSON of "network". Not 0: out of memory. */
static int net_show_lists(json_t *object, const struct policy_network *network)
{
	json_t *allow = json_array(), *deny = json_array(), *listen = json_array(), *resolve = json_object();
	json_t *ask = json_array();
	int ret = 0;

	for (size_t i = 0; i < network->rule_count; i++)
		ret |= net_show_rule(network->rule[i].asks_about_requests ? ask : allow, &network->rule[i]);
	for (size_t i = 0; i < network->deny_count; i++)
		ret |= net_show_deny(deny, &network->deny[i]);
	for (size_t i = 0; i < network->listen_range_count; i++)
		ret |= json_array_append_new(listen, net_show_range(&network->listen_range[i]));
	for (size_t i = 0; i < network->fixed_host_count; i++)
		ret |= json_object_set_new(resolve, network->fixed_host[i].host,
					   net_show_fixed_host(&network->fixed_host[i]));
	ret |= json_object_set_new(object, "allow", allow);
	ret |= json_object_set_new(object, "deny", deny);
	if (json_array_size(ask) > 0)
		ret |= json_object_set(object, "ask", ask);
	json_decref(ask);
	ret |= json_object_set_new(object, "listen", listen);
	return ret | json_object_set_new(object, "resolve", resolve);
}

/* Adds the secrets, by source and hosts and without values, to the policy's JSON. Not 0: out of memory. */
static int net_show_secrets(json_t *root, const struct policy_network *network)
{
	json_t *object = network->secret_count ? json_object() : NULL;
	int ret = 0;

	for (size_t i = 0; i < network->secret_count; i++) {
		const struct net_secret *secret = &network->secret[i];
		json_t *hosts = json_array();

		for (const char *const *host = secret->hosts; *host; host++)
			ret |= json_array_append_new(hosts, json_string(*host));
		ret |= json_object_set_new(object, secret->name,
					   json_pack("{s:s, s:o}", "from", secret->value_source, "hosts", hosts));
	}
	return object ? json_object_set_new(root, "secrets", object) | ret : 0;
}

int policy_show_network(struct json_t *root, const struct policy_network *network)
{
	json_t *object;
	int ret = net_show_secrets(root, network);

	if (network->said == NET_SECTION_NONE)
		return ret | json_object_set_new(root, "network", json_string("none"));
	if (network->said == NET_SECTION_ABSENT)
		return ret;
	object = json_object();
	ret |= json_object_set_new(object, "default", json_string("deny"));
	ret |= net_show_lists(object, network);
	if (network->upstream_ca)
		ret |= json_object_set_new(object, "upstream_ca", json_string(network->upstream_ca));
	if (network->proxy == NET_PROXY_ON_WITH_VARIABLES)
		ret |= json_object_set_new(object, "proxy", json_string("env"));
	else if (network->proxy == NET_PROXY_ON)
		ret |= json_object_set_new(object, "proxy", json_true());
	if (network->pool.v4_bits || network->pool.v6_bits)
		ret |= net_show_pool(object, network);
	return ret | json_object_set_new(root, "network", object);
}
