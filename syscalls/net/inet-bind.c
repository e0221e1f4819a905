/*
 * bind(2) and listen(2) of internet sockets: on the run's loopback, at ports that the policy grants. Without a network
 * namespace the run has two loopback addresses: the second one is for IPV6_V6ONLY sockets, whose ports are separate.
 */
#include <errno.h>
#include <unistd.h>

#include "syscalls/file/resolve.h"
#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

/* Whether the address is the run's own among the synthetic ones. */
static bool inet_is_own_pool_address(const struct inet *inet, const struct inet_address *address)
{
	struct inet_address own = inet_get_pool_address(inet, address->family);

	return inet_address_equals(&own, address);
}

/* The address to which a socket is really bound when the target asks for the address `asked`. */
static struct inet_address bind_choose_real_address(const struct inet *inet, const struct inet_kind *kind,
						    const struct inet_address *asked)
{
	struct inet_address real = *asked;

	if (!inet->options.has_own_netns)
		return inet_make_loopback(
			inet, asked->family == AF_INET6 && (kind->is_v6_only || inet_address_is_loopback(asked)),
			asked->port);
	/*
	 * bound to INADDR_ANY instead of its synthetic address, because from that address the socket could not reach
	 * egress
	 */
	if (inet_is_own_pool_address(inet, asked)) {
		real.v4.s_addr = INADDR_ANY;
		real.v6 = in6addr_any;
	}
	return real;
}

/* Binds the socket to the address that stands for the asked one. 0 or -errno. */
static int inet_bind_socket(struct call *call, const struct inet_socket *socket, const struct inet_address *asked)
{
	const struct inet *inet = call->sandbox->inet;
	struct inet_address real = bind_choose_real_address(inet, &socket->kind, asked);
	int r = !inet->options.has_own_netns && !asked->port ? inet_forbid_port_reuse(socket) : 0;

	if (r == -EADDRNOTAVAIL)
		r = -EINVAL; /* the kernel's errno for binding a bound socket */
	if (r == 0)
		r = inet_bind_to_address(socket, &real);
	if (r == -EADDRINUSE && !inet->options.has_own_netns) {
		inet_listeners_close_orphans(inet->listeners, call);
		r = inet_bind_to_address(socket, &real);
	}
	/* A bound UDP socket receives at once, so its port has to be granted now. A TCP port is judged at listen(2). */
	if (r == 0 && !inet->options.has_own_netns && !socket->kind.is_stream &&
	    policy_net_judge_listen(inet->options.policy, asked->port).is_allowed)
		r = inet_filter_remove(socket->fd);
	if (r == 0 && !inet_address_equals(&real, asked))
		inet_names_set_of_socket(inet, socket, asked, NULL);
	return r;
}

/* Allows or refuses the call by the policy's verdict on the port. True: allowed. */
static bool bind_apply_verdict(struct call *call, const struct net_verdict *verdict)
{
	if (verdict->is_allowed)
		inet_allow_call(call, verdict);
	else
		call_refuse(call, -EACCES, verdict->label, verdict->reason);
	return verdict->is_allowed;
}

/* Judges the port of bind(2). Port 0 is allowed, because listen(2) judges the port that the kernel chooses. */
static bool bind_judge_port(struct call *call, unsigned port)
{
	struct net_verdict verdict = {.is_allowed = true};

	if (port)
		verdict = policy_net_judge_listen(call->sandbox->policy, port);
	return bind_apply_verdict(call, &verdict);
}

static void bind_judge_address(struct call *call, const struct inet_socket *socket, const struct inet_address *asked)
{
	const struct inet *inet = call->sandbox->inet;

	inet_record_endpoint(call, asked, NULL, !socket->kind.is_stream);
	if (inet_refuse_if_network_was_closed(call, -EACCES))
		return;
	if (!inet_address_is_wildcard(asked) && !inet_address_is_loopback(asked) &&
	    !inet_is_own_pool_address(inet, asked))
		target_allow_but_fail(call, -EADDRNOTAVAIL);
	else if (bind_judge_port(call, asked->port) && call_commit_record(call) == 0)
		call_return_result(call, inet_bind_socket(call, socket, asked));
}

void inet_bind(struct call *call, const struct sockaddr_storage *address, int len)
{
	struct inet_socket socket = {.fd = -1};
	struct inet_address asked;
	int r;

	if (!inet_copy_socket_of_call(call, &socket, -EINVAL))
		return;
	r = inet_read_bind_address(&socket.kind, address, len, &asked);
	if (r < 0)
		target_allow_but_fail(call, r);
	else
		bind_judge_address(call, &socket, &asked);
	(void)close(socket.fd);
}

/* Judges listen(2): the policy must grant "any port" or this port. bind(2) has judged a port that the program chose. */
static bool bind_judge_listening_port(struct call *call, const struct inet_address *bound)
{
	struct net_verdict verdict = policy_net_judge_listen(call->sandbox->policy, 0);

	if (!verdict.is_allowed && bound->port)
		verdict = policy_net_judge_listen(call->sandbox->policy, bound->port);
	return bind_apply_verdict(call, &verdict);
}

/* Whether no process outside the run can bind or reach the address. */
static bool bind_address_is_of_run_only(const struct inet *inet, const struct inet_address *bound)
{
	return inet->options.has_own_netns ||
	       (bound->family == AF_INET && (bound->v4.s_addr == inet->options.loopback.s_addr ||
					     bound->v4.s_addr == inet->loopback_of_v6_sockets.s_addr));
}

/* Performs listen(2), and binds the socket before if it is not bound. *bound: its address. 0 or -errno. */
static int bind_unbound_and_listen(struct call *call, const struct inet_socket *socket, struct inet_address *bound)
{
	const struct inet *inet = call->sandbox->inet;
	const struct inet_address any = {.family = socket->kind.domain};
	unsigned judged = bound->port;
	int r = inet_bind_socket(call, socket, &any); /* listen(2) of an unbound socket binds it, as in the kernel */

	if (r == 0 || r == -EINVAL) /* -EINVAL: the socket was bound already */
		r = inet_read_bound(socket, bound);
	if (r == 0 && bound->port != judged && !policy_net_judge_listen(inet->options.policy, 0).is_allowed)
		/* the port that was judged is not the one that the socket is bound to: see inet_read_bound() */
		r = -EADDRINUSE;
	if (r == 0 && !bind_address_is_of_run_only(inet, bound))
		r = -EADDRNOTAVAIL;
	if (r == 0 && listen(socket->fd, call_get_int(call, 1)) < 0)
		r = -errno;
	if (r == 0 && !inet->options.has_own_netns)
		r = inet_listeners_add(inet->listeners, call, socket->fd, bound);
	return r;
}

void inet_listen(struct call *call, int copy)
{
	struct inet_socket socket = {.fd = copy};
	struct inet_address bound = {.family = AF_INET};
	int r;

	if (!inet_read_socket_kind(copy, &socket.kind) || !socket.kind.is_stream) {
		target_allow_but_fail(call, -EOPNOTSUPP);
		return;
	}
	r = inet_read_bound(&socket, &bound);
	if (r < 0)
		call_fail(call, r);
	else
		inet_record_endpoint(call, &bound, NULL, false);
	if (r == 0 && bind_judge_listening_port(call, &bound) && call_commit_record(call) == 0)
		call_return_result(call, bind_unbound_and_listen(call, &socket, &bound));
}
