/*
 * Compares what two policies grant of the network. It tries:
 *   - hosts: each name of a pattern; for "*.d" and "**.d" also d, x.d and y.x.d. So for each set of patterns that some
 *     host matches, one such host is tried;
 *   - ports: those of all rules for the host, and one that no rule has; with TCP and UDP;
 *   - requests: methods of the rules for the endpoint, one that none has, and the paths of walk.h;
 *   - ports to listen at: the ends of all ranges, and their neighbours.
 */
#include <stdio.h>
#include <string.h>

#include "policy/diff/diff.h"
#include "policy/diff/walk.h"
#include "policy/model.h"
#include "policy/network/network.h"

#define ENDPOINT_TEXT_SIZE (NET_METHOD_SIZE + NET_HOST_SIZE + NET_PATH_SIZE + 32)

/* A list of texts without duplicates. */
struct endpoints_texts {
	const char **text;
	size_t text_count;
};

/* The ports about which both policies are asked. */
struct endpoints_ports {
	unsigned *port;
	size_t port_count;
};

/* The endpoint about which both policies are asked. */
struct endpoints_question {
	struct diff_search *search;
	const char *host;
	unsigned port;
	bool tls;
	struct endpoints_texts methods;
	bool asks_for_websocket;
};

static struct arena *endpoints_get_arena(const struct diff_search *search)
{
	return &search->diff->arena;
}

static void endpoints_add_text(struct diff_search *search, struct endpoints_texts *texts, const char *text)
{
	for (size_t i = 0; i < texts->text_count; i++)
		if (strcmp(texts->text[i], text) == 0)
			return;
	ARENA_APPEND(endpoints_get_arena(search), texts->text, texts->text_count, text);
}

/* Adds a port at which both policies are asked, once. */
static void endpoints_add_port(struct diff_search *search, struct endpoints_ports *ports, unsigned port)
{
	for (size_t i = 0; i < ports->port_count; i++)
		if (ports->port[i] == port)
			return;
	ARENA_APPEND(endpoints_get_arena(search), ports->port, ports->port_count, port);
}

/* One policy's answer about an endpoint or request. Without "network" all is denied. */
static struct diff_answer endpoints_make_answer(const struct policy *policy, struct net_verdict verdict)
{
	if (!policy_net_is_enabled(policy))
		verdict = (struct net_verdict){.reason = "no_network"};
	return (struct diff_answer){verdict.is_allowed ? DIFF_ACCESS_FULL : DIFF_ACCESS_NONE,
				    verdict.is_allowed ? VERDICT_ALLOW : VERDICT_DENY, verdict.label, verdict.reason};
}

/* Prints an endpoint: "api.test:443", with brackets around an IPv6 address. */
static void endpoints_format_question(char out[ENDPOINT_TEXT_SIZE], const struct endpoints_question *at,
				      const char *suffix)
{
	(void)snprintf(out, ENDPOINT_TEXT_SIZE, strchr(at->host, ':') ? "[%s]:%u%s" : "%s:%u%s", at->host, at->port,
		       suffix);
}

/* ---- the hosts, ports and requests that are tried ---- */

/*
 * Adds the hosts by which a pattern can be told from others: its name, and for a wildcard names one and two labels
 * below.
 */
static void endpoints_add_pattern_hosts(struct diff_search *search, struct endpoints_texts *hosts, const char *pattern)
{
	const char *name = net_is_wildcard(pattern) ? strchr(pattern, '.') + 1 : pattern;

	endpoints_add_text(search, hosts, name);
	if (name == pattern || strlen(name) + 4 >= NET_HOST_SIZE)
		return;
	endpoints_add_text(search, hosts, arena_printf(endpoints_get_arena(search), "x.%s", name));
	endpoints_add_text(search, hosts, arena_printf(endpoints_get_arena(search), "y.x.%s", name));
}

/* Adds the hosts by which the rules of both policies can be told apart. */
static void endpoints_collect_hosts(struct diff_search *search, struct endpoints_texts *hosts)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct policy_network *network = &search->policy[side]->network;

		for (size_t i = 0; i < network->rule_count; i++)
			endpoints_add_pattern_hosts(search, hosts, network->rule[i].host);
		for (size_t i = 0; i < network->deny_count; i++)
			endpoints_add_pattern_hosts(search, hosts, network->deny[i].host);
	}
}

