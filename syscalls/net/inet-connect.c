/*
 * connect(2) of internet sockets. TCP to an approved endpoint goes through egress (OUTCOME_CONNECT_BY_EGRESS). TCP on
 * the run's loopback is connected here: the duplicate, to an address made from the copied one. inet-datagram.c has UDP.
 */
#include <errno.h>
#include <netinet/tcp.h>

#include "base/cleanup.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

/*
 * Binds the socket to the run's loopback address, from which alone egress accepts connections. A socket that is bound
 * to another address cannot be connected to egress.
 */
static int inet_bind_to_run_loopback(const struct inet *inet, const struct inet_socket *socket, uint16_t *ret_port)
{
	const struct inet_address own = inet_make_v4(inet->options.loopback, 0);
	struct inet_address bound = {.family = AF_UNSPEC};
	int r = 0;

	/* no other socket may share the port: egress would take it for the target's */
	if (!inet->options.has_own_netns)
		r = inet_forbid_port_reuse(socket);
	if (r == 0)
		r = inet_bind_any_port(socket, &own);
	if (r == 0)
		r = inet_read_bound(socket, &bound);
	if (r < 0)
		return r == -EADDRINUSE ? -EADDRNOTAVAIL : r;
	if (!inet_address_equals(&bound, &own) && !inet_address_is_wildcard(&bound))
		return -EINVAL; /* the errno of ip_route_output_key() for a source address on the loopback interface */
	*ret_port = bound.port;
	return 0;
}

/* Makes the request to egress to connect for the program. NULL: no memory. */
static struct inet_egress_connect *inet_make_egress_connect(const struct inet *inet, const struct inet_socket *socket,
				   const struct inet_address *to, const struct inet_route *route,
				   uint16_t source_port)
{
	struct inet_egress_connect *dial = calloc(1, sizeof(*dial));
	struct sockaddr_storage storage;

	if (!dial)
		return NULL;
	dial->request.family = (uint8_t)to->family;
	dial->request.port = to->port;
	dial->request.source_port = source_port;
	dial->request.was_answered = inet->judges_as_answered;
	if (route->kind == INET_TO_ENDPOINT)
		(void)snprintf(dial->request.host, sizeof(dial->request.host), "%s", route->host);
	dial->egress_listener = inet_make_v4(inet->options.loopback, inet->options.listener_port);
	dial->domain = socket->kind.domain;
	dial->is_nonblocking = net_is_nonblocking(socket->fd);
	(void)inet_write_sockaddr(to->family, to, &storage);
	net_address_format((const struct sockaddr *)&storage, dial->address);
	return dial;
}

/* Connects the program's socket to egress, which connects to the endpoint. */
static void inet_connect_by_egress(struct call *call, struct inet_socket *socket, const struct inet_address *to,
			   const struct inet_route *route)
{
	const struct inet *inet = call->sandbox->inet;
	struct inet_address own = inet_get_pool_address(inet, to->family);
	struct inet_egress_connect *dial = NULL;
	uint16_t port = 0;
	int r;

	if (inet->options.alive && !inet->options.alive(inet->options.egress)) {
		call_refuse(call, -ENETDOWN, route->verdict.label, "egress_failed");
		return;
	}
	inet_allow_call(call, &route->verdict);
	if (!call_may_take_effect(call)) {
		call_fail(call, -ECANCELED);
		return;
	}
	r = inet_bind_to_run_loopback(inet, socket, &port);
	if (r == 0)
		dial = inet_make_egress_connect(inet, socket, to, route, port);
	if (!dial) {
		call_fail(call, r < 0 ? r : -ENOMEM);
		return;
	}
	inet_names_set_of_socket(inet, socket, &own, to);
	call->outcome.kind = OUTCOME_CONNECT_BY_EGRESS;
	call->outcome.fd = steal_fd(&socket->fd);
	call->outcome.egress_connect = dial;
}

/* ---- connecting to a socket on the run's own loopback ---- */

