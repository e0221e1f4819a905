/* Rules for the network: endpoints by name, with methods and paths where HTTP was seen, and ports to listen on. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/learn.h"
#include "cli/learn/pattern.h"
#include "supervisor/report.h"

/* most requests in a learnt rule: more requests to one host become one entry for each method */
#define ENDPOINT_RULE_REQUESTS_MAX 24u

/*
 * Returns why a grant of an address that is not public needs --allow-risky; NULL: a name, or a public address. Static.
 */
static const char *endpoints_find_objection(const char *host)
{
	struct sockaddr_storage address;

	if (!net_address_parse(host, &address) || !net_address_get_nonpublic_class((const struct sockaddr *)&address))
		return NULL;
	return "the address is not public; a rule that names it lifts that";
}

/* Whether two needs are connections or requests to the same host, port and transport; listening is none. */
static bool endpoint_is_same(const struct network_need *a, const struct network_need *b)
{
	return a->kind != QUERY_LISTEN && b->kind != QUERY_LISTEN && a->port == b->port && a->uses_udp == b->uses_udp &&
	       strcmp(a->host, b->host) == 0;
}

/*
 * Returns "METHOD /path", in which "*" replaces each segment that contains a number. every: returns the method
 * with a pattern that matches every path. Owned; NULL: no memory.
 */
static char *endpoints_make_request(const struct network_need *net, bool every)
{
	_cleanup_free_ char *path = every ? strdup("/**") : pattern_replace_numbers(net->request);

	if (!path)
		return NULL;
	return text_format("%s %s", net->upgrade ? "WEBSOCKET" : net->method, path);
}

/* Whether a need is a request that a rule can name: "*", as a method or in a path, would mean something else there. */
static bool endpoints_can_name_request(const struct network_need *net)
{
	return net->kind == QUERY_HTTP_REQUEST &&
	       net_http_rule_can_name(net->upgrade ? NULL : net->method, net->request);
}

/* Adds "METHOD /path" to a rule's requests, unless they allow it already. 0 or -ENOMEM. */
static int endpoints_add_request_text(json_t *list, const char *text)
{
	const char *path = strchr(text, ' ');

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *have = json_string_value(json_array_get(list, i));

		if (strcmp(have, text) == 0)
			return 0;
		/* the list already allows every path of the method */
		if (path && strncmp(have, text, (size_t)(path - text) + 1) == 0 &&
		    strcmp(have + (path - text), " /**") == 0)
			return 0;
	}
	return json_array_append_new(list, json_string(text)) < 0 ? -ENOMEM : 0;
}

/*
 * Lists the requests that the program made to an endpoint. every: one entry for each method, for every path. NULL: no
 * memory.
 */
static json_t *endpoints_list_requests(const struct needs *needs, const struct network_need *endpoint, bool every)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < needs->nets; i++) {
		const struct network_need *net = &needs->net[i];
		_cleanup_free_ char *text = NULL;

		if (!endpoints_can_name_request(net) || !endpoint_is_same(net, endpoint))
			continue;
		text = endpoints_make_request(net, every);
		if (!text || endpoints_add_request_text(list, text) < 0)
			return NULL;
	}
	return list;
}

/* Returns the value of "proto" for a rule. NULL: the port's default protocol is right. Static. */
static const char *endpoints_find_proto(const struct needs *needs, const struct network_need *endpoint)
{
	const unsigned port = endpoint->port;

	if (endpoint->uses_udp)
		return "udp";
	for (size_t i = 0; i < needs->nets; i++) {
		const struct network_need *net = &needs->net[i];

		if (net->kind == QUERY_HTTP_REQUEST && !net->upgrade && endpoint_is_same(net, endpoint))
			return port == (net->is_http_without_tls ? 80 : 443) ? NULL
			       : net->is_http_without_tls                    ? "http"
									     : "https";
	}
	return port == 443 || port == 80 ? NULL : "tcp";
}

/* Why a rule for an endpoint with these requests, perhaps none, needs --allow-risky; NULL: it does not. Static. */
static const char *endpoints_find_objection_to_rule(const struct needs *needs, const struct network_need *endpoint,
						    const json_t *requests)
{
	for (size_t i = 0; i < needs->nets && json_array_size(requests) == 0; i++)
		if (needs->net[i].kind == QUERY_HTTP_REQUEST && endpoint_is_same(&needs->net[i], endpoint))
			return "it permits every request: no rule can name just those that were made";
	return endpoints_find_objection(endpoint->host);
}

