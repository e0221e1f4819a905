/* UDP: connect(2) and sends to the run's DNS, to UDP endpoints and, in a network namespace, to the run itself. */
#include <errno.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

/* attempts to bind a port that is free at all addresses: one that is free at one address may be in use at another */
#define ENDPOINT_BIND_ATTEMPTS_MAX 32

/*
 * Binds an endpoint's socket: in a network namespace to the synthetic address, the source address of replies. An
 * address that no rule names, but an answer permits, is none of the namespace's. Its datagrams go to an address of the
 * pool to which no program can send by itself.
 */
static int endpoint_bind_socket(const struct inet *inet, const struct inet_address *address,
				struct inet_address *ret_at)
{
	struct inet_address at = inet->options.has_own_netns ? *address : inet_make_loopback(inet, false, 0);
	struct sockaddr_storage storage;
	struct inet_socket made = {.kind = {.domain = at.family}};
	_cleanup_close_ int fd = socket(at.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	made.fd = fd;
	r = inet_bind_to_address(&made, &at);
	if (r == -EADDRNOTAVAIL && inet->options.has_own_netns) {
		pool_make_address(inet->options.pool, POOL_INDEX_OF_ANSWERED, at.family, 0, &storage);
		r = inet_read_socket_name(&storage, &at) ? inet_bind_to_address(&made, &at) : -EAFNOSUPPORT;
	}
	if (r == 0)
		r = inet_read_bound(&made, &at);
	if (r < 0)
		return r;
	*ret_at = at;
	return steal_fd(&fd);
}

/* Makes the UDP socket by which egress relays an endpoint's datagrams. 0 or -errno. */
static int endpoint_make_socket(const struct inet *inet, const struct inet_address *address,
				struct inet_endpoint *endpoint)
{
	int r = -EADDRINUSE;

	for (int i = 0; i < ENDPOINT_BIND_ATTEMPTS_MAX && r == -EADDRINUSE; i++) {
		r = endpoint->fd = endpoint_bind_socket(inet, address, &endpoint->at);
		if (r < 0 || inet->options.has_own_netns)
			break;
		r = endpoint->guard_fd = inet_filter_reserve_port(endpoint->fd);
		if (r < 0)
			inet_endpoint_release(endpoint);
	}
	return r < 0 ? r : 0;
}

void inet_endpoint_release(struct inet_endpoint *endpoint)
{
	cleanup_close(&endpoint->fd);
	cleanup_close(&endpoint->guard_fd);
	endpoint->fd = endpoint->guard_fd = -1;
}

/* Finds or makes the socket of egress that stands for this host. 0 with its address, to send to, or -errno. */
static int endpoint_find_or_make_socket(struct inet *inet, const char *host, const struct inet_address *address,
					struct inet_address *ret_at)
{
	struct control_connect message = {
		.port = address->port, .family = (uint8_t)address->family, .was_answered = inet->judges_as_answered};
	struct inet_endpoint *endpoint;
	int r;

	for (size_t i = 0; i < inet->endpoint_count; i++) {
		endpoint = &inet->endpoint[i];
		if (endpoint->port != address->port || strcmp(endpoint->host, host) != 0)
			continue;
		if (!inet->options.has_own_netns || inet_address_equals(&endpoint->to, address)) {
			*ret_at = endpoint->at;
			return 0;
		}
	}
	if (inet->endpoint_count == INET_ENDPOINTS_MAX)
		return -ENOBUFS;
	endpoint = &inet->endpoint[inet->endpoint_count];
	*endpoint = (struct inet_endpoint){.port = address->port, .fd = -1, .guard_fd = -1, .to = *address};
	(void)snprintf(endpoint->host, sizeof(endpoint->host), "%s", host);
	r = endpoint_make_socket(inet, address, endpoint);
	if (r < 0)
		return r;
	(void)snprintf(message.host, sizeof(message.host), "%s", host);
	r = inet->options.udp ? inet->options.udp(inet->options.egress, &message, endpoint->fd) : -ENETDOWN;
	if (r < 0) {
		inet_endpoint_release(endpoint);
		return r;
	}
	inet->endpoint_count++;
	*ret_at = endpoint->at;
	return 0;
}

/*
 * Makes an endpoint's sockets when its name is resolved, before the first datagram. None for an endpoint that a rule
 * denies: if an answer permits it, its sockets are made then, and egress is told of the answer.
 */
static void inet_endpoint_make_in_advance(struct inet *inet, const char *host, uint32_t index, uint16_t port)
{
	if (!policy_net_judge_connect(inet->options.policy, host, port, true).is_allowed)
		return;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		struct inet_address address, at;
		struct sockaddr_storage storage;

		pool_make_address(inet->options.pool, index, v6 ? AF_INET6 : AF_INET, port, &storage);
		if (inet_read_socket_name(&storage, &address))
			/* on failure, sends to the endpoint fail with ECONNREFUSED */
			(void)endpoint_find_or_make_socket(inet, host, &address, &at);
	}
}

