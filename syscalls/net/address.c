#include "syscalls/net/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/inet-address.h"
#include "syscalls/process/target.h"

int net_check_fd_is_socket(const struct call *call)
{
	char link[64], name[16];
	struct fdinfo info;
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->tid,
		       call_get_int(call, 0)); /* two ints always fit */
	len = readlink(link, name, sizeof(name));
	if (len < 0)
		return -EBADF;
	if ((size_t)len >= strlen("socket:") && memcmp(name, "socket:", strlen("socket:")) == 0)
		return 0;
	return fdinfo_read(call->tid, call_get_int(call, 0), &info) == 0 && info.open_flags & O_PATH ? -EBADF
												     : -ENOTSOCK;
}

bool net_allow_if_fd_is_socket(struct call *call)
{
	int r = net_check_fd_is_socket(call);

	target_allow_without_rule(call);
	if (r < 0)
		call_fail(call, r);
	return r == 0;
}

/*
 * False, with the outcome set, for an internet socket, for which the kernel does not look at the path:
 * tcp_v4_connect(), __ip6_datagram_connect(), inet_bind_sk(). A run without a network has no internet sockets.
 */
static bool net_socket_may_use_unix_address(struct call *call, int len)
{
	_cleanup_close_ int copy = -1;
	size_t least;
	int domain;

	if (!call->sandbox->inet)
		return true;
	target_allow_without_rule(call);
	copy = net_copy_socket_of_any_family(call, &domain);
	if (copy < 0)
		return false;
	if (domain != AF_INET && domain != AF_INET6) {
		descriptor_keep_fetched_copy(call, steal_fd(&copy));
		return true;
	}
	least = domain == AF_INET ? sizeof(struct sockaddr_in) : SOCKADDR_IN6_BYTES_MIN;
	call_fail(call, (size_t)len < least ? -EINVAL : -EAFNOSUPPORT);
	return false;
}

void net_judge_address(struct call *call, net_address_fn *judge_unix, net_address_fn *judge_netlink,
		       net_address_fn *judge_inet)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	int len = call_get_int(call, 2), r = net_check_fd_is_socket(call);

	/* the same check as in move_addr_to_kernel() in net/socket.c */
	if (r == 0 && (len < 0 || (size_t)len > sizeof(address)))
		r = -EINVAL;
	if (r == 0)
		r = decode_struct(call, 1, &address, (size_t)len);
	if (r < 0)
		target_allow_but_fail(call, r);
	else if (address.ss_family == AF_UNIX && !net_socket_may_use_unix_address(call, len))
		return;
	else if (address.ss_family == AF_UNIX)
		judge_unix(call, &address, len);
	else if (address.ss_family == AF_NETLINK)
		judge_netlink(call, &address, len);
	else if (call->sandbox->inet)
		judge_inet(call, &address, len);
	else
		net_refuse_family(call, address.ss_family, -EINVAL);
}

enum net_unix_kind net_read_unix_address(struct call *call, const struct sockaddr_storage *address, int len)
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	const char *text = (const char *)address + head;
	struct call_path *path = &call->path[0];
	bool abstract;

	if ((size_t)len < head || (size_t)len > sizeof(struct sockaddr_un))
		return NET_UNIX_INVALID;
	if ((size_t)len == head)
		return NET_UNIX_UNNAMED;
	abstract = !text[0]; /* every byte belongs to the name, NUL as well */
	path->len = abstract ? (size_t)len - head : strnlen(text, (size_t)len - head);
	memcpy(path->text, text, path->len);
	path->text[path->len] = '\0';
	path->dirfd = AT_FDCWD;
	path->is_null_pointer = false;
	path->error = 0;
	call->path_count = 1;
	return abstract ? NET_UNIX_ABSTRACT : NET_UNIX_PATH;
}

void net_replace_error(struct call *call, int from, int to)
{
	if (file_get_outcome_error(call) != from)
		return;
	if (call->decision.verdict == VERDICT_DENY)
		call->decision.error = -to;
	call_fail(call, to);
}

void net_refuse_family(struct call *call, int family, int error)
{
	bool network = family == AF_INET || family == AF_INET6;

	call_refuse(call, error, NULL, network ? "network_not_granted" : "family_not_offered");
}

int net_copy_socket_of_any_family(struct call *call, int *ret_domain)
{
	_cleanup_close_ int copy = descriptor_copy(call, call_get_int(call, 0));
	int domain = copy < 0 ? -1 : net_get_option(copy, SOL_SOCKET, SO_DOMAIN);

	*ret_domain = AF_UNSPEC;
	if (copy < 0)
		return -1;
	if (domain < 0) /* another thread has replaced the descriptor */
		return call_fail(call, -errno);
	*ret_domain = domain;
	return steal_fd(&copy);
}

int net_copy_unix_or_inet_socket(struct call *call, int *ret_domain)
{
	_cleanup_close_ int copy = net_copy_socket_of_any_family(call, ret_domain);
	int domain = *ret_domain;

	if (copy < 0)
		return -1;
	if (domain == AF_UNIX || (call->sandbox->inet && (domain == AF_INET || domain == AF_INET6)))
		return steal_fd(&copy);
	net_refuse_family(call, domain, -EACCES);
	return -1;
}

int net_allow_and_copy_socket(struct call *call, int *ret_domain)
{
	return net_allow_if_fd_is_socket(call) ? net_copy_unix_or_inet_socket(call, ret_domain) : -1;
}

int net_copy_socket(struct call *call)
{
	int domain;
	_cleanup_close_ int copy = net_copy_unix_or_inet_socket(call, &domain);

	if (copy < 0 || domain == AF_UNIX)
		return steal_fd(&copy);
	target_allow_but_fail(call, -EAFNOSUPPORT);
	return -1;
}
