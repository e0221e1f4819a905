/*
 * socket, socketpair, listen and shutdown. The filter lets unix stream and seqpacket sockets pass, and TCP and UDP
 * sockets if the policy has a network. Notified sockets are refused, with two exceptions that the supervisor makes: UDP
 * on a shared loopback, with a socket filter (inet-fence.h), and stand-ins for NETLINK_ROUTE sockets (netlink.h).
 */
#include <errno.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "syscalls/account/limits/memfds.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-fence.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/unix-peers.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#define SOCKET_TYPE_MASK 0xf /* include/linux/net.h: SOCK_TYPE_MASK */

/* Refuses a TCP or UDP type or protocol that is not offered, in a run with a network. */
static void socket_refuse_inet_type(struct call *call)
{
	int type = call_get_int(call, 1) & SOCKET_TYPE_MASK;
	bool known = type == SOCK_STREAM || type == SOCK_DGRAM;

	if (type == SOCK_DGRAM && (call_get_int(call, 2) == 0 || call_get_int(call, 2) == IPPROTO_UDP))
		call_refuse(call, -EACCES, NULL, "udp_not_offered"); /* why: see descriptor.h */
	else
		call_refuse(call, known ? -EPROTONOSUPPORT : -EACCES, NULL, "protocol_not_offered");
}

/* Refuses socket(2) for a family or type that the policy does not allow. */
static void socket_refuse_call(struct call *call)
{
	int family = call_get_int(call, 0);

	if (call->sandbox->inet && (family == AF_INET || family == AF_INET6))
		socket_refuse_inet_type(call);
	else if (family == AF_UNIX) /* SOCK_DGRAM without RUN_HAS_UNIX_DATAGRAMS, or SOCK_RAW, which means the same */
		call_refuse(call, -EACCES, NULL, "unix_datagram_not_offered");
	else
		net_refuse_family(call, family, family == AF_INET || family == AF_INET6 ? -EACCES : -EAFNOSUPPORT);
}

/* Whether the call makes a UDP socket in a run without a network namespace. In a namespace the filter lets UDP pass. */
static bool socket_is_shared_udp(const struct call *call)
{
	int domain = call_get_int(call, 0), protocol = call_get_int(call, 2);

	return call->sandbox->inet && !inet_has_own_netns(call->sandbox->inet) && descriptor_pidfd_getfd_works() &&
	       (domain == AF_INET || domain == AF_INET6) &&
	       (call_get_int(call, 1) & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_DGRAM &&
	       (protocol == 0 || protocol == IPPROTO_UDP);
}

/* Makes a UDP socket, with a filter that drops all datagrams until it is used, for the program. */
static void socket_make_udp(struct call *call)
{
	_cleanup_close_ int fd = -1;
	int type = call_get_int(call, 1), r;

	target_allow_without_rule(call);
	if (call_commit_record(call) < 0)
		return;
	fd = socket(call_get_int(call, 0), type | SOCK_CLOEXEC, IPPROTO_UDP);
	r = fd < 0 ? -errno : inet_filter_drop_all(fd);
	call_return_fd(call, r < 0 ? r : steal_fd(&fd), type & SOCK_CLOEXEC);
}

void sys_socket(struct call *call)
{
	if (socket_is_shared_udp(call))
		socket_make_udp(call);
	else if (!netlink_make_standin(call))
		socket_refuse_call(call);
}

HANDLER(sys_socketpair, socket_refuse_call(call))

/*
 * A unix socket may listen at a name that bind(2) judged. An unbound socket may not: with SO_PASSCRED, connect(2) binds
 * it to an abstract name (net/unix/af_unix.c: unix_autobind), which any process of the network namespace can find.
 */
static void socket_listen_unix(struct call *call, int copy)
{
	struct sockaddr_un name = {.sun_family = AF_UNSPEC}, peer;
	socklen_t len = sizeof(name), peer_len = sizeof(peer);
	/* unsigned, because the kernel compares an unsigned backlog with somaxconn */
	unsigned backlog = call_get_uint(call, 1);

	/*
	 * Each pending connection holds what its client has sent; sampled memory counts MEMFDS_UNIX_BACKLOG_MAX of
	 * them.
	 */
	if (call->sandbox->memfds && backlog > MEMFDS_UNIX_BACKLOG_MAX)
		backlog = MEMFDS_UNIX_BACKLOG_MAX;

	if (getsockname(copy, (struct sockaddr *)&name, &len) < 0)
		call_fail(call, -errno);
	else if (net_get_option(copy, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM)
		call_fail(call, -EOPNOTSUPP);
	else if (len <= offsetof(struct sockaddr_un, sun_path) ||
		 getpeername(copy, (struct sockaddr *)&peer, &peer_len) == 0)
		call_fail(call, -EINVAL); /* a connected socket stays connected, even when the peer has closed */
	else if (!sockets_name_is_of_run_only(call->sandbox->unix_sockets, &name))
		call_refuse(call, -EACCES, NULL, "abstract_socket_not_granted");
	else if (call_commit_record(call) == 0) {
		memfds_note_kernel_queues(call->sandbox->memfds);
		peers_note_listener(call->sandbox->unix_peers, copy, call->task->tgid);
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

	if (copy >= 0 && domain != AF_UNIX && !inet_listeners_socket_may_stop(call->sandbox->inet, copy))
		call_fail(call, -EAGAIN);
	else if (copy >= 0 && call_commit_record(call) == 0)
		file_end_call(call, shutdown(copy, call_get_int(call, 1)));
}