void inet_make_endpoints_in_advance(struct inet *inet)
{
	size_t count;
	const struct net_rule *rule = policy_net_get_rules(inet->options.policy, &count);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; rule[i].proto == NET_UDP && j < rule[i].port_count; j++)
			for (uint32_t n = POOL_FIRST_NAME_INDEX; pool_get_policy_name(inet->options.pool, n); n++)
				if (strcmp(pool_get_policy_name(inet->options.pool, n), rule[i].host) == 0)
					inet_endpoint_make_in_advance(inet, rule[i].host, n, rule[i].port[j]);
}

/*
 * Judges the destination `to`, and records it. 0 with the real address to send to; -ENOENT: the policy denies it, and
 * *route says why; -ECANCELED: the call must have no effect; another -errno: the socket of the endpoint could not be
 * made.
 */
static int inet_judge_datagram_destination(struct call *call, const struct inet_address *to, struct inet_route *route,
					   struct inet_address *ret_at)
{
	struct inet *inet = call->sandbox->inet;

	inet_judge_address(inet, to, true, route);
	inet_record_endpoint(call, to, route->host, true);
	switch (route->kind) {
	case INET_TO_ENDPOINT:
		if (inet->judges_as_answered)
			inet_allow_call(call, &route->verdict);
		/* egress gets a new endpoint only if the call is the one that was asked about */
		return call_may_take_effect(call) ? endpoint_find_or_make_socket(inet, route->host, to, ret_at)
						  : -ECANCELED;
	case INET_TO_DNS:
		*ret_at = inet_make_v4(inet->options.loopback, inet->options.dns_port);
		return 0;
	case INET_TO_RUN_SOCKET:
		/* if the run closed its socket, a process of the host could receive the datagrams */
		if (!inet->options.has_own_netns) {
			route->verdict = (struct net_verdict){.reason = "needs_network_namespace"};
			return -ENOENT;
		}
		*ret_at = *to;
		return 0;
	case INET_TO_PROXY:
	case INET_TO_NOWHERE:
	default:
		return -ENOENT;
	}
}

/* A failed send has bound an unbound socket to every address. Rebinds it to `own`, at the same port if that is free. */
static int inet_undo_autobind(const struct inet_socket *socket, const struct inet_address *own)
{
	struct inet_address bound = {.family = AF_UNSPEC}, at = *own;
	int r = inet_read_bound(socket, &bound);

	if (r < 0 || !bound.port || !inet_address_is_wildcard(&bound))
		return r;
	inet_end_tcp_connect(socket->fd);
	at.port = bound.port;
	r = inet_bind_to_address(socket, &at);
	return r == -EADDRINUSE ? 0 : r;
}

