/*
 * bind(2) of unix sockets; inet-bind.c has internet sockets. Binding is judged as making the socket file, and performed
 * on a duplicate of the target's socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* Makes the socket file in the view. Returns an O_PATH descriptor of it, or -errno. */
static int bind_make_socket_file(int parent, const char *name, int socket_fd)
{
	struct stat st;
	int node;

	if (fstat(socket_fd, &st) < 0) /* as unix_bind_bsd(): the file has the socket's mode, less the umask */
		return -errno;
	if (mknodat(parent, name, S_IFSOCK | (st.st_mode & 0777), 0) < 0)
		return errno == EEXIST ? -EADDRINUSE : -errno;
	node = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return node < 0 ? -errno : node;
}

/* Binds to a path. Checks in the kernel's order: first the path, then whether the socket is bound already. */
static void bind_unix_path(struct call *call)
{
	struct sockets *sockets = call->sandbox->unix_sockets;
	const char *name;
	_cleanup_close_ int parent = file_pin_parent_of_new_name(call, 0, &name), copy = -1;
	int node, r;

	if (parent < 0) {
		net_replace_error(call, -EEXIST, -EADDRINUSE);
		return;
	}
	copy = net_copy_socket(call);
	if (copy < 0)
		return;
	r = sockets_has_name(copy) ? -EINVAL : sockets_make_room(sockets);
	if (r < 0)
		call_fail(call, r);
	if (r < 0 || disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME) < 0 || file_set_umask_of_target(call) < 0 ||
	    file_record_before_change(call, 0) < 0)
		return;
	r = node = bind_make_socket_file(parent, name, copy);
	if (r >= 0) {
		r = sockets_bind_file(sockets, copy, node, call->path[0].text);
		if (r < 0)
			(void)unlinkat(parent, name, 0); /* fails only if the target has removed the file */
	}
	call_return_result(call, r < 0 ? r : 0);
	disk_count_new_name(call, S_IFSOCK);
}

/* Abstract names are private to the run, so no rule is about them. */
static void bind_unix_abstract(struct call *call, const struct sockaddr_storage *address, int len)
{
	struct sockets_address name = {.len = (socklen_t)len};
	_cleanup_close_ int copy = -1;

	memcpy(&name.name, address, sizeof(name.name));
	target_allow_without_rule(call);
	copy = net_copy_socket(call);
	if (copy >= 0 && call_commit_record(call) == 0)
		call_return_result(call, sockets_bind_abstract(call->sandbox->unix_sockets, copy, &name));
}

static void bind_unix(struct call *call, const struct sockaddr_storage *address, int len)
{
	switch (net_read_unix_address(call, address, len)) {
	case NET_UNIX_PATH:
		bind_unix_path(call);
		break;
	case NET_UNIX_ABSTRACT:
	case NET_UNIX_UNNAMED: /* an abstract name is chosen */
		bind_unix_abstract(call, address, len);
		break;
	case NET_UNIX_INVALID:
	default:
		target_allow_but_fail(call, -EINVAL);
		break;
	}
}

HANDLER(sys_bind, net_judge_address(call, bind_unix, netlink_bind, inet_bind))
