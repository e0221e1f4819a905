/*
 * Adds what an observing policy lets the program reach besides the endpoints of the user's policy: every public name
 * and address. HTTP requests are parsed, so that records have their method and path. For that TLS is intercepted.
 */
#include "policy/model.h"

#define HTTP_RULE_ANY_METHOD "*" /* a rule's method that matches each method */

/* Adds a rule for every public endpoint. port 0: every port. http: each request is judged. */
static void observe_add_endpoints(struct compiler *compiler, enum net_proto proto, uint16_t port, bool http)
{
	static const struct net_http_rule any[] = {{HTTP_RULE_ANY_METHOD, "/**", false}, {"GET", "/**", true}};
	struct policy_network *network = &compiler->policy->network;
	struct net_rule rule = {
		.index = network->rule_count,
		.label = "observe: every public endpoint",
		.source_location = "--mode observe",
		.host = NET_EVERY_HOST,
		.proto = proto,
		.http_rule = http ? any : NULL,
		.http_rule_count = http ? sizeof(any) / sizeof(any[0]) : 0,
		.allows_any_body = true,
	};

	if (port) {
		uint16_t *ports = arena_alloc(&compiler->policy->arena, sizeof(*ports));

		ports[0] = port;
		rule.port = ports;
		rule.port_count = 1;
	}
	ARENA_APPEND(&compiler->policy->arena, network->rule, network->rule_count, rule);
}

void compile_observing_network(struct compiler *compiler)
{
	struct policy_network *network = &compiler->policy->network;
	const struct net_listen_range every = {.first = 0, .last = 65535, .label = "observe: every port"};

	if (network->said != NET_SECTION_GIVEN)
		return;
	observe_add_endpoints(compiler, NET_HTTPS, 443, true);
	observe_add_endpoints(compiler, NET_HTTP, 80, true);
	observe_add_endpoints(compiler, NET_TCP, 0, false);
	observe_add_endpoints(compiler, NET_UDP, 0, false);
	ARENA_APPEND(&compiler->policy->arena, network->listen_range, network->listen_range_count, every);
}
