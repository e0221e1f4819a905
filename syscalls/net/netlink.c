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

#define NAME_TRIES 64
#define MESSAGES_MAX 8    /* in a request; tools send one. A stand-in's next request waits for the loop's next turn */
#define AUTO_PORT (-4097) /* as netlink_autobind(): ports from here downwards are no process ids */

struct standin {
	int fd; /* owned: the supervisor's end; -1: the slot is free */
	ino_t inode; /* of the program's end, by which it is recognized */
	uint32_t port; /* nl_pid; 0: not chosen yet */
};

struct netlink {
	int epoll_fd; /* of all stand-ins; data.u32 is the slot */
	unsigned used;
	struct netlink_facts facts; /* network false: not known yet, or no network */
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
	netlink->used--;
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

int netlink_event_fd(const struct netlink *netlink)
{
	return netlink->epoll_fd;
}

/* ---- stand-ins ---- */

/*
 * Clients take an answer for the kernel's if its sender's name is as long as a struct sockaddr_nl and nl_pid is 0. So
 * the supervisor's end has an abstract name of this form; nl_pad and nl_groups, which they do not look at, make it
 * unique. No process gets here by the name: the socket is connected, and takes no other connection.
 */
static int standin_name(int fd)
{
	struct sockaddr_nl like = {.nl_family = AF_UNIX};
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	for (int i = 0; i < NAME_TRIES; i++) {
		/*
		 * Drawn, because other runs may share the network namespace, and a pid of ours is no concern of theirs.
		 */
		if (getrandom(&like.nl_groups, sizeof(like.nl_groups), 0) != (ssize_t)sizeof(like.nl_groups))
			return -EAGAIN;
		like.nl_pad = (unsigned short)((like.nl_groups >> 24) << 8); /* the first byte of the name is 0 */
		memcpy(&name, &like, sizeof(like));
		if (bind(fd, (const struct sockaddr *)&name, sizeof(like)) == 0)
			return 0;
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

/* Takes *fd into a free slot. program_fd: the program's end. 0 or -errno. */
static int standin_keep(struct netlink *netlink, int *fd, int program_fd)
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
	netlink->used++;
	return 0;
}

/* Returns the program's end, owned by the caller, or -errno. */
static int standin_make(struct netlink *netlink, int type)
{
	_cleanup_close_ int own = -1, program = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	own = pair[0];
	program = pair[1];
	if (fcntl(own, F_SETFL, O_NONBLOCK) < 0 || (type & SOCK_NONBLOCK && fcntl(program, F_SETFL, O_NONBLOCK) < 0))
		return -errno;
	r = standin_name(own);
	if (r == 0)
		r = standin_keep(netlink, &own, program);
	return r < 0 ? r : steal_fd(&program);
}

bool netlink_socket(struct call *call)
{
	int type = call_get_int(call, 1), kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), fd;

	if (!call->sandbox->netlink || call_get_int(call, 0) != AF_NETLINK || call_get_int(call, 2) != NETLINK_ROUTE ||
	    (kind != SOCK_RAW && kind != SOCK_DGRAM))
		return false;
	target_allow_call(call);
	if (call_commit_record(call) < 0)
		return true;
	fd = standin_make(call->sandbox->netlink, type);
	if (fd < 0)
		call_fail(call, fd);
	else
		call_return_fd(call, fd, type & SOCK_CLOEXEC);
	return true;
}

/*
 * The inode of the socket that a descriptor of a thread is; 0: it is none. Not by stat(2), which asks the file system
 * of a descriptor that is no socket, and may wait for it.
 */
static ino_t listeners_get_inode(pid_t tid, int fd)
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

/* The stand-in to which a descriptor of a thread refers, or NULL: see standin_find. */
static struct standin *standin_of(struct netlink *netlink, pid_t tid, int fd)
{
	ino_t inode;

