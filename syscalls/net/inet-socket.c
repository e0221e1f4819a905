/* Reads and changes the state of the supervisor's duplicate of a target's TCP or UDP socket. */
#include <errno.h>
#include <netinet/tcp.h>

#include "base/cleanup.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

/* Domain and type are read from the socket: another thread may have replaced the descriptor. */
bool inet_read_socket_kind(int fd, struct inet_kind *ret_kind)
{
	int domain = net_get_option(fd, SOL_SOCKET, SO_DOMAIN), type = net_get_option(fd, SOL_SOCKET, SO_TYPE);
	int protocol = net_get_option(fd, SOL_SOCKET, SO_PROTOCOL);

	if (domain != AF_INET && domain != AF_INET6)
		return false;
	if (!(type == SOCK_STREAM && protocol == IPPROTO_TCP) && !(type == SOCK_DGRAM && protocol == IPPROTO_UDP))
		return false;
	*ret_kind = (struct inet_kind){.domain = domain, .is_stream = type == SOCK_STREAM};
	ret_kind->is_v6_only = domain == AF_INET6 && net_get_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1;
	return true;
}

bool inet_copy_socket_of_call(struct call *call, struct inet_socket *ret_socket, int other)
{
	_cleanup_close_ int fd = descriptor_copy(call, call_get_int(call, 0));

	if (fd < 0)
		return false;
	if (!inet_read_socket_kind(fd, &ret_socket->kind)) {
		target_allow_but_fail(call, net_get_option(fd, SOL_SOCKET, SO_DOMAIN) < 0 ? -ENOTSOCK : other);
		return false;
	}
	ret_socket->fd = steal_fd(&fd);
	return true;
}

int inet_get_tcp_state(int socket_fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return getsockopt(socket_fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ? 0 : info.tcpi_state;
}

void inet_end_tcp_connect(int socket_fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)connect(socket_fd, &none, sizeof(none)); /* fails if no connect is in progress */
}

int inet_read_bound(const struct inet_socket *socket, struct inet_address *ret_address)
{
	struct sockaddr_storage told = {0};
	socklen_t len = sizeof(told);

	if (getsockname(socket->fd, (struct sockaddr *)&told, &len) < 0)
		return -errno;
	return inet_read_socket_name(&told, ret_address) ? 0 : -EAFNOSUPPORT;
}

int inet_bind_to_address(const struct inet_socket *socket, const struct inet_address *address)
{
	const int off = 0;
	struct sockaddr_storage storage;
	socklen_t len = inet_write_sockaddr(socket->kind.domain, address, &storage);

	/* The run's loopback is an IPv4 address, which an IPV6_V6ONLY socket cannot be bound to. */
	if (socket->kind.domain == AF_INET6 && address->family == AF_INET && socket->kind.is_v6_only)
		(void)setsockopt(socket->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* else bind(2) fails */
	return bind(socket->fd, (const struct sockaddr *)&storage, len) < 0 ? -errno : 0;
}

int inet_bind_any_port(const struct inet_socket *socket, const struct inet_address *address)
{
	struct inet_address own = *address;
	int r;

	own.port = 0;
	r = inet_bind_to_address(socket, &own);
	return r == -EINVAL ? 0 : r;
}

/*
 * Clears an option by which other sockets can bind the same port. 0; -EADDRNOTAVAIL: the option was set when the socket
 * was bound, so the port may be shared; or another -errno.
 */
static int inet_clear_reuse_option(const struct inet_socket *socket, int name, bool bound)
{
	const int off = 0;
	int shared = net_get_option(socket->fd, SOL_SOCKET, name);

	if (shared && bound)
		return -EADDRNOTAVAIL; /* another socket may share the port already */
	return shared && setsockopt(socket->fd, SOL_SOCKET, name, &off, sizeof(off)) < 0 ? -errno : 0;
}

int inet_forbid_port_reuse(const struct inet_socket *socket)
{
	struct inet_address bound = {.family = AF_UNSPEC};
	int r = inet_read_bound(socket, &bound);

	if (r == 0)
		r = inet_clear_reuse_option(socket, SO_REUSEADDR, bound.port);
	if (r == 0)
		r = inet_clear_reuse_option(socket, SO_REUSEPORT, bound.port);
	return r;
}
