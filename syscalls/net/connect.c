/*
 * connect(2) of unix sockets; inet-connect.c has internet sockets. Connecting is judged as writing to the socket file,
 * and performed on a duplicate of the target's socket. Only sockets that the run has bound are reached
 * (unix-sockets.h), because the program could otherwise exchange descriptors and messages with processes outside the
 * run.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/denials.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* An O_PATH descriptor of the inode that the file's socket is bound to, owned by the caller; or -1, outcome set. */
static int connect_find_peer_inode(struct call *call, int node)
{
	struct stat st;
	int peer;

	if (fstat(node, &st) < 0)
		return call_fail(call, -errno);
	if (faccessat(node, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		return call_fail(call, -EACCES);
	peer = S_ISSOCK(st.st_mode) ? sockets_find_bound_inode(call->sandbox->sockets, &st) : -ENOENT;
	if (peer >= 0) {
		/* Duplicated, because the list of bound sockets may close its own descriptor while a thread waits. */
		peer = fcntl(peer, F_DUPFD_CLOEXEC, 0);
		return peer < 0 ? call_fail(call, -EAGAIN) : peer;
	}
	if (S_ISSOCK(st.st_mode) && sockets_is_open(node))
		return call_refuse(call, -EACCES, NULL, "unix_socket_not_granted");
	return call_fail(call, -ECONNREFUSED); /* the kernel's errno for a stale socket file and for other files */
}

static void connect_path(struct call *call)
{
	_cleanup_close_ int node = file_pin_path(call, 0, POLICY_WRITE, VIEW_FOLLOW, O_PATH);
	_cleanup_close_ int peer = -1, copy = -1;
	int r;

	if (node < 0) {
		net_replace_error(call, -EROFS, -EACCES);
		return;
	}
	peer = connect_find_peer_inode(call, node);
	copy = peer < 0 ? -1 : net_copy_socket(call);
	if (copy < 0 || call_commit_record(call) < 0)
		return;
	r = net_is_nonblocking(copy) ? sockets_connect(copy, peer) : -EINTR;
	if (r == -EINTR) { /* connect may wait for room in the backlog, even if another thread sets O_NONBLOCK now */
		call->outcome.kind = OUTCOME_CONNECT;
		call->outcome.fd = steal_fd(&copy);
		call->outcome.peer_fd = steal_fd(&peer);
		return;
	}
	call_return_result(call, r);
}

static void connect_unix(struct call *call, const struct sockaddr_storage *address, int len)
{
	const char *path = call->path[0].text;

	switch (net_read_unix_address(call, address, len)) {
	case NET_UNIX_PATH:
		connect_path(call);
		/* glibc tries the name service cache before passwd and DNS (nscd/nscd_helper.c). */
		if (call->decision.verdict == VERDICT_DENY &&
		    (strcmp(path, "/var/run/nscd/socket") == 0 || strcmp(path, "/run/nscd/socket") == 0))
			call->decision.reason = DENIAL_EXPECTED;
		break;
	case NET_UNIX_ABSTRACT:
		call_refuse(call, -ECONNREFUSED, NULL, "abstract_socket_not_granted");
		break;
	case NET_UNIX_UNNAMED:
	case NET_UNIX_INVALID:
	default:
		target_fail_call(call, -EINVAL);
		break;
	}
}

HANDLER(sys_connect, net_judge_address(call, connect_unix, netlink_connect, inet_connect))
