/* Judges endpoints and requests: a deny rule beats everything, else a rule must allow it. No allocation, no I/O. */
#include <errno.h>
#include <string.h>

#include "policy/model.h"
#include "policy/network/network.h"
#include "policy/paths/after.h"

bool policy_net_is_enabled(const struct policy *policy)
{
	return policy->network.said == NET_SECTION_GIVEN;
}

const struct net_rule *policy_net_get_rules(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy->network.rule_count;
	return policy->network.rule;
}

size_t policy_net_get_fixed_addresses(const struct policy *policy, const char *host, struct sockaddr_storage *ret,
				  size_t cap)
{
	const struct policy_network *network = &policy->network;

	for (size_t i = 0; i < network->fixed_host_count; i++) {
		const struct net_fixed_host *fixed = &network->fixed_host[i];
		size_t count = fixed->address_count < cap ? fixed->address_count : cap;

		if (strcmp(fixed->host, host) != 0)
			continue;
		memcpy(ret, fixed->address, count * sizeof(*ret));
		return count;
	}
	return 0;
}

const char *policy_net_get_upstream_ca(const struct policy *policy)
{
	return policy->network.upstream_ca;
}

bool policy_net_offers_proxy(const struct policy *policy)
{
	return policy->network.proxy == NET_PROXY_ON || policy->network.proxy == NET_PROXY_ON_WITH_VARIABLES;
}

bool policy_net_sets_proxy_variables(const struct policy *policy)
{
	return policy->network.proxy == NET_PROXY_ON_WITH_VARIABLES;
}

struct net_pool_ranges policy_net_get_pool(const struct policy *policy)
{
	struct net_pool_ranges pool = policy->network.pool;

	if (!pool.v4_bits) { /* default: 198.18.0.0/15 */
		pool.v4.s_addr = htonl(0xc6120000);
		pool.v4_bits = 15;
	}
	if (!pool.v6_bits) { /* default: fd00:5a::/32 */
		pool.v6 = (struct in6_addr){.s6_addr = {0xfd, 0x00, 0x00, 0x5a}};
		pool.v6_bits = 32;
	}
	return pool;
}

const struct net_secret *policy_net_get_secrets(const struct policy *policy, size_t *ret_count)
{
	*ret_count = policy_net_is_enabled(policy) ? policy->network.secret_count : 0;
	return policy->network.secret;
}

bool net_secret_allows_host(const struct net_secret *secret, const char *host)
{
	for (const char *const *pattern = secret->hosts; *pattern; pattern++)
		if (net_host_matches(*pattern, host))
			return true;
	return false;
}

/* A denial for which no rule stands. reason: static. */
static struct net_verdict judge_make_refusal(const char *reason)
{
	return (struct net_verdict){.reason = reason};
}

/* A grant by a rule of "allow". */
static struct net_verdict judge_make_grant(const struct net_rule *rule)
{
	return (struct net_verdict){.is_allowed = true, .rule = rule, .label = rule->label, .reason = "granted"};
}

static bool judge_port_is_listed(const uint16_t *ports, size_t count, unsigned port)
{
	for (size_t i = 0; i < count; i++)
		if (ports[i] == port)
			return true;
	return false;
}

bool net_deny_matches(const struct net_deny *deny, const char *host, unsigned port)
{
	return (!deny->port_count || judge_port_is_listed(deny->port, deny->port_count, port)) &&
	       net_host_matches(deny->host, host);
}

/* Finds the deny rule for a host and port or, with `all_ports`, one for all ports of the host. NULL: none. */
static const struct net_deny *judge_find_deny(const struct policy *policy, const char *host, unsigned port,
					      bool all_ports)
{
	for (size_t i = 0; i < policy->network.deny_count; i++) {
		const struct net_deny *deny = &policy->network.deny[i];

		if (!(all_ports && deny->port_count) && net_deny_matches(deny, host, port))
			return deny;
	}
	return NULL;
}

/* A denial by a rule of "deny". */
static struct net_verdict judge_make_denial(const struct net_deny *deny)
{
	return (struct net_verdict){.label = deny->label, .reason = "denied_by_rule"};
}