/* Prepares the socket for sending to `at`. IPV6_V6ONLY can be cleared only before the socket is bound. */
static int inet_prepare_datagram_socket(const struct inet *inet, const struct inet_socket *socket,
					const struct inet_address *at)
{
	const int off = 0;
	const struct inet_address own = inet_make_v4(inet->options.loopback, 0);
	int r;

	if (!inet->options.has_own_netns) {
		r = inet_undo_autobind(socket, &own);
		if (r == 0)
			r = inet_bind_any_port(socket, &own);
		return r < 0 ? r : inet_filter_accept_from_endpoints(inet, socket->fd);
	}
	if (socket->kind.is_v6_only && at->family == AF_INET)
		/* if this fails, because the socket is bound, its sends to IPv4 addresses fail */
		(void)setsockopt(socket->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return 0;
}

int inet_route_datagram(struct call *call, const struct inet_socket *socket, const struct sockaddr_storage *address,
			int len, struct sockaddr_storage *ret_to, socklen_t *ret_len)
{
	struct inet *inet = call->sandbox->inet;
	struct inet_address to, at;
	struct inet_route route;
	int r = inet_read_sendto_address(&socket->kind, address, len, &to);

	target_allow_without_rule(call);
	if (r == 0 && to.family == AF_UNSPEC) {
		*ret_len = 0;
		return 0;
	}
	if (r < 0) {
		call_fail(call, r);
		return r;
	}
	r = inet_judge_datagram_destination(call, &to, &route, &at);
	if (inet_refuse_if_network_was_closed(call, -ECONNREFUSED))
		return -ECONNREFUSED;
	if (r == -ECANCELED)
		return call_fail(call, r);
	if (r == -ENOENT) {
		call_refuse(call, -ECONNREFUSED, route.verdict.label, route.verdict.reason);
		return -ECONNREFUSED;
	}
	if (r < 0 || (inet->options.alive && !inet->options.alive(inet->options.egress))) {
		call_refuse(call, -ENETDOWN, route.verdict.label, "egress_failed");
		return -ENETDOWN;
	}
	inet_allow_call(call, route.kind == INET_TO_ENDPOINT ? &route.verdict : NULL);
	r = inet_prepare_datagram_socket(inet, socket, &at);
	if (r < 0) {
		call_fail(call, r);
		return r;
	}
	*ret_len = inet_write_sockaddr(socket->kind.domain, &at, ret_to);
	return 0;
}

/* Whether a denial is not worth reporting: resolvers connect UDP sockets to sort addresses, and send nothing. */
static bool inet_denied_connect_is_harmless(const struct inet *inet, const struct inet_address *to,
				     const struct inet_route *route)
{
	struct sockaddr_storage storage;

	(void)inet_write_sockaddr(to->family, to, &storage);
	return route->kind == INET_TO_RUN_SOCKET ||
	       pool_holds_address(inet->options.pool, (const struct sockaddr *)&storage) ||
	       pool_find_name(inet->options.pool, (const struct sockaddr *)&storage);
}

void inet_connect_datagram(struct call *call, const struct inet_socket *socket, const struct inet_address *to)
{
	struct inet *inet = call->sandbox->inet;
	struct inet_address at, own = inet_get_pool_address(inet, to->family);
	struct sockaddr_storage storage;
	struct inet_route route;
	socklen_t len;
	int r = inet_judge_datagram_destination(call, to, &route, &at);

	if (inet_refuse_if_network_was_closed(call, -ECONNREFUSED))
		return;
	if (r == -ECANCELED) {
		call_fail(call, r);
		return;
	}
	if (r == -ENOENT && !inet_denied_connect_is_harmless(inet, to, &route)) {
		call_refuse(call, -ECONNREFUSED, route.verdict.label, route.verdict.reason);
		return;
	}
	inet_allow_call(call, route.kind == INET_TO_ENDPOINT ? &route.verdict : NULL);
	if (r < 0) /* connects to a socket at which sends fail with ECONNREFUSED */
		at = inet_make_v4(inet->options.loopback, inet->options.sink_port);
	r = inet_prepare_datagram_socket(inet, socket, &at);
	if (r < 0)
		call_fail(call, r);
	if (r < 0 || call_commit_record(call) < 0)
		return;
	len = inet_write_sockaddr(socket->kind.domain, &at, &storage);
	r = connect(socket->fd, (const struct sockaddr *)&storage, len) < 0 ? -errno : 0;
	if (r == 0)
		inet_names_set_of_socket(inet, socket, inet_address_is_loopback(to) ? NULL : &own, to);
	call_return_result(call, r);
}
