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
#include "syscalls/call/work.h"
#include "syscalls/file/resolve.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/unix-peers.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* ---- waiting for room in the listener's queue ---- */

struct connecting {
	struct call_work work;
	struct sockets_address address;
	int pin_fd; /* owned: what the address needs; -1: nothing */
};

static int64_t connect_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	const struct connecting *connecting = (const struct connecting *)work;
	int r;

	do
		r = sockets_connect(fd, &connecting->address);
	while (r == -EINTR && go_on(ctx));
	return r;
}

static void connect_free_work(struct call_work *work)
{
	struct connecting *connecting = (struct connecting *)work;

	close_fd(&connecting->pin_fd);
	free(connecting);
}

/* Moves *fd and *pin_fd to a thread. */
static void connect_move_to_thread(struct call *call, int *fd, const struct sockets_address *address, int *pin_fd)
{
	struct connecting *connecting = malloc(sizeof(*connecting));

	if (!connecting) {
		call_fail(call, -ENOMEM);
		return;
	}
	*connecting = (struct connecting){
		.work = {.run = connect_run_work, .free = connect_free_work}, .address = *address,
		.pin_fd = steal_fd(pin_fd)};
	call->outcome.kind = OUTCOME_WORK;
	call->outcome.fd = steal_fd(fd);
	call->outcome.work = &connecting->work;
}

/* ---- connect(2) ---- */

/* Connects a judged socket (taken) to an address that needs pin_fd (taken). */
static void connect_perform(struct call *call, int socket_fd, const struct sockets_address *address, int pin_fd)
{
	_cleanup_close_ int fd = socket_fd, pin = pin_fd;
	int r;

	if (call_commit_record(call) < 0)
		return;
	r = net_is_nonblocking(fd) ? sockets_connect(fd, address) : -EINTR;
	if (r == 0 || r == -EINTR)
		peers_note_connection(call->sandbox->peers, fd, address, call->task->tgid);
	if (r == -EINTR) /* connect may wait for room in the backlog, even if another thread sets O_NONBLOCK now */
		connect_move_to_thread(call, &fd, address, &pin);
	else
		call_return_result(call, r);
}

/* Finds the socket of the file `node`, as sockets_find_path(); or returns -1 with the outcome set. */
static int connect_find_peer(struct call *call, int node, struct sockets_address *ret_address)
{
	struct stat st;
	int pin;

	if (fstat(node, &st) < 0)
		return call_fail(call, -errno);
	if (faccessat(node, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0)
		return call_fail(call, -EACCES);
	pin = S_ISSOCK(st.st_mode) ? sockets_find_path(call->sandbox->sockets, &st, ret_address) : -ENOENT;
	if (pin != -ENOENT)
		return pin < 0 ? call_fail(call, pin) : pin;
	if (S_ISSOCK(st.st_mode) && sockets_is_open(node))
		return call_refuse(call, -EACCES, NULL, "unix_socket_not_granted");
	return call_fail(call, -ECONNREFUSED); /* the kernel's errno for a stale socket file and for other files */
}

static void connect_path(struct call *call)
{
	_cleanup_close_ int node = file_pin_path(call, 0, POLICY_WRITE, VIEW_FOLLOW, O_PATH);
	_cleanup_close_ int pin = -1, copy = -1;
	struct sockets_address address;

	if (node < 0) {
		net_replace_error(call, -EROFS, -EACCES);
		return;
	}
	pin = connect_find_peer(call, node, &address);
	copy = pin < 0 ? -1 : net_copy_socket(call);
	if (copy >= 0)
		connect_perform(call, steal_fd(&copy), &address, steal_fd(&pin));
}

/* Abstract names are private to the run: only what it has bound is found. */
static void connect_abstract(struct call *call, const struct sockaddr_storage *name, int len)
{
	struct sockets_address address = {.len = (socklen_t)len};
	_cleanup_close_ int pin = -1, copy = -1;
	int r;

	memcpy(&address.name, name, sizeof(address.name));
	target_allow_call(call);
	copy = net_copy_socket(call);
	if (copy < 0)
		return;
	r = sockets_find_abstract(call->sandbox->sockets, copy, &address, &pin);
	if (r == 0) {
		connect_perform(call, steal_fd(&copy), &address, steal_fd(&pin));
	} else if (r == -ECONNREFUSED) {
		call->paths = 0; /* there is nothing to grant */
		call_refuse(call, r, NULL, "abstract_socket_not_granted");
	} else {
		call_fail(call, r);
	}
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
		connect_abstract(call, address, len);
		break;
	case NET_UNIX_UNNAMED:
	case NET_UNIX_INVALID:
	default:
		target_fail_call(call, -EINVAL);
		break;
	}
}

HANDLER(sys_connect, net_judge_address(call, connect_unix, netlink_connect, inet_connect))
