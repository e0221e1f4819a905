#include "syscalls/net/unix-route.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/process/target.h"

/*
 * Finds the socket of the run that is bound to the file `node`. Returns an O_PATH descriptor, owned by the caller,
 * which must stay open while *ret_address is used; or -1 with the outcome set.
 */
static int unix_find_socket_of_file(struct call *call, int node, struct sockets_address *ret_address)
{
	struct stat st;
	int pin;

	if (fstat(node, &st) < 0)
		return call_fail(call, -errno);
	if (faccessat(node, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		return call_fail(call, -EACCES);
	pin = S_ISSOCK(st.st_mode) ? sockets_find_path(call->sandbox->unix_sockets, &st, ret_address) : -ENOENT;
	if (pin != -ENOENT)
		return pin < 0 ? call_fail(call, pin) : pin;
	if (S_ISSOCK(st.st_mode) && sockets_inode_has_open_socket(node))
		return call_refuse(call, -EACCES, NULL, "unix_socket_not_granted");
	return call_fail(call, -ECONNREFUSED); /* the kernel's errno for a stale socket file and for other files */
}

int unix_find_socket_of_path(struct call *call, struct sockets_address *ret_address)
{
	_cleanup_close_ int node = file_pin_path(call, 0, POLICY_WRITE, VIEW_FOLLOW_LAST_LINK, O_PATH);

	if (node >= 0)
		return unix_find_socket_of_file(call, node, ret_address);
	net_replace_error(call, -EROFS, -EACCES);
	return -1;
}

int unix_find_abstract_socket(struct call *call, int socket_fd, struct sockets_address *address, int *ret_pin_fd)
{
	int r = sockets_find_abstract(call->sandbox->unix_sockets, socket_fd, address, ret_pin_fd);

	if (r != -ECONNREFUSED)
		return r < 0 ? call_fail(call, r) : 0;
	call->path_count = 0; /* leaves out the path, because no rule can grant an abstract name */
	return call_refuse(call, r, NULL, "abstract_socket_not_granted");
}

/*
 * recvfrom(2) is native, so it tells names as they are bound in the scratch directory. If a datagram is sent to such a
 * name, its destination is the name that the program has bound.
 */
static struct sockets_address unix_restore_datagram_address(const struct sockaddr_storage *name, int len)
{
	struct sockets_address address = {.len = (socklen_t)len};

	memcpy(&address.name, name, sizeof(address.name));
	(void)sockets_restore_name(&address.name, &address.len);
	return address;
}

int unix_find_datagram_destination(struct call *call, int socket_fd, const struct sockaddr_storage *name, int len,
			struct sockets_address *ret_address, int *ret_pin_fd)
{
	struct sockaddr_storage restored = {.ss_family = AF_UNSPEC};

	*ret_pin_fd = -1;
	*ret_address = unix_restore_datagram_address(name, len);
	memcpy(&restored, &ret_address->name, sizeof(ret_address->name));
	if (name->ss_family != AF_UNIX)
		return call_fail(call, -EINVAL);
	switch (net_read_unix_address(call, &restored, (int)ret_address->len)) {
	case NET_UNIX_PATH:
		*ret_pin_fd = unix_find_socket_of_path(call, ret_address);
		return *ret_pin_fd < 0 ? -1 : 0;
	case NET_UNIX_ABSTRACT:
		return unix_find_abstract_socket(call, socket_fd, ret_address, ret_pin_fd);
	case NET_UNIX_UNNAMED:
	case NET_UNIX_INVALID:
	default:
		return call_fail(call, -EINVAL);
	}
}