/* Collects the ports of the rules for a host, and the lowest port that none of them has. */
static void endpoints_collect_ports(struct diff_search *search, const char *host, struct endpoints_ports *ports)
{
	unsigned other = 1;

	for (unsigned side = 0; side < 2; side++) {
		const struct policy_network *network = &search->policy[side]->network;

		for (size_t i = 0; i < network->rule_count; i++)
			for (size_t j = 0; j < network->rule[i].port_count; j++)
				if (net_host_matches(network->rule[i].host, host))
					endpoints_add_port(search, ports, network->rule[i].port[j]);
		for (size_t i = 0; i < network->deny_count; i++)
			for (size_t j = 0; j < network->deny[i].port_count; j++)
				if (net_host_matches(network->deny[i].host, host))
					endpoints_add_port(search, ports, network->deny[i].port[j]);
	}
	for (size_t i = 0; i < ports->port_count; i++)
		if (ports->port[i] == other) {
			other++;
			i = (size_t)-1; /* start again with the first port */
		}
	endpoints_add_port(search, ports, other);
}

/* Adds the methods of a list, separated by commas, to those that both policies are asked about. */
static void endpoints_add_methods(struct diff_search *search, struct endpoints_texts *methods, const char *list)
{
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (strcmp(list, "*") != 0)
			endpoints_add_text(search, methods, arena_dupn(endpoints_get_arena(search), list, len));
	}
}

/* True when the rule allows requests to the endpoint. */
static bool endpoints_rule_allows_requests(const struct net_rule *rule, const struct endpoints_question *at)
{
	bool port = false;

	for (size_t i = 0; i < rule->port_count; i++)
		port = port || rule->port[i] == at->port;
	return port && rule->proto == (at->tls ? NET_HTTPS : NET_HTTP) && net_host_matches(rule->host, at->host);
}

/* Adds the methods and paths of the rules for the endpoint. False: no rule is about requests to it. */
static bool endpoints_collect_request_patterns(struct endpoints_question *at, struct walk_pattern **pattern,
					       size_t *patterns)
{
	struct arena *arena = endpoints_get_arena(at->search);
	bool some = false;

	for (unsigned side = 0; side < 2; side++) {
		const struct policy_network *network = &at->search->policy[side]->network;

		for (size_t i = 0; i < network->rule_count; i++) {
			const struct net_rule *rule = &network->rule[i];

			if (!endpoints_rule_allows_requests(rule, at))
				continue;
			some = true;
			for (size_t j = 0; j < rule->http_rule_count; j++) {
				struct walk_pattern one = {
					.glob = walk_split_path(arena, rule->http_rule[j].path, false)};

				one.sets = UINT64_C(1) << *patterns % 32;
				ARENA_APPEND(arena, *pattern, *patterns, one);
				endpoints_add_methods(at->search, &at->methods, rule->http_rule[j].methods);
			}
		}
	}
	return some;
}

/* ---- witnesses ---- */

/* Asks both policies about a connection to the endpoint. */
static void endpoints_ask_connect(struct endpoints_question *at, bool udp)
{
	char text[ENDPOINT_TEXT_SIZE];
	struct diff_witness witness = {"connect", text, "connect", {{0}}};

	endpoints_format_question(text, at, udp ? "/udp" : "");
	for (unsigned side = 0; side < 2; side++)
		witness.answer[side] = endpoints_make_answer(at->search->policy[side],
						       policy_net_judge_connect(at->search->policy[side], at->host,
										at->port, udp));
	diff_add_witness(at->search, &witness);
}

/* Asks both policies about a request to the endpoint. One whose URL is too long is left out. */
static void endpoints_ask_request(struct endpoints_question *at, const char *method, const char *path)
{
	const struct net_request request = {at->host, at->port, at->tls, at->asks_for_websocket, method, path};
	char text[ENDPOINT_TEXT_SIZE], endpoint[ENDPOINT_TEXT_SIZE];
	struct diff_witness witness = {"url", text, "request", {{0}}};

	endpoints_format_question(endpoint, at, "");
	if (snprintf(text, sizeof(text), "%s %s%s://%s%s", method, at->asks_for_websocket ? "ws" : "http",
		     at->tls ? "s" : "", endpoint, path) >= (int)sizeof(text))
		return;
	for (unsigned side = 0; side < 2; side++)
		witness.answer[side] = endpoints_make_answer(at->search->policy[side],
						       policy_net_judge_url(at->search->policy[side], &request));
	diff_add_witness(at->search, &witness);
}