	if (!netlink || !netlink->used)
		return NULL;
	inode = listeners_get_inode(tid, fd);
	for (unsigned i = 0; inode && i < NETLINK_SOCKETS_MAX; i++)
		if (netlink->standin[i].fd >= 0 && netlink->standin[i].inode == inode)
			return &netlink->standin[i];
	return NULL;
}

/*
 * The stand-in to which argument 0 refers, or NULL. Found by its inode, without a duplicate: another thread may replace
 * the descriptor, so what is done with the result must be harmless on any socket.
 */
static struct standin *standin_find(const struct call *call)
{
	return standin_of(call->sandbox->netlink, call->tid, call_get_int(call, 0));
}

static bool port_is_free(const struct netlink *netlink, uint32_t port)
{
	for (unsigned i = 0; i < NETLINK_SOCKETS_MAX; i++)
		if (netlink->standin[i].fd >= 0 && netlink->standin[i].port == port)
			return false;
	return true;
}

/* Chooses a port as netlink_autobind(): the process id, else a negative number. */
static void standin_choose_port(const struct netlink *netlink, struct standin *standin, uint32_t process)
{
	int32_t other = AUTO_PORT;

	if (process && port_is_free(netlink, process)) {
		standin->port = process;
		return;
	}
	while (!port_is_free(netlink, (uint32_t)other))
		other--;
	standin->port = (uint32_t)other;
}

/* ---- bind, connect ---- */

/* A duplicate of the program's netlink socket, owned by the caller; or -1 with the outcome set. */
static int copy_netlink(struct call *call)
{
	_cleanup_close_ int copy = descriptor_copy(call, call_get_int(call, 0));
	int domain = AF_UNSPEC;
	socklen_t len = sizeof(domain);

	if (copy >= 0 && (getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain != AF_NETLINK)) {
		call_fail(call, -EINVAL); /* as bind(2) of other families; connect(2) has EAFNOSUPPORT for some */
		return -1;
	}
	return steal_fd(&copy);
}

/* bind(2) with nl_pid 0 chooses the process id of the caller, which would be the supervisor's. */
static int bind_as(int fd, const struct sockaddr_nl *name, pid_t process)
{
	struct sockaddr_nl named = *name;

	if (!named.nl_pid)
		named.nl_pid = (uint32_t)process;
	if (bind(fd, (const struct sockaddr *)&named, sizeof(named)) == 0)
		return 0;
	if (name->nl_pid || errno == EPERM)
		return -errno;
	/* The process has another socket of this name, or this one has a name already. */
	return bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ? -errno : 0;
}

static void bind_standin(struct call *call, struct standin *standin, const struct sockaddr_nl *name)
{
	const struct netlink *netlink = call->sandbox->netlink;

	target_allow_call(call);
	if (standin->port && name->nl_pid != standin->port && name->nl_pid) {
		call_fail(call, -EINVAL);
	} else if (!standin->port && name->nl_pid && !port_is_free(netlink, name->nl_pid)) {
		call_fail(call, -EADDRINUSE);
	} else {
		if (name->nl_pid)
			standin->port = name->nl_pid;
		else if (!standin->port)
			standin_choose_port(netlink, standin, (uint32_t)call->task->tgid);
		call_return(call, 0); /* no group is ever sent to: nothing changes */
	}
}

void netlink_bind(struct call *call, const struct sockaddr_storage *address, int len)
{
	struct standin *standin = standin_find(call);
	_cleanup_close_ int copy = -1;
	struct sockaddr_nl name;

	memcpy(&name, address, sizeof(name));
	if ((size_t)len < sizeof(name)) {
		target_fail_call(call, -EINVAL);
	} else if (standin) {
		bind_standin(call, standin, &name);
	} else if (call->sandbox->netlink) {
		target_fail_call(call, -EINVAL);
	} else {
		target_allow_call(call);
		copy = copy_netlink(call);
		if (copy >= 0 && call_commit_record(call) == 0)
			call_return_result(call, bind_as(copy, &name, call->task->tgid));
	}
}

/* connect(2), which first names the socket, as natively, but by the program's process id. */
static int connect_as(int fd, const struct sockaddr_nl *peer, pid_t process)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) == 0 && !name.nl_pid)
		(void)bind_as(fd, &name, process); /* if it fails, connect(2) names it */
	return connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) < 0 ? -errno : 0;
}

void netlink_connect(struct call *call, const struct sockaddr_storage *address, int len)
{
	const struct standin *standin = standin_find(call);
	_cleanup_close_ int copy = -1;
	struct sockaddr_nl peer;

	memcpy(&peer, address, sizeof(peer));
	if ((size_t)len < sizeof(peer) || (!standin && call->sandbox->netlink)) {
		target_fail_call(call, -EINVAL);
	} else if (standin) {
		target_allow_call(call);
		call_return_result(call,
				   peer.nl_pid || peer.nl_groups ? -EPERM : 0); /* already connected to the kernel */
	} else {
		target_allow_call(call);
		copy = copy_netlink(call);
		if (copy >= 0 && call_commit_record(call) == 0)
			call_return_result(call, connect_as(copy, &peer, call->task->tgid));
	}
}

/* ---- names, options ---- */

bool netlink_name(const struct call *call, bool peer, struct sockaddr_storage *ret_address, socklen_t *ret_len)
{
	const struct standin *standin = standin_find(call);
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};

	if (!standin)
		return false;
	name.nl_pid = peer ? 0 : standin->port;
	*ret_address = (struct sockaddr_storage){0};
	memcpy(ret_address, &name, sizeof(name));
	*ret_len = sizeof(name);
	return true;
}

static bool is_buffer_size(int level, int name)
{
	return level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF);
}

static bool is_harmless(int level, int name)
{
	return level == SOL_NETLINK && name >= NETLINK_ADD_MEMBERSHIP && name <= NETLINK_GET_STRICT_CHK &&
	       name != NETLINK_LISTEN_ALL_NSID;
}

