#include "syscalls/net/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/call/decode.h"
#include "syscalls/call/descriptor.h"
#include "syscalls/net/address.h"
#include "syscalls/net/inet-private.h"
#include "syscalls/process/target.h"

#define STANDIN_NAME_ATTEMPTS_MAX 64 /* numbers tried as nl_pid of a stand-in socket */
/*
 * Most messages of a request that are answered; tools send one. A stand-in's next request is answered at the loop's
 * next turn.
 */
#define NETLINK_MESSAGES_PER_REQUEST_MAX 8
#define NETLINK_AUTO_PORT_FIRST (-4097) /* as netlink_autobind(): ports from here downwards are no process ids */

/* A stand-in socket: the supervisor's end of a socket pair. */
struct standin {
	int fd; /* the supervisor's end, owned; -1: the slot is free */
	ino_t inode; /* inode number of the program's end of the socket pair, by which the stand-in is found */
	uint32_t nl_pid; /* nl_pid; 0: not chosen yet */
};

/* The stand-in sockets of the run. */
struct netlink {
	int epoll_fd; /* watches all stand-ins; data.u32 is the slot */
	unsigned standin_count;     /* entries of standin[] in use */
	struct netlink_facts facts; /* facts.has_network false: not read yet, or no network */
	struct standin standin[NETLINK_SOCKETS_MAX];
};

int netlink_create(struct netlink **ret_netlink)
{
	struct netlink *netlink = calloc(1, sizeof(*netlink));

	if (!netlink)
		return -ENOMEM;
	for (unsigned i = 0; i < NETLINK_SOCKETS_MAX; i++)
		netlink->standin[i].fd = -1;
	netlink->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (netlink->epoll_fd < 0) {
		int error = -errno;

		free(netlink);
		return error;
	}
	*ret_netlink = netlink;
	return 0;
}

static void standin_close(struct netlink *netlink, struct standin *standin)
{
	if (standin->fd < 0)
		return;
	close_fd(&standin->fd);
	*standin = (struct standin){.fd = -1};
	netlink->standin_count--;
}

void netlink_free(struct netlink *netlink)
{
	if (!netlink)
		return;
	for (unsigned i = 0; i < NETLINK_SOCKETS_MAX; i++)
		standin_close(netlink, &netlink->standin[i]);
	(void)close(netlink->epoll_fd);
	free(netlink);
}

int netlink_get_epoll_fd(const struct netlink *netlink)
{
	return netlink->epoll_fd;
}

/* ---- stand-ins ---- */

/*
 * Names the supervisor's end. Clients take an answer for the kernel's if its sender's name is as long as a struct
 * sockaddr_nl and nl_pid is 0. So the name is an abstract name of this form. Clients ignore nl_pad and nl_groups, which
 * make it unique. No other process can connect to the name, because the socket is connected.
 */
static int standin_bind_name(int fd)
{
	struct sockaddr_nl like = {.nl_family = AF_UNIX};
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	for (int i = 0; i < STANDIN_NAME_ATTEMPTS_MAX; i++) {
		/* Random: other runs may share the network namespace, and must not learn a pid. */
		if (getrandom(&like.nl_groups, sizeof(like.nl_groups), 0) != (ssize_t)sizeof(like.nl_groups))
			return -EAGAIN;
		/* The low byte is 0: an abstract name begins with NUL. */
		like.nl_pad = (unsigned short)((like.nl_groups >> 24) << 8);
		memcpy(&name, &like, sizeof(like));
		if (bind(fd, (const struct sockaddr *)&name, sizeof(like)) == 0)
			return 0;
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

/* Takes *fd, the supervisor's end, into a free slot. program_fd: the program's end. 0 or -errno. */
static int standin_fill_slot(struct netlink *netlink, int *fd, int program_fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
	struct standin *standin = netlink->standin;
	struct stat st;

	while (event.data.u32 < NETLINK_SOCKETS_MAX && standin->fd >= 0)
		standin = &netlink->standin[++event.data.u32];
	if (event.data.u32 == NETLINK_SOCKETS_MAX)
		return -ENFILE;
	if (fstat(program_fd, &st) < 0 || epoll_ctl(netlink->epoll_fd, EPOLL_CTL_ADD, *fd, &event) < 0)
		return -errno;
	*standin = (struct standin){.fd = steal_fd(fd), .inode = st.st_ino};
	netlink->standin_count++;
	return 0;
}

/* Makes a stand-in. Returns the program's end, owned by the caller, or -errno. */
static int standin_make_socket(struct netlink *netlink, int type)
{
	_cleanup_close_ int own = -1, program = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	own = pair[0];
	program = pair[1];
	if (fcntl(own, F_SETFL, O_NONBLOCK) < 0 || (type & SOCK_NONBLOCK && fcntl(program, F_SETFL, O_NONBLOCK) < 0))
		return -errno;
	r = standin_bind_name(own);
	if (r == 0)
		r = standin_fill_slot(netlink, &own, program);
	return r < 0 ? r : steal_fd(&program);
}

bool netlink_make_standin(struct call *call)
{
	int type = call_get_int(call, 1), kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), fd;

	if (!call->sandbox->netlink || call_get_int(call, 0) != AF_NETLINK || call_get_int(call, 2) != NETLINK_ROUTE ||
	    (kind != SOCK_RAW && kind != SOCK_DGRAM))
		return false;
	target_allow_without_rule(call);
	if (call_commit_record(call) < 0)
		return true;
	fd = standin_make_socket(call->sandbox->netlink, type);
	if (fd < 0)
		call_fail(call, fd);
	else
		call_return_fd(call, fd, type & SOCK_CLOEXEC);
	return true;
}

/*
 * The inode of the socket to which a thread's descriptor refers; 0: not a socket. stat(2) is not used: it asks the file
 * system, and may wait, if the descriptor is not a socket.
 */
static ino_t standin_read_inode(pid_t tid, int fd)
{
	static const char kind[] = "socket:[";
	char link[64], text[48];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid, fd); /* bounded by two ints */
	len = readlink(link, text, sizeof(text) - 1);
	if (len < (ssize_t)strlen(kind) || memcmp(text, kind, strlen(kind)) != 0)
		return 0;
	text[len] = '\0';
	return strtoul(text + strlen(kind), NULL, 10);
}

