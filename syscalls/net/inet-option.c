/*
 * setsockopt(2) in a run without a network namespace of its own: options by which others on the same loopback would get
 * in. Elsewhere, where there is nobody else, they are native.
 */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

/*
 * Errors of ICMP bring along what was sent. Anybody can send it, with the program's address as the source, and no
 * filter of the socket sees them (net/ipv4/udp.c: __udp4_lib_err). glibc's resolver insists on the option, and can do
 * without them.
 */
static bool is_errors(int level, int name)
{
	return (level == IPPROTO_IP && name == IP_RECVERR) || (level == IPPROTO_IPV6 && name == IPV6_RECVERR);
}

/*
 * SO_REUSEADDR is for who listens again at a port that is granted, so it is set before bind(2). Later it would let
 * others bind the source port of a connect; with UDP it does nothing but share.
 */
static bool may_share(int socket_fd, int domain)
{
	struct inet_socket socket = {.fd = socket_fd};
	struct inet_address bound = {.family = AF_UNSPEC};

	if (domain == AF_UNIX)
		return true;
	return inet_read_kind(socket_fd, &socket.kind) && socket.kind.stream && inet_bound(&socket, &bound) == 0 &&
	       !bound.port;
}

/*
 * Accepted without effect: it is off, and stays so. Whether the family has the level, and what length it takes, the kernel
 * says about that. Of a length from one to three IP_RECVERR takes one byte; IPV6_RECVERR takes NULL for 0.
 */
static void ignore_errors(struct call *call, int socket_fd)
{
	int level = call_int(call, 1), len = call_int(call, 4), value = 0, r = 0;

	if (len > (int)sizeof(value))
		len = sizeof(value);
	if (setsockopt(socket_fd, level, call_int(call, 2), call->arg[3] ? &value : NULL, (socklen_t)len) < 0)
		r = -errno;
	else if (call->arg[3] && len > 0)
		r = decode_struct(call, 3, &value, len < (int)sizeof(value) ? 1 : sizeof(value));
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

/* As net/core/sock.c has it for every family: the length, then the value. */
static void share(struct call *call, int socket_fd, int domain)
{
	int value, r = call_int(call, 4) < (int)sizeof(value) ? -EINVAL : decode_struct(call, 3, &value, sizeof(value));

	if (r < 0) {
		call_fail(call, r);
		return;
	}
	if (call_commit(call) < 0)
		return;
	if ((!value || may_share(socket_fd, domain)) &&
	    setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)) < 0)
		call_fail(call, -errno);
	else
		call_return(call, 0);
}

bool inet_judges_option(const struct call *call)
{
	int level = call_int(call, 1), name = call_int(call, 2);

	return call->sandbox->inet && !inet_bounded(call->sandbox->inet) &&
	       (is_errors(level, name) || (level == SOL_SOCKET && name == SO_REUSEADDR));
}

void inet_setsockopt(struct call *call)
{
	_cleanup_close_ int copy = -1;
	int domain;

	copy = net_copy_any(call, &domain);
	if (copy < 0)
		return;
	if (is_errors(call_int(call, 1), call_int(call, 2)))
		ignore_errors(call, copy);
	else
		share(call, copy, domain);
}

int inet_unshare(const struct inet_socket *socket)
{
	const int off = 0;
	struct inet_address bound = {.family = AF_UNSPEC};
	int shared = 1, r = inet_bound(socket, &bound);
	socklen_t len = sizeof(shared);

	if (r < 0)
		return r;
	if (getsockopt(socket->fd, SOL_SOCKET, SO_REUSEADDR, &shared, &len) < 0)
		return -errno;
	if (shared && bound.port)
		return -EADDRNOTAVAIL; /* somebody might be there already */
	return shared && setsockopt(socket->fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off)) < 0 ? -errno : 0;
}