/* Makes the rule for an endpoint, with its requests if there are not too many. One that is risky has "disabled". */
static json_t *endpoints_make_rule(const struct needs *needs, const struct network_need *endpoint, bool risky)
{
	_cleanup_json_ json_t *requests = endpoints_list_requests(needs, endpoint, false);
	_cleanup_free_ char *because = need_origin_describe(&endpoint->origin);
	json_t *rule = json_pack("{s:s, s:i}", "host", endpoint->host, "port", (int)endpoint->port);
	const char *proto = endpoints_find_proto(needs, endpoint), *objection;

	if (json_array_size(requests) > ENDPOINT_RULE_REQUESTS_MAX) {
		json_decref(requests);
		requests = endpoints_list_requests(needs, endpoint, true);
	}
	if (proto)
		(void)json_object_set_new(rule, "proto", json_string(proto));
	if (json_array_size(requests) > 0)
		(void)json_object_set(rule, "http", requests);
	if (because)
		(void)json_object_set_new(rule, "reason", report_make_text_json(because));
	if (endpoints_find_objection(endpoint->host))
		(void)json_object_set_new(rule, "private", json_true());
	objection = endpoints_find_objection_to_rule(needs, endpoint, requests);
	if (!risky && objection)
		(void)json_object_set_new(rule, "disabled", json_string(objection));
	return rule;
}

/*
 * Whether a need is for datagrams to an endpoint that the program also reaches by TCP. getaddrinfo(3) connects a
 * datagram socket to sort addresses, and HTTP/3 falls back to TCP.
 */
bool learn_is_needless_udp(const struct needs *needs, const char *host, unsigned port)
{
	for (size_t i = 0; i < needs->nets; i++)
		if (needs->net[i].kind != QUERY_LISTEN && !needs->net[i].uses_udp && needs->net[i].port == port &&
		    strcmp(needs->net[i].host, host) == 0)
			return true;
	return false;
}

/* Finds the list's rule for the endpoint, which may be from an earlier policy. Borrowed; NULL: none. */
static json_t *endpoints_find_rule(const json_t *list, const struct network_need *endpoint)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *rule = json_array_get(list, i);
		const char *host = json_string_value(json_object_get(rule, "host"));
		const char *proto = json_string_value(json_object_get(rule, "proto"));

		if (host && strcmp(host, endpoint->host) == 0 &&
		    json_integer_value(json_object_get(rule, "port")) == (json_int_t)endpoint->port &&
		    (proto && strcmp(proto, "udp") == 0) == endpoint->uses_udp)
			return rule;
	}
	return NULL;
}

/* Adds a request to a rule that lists requests. */
static int endpoints_add_request(json_t *rule, const struct network_need *net)
{
	json_t *requests = json_object_get(rule, "http");
	_cleanup_free_ char *text = NULL;

	if (!requests || !endpoints_can_name_request(net))
		return 0;
	text = endpoints_make_request(net, json_array_size(requests) > ENDPOINT_RULE_REQUESTS_MAX);
	return text ? endpoints_add_request_text(requests, text) : -ENOMEM;
}

/*
 * Adds a rule for an endpoint, or its request to the rule that is there. `risky`: also enables it for a private
 * address.
 */
static int endpoints_add_endpoint(struct draft *draft, const struct needs *needs, const struct network_need *endpoint,
				  bool risky)
{
	json_t *list, *rule;

	if (!*endpoint->host || endpoint->port == 0 || endpoint->is_granted ||
	    (endpoint->uses_udp && learn_is_needless_udp(needs, endpoint->host, endpoint->port)))
		return 0;
	list = draft_get_list(draft, "network", "allow");
	if (!list)
		return -ENOMEM;
	rule = endpoints_find_rule(list, endpoint);
	if (rule && risky)
		(void)json_object_del(rule, "disabled");
	if (rule)
		return endpoints_add_request(rule, endpoint);
	return json_array_append_new(list, endpoints_make_rule(needs, endpoint, risky)) < 0 ? -ENOMEM : 0;
}

/* Adds a port on which the program listened. A socket that was not bound to a port listens on any free port: 0. */
static int endpoints_add_port(struct draft *draft, const struct needs *needs, const struct network_need *net)
{
	json_t *list = net->is_granted ? NULL : draft_get_list(draft, "network", "listen");
	unsigned port = net->port;
	bool named = !net->any_port;

	if (net->is_granted)
		return 0;
	for (size_t i = 0; i < needs->nets; i++)
		named |= needs->net[i].kind == QUERY_LISTEN && !needs->net[i].any_port && needs->net[i].port == port;
	if (!named)
		port = 0;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_integer_value(json_array_get(list, i)) == (json_int_t)port)
			return 0;
	return json_array_append_new(list, json_integer((json_int_t)port)) < 0 ? -ENOMEM : 0;
}

int learn_add_endpoints(struct draft *draft, const struct needs *needs, bool risky)
{
	int r = needs->refused_socket_without_network ? draft_add_network_denying_all(draft) : 0;

	for (size_t i = 0; r == 0 && i < needs->nets; i++) {
		const struct network_need *net = &needs->net[i];

		r = net->kind == QUERY_LISTEN ? endpoints_add_port(draft, needs, net)
					      : endpoints_add_endpoint(draft, needs, net, risky);
	}
	return r;
}
