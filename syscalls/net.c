/*
 * Sockets: what the filter does not let pass. Unix stream and seqpacket sockets exist. One is bound to a path where the
 * policy lets a file be made, and connected to by members of the run alone. Internet sockets, when the policy has a network:
 * inet.h. Other addresses are not granted.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "syscalls/file-act.h"
#include "syscalls/handlers.h"
#include "syscalls/inet.h"
#include "syscalls/inet-send.h"
#include "syscalls/net-address.h"
#include "syscalls/target.h"

#include "base/banned.h"

static void refuse_socket(struct call *call)
{
	int family = call_int(call, 0);

	if (family == AF_UNIX) /* a datagram socket reaches whom its address names */
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
