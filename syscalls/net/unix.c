/*
 * Unix sockets by path: bind(2) makes a file, connect(2) writes to one. Both are judged as that and performed on a duplicate
 * of the program's socket. Only sockets that the run itself has bound can be connected to (sockets.h): with an outsider,
 * descriptors and messages would pass that nobody judges.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/denials.h"
#include "syscalls/account/disk.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

static_assert(sizeof(struct sockaddr_un) <= sizeof(struct sockaddr_storage), "an address of any family");

/* Another errno for what was decided: unix sockets have their own. */
static void replace_error(struct call *call, int from, int to)
{
	if (file_error(call) != from)
		return;
	if (call->decision.verdict == VERDICT_DENY)
		call->decision.error = -to;
	call_fail(call, to);
}

/* ---- connect ---- */

/* The inode of the run's socket behind a socket file: owned by the caller; or -1 with the outcome set. */
static int find_peer(struct call *call, int node)
{
	struct stat st;
	int peer;

	if (fstat(node, &st) < 0) {
		call_fail(call, -errno);
		return -1;
	}
	if (faccessat(node, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0) {
		call_fail(call, -EACCES);
		return -1;
	}
	peer = S_ISSOCK(st.st_mode) ? sockets_find(call->sandbox->sockets, &st) : -ENOENT;
	if (peer >= 0) {
		peer = fcntl(peer, F_DUPFD_CLOEXEC, 0); /* its own might go while a worker waits */
		if (peer < 0)
			call_fail(call, -EAGAIN);
	} else if (S_ISSOCK(st.st_mode) && sockets_alive(node))
		call_refuse(call, -EACCES, NULL, "unix_socket_not_granted");
	else
		call_fail(call, -ECONNREFUSED); /* a file left behind, or no socket: natively the same */
	return peer;
}

/* glibc asks the name service cache before it reads passwd or asks the DNS itself (nscd/nscd_helper.c). */
static bool is_name_cache(const struct call_path *path)
{
	return strcmp(path->text, "/var/run/nscd/socket") == 0 || strcmp(path->text, "/run/nscd/socket") == 0;
}

static void connect_path(struct call *call)
{
	_cleanup_close_ int node = file_pin(call, 0, POLICY_WRITE, VIEW_FOLLOW, O_PATH);
	_cleanup_close_ int peer = -1, copy = -1;
	int flags, r;

	if (node < 0) {
		replace_error(call, -EROFS, -EACCES);
		return;
	}
	peer = find_peer(call, node);
	if (peer < 0)
		return;
	copy = net_copy_socket(call);
	if (copy < 0 || call_commit(call) < 0)
		return;
	flags = fcntl(copy, F_GETFL);
	r = flags >= 0 && flags & O_NONBLOCK ? sockets_connect(copy, peer) : -EINTR;
	if (r == -EINTR) { /* it may wait for room in the queue, also when the flag was taken away meanwhile */
		call->outcome.kind = OUTCOME_CONNECT;
		call->outcome.fd = steal_fd(&copy);
		call->outcome.peer_fd = steal_fd(&peer);
		return;
	}
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

typedef void inet_fn(struct call *call, const struct sockaddr_storage *address, int len);

/* False: the call is answered: there is no address, or it is none of a unix socket and was `inet`'s. */
static bool read_unix(struct call *call, struct sockaddr_storage *address, int *ret_len, inet_fn *inet)
{
	if (!net_read_address(call, address, ret_len))
		return false;
	if (address->ss_family == AF_UNIX)
		return true;
	if (call->sandbox->inet)
		inet(call, address, *ret_len);
	else
		net_refuse_family(call, address->ss_family, -EINVAL);
	return false;
}

void sys_connect(struct call *call)
{
	struct sockaddr_storage address;
	int len;

	if (!read_unix(call, &address, &len, inet_connect))
		return;
	switch (net_take_unix(call, &address, len)) {
	case NET_UNIX_PATH:
		connect_path(call);
		if (call->decision.verdict == VERDICT_DENY && is_name_cache(&call->path[0]))
			call->decision.reason = DENIAL_EXPECTED;
		break;
	case NET_UNIX_ABSTRACT:
		call_refuse(call, -ECONNREFUSED, NULL, "abstract_socket_not_granted");
		break;
	case NET_UNIX_UNNAMED:
	case NET_UNIX_INVALID:
	default:
		target_allow(call);
		call_fail(call, -EINVAL);
		break;
	}
}

/* ---- bind ---- */

/* The socket file the program will see, pinned. A descriptor or -errno. */
static int make_node(int parent, const char *name, int socket_fd)
{
	struct stat st;
	int node;

	if (fstat(socket_fd, &st) < 0) /* unix_bind_bsd(): the mode is the socket's, less the umask */
		return -errno;
	if (mknodat(parent, name, S_IFSOCK | (st.st_mode & 0777), 0) < 0)
		return errno == EEXIST ? -EADDRINUSE : -errno;
	node = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return node < 0 ? -errno : node;
}

static bool has_name(int socket_fd)
{
	struct sockaddr_un address;
	socklen_t len = sizeof(address);

	return getsockname(socket_fd, (struct sockaddr *)&address, &len) == 0 &&
	       len > offsetof(struct sockaddr_un, sun_path);
}

/* The kernel's order: the name, then whether the socket has one already. */
static void bind_path(struct call *call)
{
	struct sockets *sockets = call->sandbox->sockets;
	_cleanup_close_ int parent = -1, copy = -1;
	const char *name;
	int node, r;

	parent = file_pin_new(call, 0, &name);
	if (parent < 0) {
		replace_error(call, -EEXIST, -EADDRINUSE);
		return;
	}
	copy = net_copy_socket(call);
	if (copy < 0)
		return;
	r = has_name(copy) ? -EINVAL : sockets_make_room(sockets);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	if (disk_admit(call, DISK_NAME_BYTES) < 0 || file_use_umask(call) < 0 || file_begin(call, 0) < 0)
		return;
	r = node = make_node(parent, name, copy);
	if (r >= 0) {
		r = sockets_bind(sockets, copy, node, call->path[0].text);
		if (r < 0)
			(void)unlinkat(parent, name, 0); /* fails only when the program has removed it */
	}
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
	disk_made(call, S_IFSOCK);
}

void sys_bind(struct call *call)
{
	struct sockaddr_storage address;
	int len;

	if (!read_unix(call, &address, &len, inet_bind))
		return;
	switch (net_take_unix(call, &address, len)) {
	case NET_UNIX_PATH:
		bind_path(call);
		break;
	case NET_UNIX_ABSTRACT:
	case NET_UNIX_UNNAMED: /* the kernel would choose an abstract one */
		call_refuse(call, -EACCES, NULL, "abstract_socket_not_granted");
		break;
	case NET_UNIX_INVALID:
	default:
		target_allow(call);
		call_fail(call, -EINVAL);
		break;
	}
}

/* ---- names ---- */

typedef int ask_name(int socket_fd, struct sockaddr *address, socklen_t *len);

/* As move_addr_to_user() in net/socket.c. */
static void give_address(struct call *call, const struct sockaddr_storage *address, socklen_t len)
{
	int32_t room, told = (int32_t)len;
	int r = decode_struct(call, 2, &room, sizeof(room));

	if (r == 0 && room < 0)
		r = -EINVAL;
	if (r == 0 && room > told)
		room = told;
	if (r == 0)
		r = decode_output(call, call->arg[2], &told, sizeof(told));
	if (r == 0 && room > 0)
		r = decode_output(call, call->arg[1], address, (size_t)room);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

static int ask_own(int socket_fd, struct sockaddr *address, socklen_t *len)
{
	return getsockname(socket_fd, address, len);
}

static int ask_peer(int socket_fd, struct sockaddr *address, socklen_t *len)
{
	return getpeername(socket_fd, address, len);
}

/* True: the program knows it by another name, which it is now. */
static bool restore_name(const struct call *call, int socket_fd, bool peer, struct sockaddr_storage *address,
			 socklen_t *len)
{
	struct sockaddr_un name;

	if (address->ss_family != AF_UNIX)
		return call->sandbox->inet && inet_translate(call->sandbox->inet, socket_fd, peer, address, len);
	memcpy(&name, address, sizeof(name));
	if (!sockets_restore(&name, *len))
		return false;
	memcpy(address, &name, sizeof(name));
	return true;
}

/* Nothing is granted by it: where the kernel's answer needs no translation the kernel gives it. */
static void tell_name(struct call *call, ask_name *ask)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(address);
	_cleanup_close_ int copy = -1;
	int domain;

	target_allow(call);
	if ((!call->sandbox->inet && !sockets_renamed(call->sandbox->sockets)) || net_check_socket(call) < 0) {
		call_continue(call);
		return;
	}
	copy = net_copy_any(call, &domain);
	if (copy < 0)
		return;
	if (ask(copy, (struct sockaddr *)&address, &len) == 0 &&
	    restore_name(call, copy, ask == ask_peer, &address, &len))
		give_address(call, &address, len);
	else
		call_continue(call);
}

void sys_getsockname(struct call *call)
{
	tell_name(call, ask_own);
}

void sys_getpeername(struct call *call)
{
	tell_name(call, ask_peer);
}
