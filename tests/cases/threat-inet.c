/*
 * Threats 34-38 in a run that has a network: every kind of socket, every form of an address and every call that takes
 * one, with the ports of a process outside as targets; and addresses that change while they are judged.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/cases/threat-address.h"
#include "tests/cases/threat.h"

#define RACE_SECONDS 0.4
#define QUIET (MSG_NOSIGNAL | MSG_DONTWAIT)

/* ---- what there is ---- */

static bool is_offered(int family, int type, int protocol)
{
	if (family == AF_UNIX)
		return (type == SOCK_STREAM || type == SOCK_SEQPACKET) && protocol <= 1;
	if (family == AF_NETLINK)
		return (type == SOCK_RAW || type == SOCK_DGRAM) && protocol == 0;
	if (family != AF_INET && family != AF_INET6)
		return false;
	return (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
	       (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP));
}

static void sweep(void)
{
	static const int protocols[] = {0, 1, 2, 6, 17, 33, 58, 132, 136, 255, 256, 262, 768};

	for (int family = 0; family <= 50; family++)
		for (int type = 0; type <= 15; type++)
			for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
				int fd = socket(family, type, protocols[i]);

				if (fd >= 0 && !is_offered(family, type, protocols[i]))
					threat_got("socket(%d, %d, %d)", family, type, protocols[i]);
				if (fd >= 0)
					close(fd);
			}
}

static void options(int fd)
{
	static const int options[][2] = {
		{IPPROTO_TCP, 23}, {IPPROTO_TCP, 30}, {IPPROTO_TCP, 31}, {IPPROTO_TCP, 19}, {IPPROTO_TCP, 14},
		{SOL_SOCKET, 36},  {SOL_SOCKET, 26},  {SOL_SOCKET, 50},
		{SOL_SOCKET, 83},  {IPPROTO_IP, 19},  {IPPROTO_IP, 15},  {IPPROTO_IP, 4},   {IPPROTO_IPV6, 1},
		{IPPROTO_IPV6, 78},
	};
	const int on = 1;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		threat_refused("an option", setsockopt(fd, options[i][0], options[i][1], &on, sizeof(on)), ENOPROTOOPT);
		threat_refused("an option",
			       syscall(SYS_setsockopt, fd, options[i][0] | 1L << 40, options[i][1] | 1L << 40, &on, 4),
			       ENOPROTOOPT);
	}
}

/* ---- addresses ---- */

static socklen_t make(union address *address, int form, uint32_t v4, in_port_t port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
	const uint32_t words[4] = {0, 0, form == 2 ? htonl(0xffff) : 0, htonl(v4)};

	*address = (union address){.inet = {.sin_family = AF_INET, .sin_port = port, .sin_addr = {htonl(v4)}}};
	if (form == 3)
		address->any.sa_family = AF_UNSPEC;
	if (form != 1 && form != 2)
		return sizeof(address->inet);
	memcpy(&six.sin6_addr, words, sizeof(words)); /* compatible (::1 and ::, too), mapped */
	memcpy(address, &six, sizeof(six));
	return sizeof(six);
}

static int with_flags(int domain, int type, int blocking)
{
	return socket(domain, type | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0);
}

/* Whether it got anywhere: a peer that one can write to. */
static bool is_through(int fd)
{
	struct pollfd poller = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t len = sizeof(error);

	return poll(&poller, 1, 300) > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0 &&
	       send(fd, "canary", 6, QUIET) > 0;
}

static void try_stream(int domain, const union address *address, socklen_t len)
{
	for (int blocking = 0; blocking < 2; blocking++) {
		int fd = with_flags(domain, SOCK_STREAM, blocking);
		long r = connect(fd, &address->any, len);

		if ((r == 0 || errno == EINPROGRESS) && address->any.sa_family != AF_UNSPEC && is_through(fd))
			threat_got("a connection, domain %d, family %d", domain, address->any.sa_family);
		close(fd);
	}
}

static void send_to(int fd, const union address *address, socklen_t len, int flags)
{
	char text[] = "canary";
	struct iovec vector = {.iov_base = text, .iov_len = sizeof(text)};
	struct mmsghdr message = {.msg_hdr = {.msg_name = (void *)(uintptr_t)address, .msg_namelen = len,
					      .msg_iov = &vector, .msg_iovlen = 1}};

	threat_tries(sendto(fd, text, sizeof(text), QUIET | flags, &address->any, len));
	threat_tries(sendmsg(fd, &message.msg_hdr, QUIET | flags));
	threat_tries(sendmmsg(fd, &message, 1, QUIET | flags));
	if (flags & MSG_FASTOPEN) {
		threat_refused("fast open", sendto(fd, text, sizeof(text), QUIET | flags, &address->any, len),
			       EOPNOTSUPP);
		threat_refused("fast open", sendmsg(fd, &message.msg_hdr, QUIET | flags), EOPNOTSUPP);
		threat_refused("fast open", sendmmsg(fd, &message, 1, QUIET | flags), EOPNOTSUPP);
	}
}

