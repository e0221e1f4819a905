/* Threats 34-38: everything that could reach beyond the run through a socket. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/cases/threat-address.h"
#include "tests/cases/threat.h"

#define HIGH (1UL << 40)

socklen_t inet_address(union address *address, const char *port)
{
	*address = (union address){.inet = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
					    .sin_addr = {htonl(INADDR_LOOPBACK)}}};
	return sizeof(address->inet);
}

socklen_t unix_address(union address *address, const char *path)
{
	size_t len = strnlen(path, sizeof(address->local.sun_path));

	*address = (union address){.local = {.sun_family = AF_UNIX}};
	memcpy(address->local.sun_path, path, len);
	return (socklen_t)(HEAD + len + 1);
}

socklen_t abstract_address(union address *address, const char *name)
{
	socklen_t len = unix_address(address, name);

	memmove(address->local.sun_path + 1, address->local.sun_path, sizeof(address->local.sun_path) - 1);
	address->local.sun_path[0] = '\0';
	return len; /* one more in front, without the NUL behind it */
}

/* Sends "canary" to an address in every way there is. expected: the errno of each, 0: whatever. */
static void send_to(const char *what, int fd, const union address *address, socklen_t len, unsigned long flags)
{
	char text[] = "canary";
	struct iovec vector = {.iov_base = text, .iov_len = sizeof(text)};
	struct mmsghdr message = {.msg_hdr = {.msg_name = (void *)(uintptr_t)address, .msg_namelen = len,
					      .msg_iov = &vector, .msg_iovlen = 1}};
	unsigned long quiet = flags | MSG_NOSIGNAL | MSG_DONTWAIT;

	(void)what;
	threat_tries(syscall(SYS_sendto, fd, text, sizeof(text), quiet, address, len));
	threat_tries(syscall(SYS_sendmsg, fd, &message.msg_hdr, quiet));
	threat_tries(syscall(SYS_sendmmsg, fd, &message, 1, quiet));
	if (flags & MSG_FASTOPEN) {
		threat_refused(what, syscall(SYS_sendto, fd, text, sizeof(text), quiet, address, len), EOPNOTSUPP);
		threat_refused(what, syscall(SYS_sendto, fd, text, sizeof(text), quiet, 0, 0), EOPNOTSUPP);
		threat_refused(what, syscall(SYS_sendmsg, fd, &message.msg_hdr, quiet), EOPNOTSUPP);
		threat_refused(what, syscall(SYS_sendmmsg, fd, &message, 1, quiet), EOPNOTSUPP);
	}
}

/* fastopen PORT: data in the SYN connects without a connect. */
int threat_fastopen(char **arg)
{
	static const unsigned long high[] = {0, HIGH, 1UL << 32, 1UL << 63};
	union address address;
	socklen_t len = inet_address(&address, arg[0]);
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2], on = 1;

	threat_refused("a TCP socket", fd, EACCES);
	if (fd >= 0)
		send_to("fast open", fd, &address, len, MSG_FASTOPEN);
	threat_works("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (size_t i = 0; i < sizeof(high) / sizeof(high[0]); i++)
		send_to("fast open", pair[0], &address, len, MSG_FASTOPEN | high[i]);
	threat_refused("TCP_FASTOPEN", setsockopt(pair[0], IPPROTO_TCP, 23, &on, sizeof(on)), 0);
	threat_refused("TCP_FASTOPEN_CONNECT", setsockopt(pair[0], IPPROTO_TCP, 30, &on, sizeof(on)), 0);
	return threat_result();
}

/* mptcp: protocols that pass for TCP, and a listener without a bind. */
int threat_mptcp(char **arg)
{
	static const int protocols[] = {0,  6,   17, 132 /* SCTP */, 33 /* DCCP */, 136 /* UDPLITE */, 256 /* SMC */,
					262 /* MPTCP */};
	static const int families[] = {AF_INET, AF_INET6, 43 /* SMC */};

	(void)arg; /* takes none */
	for (size_t f = 0; f < 3; f++)
		for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
			for (int type = 0; type < 8; type++) {
				int fd = socket(families[f], type | SOCK_CLOEXEC, protocols[i]);

				threat_refused("an internet socket", fd, 0);
				if (fd < 0)
					continue;
				threat_refused("listen without bind", listen(fd, 1), 0);
				close(fd);
			}
	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type += SOCK_SEQPACKET - SOCK_STREAM) {
		int fd = socket(AF_UNIX, type, 0);

		threat_works("a unix socket", fd);
		threat_refused("listen without bind", listen(fd, 1), EINVAL);
		threat_refused("accept without listen", accept(fd, NULL, NULL), EINVAL);
	}
	return threat_result();
}

