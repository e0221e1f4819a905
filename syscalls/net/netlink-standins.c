#include "syscalls/net/netlink-standins.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

#define STANDIN_NAME_ATTEMPTS_MAX 64 /* numbers tried as nl_pid of a stand-in socket */
/*
 * Most messages of a request that are answered; tools send one. A stand-in's next request is answered at the loop's
 * next turn.
 */
#define NETLINK_MESSAGES_PER_REQUEST_MAX 8
#define NETLINK_AUTO_PORT_FIRST (-4097) /* as netlink_autobind(): ports from here downwards are no process ids */

/* A stand-in socket: the supervisor's end of a socket pair. */
struct standin {
	int fd;          /* the supervisor's end, owned; -1: the slot is free */
	ino_t inode;     /* inode number of the program's end of the socket pair, by which the stand-in is found */
	uint32_t nl_pid; /* nl_pid; 0: not chosen yet */
};

/* The stand-in sockets of the run. */
struct netlink {
	int epoll_fd;               /* watches all stand-ins; data.u32 is the slot */
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

/* ---- sockets ---- */

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

int netlink_make_standin_socket(struct netlink *netlink, int type)
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

struct standin *netlink_find_standin(struct netlink *netlink, pid_t tid, int fd)
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

/* ---- ports ---- */

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

int standin_bind(const struct netlink *netlink, struct standin *standin, uint32_t port, pid_t process)
{
	if (standin->nl_pid && port && port != standin->nl_pid)
		return -EINVAL;
	if (!standin->nl_pid && port && !standin_port_is_free(netlink, port))
		return -EADDRINUSE;
	if (port)
		standin->nl_pid = port;
	else if (!standin->nl_pid)
		standin_choose_port(netlink, standin, (uint32_t)process);
	return 0; /* ignores groups: no message is ever sent to them */
}

uint32_t standin_get_port(const struct standin *standin)
{
	return standin->nl_pid;
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

void standin_answer_at_once(const struct sandbox *sandbox, struct standin *standin, pid_t process,
			    const unsigned char *request, size_t len)
{
	(void)netlink_get_facts(sandbox);                         /* for standin_answer_messages() */
	standin_serve_datagram(sandbox->netlink, standin, false); /* requests that were sent before */
	if (standin->fd >= 0)
		standin_answer_request(sandbox->netlink, standin, (uint32_t)process, request, len);
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
