/*
 * Decides where an internet address leads by the policy, and how that is recorded. Synthetic addresses are looked up in
 * the pool of names that egress' DNS server has handed out.
 */
#include "policy/paths/after.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

struct inet_address inet_make_loopback(const struct inet *inet, bool v6, uint16_t port)
{
	if (inet->options.has_own_netns && v6)
		return (struct inet_address){.family = AF_INET6, .v6 = in6addr_loopback, .port = port};
	return inet_make_v4(v6 ? inet->loopback_of_v6_sockets : inet->options.loopback, port);
}

struct inet_address inet_get_pool_address(const struct inet *inet, int family)
{
	struct inet_address own = {.family = AF_UNSPEC};
	struct sockaddr_storage storage;

	pool_make_address(inet->options.pool, POOL_INDEX_OF_PROXIES, family, 0, &storage);
	(void)inet_read_socket_name(&storage, &own); /* cannot fail: pool_make_address() writes AF_INET or AF_INET6 */
	return own;
}

/*
 * The name for which egress handed out a synthetic address. If none is known, reads egress' pending messages, which may
 * tell it, and looks again. NULL: no such name.
 */
static const char *inet_find_host_of_address(const struct inet *inet, const struct sockaddr *address)
{
	const char *name = pool_find_name(inet->options.pool, address);

	if (name || !inet->options.catch_up)
		return name;
	inet->options.catch_up(inet->options.egress);
	return pool_find_name(inet->options.pool, address);
}

void inet_judge_as_answered(struct inet *inet, bool answered)
{
	if (inet)
		inet->judges_as_answered = answered;
}

static struct net_verdict inet_judge_endpoint(const struct inet *inet, const char *host, unsigned port, bool udp)
{
	return inet->judges_as_answered ? policy_net_judge_answered_connect(inet->options.policy, host, port, udp)
					: policy_net_judge_connect(inet->options.policy, host, port, udp);
}

/* Judges an address that the policy lists literally. */
static void inet_judge_literal_address(struct inet *inet, const struct inet_address *address, bool udp,
				       struct inet_route *route)
{
	struct sockaddr_storage storage;

	(void)inet_write_sockaddr(address->family, address, &storage);
	net_address_format((const struct sockaddr *)&storage, route->host_text);
	route->host = route->host_text;
	route->verdict = inet_judge_endpoint(inet, route->host_text, address->port, udp);
	if (route->verdict.is_allowed)
		route->kind = INET_TO_ENDPOINT;
}

/* Whether the policy lets the run listen at the port. If not, the host's loopback is meant, and refused. */
static bool inet_run_may_listen(const struct inet *inet, uint16_t port)
{
	return policy_net_judge_listen(inet->options.policy, port).is_allowed ||
	       (port >= IPPORT_RESERVED && policy_net_judge_listen(inet->options.policy, 0).is_allowed);
}

/* Routes loopback addresses and the run's own synthetic address, which stay within the run. False: another address. */
static bool inet_route_address_of_run(const struct inet *inet, const struct inet_address *address, bool own, bool udp,
				   struct inet_route *route)
{
	/* Multicast stays in the run's own network namespace. Without one, packets to groups leave the machine. */
	if (udp && inet->options.has_own_netns && inet_address_is_multicast(address)) {
		route->kind = INET_TO_RUN_SOCKET;
		return true;
	}
	if (!own && !inet_address_is_loopback(address))
		return false;
	if (own && !udp && policy_net_offers_proxy(inet->options.policy) &&
	    (address->port == CONTROL_PORT_HTTP_PROXY || address->port == CONTROL_PORT_SOCKS))
		route->kind = INET_TO_PROXY;
	else if (address->port == 53)
		route->kind = INET_TO_DNS;
	else if (route->verdict.label && strcmp(route->verdict.reason, "denied_by_rule") == 0)
		route->kind = INET_TO_NOWHERE;
	else if (udp || inet_run_may_listen(inet, address->port))
		route->kind = INET_TO_RUN_SOCKET;
	return true;
}

void inet_judge_address(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *ret_route)
{
	const struct pool *pool = inet->options.pool;
	struct sockaddr_storage storage;
	const struct sockaddr *at = (const struct sockaddr *)&storage;
	/* any: a rule for every endpoint allows the address, which may still be one of the run's own */
	bool own, known, any;

	*ret_route = (struct inet_route){.kind = INET_TO_NOWHERE};
	(void)inet_write_sockaddr(address->family, address, &storage);
	own = pool_is_run_address(pool, at);
	known = own || pool_holds_address(pool, at);
	inet_judge_literal_address(inet, address, udp, ret_route);
	any = ret_route->kind == INET_TO_ENDPOINT && !ret_route->verdict.rule->is_address;
	if (ret_route->kind == INET_TO_ENDPOINT && !known && !any)
		return;
	ret_route->kind = INET_TO_NOWHERE;
	if (inet_route_address_of_run(inet, address, own, udp, ret_route))
		return;
	ret_route->host = inet_find_host_of_address(inet, at);
	if (ret_route->host) {
		ret_route->verdict = inet_judge_endpoint(inet, ret_route->host, address->port, udp);
		ret_route->kind = ret_route->verdict.is_allowed ? INET_TO_ENDPOINT : INET_TO_NOWHERE;
	} else {
		ret_route->host = ret_route->host_text;
		if (any && !known)
			ret_route->kind = INET_TO_ENDPOINT;
		if (known)
			ret_route->verdict = (struct net_verdict){.reason = "address_unknown"};
	}
}

void inet_record_endpoint(struct call *call, const struct inet_address *address, const char *host, bool udp)
{
	struct call_net *net = &call->net;
	struct sockaddr_storage storage;

	(void)inet_write_sockaddr(address->family, address, &storage);
	net_address_format((const struct sockaddr *)&storage, net->address);
	(void)snprintf(net->host, sizeof(net->host), "%s", host ? host : net->address);
	net->audit_net = (struct audit_net){.host = net->host, .port = address->port, .proto = udp ? "udp" : "tcp"};
	if (strcmp(net->host, net->address) != 0)
		net->audit_net.address = net->address;
}

void inet_allow_call(struct call *call, const struct net_verdict *verdict)
{
	target_allow_without_rule(call);
	if (!verdict)
		return;
	call->decision.rule = verdict->label;
	call->decision.reason = verdict->reason;
	call->decision.observed_denial = verdict->observed_denial;
}

bool inet_refuse_if_network_was_closed(struct call *call, int error)
{
	const struct policy *policy = call->sandbox->policy;
	const char *label = policy_is_observing(policy) ? NULL : policy_find_entry_that_closed_network(policy);

	if (label)
		call_refuse(call, error, label, "after_read");
	return label != NULL;
}