/* The stand-in to which a thread's descriptor refers, or NULL. The descriptor may be replaced: see standin_find(). */
static struct standin *standin_find_by_fd(struct netlink *netlink, pid_t tid, int fd)
{
	ino_t inode;

	if (!netlink || !netlink->standin_count)
		return NULL;
	inode = standin_read_inode(tid, fd);
	for (unsigned i = 0; inode && i < NETLINK_SOCKETS_MAX; i++)
		if (netlink->standin[i].fd >= 0 && netlink->standin[i].inode == inode)
			return &netlink->standin[i];
	return NULL;
}

/*
 * The stand-in to which argument 0 refers, or NULL. It is found by its inode, without a duplicate. Another thread may
 * replace the descriptor, so the caller must do only what is harmless on any socket.
 */
static struct standin *standin_find(const struct call *call)
{
	return standin_find_by_fd(call->sandbox->netlink, call->tid, call_get_int(call, 0));
}

static bool standin_port_is_free(const struct netlink *netlink, uint32_t port)
{
	for (unsigned i = 0; i < NETLINK_SOCKETS_MAX; i++)
		if (netlink->standin[i].fd >= 0 && netlink->standin[i].nl_pid == port)
			return false;
	return true;
}

/* Chooses a port as netlink_autobind() does: the process id, else a negative number. */
static void standin_choose_port(const struct netlink *netlink, struct standin *standin, uint32_t process)
{
	int32_t other = NETLINK_AUTO_PORT_FIRST;

	if (process && standin_port_is_free(netlink, process)) {
		standin->nl_pid = process;
		return;
	}
	while (!standin_port_is_free(netlink, (uint32_t)other))
		other--;
	standin->nl_pid = (uint32_t)other;
}

/* ---- bind(2) and connect(2) of stand-in sockets ---- */

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

/* Performs bind(2) of a stand-in socket: sets its nl_pid. */
static void standin_bind_to_name(struct call *call, struct standin *standin, const struct sockaddr_nl *name)
{
	const struct netlink *netlink = call->sandbox->netlink;

	target_allow_without_rule(call);
	if (standin->nl_pid && name->nl_pid != standin->nl_pid && name->nl_pid) {
		call_fail(call, -EINVAL);
	} else if (!standin->nl_pid && name->nl_pid && !standin_port_is_free(netlink, name->nl_pid)) {
		call_fail(call, -EADDRINUSE);
	} else {
		if (name->nl_pid)
			standin->nl_pid = name->nl_pid;
		else if (!standin->nl_pid)
			standin_choose_port(netlink, standin, (uint32_t)call->task->tgid);
		call_return(call, 0); /* ignores groups: no message is ever sent to them */
	}
}

void netlink_bind(struct call *call, const struct sockaddr_storage *address, int len)
{
	struct standin *standin = standin_find(call);
	_cleanup_close_ int copy = -1;
	struct sockaddr_nl name;

	memcpy(&name, address, sizeof(name));
	if ((size_t)len < sizeof(name)) {
		target_allow_but_fail(call, -EINVAL);
	} else if (standin) {
		standin_bind_to_name(call, standin, &name);
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
	const struct standin *standin = standin_find(call);
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
	const struct standin *standin = standin_find(call);
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};

	if (!standin)
		return false;
	name.nl_pid = peer ? 0 : standin->nl_pid;
	*ret_address = (struct sockaddr_storage){0};
	memcpy(ret_address, &name, sizeof(name));
	*ret_len = sizeof(name);
	return true;
}

static bool standin_option_is_buffer_size(int level, int name)
{
	return level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF);
}

