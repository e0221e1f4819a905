/*
 * bind(2) and listen(2) of internet sockets: at the run's own loopback, at ports that the policy grants. Without a network
 * namespace of its own the run has two addresses there; the second for sockets of IPv6 alone, whose ports are their own.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "syscalls/file/resolve.h"
#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

static bool is_pool_own(const struct inet *inet, const struct inet_address *address)
{
	struct inet_address own = inet_pool_own(inet, address->family);

	return inet_same(&own, address);
}

/* Where a socket that asks for an address of the run's is bound really. */
static struct inet_address real_address(const struct inet *inet, const struct inet_kind *kind,
					const struct inet_address *asked)
{
	struct inet_address real = *asked;

	if (!inet->options.own_netns)
		return inet_own(inet, asked->family == AF_INET6 && (kind->v6only || inet_is_loopback(asked)),
				asked->port);
	if (is_pool_own(inet, asked)) { /* egress is to be reached from it as well */
		real.v4.s_addr = INADDR_ANY;
		real.v6 = in6addr_any;
	}
	return real;
}

static int perform_bind(struct call *call, const struct inet_socket *socket, const struct inet_address *asked)
{
	const struct inet *inet = call->sandbox->inet;
	struct inet_address real = real_address(inet, &socket->kind, asked);
	int r = !inet->options.own_netns && !asked->port ? inet_unshare(socket) : 0;

	if (r == -EADDRNOTAVAIL)
		r = -EINVAL; /* it is bound */
	if (r == 0)
		r = inet_bind_to(socket, &real);
	if (r == -EADDRINUSE && !inet->options.own_netns) {
		inet_listeners_prune(inet->listeners, call);
		r = inet_bind_to(socket, &real);
	}
	/* Of TCP listen(2) is judged; a datagram socket is reached from here on, if its port is granted. */
	if (r == 0 && !inet->options.own_netns && !socket->kind.stream &&
	    policy_net_listen(inet->options.policy, asked->port).allow)
		r = inet_fence_open(socket->fd);
	if (r == 0 && !inet_same(&real, asked))
		inet_name(inet, socket, asked, NULL);
	return r;
}

/* A port of 0 grants nothing yet: listen(2) is judged. */
static bool judge_port(struct call *call, unsigned port)
{
	struct net_verdict verdict = {.allow = true};

	if (port)
		verdict = policy_net_listen(call->sandbox->policy, port);
	if (verdict.allow)
		inet_allow(call, port ? &verdict : NULL);
	else
		inet_refuse(call, -EACCES, verdict.label, verdict.reason);
	return verdict.allow;
}

static void bind_judged(struct call *call, const struct inet_socket *socket, const struct inet_address *asked)
{
	const struct inet *inet = call->sandbox->inet;
	int r;

	inet_note(call, asked, NULL, !socket->kind.stream);
	if (!inet_is_any(asked) && !inet_is_loopback(asked) && !is_pool_own(inet, asked)) {
		target_allow(call);
		call_fail(call, -EADDRNOTAVAIL);
		return;
	}
	if (!judge_port(call, asked->port))
		return;
	if (call_commit(call) < 0)
		return;
	r = perform_bind(call, socket, asked);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

void inet_bind(struct call *call, const struct sockaddr_storage *address, int len)
{
	struct inet_socket socket = {.fd = -1};
	struct inet_address asked;
	int r;

	if (!inet_take_socket(call, &socket, -EINVAL))
		return;
	r = inet_read_own(&socket.kind, address, len, &asked);
	if (r < 0) {
		target_allow(call);
		call_fail(call, r);
	} else {
		bind_judged(call, &socket, &asked);
	}
	(void)close(socket.fd);
}

/* ---- listen ---- */

/*
 * A port that was bound by number was judged then. So one that may not be listened at by number was chosen by the kernel, or
 * is about to be.
 */
static bool judge_listen(struct call *call, const struct inet_address *bound)
{
	struct net_verdict verdict = policy_net_listen(call->sandbox->policy, 0);

	if (!verdict.allow && bound->port)
		verdict = policy_net_listen(call->sandbox->policy, bound->port);
	if (verdict.allow)
		inet_allow(call, &verdict);
	else
		inet_refuse(call, -EACCES, verdict.label, verdict.reason);
	return verdict.allow;
}

/* Not bound: natively it would be to any address and a port of the kernel's. */
static int bind_any(struct call *call, const struct inet_socket *socket)
{
	struct inet_address any = {.family = socket->kind.domain};

	return perform_bind(call, socket, &any);
}

static bool is_private(const struct inet *inet, const struct inet_address *bound)
{
	return inet->options.own_netns ||
	       (bound->family == AF_INET &&
		(bound->v4.s_addr == inet->options.loopback.s_addr || bound->v4.s_addr == inet->loopback6.s_addr));
}

static int perform_listen(struct call *call, const struct inet_socket *socket, struct inet_address *bound)
{
	const struct inet *inet = call->sandbox->inet;
	unsigned judged = bound->port;
	int r = bind_any(call, socket);

	if (r == 0 || r == -EINVAL) /* it is bound now, or was */
		r = inet_bound(socket, bound);
	if (r == 0 && bound->port != judged && !policy_net_listen(inet->options.policy, 0).allow)
		r = -EADDRINUSE; /* what was judged is a port that it had once */
	if (r == 0 && !is_private(inet, bound))
		r = -EADDRNOTAVAIL;
	if (r == 0 && listen(socket->fd, call_int(call, 1)) < 0)
		r = -errno;
	if (r == 0 && !inet->options.own_netns)
		r = inet_listeners_add(inet->listeners, call, socket->fd, bound);
	return r;
}

void inet_shutdown(struct call *call, int copy)
{
	if (!inet_may_unlisten(call->sandbox->inet, copy))
		call_fail(call, -EAGAIN);
	else if (call_commit(call) == 0)
		file_end(call, shutdown(copy, call_int(call, 1)));
}

void inet_listen(struct call *call, int copy)
{
	struct inet_socket socket = {.fd = copy};
	struct inet_address bound = {.family = AF_INET};
	int r;

	if (!inet_read_kind(copy, &socket.kind) || !socket.kind.stream) {
		target_allow(call);
		call_fail(call, -EOPNOTSUPP);
		return;
	}
	r = inet_bound(&socket, &bound);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	inet_note(call, &bound, NULL, false);
	if (!judge_listen(call, &bound) || call_commit(call) < 0)
		return;
	r = perform_listen(call, &socket, &bound);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}
