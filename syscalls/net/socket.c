/*
 * socket, socketpair, listen and shutdown. The filter lets unix stream and seqpacket sockets pass, and TCP and UDP
 * sockets where the policy has a network; what comes here is refused, except UDP on a shared loopback: the supervisor
 * makes those sockets, with a filter (inet-fence.h), and stand-ins for NETLINK_ROUTE sockets (netlink.h).
 */
#include <errno.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "syscalls/account/memfds.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/net/netlink.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#define SOCK_TYPE_BITS 0xf /* include/linux/net.h: SOCK_TYPE_MASK */

/* TCP or UDP families, although there is a network: the type or protocol is not offered. */
static void refuse_inet_type(struct call *call)
{
	int type = call_get_int(call, 1) & SOCK_TYPE_BITS;
	bool known = type == SOCK_STREAM || type == SOCK_DGRAM;

	if (type == SOCK_DGRAM && (call_get_int(call, 2) == 0 || call_get_int(call, 2) == IPPROTO_UDP))
		call_refuse(call, -EACCES, NULL, "udp_not_offered"); /* see descriptor.h */
	else
		call_refuse(call, known ? -EPROTONOSUPPORT : -EACCES, NULL, "protocol_not_offered");
}

static void socket_refuse_call(struct call *call)
{
	int family = call_get_int(call, 0);

	if (call->sandbox->inet && (family == AF_INET || family == AF_INET6))
		refuse_inet_type(call);
	else if (family == AF_UNIX) /* a datagram socket can send to any socket of the host */
		call_refuse(call, -EACCES, NULL, "unix_datagram_not_offered");
	else
		net_refuse_family(call, family, family == AF_INET || family == AF_INET6 ? -EACCES : -EAFNOSUPPORT);
}

/* UDP in a run without a network namespace. In a namespace, where the run is alone, the filter lets it pass. */
static bool socket_is_shared_udp(const struct call *call)
{
	int domain = call_get_int(call, 0), protocol = call_get_int(call, 2);

	return call->sandbox->inet && !inet_has_own_netns(call->sandbox->inet) && descriptor_can_copy_directly() &&
	       (domain == AF_INET || domain == AF_INET6) &&
	       (call_get_int(call, 1) & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_DGRAM &&
	       (protocol == 0 || protocol == IPPROTO_UDP);
}

static void socket_make_udp(struct call *call)
{
	_cleanup_close_ int fd = -1;
	int type = call_get_int(call, 1), r;

	target_allow_call(call);
	if (call_commit_record(call) < 0)
		return;
	fd = socket(call_get_int(call, 0), type | SOCK_CLOEXEC, IPPROTO_UDP);
	r = fd < 0 ? -errno : inet_fence_drop_all(fd);
	call_return_fd(call, r < 0 ? r : steal_fd(&fd), type & SOCK_CLOEXEC);
}

void sys_socket(struct call *call)
{
	if (socket_is_shared_udp(call))
		socket_make_udp(call);
	else if (!netlink_socket(call))
		socket_refuse_call(call);
}

HANDLER(sys_socketpair, socket_refuse_call(call))

/*
 * A unix socket listens at a path, which was judged at bind(2). With SO_PASSCRED the kernel binds it to an abstract
 * name, which any process can find, on connect, even one that fails (net/unix/af_unix.c: unix_autobind).
 */
static void socket_listen_unix(struct call *call, int copy)
{
	struct sockaddr_un name = {.sun_family = AF_UNSPEC}, peer;
	socklen_t len = sizeof(name), peer_len = sizeof(peer);
	unsigned backlog = call_get_uint(call, 1); /* as the kernel compares it with somaxconn */

	/* Each pending connection holds what its client has sent; where memory is sampled, only so many are counted. */
	if (call->sandbox->memfds && backlog > MEMFDS_BACKLOG_MAX)
		backlog = MEMFDS_BACKLOG_MAX;

	if (getsockname(copy, (struct sockaddr *)&name, &len) < 0)
		call_fail(call, -errno);
	else if (len <= offsetof(struct sockaddr_un, sun_path) ||
		 getpeername(copy, (struct sockaddr *)&peer, &peer_len) == 0)
		call_fail(call, -EINVAL); /* connected: it stays so, even when the peer has closed */
	else if (!name.sun_path[0])
		call_refuse(call, -EACCES, NULL, "abstract_socket_not_granted");
	else if (call_commit_record(call) == 0) {
		memfds_set_queues(call->sandbox->memfds);
		file_end_call(call, listen(copy, (int)backlog));
	}
}

void sys_listen(struct call *call)
{
	int domain;
	_cleanup_close_ int copy = net_allow_and_copy_socket(call, &domain);

	if (copy >= 0 && domain != AF_UNIX)
		inet_listen(call, copy);
	else if (copy >= 0)
		socket_listen_unix(call, copy);
}

void sys_shutdown(struct call *call)
{
	int domain;
	_cleanup_close_ int copy = net_allow_and_copy_socket(call, &domain);

	if (copy >= 0 && domain != AF_UNIX && !inet_listeners_may_stop(call->sandbox->inet, copy))
		call_fail(call, -EAGAIN);
	else if (copy >= 0 && call_commit_record(call) == 0)
		file_end_call(call, shutdown(copy, call_get_int(call, 1)));
}
