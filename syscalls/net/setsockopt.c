/*
 * setsockopt(2) in runs without a network namespace: judges options that would admit other processes on the same
 * loopback. In a network namespace, where the run is alone, the filter lets these options pass.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/net/netlink.h"
#include "syscalls/table/handlers.h"

/*
 * ICMP errors carry the datagram that caused them. Any process can send such errors, with the target's address as the
 * source, and no socket filter sees them (net/ipv4/udp.c: __udp4_lib_err). glibc's resolver requires that the option
 * can be set, and works without its effect.
 */
static bool sockopt_is_recverr(int level, int name)
{
	return (level == IPPROTO_IP && name == IP_RECVERR) || (level == IPPROTO_IPV6 && name == IPV6_RECVERR);
}

/*
 * A server sets SO_REUSEADDR before bind(2), to bind a granted port again. After bind(2), the option would let other
 * processes bind the source port of a connect. On UDP it only lets sockets share a port.
 */
static bool sockopt_may_set_reuseaddr(int socket_fd, int domain)
{
	struct inet_socket socket = {.fd = socket_fd};
	struct inet_address bound = {.family = AF_UNSPEC};

	if (domain == AF_UNIX)
		return true;
	return inet_read_socket_kind(socket_fd, &socket.kind) && socket.kind.is_stream &&
	       inet_read_bound(&socket, &bound) == 0 && !bound.port;
}

/*
 * Accepts the option and leaves it off: the kernel checks family, level and length of a call that sets it to 0. Of a
 * value of one to three bytes, IP_RECVERR reads only one. IPV6_RECVERR takes NULL for 0.
 */
static void sockopt_accept_without_effect(struct call *call, int socket_fd)
{
	int level = call_get_int(call, 1), len = call_get_int(call, 4), value = 0, r = 0;

	if (len > (int)sizeof(value))
		len = sizeof(value);
	if (setsockopt(socket_fd, level, call_get_int(call, 2), call->arg[3] ? &value : NULL, (socklen_t)len) < 0)
		r = -errno;
	else if (call->arg[3] && len > 0)
		r = decode_struct(call, 3, &value, len < (int)sizeof(value) ? 1 : sizeof(value));
	call_return_result(call, r);
}

/* Checks the length before the value, as net/core/sock.c does for every family. */
static void sockopt_set_reuseaddr(struct call *call, int socket_fd, int domain)
{
	int value, r = call_get_int(call, 4) < (int)sizeof(value) ? -EINVAL
								  : decode_struct(call, 3, &value, sizeof(value));

	if (r == 0 && call_commit_record(call) < 0)
		return;
	if (r == 0 && (!value || sockopt_may_set_reuseaddr(socket_fd, domain)) &&
	    setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)) < 0)
		r = -errno;
	call_return_result(call, r);
}

/*
 * Messages that the supervisor performs would carry its credentials. Also, a socket that asks for credentials is bound
 * to a name of the kernel's choice by its next send (unix_autobind), which processes outside the run might find. So
 * with datagrams the option stays off.
 */
static void sockopt_set_passcred(struct call *call)
{
	_cleanup_close_ int copy = -1;
	int value, domain, r;

	copy = net_allow_and_copy_socket(call, &domain);
	if (copy < 0)
		return;
	r = call_get_int(call, 4) < (int)sizeof(value) ? -EINVAL : decode_struct(call, 3, &value, sizeof(value));
	if (r < 0)
		call_fail(call, r);
	else if (value && domain == AF_UNIX)
		call_refuse(call, -EPERM, NULL, "credentials_not_told");
	else if (call_commit_record(call) == 0)
		call_return(call, 0); /* SO_PASSCRED is off already; sockets of other families ignore it */
}

void sys_setsockopt(struct call *call)
{
	int level = call_get_int(call, 1), name = call_get_int(call, 2), domain;
	bool errors = sockopt_is_recverr(level, name);
	_cleanup_close_ int copy = -1;

	if (netlink_set_option(call))
		return;
	if (call->sandbox->has_unix_datagrams && level == SOL_SOCKET && name == SO_PASSCRED) {
		sockopt_set_passcred(call);
		return;
	}
	if (!call->sandbox->inet || inet_has_own_netns(call->sandbox->inet) ||
	    !(errors || (level == SOL_SOCKET && name == SO_REUSEADDR))) {
		call_refuse(call, -ENOPROTOOPT, NULL, "refused_syscall");
		return;
	}
	copy = net_allow_and_copy_socket(call, &domain);
	if (copy >= 0 && errors)
		sockopt_accept_without_effect(call, copy);
	else if (copy >= 0)
		sockopt_set_reuseaddr(call, copy, domain);
}
