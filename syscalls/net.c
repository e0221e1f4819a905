/*
 * Sockets: what the filter does not let pass. Unix stream and seqpacket sockets exist. One is bound to a path where the
 * policy lets a file be made, and connected to by members of the run alone. Internet sockets, when the policy has a network:
 * inet.h. Other addresses are not granted.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "syscalls/denials.h"
#include "syscalls/file-act.h"
#include "syscalls/handlers.h"
#include "syscalls/inet.h"
#include "syscalls/inet-send.h"
#include "syscalls/net-address.h"
#include "syscalls/target.h"

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

void sys_listen(struct call *call)
{
	_cleanup_close_ int copy = -1;
	int domain;

	if (!check_socket(call))
		return;
	/* A unix socket has to be bound first, which was judged; without a name the kernel says EINVAL. */
	copy = net_copy_any(call, &domain);
	if (copy >= 0 && domain != AF_UNIX)
		inet_listen(call, copy);
	else if (copy >= 0 && call_commit(call) == 0)
		file_end(call, listen(copy, call_int(call, 1)));
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