struct net_verdict net_make_denial_by_asking_rule(const struct net_rule *rule)
{
	return (struct net_verdict){.label = rule->label, .reason = "denied_by_rule"};
}

struct net_verdict policy_net_judge_name(const struct policy *policy, const char *host)
{
	const struct net_deny *deny = judge_find_deny(policy, host, 0, true);

	if (deny)
		return judge_make_denial(deny);
	for (size_t i = 0; i < policy->network.rule_count; i++)
		if (net_host_matches(policy->network.rule[i].host, host))
			return judge_make_grant(&policy->network.rule[i]);
	return judge_make_refusal("no_rule");
}

const struct net_rule *net_find_next_rule(const struct policy *policy, size_t *at, const char *host, unsigned port,
					  bool udp, const char **reason)
{
	while (*at < policy->network.rule_count) {
		const struct net_rule *rule = &policy->network.rule[(*at)++];

		if (!net_host_matches(rule->host, host))
			continue;
		if (rule->port_count && !judge_port_is_listed(rule->port, rule->port_count, port)) {
			if (strcmp(*reason, "no_rule") == 0)
				*reason = "port_not_granted";
			continue;
		}
		if ((rule->proto == NET_UDP) == udp)
			return rule;
		*reason = "proto_not_granted";
	}
	return NULL;
}

/* Adds the verdict of the judged policy, if that denies what the observing policy allows. */
static struct net_verdict judge_add_observed_denial(struct net_verdict verdict, const struct net_verdict *judged,
						    int error)
{
	if (verdict.is_allowed && !judged->is_allowed)
		verdict.observed_denial = (struct policy_observed_denial){error, judged->label, judged->reason};
	return verdict;
}

/* The label of the fired entry of after_read that closes the network of `policy` itself. NULL: the network is open. */
static const char *judge_find_entry_that_closed_network(const struct policy *policy)
{
	uint32_t closed =
		policy->fired_after_entries ? *policy->fired_after_entries & policy->after_entries_closing_network : 0;

	return closed ? policy_get_after_label(policy, (unsigned)__builtin_ctz(closed)) : NULL;
}

/* Judges a connection: a fired after_read entry, then rules of "deny", then rules of "allow". */
static struct net_verdict judge_connect(const struct policy *policy, const char *host, unsigned port, bool udp)
{
	const struct net_deny *deny = judge_find_deny(policy, host, port, false);
	const char *reason = "no_rule";
	const struct net_rule *rule;
	size_t at = 0;

	if (judge_find_entry_that_closed_network(policy))
		return (struct net_verdict){.label = judge_find_entry_that_closed_network(policy),
					    .reason = "after_read"};
	if (deny)
		return judge_make_denial(deny);
	rule = net_find_next_rule(policy, &at, host, port, udp, &reason);
	return rule ? judge_make_grant(rule) : judge_make_refusal(reason);
}

struct net_verdict policy_net_judge_connect(const struct policy *policy, const char *host, unsigned port, bool udp)
{
	const struct net_verdict verdict = judge_connect(policy, host, port, udp);
	struct net_verdict judged;

	if (!policy_is_observing(policy))
		return verdict;
	judged = judge_connect(policy->judged_policy, host, port, udp);
	return judge_add_observed_denial(verdict, &judged, ECONNREFUSED);
}

struct net_verdict policy_net_judge_address(const struct policy *policy, const struct sockaddr *address, unsigned port)
{
	char text[NET_ADDRESS_TEXT_SIZE];
	const struct net_deny *deny;

	net_address_format(address, text);
	deny = judge_find_deny(policy, text, port, false);
	return deny ? judge_make_denial(deny) : (struct net_verdict){.is_allowed = true, .reason = "granted"};
}

bool policy_net_asks_about_requests(const struct policy *policy, const char *host, unsigned port)
{
	const char *reason = "no_rule";
	const struct net_rule *rule;
	size_t at = 0;

	while ((rule = net_find_next_rule(policy, &at, host, port, false, &reason)))
		if (rule->asks_about_requests)
			return true;
	return false;
}