/* iproute2 ends when it cannot set the sizes of its buffers. */
bool netlink_set_option(struct call *call)
{
	int level = call_get_int(call, 1), name = call_get_int(call, 2);

	if (!(is_buffer_size(level, name) || is_harmless(level, name)) || !standin_find(call))
		return false;
	target_allow_call(call);
	call_return_result(call, call_get_int(call, 4) < (int)sizeof(int) ? -EINVAL : 0);
	return true;
}

/* ---- answers ---- */

const struct netlink_facts *netlink_facts(const struct sandbox *sandbox)
{
	struct netlink *netlink = sandbox->netlink;
	struct net_pool pool;

	netlink->facts.user = sandbox->uid;
	if (netlink->facts.network || !sandbox->inet)
		return &netlink->facts;
	pool = policy_net_get_pool(sandbox->policy);
	netlink->facts = (struct netlink_facts){.user = sandbox->uid,
						.network = true,
						.own_v4 = inet_get_pool_address(sandbox->inet, AF_INET).v4,
						.own_v6 = inet_get_pool_address(sandbox->inet, AF_INET6).v6,
						.pool_v4 = pool.v4,
						.pool_v6 = pool.v6,
						.pool_v4_bits = pool.v4_bits,
						.pool_v6_bits = pool.v6_bits};
	return &netlink->facts;
}

/* What the program does not read is lost, as with a full queue of the kernel's. */
static void send_answer(int fd, void *answer, size_t len)
{
	struct iovec part = {.iov_base = answer, .iov_len = len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	(void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer_all(const struct netlink *netlink, const struct standin *standin, const unsigned char *request,
		       size_t len)
{
	unsigned char answer[NETLINK_ANSWER_MAX];
	size_t at = 0, used = 0;
	int count = 0;

	do {
		size_t answered =
			netlink_answer(&netlink->facts, standin->port, request + at, len - at, answer, &used);

		if (answered)
			send_answer(standin->fd, answer, answered);
		at += used;
	} while (used && ++count < MESSAGES_MAX);
}

/* Answers requests. process: the one that asks; 0: unknown. */
static void answer_request(const struct netlink *netlink, struct standin *standin, uint32_t process,
			   const unsigned char *request, size_t len)
{
	if (!standin->port)
		standin_choose_port(netlink, standin, process);
	answer_all(netlink, standin, request, len);
}

/*
 * Receives one datagram. Descriptors in it are dropped: there is no room for control data. ended: the program closed
 * its end or shut it down; else 0 bytes are an empty datagram.
 */
static void serve_one(struct netlink *netlink, struct standin *standin, bool ended)
{
	unsigned char request[NETLINK_REQUEST_MAX];
	struct iovec part = {.iov_base = request, .iov_len = sizeof(request)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got = recvmsg(standin->fd, &message, MSG_DONTWAIT);

	if (got <= 0) {
		if (got == 0 ? ended : errno != EAGAIN)
			standin_close(netlink, standin);
		return;
	}
	answer_request(netlink, standin, 0, request, (size_t)got);
}

bool netlink_passes_send(struct netlink *netlink, pid_t tid, const struct syscall_row *row, const __u64 *arg)
{
	uint64_t args[6];

	for (size_t i = 0; i < 6; i++)
		args[i] = arg[i];
	return table_row_allows(row, args) && !standin_of(netlink, tid, (int)(uint32_t)args[0]);
}

/* The address, which could only be the kernel's, is not looked at. */
bool netlink_send(struct call *call)
{
	struct standin *standin = standin_find(call);
	unsigned char request[NETLINK_REQUEST_MAX];
	size_t len = call->arg[2] < sizeof(request) ? (size_t)call->arg[2] : sizeof(request);
	int r;

	if (!standin)
		return false;
	target_allow_call(call);
	r = call->arg[2] > sizeof(request) ? -EMSGSIZE : 0;
	if (r == 0 && len)
		r = decode_memory_at(call, call->arg[1], request, len);
	if (r < 0) {
		call_fail(call, r);
	} else if (call_commit_record(call) == 0) {
		(void)netlink_facts(call->sandbox); /* for answer_all() */
		serve_one(call->sandbox->netlink, standin, false); /* what was sent before */
		if (standin->fd >= 0)
			answer_request(call->sandbox->netlink, standin, (uint32_t)call->task->tgid, request, len);
		call_return(call, (int64_t)len);
	}
	return true;
}

void netlink_serve(struct netlink *netlink, const struct sandbox *sandbox)
{
	struct epoll_event event[NETLINK_SOCKETS_MAX];
	int count = epoll_wait(netlink->epoll_fd, event, NETLINK_SOCKETS_MAX, 0);

	(void)netlink_facts(sandbox); /* for answer_all() */
	for (int i = 0; i < count; i++)
		serve_one(netlink, &netlink->standin[event[i].data.u32],
			  event[i].events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR));
}
