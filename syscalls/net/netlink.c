#include "syscalls/net/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/net/address.h"
#include "syscalls/net/netlink-standins.h"
#include "syscalls/process/target.h"

bool netlink_make_standin(struct call *call)
{
	int type = call_get_int(call, 1), kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), fd;

	if (!call->sandbox->netlink || call_get_int(call, 0) != AF_NETLINK || call_get_int(call, 2) != NETLINK_ROUTE ||
	    (kind != SOCK_RAW && kind != SOCK_DGRAM))
		return false;
	target_allow_without_rule(call);
	if (call_commit_record(call) < 0)
		return true;
	fd = netlink_make_standin_socket(call->sandbox->netlink, type);
	if (fd < 0)
		call_fail(call, fd);
	else
		call_return_fd(call, fd, type & SOCK_CLOEXEC);
	return true;
}

/* The stand-in to which argument 0 refers, or NULL. As of netlink_find_standin(), it may be another socket by now. */
static struct standin *netlink_find_standin_of_call(const struct call *call)
{
	return netlink_find_standin(call->sandbox->netlink, call->tid, call_get_int(call, 0));
}

/* ---- bind(2) and connect(2) ---- */

/* A duplicate of the program's netlink socket, owned by the caller; or -1 with the outcome set. */
static int netlink_copy_socket(struct call *call)
{
	_cleanup_close_ int copy = descriptor_copy(call, call_get_int(call, 0));

	if (copy >= 0 && net_get_option(copy, SOL_SOCKET, SO_DOMAIN) != AF_NETLINK)
		/* the errno of bind(2) when the address is of another family than the socket */
		return call_fail(call, -EINVAL);
	return steal_fd(&copy);
}

/*
 * Binds a netlink socket for `process`. If the name has nl_pid 0, the kernel would take the supervisor's process id for
 * it, so the id of `process` is tried first.
 */
static int netlink_bind_for_process(int fd, const struct sockaddr_nl *name, pid_t process)
{
	struct sockaddr_nl named = *name;

	if (!named.nl_pid)
		named.nl_pid = (uint32_t)process;
	if (bind(fd, (const struct sockaddr *)&named, sizeof(named)) == 0)
		return 0;
	if (name->nl_pid || errno == EPERM)
		return -errno;
	/*
	 * nl_pid was 0, and the process's id is taken by another of its sockets, or this socket has a name already:
	 * lets the kernel choose or fail.
	 */
	return bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ? -errno : 0;
}

void netlink_bind(struct call *call, const struct sockaddr_storage *address, int len)
{
	struct standin *standin = netlink_find_standin_of_call(call);
	_cleanup_close_ int copy = -1;
	struct sockaddr_nl name;

	memcpy(&name, address, sizeof(name));
	if ((size_t)len < sizeof(name)) {
		target_allow_but_fail(call, -EINVAL);
	} else if (standin) {
		target_allow_without_rule(call);
		call_return_result(call, standin_bind(call->sandbox->netlink, standin, name.nl_pid, call->task->tgid));
	} else if (call->sandbox->netlink) {
		target_allow_but_fail(call, -EINVAL);
	} else {
		target_allow_without_rule(call);
		copy = netlink_copy_socket(call);
		if (copy >= 0 && call_commit_record(call) == 0)
			call_return_result(call, netlink_bind_for_process(copy, &name, call->task->tgid));
	}
}

/*
 * Connects a netlink socket for `process`. First binds an unnamed socket, because connect(2) would name it by the
 * supervisor's process id.
 */
static int netlink_connect_for_process(int fd, const struct sockaddr_nl *peer, pid_t process)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) == 0 && !name.nl_pid)
		(void)netlink_bind_for_process(fd, &name, process); /* on failure connect(2) chooses a name */
	return connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) < 0 ? -errno : 0;
}

void netlink_connect(struct call *call, const struct sockaddr_storage *address, int len)
{
	const struct standin *standin = netlink_find_standin_of_call(call);
	_cleanup_close_ int copy = -1;
	struct sockaddr_nl peer;

	memcpy(&peer, address, sizeof(peer));
	if ((size_t)len < sizeof(peer) || (!standin && call->sandbox->netlink)) {
		target_allow_but_fail(call, -EINVAL);
	} else if (standin) {
		target_allow_without_rule(call);
		call_return_result(call,
				   peer.nl_pid || peer.nl_groups ? -EPERM : 0); /* already connected to the kernel */
	} else {
		target_allow_without_rule(call);
		copy = netlink_copy_socket(call);
		if (copy >= 0 && call_commit_record(call) == 0)
			call_return_result(call, netlink_connect_for_process(copy, &peer, call->task->tgid));
	}
}

/* ---- socket names and socket options ---- */

bool netlink_get_name(const struct call *call, bool peer, struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
	const struct standin *standin = netlink_find_standin_of_call(call);
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};

	if (!standin)
		return false;
	name.nl_pid = peer ? 0 : standin_get_port(standin);
	*ret_address = (struct sockaddr_storage){0};
	memcpy(ret_address, &name, sizeof(name));
	*ret_len = sizeof(name);
	return true;
}

static bool netlink_option_is_buffer_size(int level, int name)
{
	return level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF);
}

/* Whether setsockopt(2) of the option may succeed without doing anything on a stand-in socket. */
static bool netlink_option_has_no_effect(int level, int name)
{
	return level == SOL_NETLINK && name >= NETLINK_ADD_MEMBERSHIP && name <= NETLINK_GET_STRICT_CHK &&
	       name != NETLINK_LISTEN_ALL_NSID;
}

/* Accepts options without effect. iproute2 ends if it cannot set the sizes of its buffers. */
bool netlink_set_option(struct call *call)
{
	int level = call_get_int(call, 1), name = call_get_int(call, 2);

	if (!(netlink_option_is_buffer_size(level, name) || netlink_option_has_no_effect(level, name)) ||
	    !netlink_find_standin_of_call(call))
		return false;
	target_allow_without_rule(call);
	call_return_result(call, call_get_int(call, 4) < (int)sizeof(int) ? -EINVAL : 0);
	return true;
}

/* ---- sends ---- */

bool netlink_send_may_continue(struct netlink *netlink, pid_t tid, const struct syscall_row *row, const __u64 *arg)
{
	uint64_t args[6];

	for (size_t i = 0; i < 6; i++)
		args[i] = arg[i];
	return table_row_allows(row, args) && !netlink_find_standin(netlink, tid, (int)(uint32_t)args[0]);
}

/* Ignores the destination address, which could only be the kernel's. */
bool netlink_send_request(struct call *call)
{
	struct standin *standin = netlink_find_standin_of_call(call);
	unsigned char request[NETLINK_REQUEST_BYTES_MAX];
	size_t len = call->arg[2] < sizeof(request) ? (size_t)call->arg[2] : sizeof(request);
	int r;

	if (!standin)
		return false;
	target_allow_without_rule(call);
	r = call->arg[2] > sizeof(request) ? -EMSGSIZE : 0;
	if (r == 0 && len)
		r = decode_memory_at(call, call->arg[1], request, len);
	if (r < 0) {
		call_fail(call, r);
	} else if (call_commit_record(call) == 0) {
		standin_answer_at_once(call->sandbox, standin, call->task->tgid, request, len);
		call_return(call, (int64_t)len);
	}
	return true;
}
