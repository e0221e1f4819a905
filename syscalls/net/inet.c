#include "syscalls/net/inet.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

int inet_create(const struct inet_options *options, struct inet **ret_inet)
{
	struct inet *inet = calloc(1, sizeof(*inet));
	int r;

	if (!inet)
		return -ENOMEM;
	inet->options = *options;
	inet->loopback6.s_addr = htonl(ntohl(options->loopback.s_addr) + 1);
	r = inet_names_create(&inet->names);
	if (r == 0)
		r = inet_listeners_create(&inet->listeners);
	if (r < 0) {
		inet_free(inet);
		return r;
	}
	if (inet->options.own_netns && !descriptor_direct())
		inet_prepare_endpoints(inet);
	*ret_inet = inet;
	return 0;
}

void inet_free(struct inet *inet)
{
	if (!inet)
		return;
	for (size_t i = 0; i < inet->endpoints; i++)
		inet_endpoint_done(&inet->endpoint[i]);
	inet_names_free(inet->names);
	inet_listeners_free(inet->listeners);
	free(inet);
}

bool inet_tick(struct inet *inet, uint64_t now_ns)
{
	return inet && inet_listeners_tick(inet->listeners, now_ns);
}

bool inet_bounded(const struct inet *inet)
{
	return inet && inet->options.own_netns;
}

/* ---- sockets ---- */

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) < 0 ? -1 : value;
}

/* Domain and type: another thread may have put anything there. */
bool inet_read_kind(int fd, struct inet_kind *ret_kind)
{
	int domain = option(fd, SOL_SOCKET, SO_DOMAIN), type = option(fd, SOL_SOCKET, SO_TYPE);
	int protocol = option(fd, SOL_SOCKET, SO_PROTOCOL);

	if (domain != AF_INET && domain != AF_INET6)
		return false;
	if (!(type == SOCK_STREAM && protocol == IPPROTO_TCP) && !(type == SOCK_DGRAM && protocol == IPPROTO_UDP))
		return false;
	*ret_kind = (struct inet_kind){.domain = domain, .stream = type == SOCK_STREAM};
	ret_kind->v6only = domain == AF_INET6 && option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1;
	return true;
}

bool inet_take_socket(struct call *call, struct inet_socket *ret_socket, int other)
{
	_cleanup_close_ int fd = descriptor_copy(call, call_int(call, 0));

	if (fd < 0)
		return false;
	if (!inet_read_kind(fd, &ret_socket->kind)) {
		target_allow(call);
		call_fail(call, option(fd, SOL_SOCKET, SO_DOMAIN) < 0 ? -ENOTSOCK : other);
		return false;
	}
	ret_socket->fd = steal_fd(&fd);
	return true;
}

