/*
 * Sockets: what the filter does not let pass. Unix stream and seqpacket sockets exist, so that a program can talk to
 * itself; no address is granted, so nothing is connected, bound or listened on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/decode.h"
#include "syscalls/file.h"
#include "syscalls/handlers.h"
#include "syscalls/target.h"

#include "base/banned.h"

static void refuse_family(struct call *call, int family)
{
	switch (family) {
	case AF_UNIX: /* a datagram socket reaches whom its address names */
		call_refuse(call, -EACCES, NULL, "unix_datagram_not_offered");
		break;
	case AF_INET:
	case AF_INET6:
		call_refuse(call, -EACCES, NULL, "network_not_granted");
		break;
	default:
		call_refuse(call, -EAFNOSUPPORT, NULL, "family_not_offered");
		break;
	}
}

void sys_socket(struct call *call)
{
	refuse_family(call, call_int(call, 0));
}

void sys_socketpair(struct call *call)
{
	refuse_family(call, call_int(call, 0));
}

/* 0, or what native calls give first: -EBADF, -ENOTSOCK. A glance for the errno only: nothing is granted on it. */
static int check_socket(const struct call *call)
{
	char link[64], name[16];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->tid, call_int(call, 0)); /* bounded by two ints */
	len = readlink(link, name, sizeof(name));
	if (len < 0)
		return -EBADF;
	return (size_t)len >= strlen("socket:") && memcmp(name, "socket:", strlen("socket:")) == 0 ? 0 : -ENOTSOCK;
}

/* As move_addr_to_kernel() in net/socket.c. The length, or -errno. */
static int copy_address(const struct call *call, struct sockaddr_storage *address)
{
	int len = call_int(call, 2);
	int r;

	memset(address, 0, sizeof(*address));
	if (len < 0 || (size_t)len > sizeof(*address))
		return -EINVAL;
	r = len ? decode_struct(call, 1, address, (size_t)len) : 0;
	return r < 0 ? r : len;
}

/* The path of a unix address becomes the call's path. False: none (unnamed or abstract). */
static bool take_unix_path(struct call *call, const struct sockaddr_storage *address, int len)
{
	const char *text = (const char *)address + offsetof(struct sockaddr_un, sun_path);
	struct call_path *path = &call->path[0];

	if ((size_t)len <= offsetof(struct sockaddr_un, sun_path) || !text[0])
		return false;
	path->len = strnlen(text, (size_t)len - offsetof(struct sockaddr_un, sun_path));
	memcpy(path->text, text, path->len);
	path->text[path->len] = '\0';
	path->dirfd = AT_FDCWD;
	path->null = false;
	call->paths = 1;
	return true;
}

/* What the path leads to decides the errno: who looks for a service (nscd) must find it absent, not forbidden. */
static void connect_unix(struct call *call)
{
	_cleanup_close_ int fd = file_pin(call, 0, POLICY_READ, VIEW_FOLLOW, O_PATH);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		call_fail(call, -ECONNREFUSED);
		return;
	}
	call_refuse(call, -EACCES, NULL, "unix_socket_not_granted");
}

/* Fails as native calls do before the address matters. False: the outcome is set. */
static bool read_address(struct call *call, struct sockaddr_storage *address, int *ret_len)
{
	int r = check_socket(call);

	if (r == 0)
		r = copy_address(call, address);
	if (r < 0) {
		target_allow(call);
		call_fail(call, r);
		return false;
	}
	*ret_len = r;
	return true;
}

void sys_connect(struct call *call)
{
	struct sockaddr_storage address;
	int len;

	if (!read_address(call, &address, &len))
		return;
	if (address.ss_family != AF_UNIX)
		refuse_family(call, address.ss_family);
	else if (take_unix_path(call, &address, len))
		connect_unix(call);
	else
		call_refuse(call, -ECONNREFUSED, NULL, "abstract_socket_not_granted");
}

void sys_bind(struct call *call)
{
	struct sockaddr_storage address;
	int len;

	if (!read_address(call, &address, &len))
		return;
	if (address.ss_family == AF_UNIX)
		(void)take_unix_path(call, &address, len); /* for the record */
	call_refuse(call, -EACCES, NULL, "bind_not_granted");
}

void sys_listen(struct call *call)
{
	int r = check_socket(call);

	if (r < 0) {
		target_allow(call);
		call_fail(call, r);
		return;
	}
	call_refuse(call, -EACCES, NULL, "listen_not_granted");
}

void sys_sendto(struct call *call)
{
	int r = check_socket(call);

	if (r < 0) {
		target_allow(call);
		call_fail(call, r);
	} else if (call_uint(call, 3) & MSG_FASTOPEN) {
		call_refuse(call, -EOPNOTSUPP, NULL, "fast_open_not_offered");
	} else {
		/* The errno of a connected stream: that is all there is to send on. */
		call_refuse(call, -EISCONN, NULL, "addressed_send_not_granted");
	}
}
