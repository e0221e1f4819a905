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
#include "syscalls/account/result/denials.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/call/work.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet.h"
#include "syscalls/net/netlink.h"
#include "syscalls/net/unix-peers.h"
#include "syscalls/net/unix-route.h"
#include "syscalls/net/unix-sockets.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

/* ---- waiting for room in the listener's queue ---- */

/* A connect to a unix socket that a worker thread makes. */
struct unix_connect_work {
	struct call_work work;
	struct sockets_address address;
	/* O_PATH descriptor of the socket's inode, to which the address refers; owned; -1: the address needs none */
	int pin_fd;
};

static int64_t connect_run_work(struct call_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	const struct unix_connect_work *connecting = (const struct unix_connect_work *)work;
	int r;

	do
		r = sockets_connect(fd, &connecting->address);
	while (r == -EINTR && go_on(ctx));
	return r;
}

static void connect_free_work(struct call_work *work)
{
	struct unix_connect_work *connecting = (struct unix_connect_work *)work;

	close_fd(&connecting->pin_fd);
	free(connecting);
}

/*
 * Lets a worker thread connect the socket *fd to the address. Takes *fd, and *pin_fd, which must stay open meanwhile.
 */
static void connect_move_to_thread(struct call *call, int *fd, const struct sockets_address *address, int *pin_fd)
{
	struct unix_connect_work *connecting = malloc(sizeof(*connecting));

	if (!connecting) {
		call_fail(call, -ENOMEM);
		return;
	}
	*connecting = (struct unix_connect_work){
		.work = {.run = connect_run_work, .free = connect_free_work}, .address = *address,
		.pin_fd = steal_fd(pin_fd)};
	call->outcome.kind = OUTCOME_BLOCKING_WORK;
	call->outcome.fd = steal_fd(fd);
	call->outcome.blocking_work = &connecting->work;
}

/* ---- connect(2) ---- */

/*
 * Commits the record, and connects the socket to the address. Takes socket_fd, and pin_fd, which must stay open
 * meanwhile.
 */
static void connect_commit_and_connect(struct call *call, int socket_fd, const struct sockets_address *address,
				       int pin_fd)
{
	_cleanup_close_ int fd = socket_fd, pin = pin_fd;
	int r;

	if (call_commit_record(call) < 0)
		return;
	r = net_is_nonblocking(fd) ? sockets_connect(fd, address) : -EINTR;
	if (r == 0 || r == -EINTR)
		peers_note_connection(call->sandbox->unix_peers, fd, address, call->task->tgid);
	/* EINTR: a signal, or the socket is blocking: connect may wait for room in the backlog, in a worker thread. */
	if (r == -EINTR)
		connect_move_to_thread(call, &fd, address, &pin);
	else
		call_return_result(call, r);
}

/* Judges and performs a connect to a unix socket by its path. */
static void connect_unix_path(struct call *call)
{
	struct sockets_address address;
	_cleanup_close_ int pin = unix_find_socket_of_path(call, &address), copy = -1;

	copy = pin < 0 ? -1 : net_copy_socket(call);
	if (copy >= 0)
		connect_commit_and_connect(call, steal_fd(&copy), &address, steal_fd(&pin));
}

/* Abstract names are private to the run: only what it has bound is found. */
static void connect_unix_abstract(struct call *call, const struct sockaddr_storage *name, int len)
{
	struct sockets_address address = {.len = (socklen_t)len};
	_cleanup_close_ int pin = -1, copy = -1;

	memcpy(&address.name, name, sizeof(address.name));
	target_allow_without_rule(call);
	copy = net_copy_socket(call);
	if (copy >= 0 && unix_find_abstract_socket(call, copy, &address, &pin) == 0)
		connect_commit_and_connect(call, steal_fd(&copy), &address, steal_fd(&pin));
}

/*
 * Performs connect(2) with AF_UNSPEC, which removes the peer of a datagram socket. True: the socket is a unix socket,
 * and the outcome is set.
 */
static bool connect_clear_datagram_peer(struct call *call)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	int len = call_get_int(call, 2), domain;
	sa_family_t family;
	int copy;

	if (!call->sandbox->has_unix_datagrams || len < (int)sizeof(family) ||
	    len > (int)sizeof(struct sockaddr_storage) || decode_struct(call, 1, &family, sizeof(family)) < 0 ||
	    family != AF_UNSPEC || net_check_fd_is_socket(call) < 0)
		return false;
	target_allow_without_rule(call);
	copy = net_copy_socket_of_any_family(call, &domain);
	if (copy >= 0 && domain != AF_UNIX) {
		descriptor_keep_fetched_copy(call, copy);
		return false;
	}
	if (copy >= 0 && call_commit_record(call) == 0)
		call_return_result(call, connect(copy, &none, sizeof(none)) < 0 ? -errno : 0);
	cleanup_close(&copy);
	return true;
}

static void connect_unix(struct call *call, const struct sockaddr_storage *address, int len)
{
	const char *path = call->path[0].text;

	switch (net_read_unix_address(call, address, len)) {
	case NET_UNIX_PATH:
		connect_unix_path(call);
		/*
		 * A denied connect to nscd counts as a probe: glibc tries it before passwd and DNS, and works without
		 * it.
		 */
		if (call->decision.verdict == VERDICT_DENY &&
		    (strcmp(path, "/var/run/nscd/socket") == 0 || strcmp(path, "/run/nscd/socket") == 0))
			call->decision.reason = DENIAL_REASON_PROBE;
		break;
	case NET_UNIX_ABSTRACT:
		connect_unix_abstract(call, address, len);
		break;
	case NET_UNIX_UNNAMED:
	case NET_UNIX_INVALID:
	default:
		target_allow_but_fail(call, -EINVAL);
		break;
	}
}

void sys_connect(struct call *call)
{
	if (!connect_clear_datagram_peer(call))
		net_judge_address(call, connect_unix, netlink_connect, inet_connect);
}