/* Connects in a thread, because connect may wait. Takes held_fd: the listener, or -1. */
static void inet_connect_in_thread(struct call *call, struct inet_socket *socket, const struct inet_address *to,
				   int held_fd)
{
	struct sockaddr_storage storage;
	socklen_t len = inet_write_sockaddr(socket->kind.domain, to, &storage);
	struct call_work *work = inet_listeners_make_connect_work(&storage, len, held_fd);

	if (!work) {
		call_fail(call, -ENOMEM);
		return;
	}
	call->outcome.kind = OUTCOME_BLOCKING_WORK;
	call->outcome.fd = steal_fd(&socket->fd);
	call->outcome.blocking_work = work;
}

/* Connects to a socket of the run. Takes held_fd: the listener, or -1 where it need not be held. */
static void inet_connect_to_run_listener(struct call *call, struct inet_socket *socket, const struct inet_address *to,
				    int held_fd)
{
	_cleanup_close_ int held = held_fd;
	struct sockaddr_storage storage;
	socklen_t len = inet_write_sockaddr(socket->kind.domain, to, &storage);
	int r = -EINTR;

	if (call_commit_record(call) < 0)
		return;
	if (net_is_nonblocking(socket->fd))
		r = connect(socket->fd, (const struct sockaddr *)&storage, len) < 0 ? -errno : 0;
	/* EINTR: a signal, or the socket is blocking: connect may wait, so a worker thread connects. */
	if (r == -EINTR) {
		inet_connect_in_thread(call, socket, to, steal_fd(&held));
		return;
	}
	if (held >= 0 &&
	    !inet_listeners_hold_until_connected(call->sandbox->inet->listeners, socket->fd, steal_fd(&held))) {
		inet_end_tcp_connect(socket->fd);
		r = -EAGAIN;
	}
	call_return_result(call, r);
}

/*
 * Duplicates the run's listener that connect(2) to `to` would reach if the run had its own network namespace. Returns
 * the duplicate. *ret_at: the real address of the listener. -ENOENT: there is none.
 */
static int inet_hold_listener(struct call *call, const struct inet_address *to, struct inet_address *ret_at)
{
	const struct inet *inet = call->sandbox->inet;
	bool v6 = to->family == AF_INET6;
	struct inet_kind kind;
	struct inet_address at = inet_make_loopback(inet, v6, to->port);
	int held = inet_listeners_duplicate_socket_at(inet->listeners, call, &at);

	if (held < 0 && v6) { /* an AF_INET6 socket that takes IPv4 as well is known by its IPv4 address */
		at = inet_make_loopback(inet, false, to->port);
		held = inet_listeners_duplicate_socket_at(inet->listeners, call, &at);
		if (held >= 0 && (!inet_read_socket_kind(held, &kind) || kind.domain != AF_INET6))
			close_fd(&held);
	}
	*ret_at = at;
	return held;
}

/* Connects in the run's network namespace, whose loopback has one foreign listener: egress', which is hidden. */
static void inet_connect_in_own_netns(struct call *call, struct inet_socket *socket, const struct inet_address *to)
{
	const struct inet *inet = call->sandbox->inet;
	const struct inet_address listener = inet_make_v4(inet->options.loopback, 0);

	if (inet_address_equals(to, &listener) && to->port == inet->options.listener_port)
		call_fail(call, -ECONNREFUSED);
	else
		inet_connect_to_run_listener(call, socket, to, -1);
}