int inet_tcp_state(int socket_fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return getsockopt(socket_fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ? 0 : info.tcpi_state;
}

bool inet_may_unlisten(const struct inet *inet, int socket_fd)
{
	return inet->options.own_netns || inet_tcp_state(socket_fd) != TCP_LISTEN || inet_listeners_release(inet->listeners);
}

int inet_bound(const struct inet_socket *socket, struct inet_address *ret_address)
{
	struct sockaddr_storage told = {0};
	socklen_t len = sizeof(told);

	if (getsockname(socket->fd, (struct sockaddr *)&told, &len) < 0)
		return -errno;
	return inet_read_told(&told, ret_address) ? 0 : -EAFNOSUPPORT;
}

int inet_bind_to(const struct inet_socket *socket, const struct inet_address *address)
{
	const int off = 0;
	struct sockaddr_storage storage;
	socklen_t len = inet_write(socket->kind.domain, address, &storage);

	/* One for IPv6 alone has no IPv4 addresses, and the run's loopback is one. */
	if (socket->kind.domain == AF_INET6 && address->family == AF_INET && socket->kind.v6only)
		(void)setsockopt(socket->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* bind(2) tells */
	return bind(socket->fd, (const struct sockaddr *)&storage, len) < 0 ? -errno : 0;
}

int inet_bind_near(const struct inet_socket *socket, const struct inet_address *address)
{
	struct inet_address own = *address;
	int r;

	own.port = 0;
	r = inet_bind_to(socket, &own);
	return r == -EINVAL ? 0 : r;
}

int inet_bind_own(const struct inet *inet, const struct inet_socket *socket)
{
	const struct inet_address own = inet_v4(inet->options.loopback, 0);

	return inet_bind_near(socket, &own);
}

struct inet_address inet_own(const struct inet *inet, bool v6, uint16_t port)
{
	if (inet->options.own_netns && v6)
		return (struct inet_address){.family = AF_INET6, .v6 = in6addr_loopback, .port = port};
	return inet_v4(v6 ? inet->loopback6 : inet->options.loopback, port);
}

struct inet_address inet_pool_own(const struct inet *inet, int family)
{
	struct inet_address own = {.family = AF_UNSPEC};
	struct sockaddr_storage storage;

	pool_address(inet->options.pool, POOL_OWN, family, 0, &storage);
	(void)inet_read_told(&storage, &own); /* of these two families always */
	return own;
}

/* ---- names ---- */

/* Ports of TCP and UDP, at either of a run's loopback addresses, are each other's namesakes. */
static unsigned table_of(const struct inet *inet, const struct inet_kind *kind, const struct inet_address *bound)
{
	bool second =
		bound->family == AF_INET && bound->v4.s_addr == inet->loopback6.s_addr && !inet->options.own_netns;

	return (kind->stream ? 0u : 2u) + (second ? 1u : 0u);
}

void inet_name(const struct inet *inet, const struct inet_socket *socket, const struct inet_address *own,
	       const struct inet_address *peer)
{
	struct inet_address bound = {.family = AF_UNSPEC};

	if (inet_bound(socket, &bound) == 0 && bound.port)
		inet_names_set(inet->names, table_of(inet, &socket->kind, &bound), bound.port, socket->fd, own, peer);
}

/* What nobody has noted: the run's loopback, and the source address of a datagram to a synthetic one, which is the same. */
static bool translate_plainly(const struct inet *inet, bool peer, struct inet_address *told)
{
	struct sockaddr_storage storage;
	uint16_t port = told->port;

	(void)inet_write(told->family, told, &storage);
	if (inet->options.own_netns) {
		if (peer || !pool_holds(inet->options.pool, (const struct sockaddr *)&storage))
			return false;
		*told = inet_pool_own(inet, told->family);
	} else if (told->family == AF_INET && told->v4.s_addr == inet->options.loopback.s_addr) {
		told->v4.s_addr = htonl(INADDR_LOOPBACK);
	} else if (told->family == AF_INET && told->v4.s_addr == inet->loopback6.s_addr) {
		*told = (struct inet_address){.family = AF_INET6, .v6 = in6addr_loopback};
	} else {
		return false;
	}
	told->port = port;
	return true;
}

bool inet_translate(const struct inet *inet, int socket_fd, bool peer, struct sockaddr_storage *address, socklen_t *len)
{
	struct inet_socket socket = {.fd = socket_fd};
	struct inet_address told = {.family = AF_UNSPEC}, bound = told;
	const struct inet_address *name;

	if (!inet_read_kind(socket_fd, &socket.kind) || inet_bound(&socket, &bound) < 0 ||
	    !inet_read_told(address, &told))
		return false;
	name = inet_names_get(inet->names, table_of(inet, &socket.kind, &bound), bound.port, socket_fd, peer);
	if (name)
		told = *name;
	else if (!translate_plainly(inet, peer, &told))
		return false;
	if (socket.kind.domain == AF_INET && told.family != AF_INET)
		return false;
	*len = inet_write(socket.kind.domain, &told, address);
	return true;
}

/* ---- judging ---- */

/* "http://…" is for who speaks to the run's own address. */
static bool is_proxy(const struct inet *inet, const struct inet_address *address, bool udp)
{
	return !udp && policy_net_proxy(inet->options.policy) &&
	       (address->port == CONTROL_PORT_HTTP_PROXY || address->port == CONTROL_PORT_SOCKS);
}

/* The name of an address that was given out; a moment ago, perhaps. */
static const char *find_name(const struct inet *inet, const struct sockaddr *address)
{
	const char *name = pool_find(inet->options.pool, address);

	if (name || !inet->options.catch_up)
		return name;
	inet->options.catch_up(inet->options.egress);
	return pool_find(inet->options.pool, address);
}

static struct net_verdict unknown(const char *reason)
{
	return (struct net_verdict){.reason = reason};
}

/* An address as the policy may name it. */
static void judge_literal(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *route)
{
	struct sockaddr_storage storage;

	(void)inet_write(address->family, address, &storage);
	net_address_text((const struct sockaddr *)&storage, route->text);
	route->host = route->text;
	route->verdict = policy_net_connect(inet->options.policy, route->text, address->port, udp);
	if (route->verdict.allow)
		route->place = INET_ENDPOINT;
}

/* Whether a member may be there. Otherwise it is the host's loopback that the program has in mind, and that is refused. */
static bool may_listen(const struct inet *inet, uint16_t port)
{
	return policy_net_listen(inet->options.policy, port).allow ||
	       (port >= IPPORT_RESERVED && policy_net_listen(inet->options.policy, 0).allow);
}

/* Nobody of the outside is meant by these, unless the policy names them. */
static bool judge_member(const struct inet *inet, const struct inet_address *address, bool own, bool udp,
			 struct inet_route *route)
{
	if (!own && !inet_is_loopback(address))
		return false;
	if (own && is_proxy(inet, address, udp))
		route->place = INET_PROXY;
	else if (address->port == 53)
		route->place = INET_DNS;
	else if (route->verdict.label && strcmp(route->verdict.reason, "denied_by_rule") == 0)
		route->place = INET_NOWHERE;
	else if (udp || may_listen(inet, address->port))
		route->place = INET_MEMBER;
	return true;
}

void inet_judge(struct inet *inet, const struct inet_address *address, bool udp, struct inet_route *ret_route)
{
	const struct policy *policy = inet->options.policy;
	const struct pool *pool = inet->options.pool;
	struct sockaddr_storage storage;
	const struct sockaddr *at = (const struct sockaddr *)&storage;
	bool own, known;

	*ret_route = (struct inet_route){.place = INET_NOWHERE};
	(void)inet_write(address->family, address, &storage);
	own = pool_is_own(pool, at);
	known = own || pool_holds(pool, at);
	judge_literal(inet, address, udp, ret_route);
	if (ret_route->place == INET_ENDPOINT && !known)
		return;
	ret_route->place = INET_NOWHERE;
	if (judge_member(inet, address, own, udp, ret_route))
		return;
	ret_route->host = find_name(inet, at);
	if (ret_route->host) {
		ret_route->verdict = policy_net_connect(policy, ret_route->host, address->port, udp);
		ret_route->place = ret_route->verdict.allow ? INET_ENDPOINT : INET_NOWHERE;
	} else {
		ret_route->host = ret_route->text;
		if (known)
			ret_route->verdict = unknown("address_unknown");
	}
}

/* ---- the record ---- */

void inet_note(struct call *call, const struct inet_address *address, const char *host, bool udp)
{
	struct call_net *net = &call->net;
	struct sockaddr_storage storage;

	(void)inet_write(address->family, address, &storage);
	net_address_text((const struct sockaddr *)&storage, net->address);
	(void)snprintf(net->host, sizeof(net->host), "%s", host ? host : net->address);
	net->record = (struct audit_net){.host = net->host, .port = address->port, .proto = udp ? "udp" : "tcp"};
	if (strcmp(net->host, net->address) != 0)
		net->record.address = net->address;
}

void inet_allow(struct call *call, const struct net_verdict *verdict)
{
	target_allow(call);
	if (!verdict)
		return;
	call->decision.rule = verdict->label;
	call->decision.reason = verdict->reason;
}

void inet_refuse(struct call *call, int error, const char *rule, const char *reason)
{
	const struct inet_options *options = &call->sandbox->inet->options;

	call_refuse(call, error, rule, reason);
	if (options->refused)
		options->refused(options->egress, call->net.host, call->net.record.port, rule, reason);
}