/* Asks both policies about requests to the path, by each method. Returns no facts. */
static uint64_t endpoints_visit_path(void *ctx, const char *path)
{
	struct endpoints_question *at = ctx;
	char normal[NET_PATH_SIZE];

	/* a path that no request has, or that is not in normal form, is not judged as written */
	if (net_path_normalise(path, strlen(path), normal, NULL) < 0 || strcmp(path, normal) != 0)
		return 0;
	for (size_t i = 0; i < at->methods.text_count; i++) {
		at->asks_for_websocket = false;
		endpoints_ask_request(at, at->methods.text[i], path);
	}
	at->asks_for_websocket = true;
	endpoints_ask_request(at, "GET", path);
	return 0;
}

/* Asks both policies about requests to the endpoint: to paths that their rules can tell apart. */
static void endpoints_compare_requests(struct endpoints_question *at)
{
	struct pattern_walk walk = {.arena = endpoints_get_arena(at->search), .visit = endpoints_visit_path, .ctx = at};
	struct walk_pattern *pattern = NULL;

	at->methods = (struct endpoints_texts){.text_count = 0};
	endpoints_add_text(at->search, &at->methods, "GET");
	if (!endpoints_collect_request_patterns(at, &pattern, &walk.pattern_count))
		return;
	endpoints_add_text(at->search, &at->methods, "OTHER");
	walk.pattern = pattern;
	(void)endpoints_visit_path(at, "/");
	if (!walk_visit_paths(&walk))
		at->search->diff->cut = true;
}

/* Asks both policies about connections and requests to the host, at all ports that matter. */
static void endpoints_compare_host(struct diff_search *search, const char *host)
{
	struct endpoints_question at = {.search = search, .host = host};
	struct endpoints_ports ports = {.port_count = 0};

	endpoints_collect_ports(search, host, &ports);
	for (size_t i = 0; i < ports.port_count; i++) {
		at.port = ports.port[i];
		endpoints_ask_connect(&at, false);
		endpoints_ask_connect(&at, true);
		at.tls = true;
		endpoints_compare_requests(&at);
		at.tls = false;
		endpoints_compare_requests(&at);
	}
}

/* Asks both policies about listening at the port. */
static void endpoints_ask_listen(struct diff_search *search, unsigned port)
{
	char text[16];
	struct diff_witness witness = {"listen", text, "listen", {{0}}};

	(void)snprintf(text, sizeof(text), "%u", port);
	for (unsigned side = 0; side < 2; side++)
		witness.answer[side] = endpoints_make_answer(search->policy[side],
						       policy_net_judge_listen(search->policy[side], port));
	diff_add_witness(search, &witness);
}

/* Asks both policies about listening at the ports where their answers can change. */
static void endpoints_compare_listen(struct diff_search *search)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct policy_network *network = &search->policy[side]->network;

		for (size_t i = 0; i < network->listen_range_count; i++) {
			unsigned first = network->listen_range[i].first, last = network->listen_range[i].last;

			endpoints_ask_listen(search, first);
			endpoints_ask_listen(search, last);
			/*
			 * Answers can only change from one port to the next at the ends of a range. So the ports at the
			 * ends, and the next port after each range, are enough.
			 */
			if (last < UINT16_MAX)
				endpoints_ask_listen(search, last + 1);
		}
	}
}

/* Asks both policies about hosts, ports and requests that their rules can tell apart. */
void diff_compare_network(struct diff_search *search)
{
	struct endpoints_texts hosts = {.text_count = 0};

	endpoints_collect_hosts(search, &hosts);
	for (size_t i = 0; i < hosts.text_count; i++)
		endpoints_compare_host(search, hosts.text[i]);
	endpoints_compare_listen(search);
}
