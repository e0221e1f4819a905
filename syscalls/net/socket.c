/*
 * Sockets: what the filter does not let pass. Unix stream and seqpacket sockets exist. One is bound to a path where the
 * policy lets a file be made, and connected to by members of the run alone. Internet sockets, when the policy has a
 * network: inet.h. Other addresses are not granted.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "syscalls/account/denials.h"
#include "syscalls/account/memfds.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-send.h"
#include "syscalls/net/inet.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define SOCK_TYPE_BITS 0xf /* include/linux/net.h: SOCK_TYPE_MASK */

/* What the filter did not let pass of these families though there is a network. */
static void refuse_inet(struct call *call)
{
	int type = call_int(call, 1) & SOCK_TYPE_BITS;
	bool known = type == SOCK_STREAM || type == SOCK_DGRAM;

	if (type == SOCK_DGRAM && (call_int(call, 2) == 0 || call_int(call, 2) == IPPROTO_UDP))
		call_refuse(call, -EACCES, NULL, "udp_not_offered"); /* see descriptor.h */
	else
		call_refuse(call, known ? -EPROTONOSUPPORT : -EACCES, NULL, "protocol_not_offered");
}

/* getaddrinfo(3) and ssh ask for this machine's addresses so (glibc: check_pf.c, ifaddrs.c), and do without. */
static bool asks_addresses(const struct call *call)
{
	return call->sandbox->inet && call_int(call, 0) == AF_NETLINK && call_int(call, 2) == NETLINK_ROUTE;
}

static void refuse_socket(struct call *call)
{
	int family = call_int(call, 0);

	if (asks_addresses(call))
		call_refuse(call, -EAFNOSUPPORT, NULL, DENIAL_EXPECTED);
	else if (call->sandbox->inet && (family == AF_INET || family == AF_INET6))
		refuse_inet(call);
	else if (family == AF_UNIX) /* a datagram socket reaches whom its address names */
		call_refuse(call, -EACCES, NULL, "unix_datagram_not_offered");
	else
		net_refuse_family(call, family, family == AF_INET || family == AF_INET6 ? -EACCES : -EAFNOSUPPORT);
}

void sys_socket(struct call *call)
{
	if (inet_makes(call))
		inet_make(call);
	else
		refuse_socket(call);
}

void sys_socketpair(struct call *call)
{
	refuse_socket(call);
}

/* False: the outcome is set. */
static bool check_socket(struct call *call)
{
	int r = net_check_socket(call);

	target_allow(call);
	if (r < 0)
		call_fail(call, r);
	return r == 0;
}

void sys_setsockopt(struct call *call)
{
	if (!inet_judges_option(call))
		call_refuse(call, -ENOPROTOOPT, NULL, "refused_syscall");
	else if (check_socket(call))
		inet_setsockopt(call);
}

/* It stays so for good: also when the peer has gone. */
static bool is_connected(int socket_fd)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);

	return getpeername(socket_fd, (struct sockaddr *)&name, &len) == 0;
}

/* How many may wait, each with all that its end has sent: no more than are counted where memory is sampled. */
static int backlog(const struct call *call)
{
	unsigned wanted = call_uint(call, 1); /* as the kernel compares it with somaxconn */

	return (int)(call->sandbox->memfds && wanted > MEMFDS_BACKLOG_MAX ? MEMFDS_BACKLOG_MAX : wanted);
}

static void start_listening(struct call *call, int copy)
{
	memfds_set_queues(call->sandbox->memfds);
	file_end(call, listen(copy, backlog(call)));
}

/*
 * A unix socket listens at a path, which was judged at bind(2). The kernel binds one by itself to an abstract name,
 * which anybody finds: in a connect, even one that fails, when SO_PASSCRED is set (net/unix/af_unix.c: unix_autobind).
 * A name stays for good.
 */
static void listen_unix(struct call *call, int copy)
{
	struct sockaddr_un name = {.sun_family = AF_UNSPEC};
	socklen_t len = sizeof(name);

	if (getsockname(copy, (struct sockaddr *)&name, &len) < 0)
		call_fail(call, -errno);
	else if (len <= offsetof(struct sockaddr_un, sun_path) || is_connected(copy))
		call_fail(call, -EINVAL); /* as the kernel has it */
	else if (!name.sun_path[0])
		call_refuse(call, -EACCES, NULL, "abstract_socket_not_granted");
	else if (call_commit(call) == 0)
		start_listening(call, copy);
}

void sys_listen(struct call *call)
{
	_cleanup_close_ int copy = -1;
	int domain;

	if (!check_socket(call))
		return;
	copy = net_copy_any(call, &domain);
	if (copy >= 0 && domain != AF_UNIX)
		inet_listen(call, copy);
	else if (copy >= 0)
		listen_unix(call, copy);
}

void sys_shutdown(struct call *call)
{
	_cleanup_close_ int copy = -1;
	int domain;

	if (!check_socket(call))
		return;
	copy = net_copy_any(call, &domain);
	if (copy >= 0 && domain != AF_UNIX)
		inet_shutdown(call, copy);
	else if (copy >= 0 && call_commit(call) == 0)
		file_end(call, shutdown(copy, call_int(call, 1)));
}

void sys_sendto(struct call *call)
{
	if (!check_socket(call))
		return;
	if (call_uint(call, 3) & MSG_FASTOPEN)
		call_refuse(call, -EOPNOTSUPP, NULL, "fast_open_not_offered");
	else
		inet_sendto(call);
}

void sys_sendmsg(struct call *call)
{
	if (!check_socket(call))
		return;
	if (call_uint(call, 2) & MSG_FASTOPEN)
		call_refuse(call, -EOPNOTSUPP, NULL, "fast_open_not_offered");
	else
		inet_sendmsg(call);
}

void sys_sendmmsg(struct call *call)
{
	if (!check_socket(call))
		return;
	if (call_uint(call, 3) & MSG_FASTOPEN)
		call_refuse(call, -EOPNOTSUPP, NULL, "fast_open_not_offered");
	else
		inet_sendmmsg(call);
}