/* Connects to a socket of the run, on the run's loopback. */
static void inet_connect_to_run_socket(struct call *call, struct inet_socket *socket, const struct inet_address *to)
{
	const struct inet *inet = call->sandbox->inet;
	_cleanup_close_ int held = -1;
	struct inet_address at, loopback;
	int r;

	inet_allow_call(call, NULL);
	if (inet->options.has_own_netns) {
		inet_connect_in_own_netns(call, socket, to);
		return;
	}
	held = inet_hold_listener(call, to, &at);
	r = held < 0 ? -ECONNREFUSED : inet_bind_any_port(socket, &at);
	if (r < 0) {
		call_fail(call, r == -EADDRINUSE ? -EADDRNOTAVAIL : r);
		return;
	}
	loopback = *to; /* natively source and destination are the same loopback address */
	loopback.port = 0;
	inet_names_set_of_socket(inet, socket, &loopback, to);
	inet_connect_to_run_listener(call, socket, &at, steal_fd(&held));
}

/* Connects to the run's name server. */
static void inet_connect_to_dns(struct call *call, struct inet_socket *socket, const struct inet_address *to)
{
	const struct inet *inet = call->sandbox->inet;
	struct inet_address at = inet_make_v4(inet->options.loopback, inet->options.dns_port);
	uint16_t port = 0;
	int r = inet_bind_to_run_loopback(inet, socket, &port);

	inet_allow_call(call, NULL);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	inet_names_set_of_socket(inet, socket, NULL, to);
	inet_connect_to_run_listener(call, socket, &at, -1);
}

/* Performs connect(2) with AF_UNSPEC, which ends a socket's connection or association. */
static void inet_disconnect_socket(struct call *call, const struct inet_socket *socket)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	inet_allow_call(call, NULL);
	if (!inet_listeners_socket_may_stop(call->sandbox->inet, socket->fd))
		call_fail(call, -EAGAIN);
	else if (call_commit_record(call) == 0)
		file_end_call(call, connect(socket->fd, &none, sizeof(none)));
}

/* Judges and performs a TCP connect. */
static void inet_connect_stream(struct call *call, struct inet_socket *socket, const struct inet_address *to)
{
	struct inet *inet = call->sandbox->inet;
	struct inet_route route;

	inet_judge_address(inet, to, false, &route);
	inet_record_endpoint(call, to, route.host, false);
	if (inet_refuse_if_network_was_closed(call, -ECONNREFUSED))
		return;
	switch (route.kind) {
	case INET_TO_ENDPOINT:
	case INET_TO_PROXY:
		inet_connect_by_egress(call, socket, to, &route);
		break;
	case INET_TO_DNS:
		inet_connect_to_dns(call, socket, to);
		break;
	case INET_TO_RUN_SOCKET:
		inet_connect_to_run_socket(call, socket, to);
		break;
	case INET_TO_NOWHERE:
	default:
		call_refuse(call, -ECONNREFUSED, route.verdict.label, route.verdict.reason);
		break;
	}
}

void inet_connect(struct call *call, const struct sockaddr_storage *address, int len)
{
	const struct inet *inet = call->sandbox->inet;
	struct inet_socket socket = {.fd = -1};
	struct inet_address to;
	int r;

	if (!inet_copy_socket_of_call(call, &socket, -EINVAL))
		return;
	r = inet_read_connect_address(&socket.kind, address, len, &to);
	if (r == 0 && to.family == AF_UNSPEC) {
		inet_disconnect_socket(call, &socket);
	} else if (socket.kind.is_stream && (size_t)len >= sizeof(address->ss_family) &&
		   inet_get_tcp_state(socket.fd) != TCP_CLOSE) {
		/*
		 * The kernel checks the state first, and returns EISCONN, EALREADY, or 0 when the connect has ended. If
		 * another thread has just disconnected the socket, it reaches egress, which closes unannounced
		 * connections.
		 */
		to = inet_make_v4(inet->options.loopback, inet->options.listener_port);
		inet_allow_call(call, NULL);
		inet_connect_to_run_listener(call, &socket, &to, -1);
	} else if (r < 0) {
		target_allow_but_fail(call, r);
	} else if (socket.kind.is_stream) {
		inet_connect_stream(call, &socket, &to);
	} else {
		inet_connect_datagram(call, &socket, &to);
	}
	cleanup_close(&socket.fd);
}