bool policy_net_intercepts_tls(const struct policy *policy, const char *host, unsigned port)
{
	const char *reason = "no_rule";
	const struct net_rule *rule;
	bool some = false, all = true;
	size_t at = 0;

	if (policy_net_asks_about_requests(policy, host, port))
		return true; /* also where another rule permits any request */
	while ((rule = net_find_next_rule(policy, &at, host, port, false, &reason))) {
		if (rule->proto != NET_HTTPS)
			continue;
		some = true;
		all = all && rule->http_rule_count > 0;
		if (rule->credential_header || rule->budget.requests_max || rule->budget.requests_per_minute)
			return true; /* credentials and limits of requests need TLS interception */
	}
	for (size_t i = 0; some && i < policy->network.secret_count; i++)
		if (net_secret_allows_host(&policy->network.secret[i], host))
			return true;
	return some && all;
}

static bool judge_method_is_listed(const char *methods, const char *method)
{
	size_t len = strlen(method);

	if (strcmp(methods, "*") == 0)
		return true;
	for (; *methods; methods += *methods == ',') {
		size_t one = strcspn(methods, ",");

		if (one == len && memcmp(methods, method, len) == 0)
			return true;
		methods += one;
	}
	return false;
}

/*
 * As judge_method_is_listed(), of a rule of "ask": some servers take "delete" for DELETE (RFC 9110, 9.1, tells methods
 * apart by case), and most do for HEAD what they do for GET, but for the content.
 */
static bool judge_method_may_be_listed(const char *methods, const char *method)
{
	char upper[NET_METHOD_SIZE];
	size_t len = 0;

	for (; len < sizeof(upper) - 1 && method[len]; len++)
		upper[len] = method[len] >= 'a' && method[len] <= 'z' ? (char)(method[len] & ~0x20) : method[len];
	upper[len] = '\0';
	return judge_method_is_listed(methods, upper) ||
	       (strcmp(upper, "HEAD") == 0 && judge_method_is_listed(methods, "GET"));
}

/* True when "http" of a rule names the request. Else *reason may become what the closest item of "http" lacks. */
static bool judge_http_names(const struct net_rule *rule, const char *method, const char *path, bool upgrade,
			     const char **reason)
{
	for (size_t i = 0; i < rule->http_rule_count; i++) {
		const struct net_http_rule *http = &rule->http_rule[i];

		if (!(rule->asks_about_requests ? net_path_may_match : net_path_matches)(http->path, path))
			continue;
		if (http->is_websocket != upgrade) {
			if (upgrade && strcmp(*reason, "method_not_granted") != 0)
				*reason = "upgrade_not_granted";
			continue;
		}
		if ((rule->asks_about_requests ? judge_method_may_be_listed : judge_method_is_listed)(http->methods,
												      method))
			return true;
		*reason = "method_not_granted";
	}
	return false;
}

/*
 * As judge_http_names(), for a rule of "allow" or "ask". In "ask", GET means websockets, too, which begin with it: else
 * a rule of "allow" without "http" would permit them.
 */
static bool judge_rule_names_request(const struct net_rule *rule, const char *method, const char *path, bool upgrade,
				     const char **reason)
{
	return judge_http_names(rule, method, path, upgrade, reason) ||
	       (rule->asks_about_requests && upgrade && judge_http_names(rule, method, path, false, reason));
}

bool net_rule_allows_request(const struct net_rule *rule, const char *method, const char *path, bool upgrade)
{
	const char *reason = "";

	return rule->http_rule_count == 0 || judge_rule_names_request(rule, method, path, upgrade, &reason);
}

