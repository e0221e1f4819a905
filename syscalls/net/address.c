#include "syscalls/net/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/file/resolve.h"
#include "syscalls/process/target.h"

#include "base/banned.h"

int net_check_socket(const struct call *call)
{
	char link[64], name[16];
	struct fdinfo info;
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->tid, call_int(call, 0)); /* bounded by two ints */
	len = readlink(link, name, sizeof(name));
	if (len < 0)
		return -EBADF;
	if ((size_t)len >= strlen("socket:") && memcmp(name, "socket:", strlen("socket:")) == 0)
		return 0;
	return fdinfo_read(call->tid, call_int(call, 0), &info) == 0 && info.flags & O_PATH ? -EBADF : -ENOTSOCK;
}

/* As move_addr_to_kernel() in net/socket.c. Returns the length or -errno. */
static int net_copy_address(const struct call *call, struct sockaddr_storage *address)
{
	int len = call_int(call, 2);
	int r;

	memset(address, 0, sizeof(*address));
	if (len < 0 || (size_t)len > sizeof(*address))
		return -EINVAL;
	r = len ? decode_struct(call, 1, address, (size_t)len) : 0;
	return r < 0 ? r : len;
}

bool net_allow_socket(struct call *call)
{
	int r = net_check_socket(call);

	target_allow(call);
	if (r < 0)
		call_fail(call, r);
	return r == 0;
}

bool net_read_address(struct call *call, struct sockaddr_storage *address, int *ret_len)
{
	int r = net_check_socket(call);

	if (r == 0)
		r = net_copy_address(call, address);
	if (r < 0) {
		target_fail(call, r);
		return false;
	}
	*ret_len = r;
	return true;
}

enum net_unix_kind net_read_unix(struct call *call, const struct sockaddr_storage *address, int len)
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	const char *text = (const char *)address + head;
	struct call_path *path = &call->path[0];

	if ((size_t)len < head || (size_t)len > sizeof(struct sockaddr_un))
		return NET_UNIX_INVALID;
	if ((size_t)len == head)
		return NET_UNIX_UNNAMED;
	if (!text[0])
		return NET_UNIX_ABSTRACT;
	path->len = strnlen(text, (size_t)len - head);
	memcpy(path->text, text, path->len);
	path->text[path->len] = '\0';
	path->dirfd = AT_FDCWD;
	path->null = false;
	path->error = 0;
	call->paths = 1;
	return NET_UNIX_PATH;
}

void net_replace_error(struct call *call, int from, int to)
{
	if (file_outcome_error(call) != from)
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

int net_copy_domain(struct call *call, int *ret_domain)
{
	_cleanup_close_ int copy = descriptor_copy(call, call_int(call, 0));
	socklen_t len = sizeof(*ret_domain);

	*ret_domain = AF_UNSPEC;
	if (copy < 0)
		return -1;
	if (getsockopt(copy, SOL_SOCKET, SO_DOMAIN, ret_domain, &len) < 0) {
		call_fail(call, -errno); /* another thread has replaced the descriptor */
		return -1;
	}
	return steal_fd(&copy);
}

int net_copy_any(struct call *call, int *ret_domain)
{
	_cleanup_close_ int copy = net_copy_domain(call, ret_domain);
	int domain = *ret_domain;

	if (copy < 0)
		return -1;
	if (domain == AF_UNIX || (call->sandbox->inet && (domain == AF_INET || domain == AF_INET6)))
		return steal_fd(&copy);
	net_refuse_family(call, domain, -EACCES);
	return -1;
}

int net_copy_socket(struct call *call)
{
	_cleanup_close_ int copy = -1;
	int domain;

	copy = net_copy_any(call, &domain);
	if (copy < 0 || domain == AF_UNIX)
		return steal_fd(&copy);
	target_fail(call, -EAFNOSUPPORT);
	return -1;
}