static void try_datagrams(int domain, const union address *address, socklen_t len)
{
	int fd = with_flags(domain, SOCK_DGRAM, 0);

	if (fd < 0)
		return; /* not offered: see syscalls/call/descriptor.h */
	send_to(fd, address, len, 0);
	threat_tries(connect(fd, &address->any, len));
	threat_tries(send(fd, "canary", 6, QUIET));
	threat_tries(write(fd, "canary", 6));
	close(fd);
}

static void try_all(in_port_t tcp, in_port_t udp)
{
	static const uint32_t v4[] = {0,          0x7f000001, 0x7f000002, 0x7fffffff,
				      0xffffffff, 0xe0000001, 0xc6120001, 0xc612ffff};
	static const int domains[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		for (int form = 0; form < 4; form++)
			for (size_t d = 0; d < 2; d++)
				for (int extra = 0; extra < 2; extra++) {
					union address address;
					socklen_t len = make(&address, form, v4[i], tcp);
					int fd = with_flags(domains[d], SOCK_STREAM, 0);

					len = extra ? sizeof(address.room) : len;
					try_stream(domains[d], &address, len);
					send_to(fd, &address, len, MSG_FASTOPEN);
					send_to(fd, &address, len, 0);
					close(fd);
					(void)make(&address, form, v4[i], udp);
					try_datagrams(domains[d], &address, len);
				}
}

/* ---- races ---- */

static union address flipping;
static atomic_bool over;

/* An address that may be sent to, and the outsider's, in turn. */
static void *flip(void *argument)
{
	const in_port_t *port = argument;

	while (!atomic_load(&over)) {
		flipping.inet.sin_port = port[0];
		atomic_signal_fence(memory_order_seq_cst);
		flipping.inet.sin_port = port[1];
	}
	return NULL;
}

static int swapped;

/* The number of one socket becomes another's. */
static void *swap(void *argument)
{
	const int *fd = argument;

	while (!atomic_load(&over)) {
		threat_tries(dup2(fd[0], swapped));
		threat_tries(dup2(fd[1], swapped));
	}
	return NULL;
}

static void race(void *(*other)(void *), void *argument, int fd)
{
	double end = threat_now() + RACE_SECONDS;
	pthread_t thread;

	atomic_store(&over, false);
	if (pthread_create(&thread, NULL, other, argument) != 0) {
		threat_missed("a thread");
		return;
	}
	while (threat_now() < end) {
		send_to(fd, &flipping, sizeof(flipping.inet), 0);
		threat_tries(connect(fd, &flipping.any, sizeof(flipping.inet)));
		threat_tries(send(fd, "canary", 6, QUIET));
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
}

static void races(in_port_t tcp, in_port_t udp)
{
	in_port_t dns_or[2] = {htons(53), udp}, tcp_or[2] = {htons(53), tcp};
	int datagrams = with_flags(AF_INET, SOCK_DGRAM, 0), stream = with_flags(AF_INET, SOCK_STREAM, 0), pair[2],
	    both[2];

	(void)make(&flipping, 0, INADDR_LOOPBACK, udp);
	if (datagrams >= 0)
		race(flip, dns_or, datagrams);
	race(flip, tcp_or, stream);
	threat_works("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	(void)make(&flipping, 0, INADDR_LOOPBACK, udp);
	both[0] = pair[0];
	both[1] = datagrams;
	swapped = fcntl(pair[0], F_DUPFD, 100);
	if (datagrams >= 0)
		race(swap, both, swapped);
	close(datagrams);
	close(stream);
}

/* ---- servers ---- */

static void servers(void)
{
	union address address;
	socklen_t len = make(&address, 0, INADDR_ANY, htons(8001));
	int fd = with_flags(AF_INET, SOCK_STREAM, 0);

	threat_refused("bind at a port that is not granted", bind(fd, &address.any, len), EACCES);
	threat_refused("listen without bind", listen(fd, 1), EACCES);
	len = make(&address, 0, INADDR_ANY, 0);
	threat_works("bind at no port", bind(fd, &address.any, len));
	threat_refused("listen at one of the kernel's", listen(fd, 1), EACCES);
	close(fd);
	fd = with_flags(AF_INET6, SOCK_STREAM, 0);
	len = make(&address, 2, INADDR_LOOPBACK, htons(8001));
	threat_refused("bind at it, mapped", bind(fd, &address.any, len), EACCES);
	close(fd);
}

/* network TCP-PORT UDP-PORT */
int threat_network(char **arg)
{
	in_port_t tcp = htons((uint16_t)strtoul(arg[0], NULL, 10)), udp = htons((uint16_t)strtoul(arg[1], NULL, 10));
	int fd = with_flags(AF_INET, SOCK_STREAM, 0);

	threat_works("a TCP socket", fd);
	options(fd);
	close(fd);
	sweep();
	servers();
	try_all(tcp, udp);
	races(tcp, udp);
	return threat_result();
}