/* names TCP-PORT UDP-PORT ABSTRACT: an address in a message, on every socket there can be. */
int threat_messages(char **arg)
{
	static const char *const paths[] = {"dgram", "stream", "seqpacket", "../outside"};
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	union address address;
	int pair[2];

	for (unsigned long high = 0; high <= HIGH; high += HIGH) {
		threat_refused("a datagram pair", syscall(SYS_socketpair, AF_UNIX | high, SOCK_DGRAM | high, 0, pair),
			       EACCES);
		threat_refused("a datagram socket", syscall(SYS_socket, AF_UNIX | high, SOCK_DGRAM | high, 0), EACCES);
		threat_refused("a raw one, which is the same", syscall(SYS_socket, AF_UNIX | high, SOCK_RAW, 0),
			       EACCES);
	}
	pair[0] = socket(AF_UNIX, SOCK_DGRAM, 0); /* not inside: then the canary shows that it would hear */
	if (pair[0] >= 0)
		send_to("dgram", pair[0], &address, unix_address(&address, "dgram"), 0);
	for (size_t t = 0; t < 2; t++) {
		int fds[3] = {-1, -1, socket(AF_UNIX, types[t], 0)};

		threat_works("socketpair", socketpair(AF_UNIX, types[t], 0, fds));
		for (size_t i = 0; i < 3; i++) {
			for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++)
				send_to(paths[p], fds[i], &address, unix_address(&address, paths[p]), 0);
			send_to("tcp", fds[i], &address, inet_address(&address, arg[0]), 0);
			send_to("udp", fds[i], &address, inet_address(&address, arg[1]), 0);
			send_to("abstract", fds[i], &address, abstract_address(&address, arg[2]), 0);
		}
	}
	return threat_result();
}

/* families: every family, type and a few protocols: only unix stream and seqpacket, and NETLINK_ROUTE. */
int threat_families(char **arg)
{
	static const int protocols[] = {0, 1, 3, 6, 17, 58, 255, 768, 262};

	(void)arg; /* takes none */
	for (int family = 0; family <= 50; family++)
		for (int type = 0; type <= 15; type++)
			for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
				bool offered = family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET);
				bool route = family == AF_NETLINK && (type == SOCK_RAW || type == SOCK_DGRAM) &&
					     protocols[i] == 0;
				int fd = socket(family, type, protocols[i]), pair[2];

				if (fd >= 0 && !offered && !route)
					threat_got("socket(%d, %d, %d)", family, type, protocols[i]);
				if (fd >= 0)
					close(fd);
				if (socketpair(family, type, protocols[i], pair) < 0)
					continue;
				if (!offered)
					threat_got("socketpair(%d, %d, %d)", family, type, protocols[i]);
				close(pair[0]);
				close(pair[1]);
			}
	return threat_result();
}

/* addresses PORT: the same place written in many ways. No socket takes any of them. */
int threat_addresses(char **arg)
{
	const in_port_t port = htons((uint16_t)strtoul(arg[0], NULL, 10));
	static const uint32_t v4[] = {0, 0x7f000001, 0x7fffffff, 0xffffffff, 0xc6120001, 0x08080808, 0xa9fea9fe};
	static const int lengths[] = {0, 1, 2, 4, 8, 16, 24, 28, 110, 128};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
			for (int form = 0; form < 5; form++) {
				union address address = {.inet = {.sin_port = port}};
				struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
				const uint32_t words[4] = {0, 0, form == 2 ? htonl(0xffff) : 0, htonl(v4[i])};

				address.inet.sin_addr.s_addr = htonl(v4[i]);
				address.any.sa_family = form == 0 ? AF_INET : form == 3 ? AF_UNSPEC : AF_PACKET;
				memcpy(&six.sin6_addr, words, sizeof(words));
				if (form == 1 || form == 2) /* compatible, mapped */
					memcpy(&address, &six, sizeof(six));
				threat_refused("connect", connect(fd, &address.any, (socklen_t)lengths[l]), EINVAL);
				threat_refused("bind", bind(fd, &address.any, (socklen_t)lengths[l]), EINVAL);
			}
	return threat_result();
}