struct net_verdict net_judge_request_by_rules(const struct policy *policy, const char *host, unsigned port,
					      const char *method, const char *path, bool upgrade,
					      const struct net_rule **ret_asking)
{
	const struct net_rule *rule, *named = NULL, *any = NULL;
	const char *reason = "no_rule";
	const char *closest = "path_not_granted";
	bool some = false;
	size_t at = 0;

	*ret_asking = NULL;
	if (strcmp(method, "CONNECT") == 0 || strcmp(method, "TRACE") == 0)
		return judge_make_refusal("method_not_granted");
	while ((rule = net_find_next_rule(policy, &at, host, port, false, &reason))) {
		const struct net_rule **first = rule->asks_about_requests   ? ret_asking
						: rule->http_rule_count > 0 ? &named
									    : &any;

		if (rule->proto != NET_HTTPS && rule->proto != NET_HTTP) {
			reason = "proto_not_granted";
			continue;
		}
		some = true;
		if (!*first &&
		    (first == &any || judge_rule_names_request(rule, method, path, upgrade, &closest)))
			*first = rule;
	}
	if (named || any)
		return judge_make_grant(named ? named : any);
	return judge_make_refusal(some ? closest : reason);
}

/* Judges an HTTP request: a fired after_read entry, then rules of "deny", of "ask", and of "allow". */
static struct net_verdict judge_request(const struct policy *policy, const char *host, unsigned port,
					const char *method, const char *path, bool upgrade)
{
	const struct net_deny *deny = judge_find_deny(policy, host, port, false);
	const struct net_rule *asking;
	struct net_verdict verdict;

	if (judge_find_entry_that_closed_network(policy))
		return (struct net_verdict){.label = judge_find_entry_that_closed_network(policy),
					    .reason = "after_read"};
	if (deny)
		return judge_make_denial(deny);
	verdict = net_judge_request_by_rules(policy, host, port, method, path, upgrade, &asking);
	return asking ? net_make_denial_by_asking_rule(asking) : verdict;
}

struct net_verdict policy_net_judge_request(const struct policy *policy, const char *host, unsigned port,
					    const char *method, const char *path, bool upgrade)
{
	const struct net_verdict verdict = judge_request(policy, host, port, method, path, upgrade);
	struct net_verdict judged;

	if (!policy_is_observing(policy))
		return verdict;
	judged = judge_request(policy->judged_policy, host, port, method, path, upgrade);
	return judge_add_observed_denial(verdict, &judged, ECONNREFUSED);
}

bool policy_net_judges_requests(const struct policy *policy, const struct net_rule *rule, const char *host,
				unsigned port)
{
	return rule->proto == NET_HTTP || (rule->proto == NET_HTTPS && policy_net_intercepts_tls(policy, host, port));
}

struct net_verdict policy_net_judge_url(const struct policy *policy, const struct net_request *request)
{
	struct net_verdict verdict = policy_net_judge_connect(policy, request->host, request->port, false);
	const struct net_rule *rule = verdict.rule;

	if (!verdict.is_allowed || rule->proto == NET_TCP)
		return verdict;
	if ((rule->proto == NET_HTTPS) != request->tls)
		return (struct net_verdict){.label = verdict.label, .reason = "proto_not_granted"};
	if (!policy_net_judges_requests(policy, rule, request->host, request->port))
		return verdict;
	return policy_net_judge_request(policy, request->host, request->port, request->method, request->path,
					request->asks_for_websocket);
}

/* Judges listening at a port: a fired after_read entry, then the ranges of "listen". */
static struct net_verdict judge_listen(const struct policy *policy, unsigned port)
{
	if (judge_find_entry_that_closed_network(policy))
		return (struct net_verdict){.label = judge_find_entry_that_closed_network(policy),
					    .reason = "after_read"};
	for (size_t i = 0; i < policy->network.listen_range_count; i++) {
		const struct net_listen_range *range = &policy->network.listen_range[i];

		if (port >= range->first && port <= range->last)
			return (struct net_verdict){.is_allowed = true, .label = range->label, .reason = "granted"};
	}
	return judge_make_refusal("port_not_granted");
}

struct net_verdict policy_net_judge_listen(const struct policy *policy, unsigned port)
{
	const struct net_verdict verdict = judge_listen(policy, port);
	struct net_verdict judged;

	if (!policy_is_observing(policy))
		return verdict;
	judged = judge_listen(policy->judged_policy, port);
	return judge_add_observed_denial(verdict, &judged, EACCES);
}