/* Whether setsockopt(2) of the option may succeed without doing anything on a stand-in socket. */
static bool standin_option_has_no_effect(int level, int name)
{
	return level == SOL_NETLINK && name >= NETLINK_ADD_MEMBERSHIP && name <= NETLINK_GET_STRICT_CHK &&
	       name != NETLINK_LISTEN_ALL_NSID;
}

/* Accepts options without effect. iproute2 ends if it cannot set the sizes of its buffers. */
bool netlink_set_option(struct call *call)
{
	int level = call_get_int(call, 1), name = call_get_int(call, 2);

	if (!(standin_option_is_buffer_size(level, name) || standin_option_has_no_effect(level, name)) ||
	    !standin_find(call))
		return false;
	target_allow_without_rule(call);
	call_return_result(call, call_get_int(call, 4) < (int)sizeof(int) ? -EINVAL : 0);
	return true;
}

/* ---- answers ---- */

const struct netlink_facts *netlink_get_facts(const struct sandbox *sandbox)
{
	struct netlink *netlink = sandbox->netlink;
	struct net_pool_ranges pool;

	netlink->facts.user = sandbox->uid;
	if (netlink->facts.has_network || !sandbox->inet)
		return &netlink->facts;
	pool = policy_net_get_pool(sandbox->policy);
	netlink->facts = (struct netlink_facts){.user = sandbox->uid,
						.has_network = true,
						.own_v4 = inet_get_pool_address(sandbox->inet, AF_INET).v4,
						.own_v6 = inet_get_pool_address(sandbox->inet, AF_INET6).v6,
						.pool_v4 = pool.v4,
						.pool_v6 = pool.v6,
						.pool_v4_bits = pool.v4_bits,
						.pool_v6_bits = pool.v6_bits};
	return &netlink->facts;
}

/* Sends without waiting. If the program does not read, the answer is lost, as from a full queue of the kernel's. */
static void standin_send_answer(int fd, void *answer, size_t len)
{
	struct iovec part = {.iov_base = answer, .iov_len = len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	(void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Answers all requests of one datagram that the program has sent to a stand-in socket. */
static void standin_answer_messages(const struct netlink *netlink, const struct standin *standin,
				    const unsigned char *request, size_t len)
{
	unsigned char answer[NETLINK_ANSWER_BYTES_MAX];
	size_t at = 0, used = 0;
	int count = 0;

	do {
		size_t answered =
			netlink_answer_request(&netlink->facts, standin->nl_pid, request + at, len - at, answer, &used);

		if (answered)
			standin_send_answer(standin->fd, answer, answered);
		at += used;
	} while (used && ++count < NETLINK_MESSAGES_PER_REQUEST_MAX);
}

/* Answers requests. process: the process that asks; 0: unknown. */
static void standin_answer_request(const struct netlink *netlink, struct standin *standin, uint32_t process,
				   const unsigned char *request, size_t len)
{
	if (!standin->nl_pid)
		standin_choose_port(netlink, standin, process);
	standin_answer_messages(netlink, standin, request, len);
}

/*
 * Receives one datagram and answers it. Descriptors in it are dropped, because there is no room for control data.
 * ended: the program closed or shut down its end; otherwise 0 bytes are an empty datagram.
 */
static void standin_serve_datagram(struct netlink *netlink, struct standin *standin, bool ended)
{
	unsigned char request[NETLINK_REQUEST_BYTES_MAX];
	struct iovec part = {.iov_base = request, .iov_len = sizeof(request)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got = recvmsg(standin->fd, &message, MSG_DONTWAIT);

	if (got <= 0) {
		if (got == 0 ? ended : errno != EAGAIN)
			standin_close(netlink, standin);
		return;
	}
	standin_answer_request(netlink, standin, 0, request, (size_t)got);
}

bool netlink_send_may_continue(struct netlink *netlink, pid_t tid, const struct syscall_row *row, const __u64 *arg)
{
	uint64_t args[6];

	for (size_t i = 0; i < 6; i++)
		args[i] = arg[i];
	return table_row_allows(row, args) && !standin_find_by_fd(netlink, tid, (int)(uint32_t)args[0]);
}

/* Ignores the destination address, which could only be the kernel's. */
bool netlink_send_request(struct call *call)
{
	struct standin *standin = standin_find(call);
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
		(void)netlink_get_facts(call->sandbox); /* for standin_answer_messages() */
		standin_serve_datagram(call->sandbox->netlink, standin, false); /* requests that were sent before */
		if (standin->fd >= 0)
			standin_answer_request(call->sandbox->netlink, standin, (uint32_t)call->task->tgid, request,
					       len);
		call_return(call, (int64_t)len);
	}
	return true;
}

void netlink_serve_standins(struct netlink *netlink, const struct sandbox *sandbox)
{
	struct epoll_event event[NETLINK_SOCKETS_MAX];
	int count = epoll_wait(netlink->epoll_fd, event, NETLINK_SOCKETS_MAX, 0);

	(void)netlink_get_facts(sandbox); /* for standin_answer_messages() */
	for (int i = 0; i < count; i++)
		standin_serve_datagram(netlink, &netlink->standin[event[i].data.u32],
			  event[i].events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR));
}
