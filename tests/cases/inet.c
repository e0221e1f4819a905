/*
 * cases-inet [udp | streams]: internet sockets on loopback. The output must be the same natively and inside a run whose
 * policy lets it listen. Ports differ, so they are printed as their relation to each other.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage all;
};

static void say(const char *what, long r)
{
	printf("%s: %s\n", what, r < 0 ? strerrorname_np(errno) : r > 0 ? "positive" : "0");
}

static void say_exactly(const char *what, long r)
{
	if (r < 0)
		say(what, r);
	else
		printf("%s: %ld\n", what, r);
}

static socklen_t make(union address *out, const char *text, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		return sizeof(out->v4);
	}
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons(port);
	if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1)
		abort();
	return sizeof(out->v6);
}

static int make_socket(int domain, int type)
{
	int fd = socket(domain, type | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		perror("socket");
		exit(99);
	}
	return fd;
}

static int bind_to(int fd, const char *text, uint16_t port)
{
	union address address;
	socklen_t len = make(&address, text, port);

	return bind(fd, &address.any, len);
}

static int connect_to(int fd, const char *text, uint16_t port)
{
	union address address;
	socklen_t len = make(&address, text, port);

	return connect(fd, &address.any, len);
}

typedef int ask_fn(int fd, struct sockaddr *address, socklen_t *len);

/* The port, 0 when there is none. Prints the address. */
static uint16_t say_name(const char *what, ask_fn *ask, int fd)
{
	union address address = {.any.sa_family = AF_UNSPEC};
	socklen_t len = sizeof(address);
	char text[INET6_ADDRSTRLEN] = "";

	if (ask(fd, &address.any, &len) < 0) {
		say(what, -1);
		return 0;
	}
	if (address.any.sa_family == AF_INET)
		(void)inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text));
	else
		(void)inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text));
	printf("%s: %s %s, %u bytes\n", what, text, address.v4.sin_port ? "with a port" : "without a port", len);
	return ntohs(address.v4.sin_port); /* at the same place in both */
}

/* A number nobody listens at, most likely: a socket had it a moment ago. */
static uint16_t free_port(void)
{
	union address address;
	socklen_t len = sizeof(address);
	int fd = make_socket(AF_INET, SOCK_STREAM);

	if (bind_to(fd, "127.0.0.1", 0) < 0 || getsockname(fd, &address.any, &len) < 0)
		exit(98);
	(void)close(fd);
	return ntohs(address.v4.sin_port);
}

static int listener(int domain, const char *text, uint16_t *ret_port)
{
	int fd = make_socket(domain, SOCK_STREAM);

	say("bind", bind_to(fd, text, 0));
	say("listen", listen(fd, 5));
	*ret_port = say_name("listener", getsockname, fd);
	return fd;
}

/* ---- one connection ---- */

static void exchange(int a, int b)
{
	char bytes[64] = "";
	struct iovec parts[] = {{.iov_base = (char[]){"hello "}, .iov_len = 6},
				{.iov_base = (char[]){"there"}, .iov_len = 5}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	struct mmsghdr many[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
	union address other;
	socklen_t len = make(&other, "192.0.2.1", 9);

	say_exactly("send", send(a, "x", 1, 0));
	say_exactly("recv", recv(b, bytes, sizeof(bytes), 0));
	say_exactly("sendmsg", sendmsg(a, &message, 0));
	say_exactly("recv", recv(b, bytes, sizeof(bytes), 0));
	printf("%.11s\n", bytes);
	say_exactly("sendto with a name that counts for nothing", sendto(a, "y", 1, 0, &other.any, len));
	say_exactly("recv", recv(b, bytes, sizeof(bytes), 0));
	message.msg_name = &other;
	message.msg_namelen = len;
	say_exactly("sendmsg with one", sendmsg(a, &message, MSG_NOSIGNAL));
	say_exactly("recv", recv(b, bytes, sizeof(bytes), 0));
	say_exactly("sendmmsg", sendmmsg(b, many, 2, 0));
	printf("lengths %u %u\n", many[0].msg_len, many[1].msg_len);
	say_exactly("recv", recv(a, bytes, 22, MSG_WAITALL));
	say_exactly("urgent", send(a, "!", 1, MSG_OOB));
	message.msg_iovlen = 1025;
	say("sendmsg of too many parts", sendmsg(a, &message, 0));
	message = (struct msghdr){.msg_iov = (struct iovec *)8, .msg_iovlen = 1};
	say("sendmsg of bad parts", sendmsg(a, &message, 0));
	say("sendmsg of a bad header", sendmsg(a, (const struct msghdr *)8, 0));
	parts[0].iov_base = (void *)8;
	message = (struct msghdr){.msg_iov = parts, .msg_iovlen = 1};
	say("sendmsg of bad bytes", sendmsg(a, &message, 0));
	message.msg_iovlen = 0;
	say_exactly("sendmsg of nothing", sendmsg(a, &message, 0));
}

static volatile sig_atomic_t pipes;

static void on_pipe(int number)
{
	(void)number;
	pipes++;
}

static void end(int a, int b)
{
	struct iovec part = {.iov_base = (char[]){"z"}, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	char byte;

	say("shutdown", shutdown(a, SHUT_WR));
	say_exactly("end of file", recv(b, &byte, 1, MSG_DONTWAIT));
	pipes = 0;
	say("sendmsg after it", sendmsg(a, &message, 0));
	printf("SIGPIPE: %d\n", (int)pipes);
	say("sendmsg after it, no signal", sendmsg(a, &message, MSG_NOSIGNAL));
	printf("SIGPIPE: %d\n", (int)pipes);
	(void)close(a);
	(void)close(b);
}

static void connection(int domain, const char *at, const char *to)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	uint16_t port, mine;
	int server, client, accepted;

	printf("-- %s from %s\n", at, to);
	server = listener(domain, at, &port);
	client = make_socket(strchr(to, ':') ? AF_INET6 : AF_INET, SOCK_STREAM);
	say_name("client before", getsockname, client);
	say_name("its peer before", getpeername, client);
	say("connect", connect_to(client, to, port));
	mine = say_name("client", getsockname, client);
	printf("peer's port is the listener's: %d\n", say_name("its peer", getpeername, client) == port);
	accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	say("accept", accepted);
	printf("accepted at the listener's port: %d\n", say_name("accepted", getsockname, accepted) == port);
	printf("from the client's: %d\n", say_name("its peer", getpeername, accepted) == mine);
	say("connect again", connect_to(client, to, port));
	say("connect the listener", connect_to(server, to, port));
	say("bind again", bind_to(client, at, 0));
	exchange(client, accepted);
	end(client, accepted);
	client = make_socket(strchr(to, ':') ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
	(void)connect_to(client, to, port);
	say_exactly("writable", poll(&(struct pollfd){.fd = client, .events = POLLOUT}, 1, 5000));
	accepted = accept(server, NULL, NULL);
	say("disconnect", connect(client, &none, sizeof(none)));
	say_name("its peer", getpeername, client);
	(void)close(accepted);
	(void)close(client);
	(void)close(server);
	client = make_socket(strchr(to, ':') ? AF_INET6 : AF_INET, SOCK_STREAM);
	say("connect to the closed one", connect_to(client, to, port));
	say("connect to it again", connect_to(client, to, port));
	(void)close(client);
}

/* ---- a lot through a socket that blocks ---- */

#define LOT (6u << 20)

static void *drain(void *argument)
{
	int fd = *(int *)argument;
	char *bytes = malloc(1 << 16);
	size_t all = 0;
	unsigned sum = 0;
	ssize_t r;

	(void)usleep(200000);
	while (bytes && (r = recv(fd, bytes, 1 << 16, 0)) > 0) {
		for (ssize_t i = 0; i < r; i++)
			sum = sum * 31 + (unsigned char)bytes[i];
		all += (size_t)r;
	}
	printf("drained %zu, sum %u\n", all, sum);
	free(bytes);
	return NULL;
}

static void much(void)
{
	uint16_t port;
	int server = listener(AF_INET, "127.0.0.1", &port), client = make_socket(AF_INET, SOCK_STREAM), accepted;
	char *bytes = malloc(LOT);
	struct iovec parts[3];
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
	pthread_t thread;

	if (!bytes)
		exit(97);
	for (size_t i = 0; i < LOT; i++)
		bytes[i] = (char)(i * i >> 7);
	parts[0] = (struct iovec){.iov_base = bytes, .iov_len = 1000};
	parts[1] = (struct iovec){.iov_base = bytes + 1000, .iov_len = LOT / 2};
	parts[2] = (struct iovec){.iov_base = bytes + 1000 + LOT / 2, .iov_len = LOT - LOT / 2 - 1000};
	say("connect", connect_to(client, "127.0.0.1", port));
	accepted = accept(server, NULL, NULL);
	if (pthread_create(&thread, NULL, drain, &accepted) != 0)
		exit(96);
	say_exactly("a lot at once", sendmsg(client, &message, 0));
	(void)shutdown(client, SHUT_WR);
	(void)pthread_join(thread, NULL);
	say("not waiting", fcntl(accepted, F_SETFL, O_NONBLOCK));
	printf("not waiting, some: %d\n", sendmsg(accepted, &message, 0) > 0);
	(void)close(client);
	(void)close(accepted);
	(void)close(server);
	free(bytes);
}

/* ---- descriptors ---- */

static void pass(int type)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control = {0}, got = {0};
	struct iovec part = {.iov_base = (char[]){"!!"}, .iov_len = 2};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(2 * sizeof(int))};
	struct msghdr received = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &got, .msg_controllen = sizeof(got)};
	int pair[2], sent[2], fds[2] = {-1, -1};
	/* other ids may be unknown to a user namespace */
	struct ucred claim = {.pid = 1, .uid = getuid(), .gid = getgid()};
	struct cmsghdr *item = &control.header;
	char byte = 0;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0 || pipe(sent) < 0)
		exit(95);
	item->cmsg_level = SOL_SOCKET;
	item->cmsg_type = SCM_RIGHTS;
	item->cmsg_len = CMSG_LEN(sizeof(sent));
	memcpy(CMSG_DATA(item), sent, sizeof(sent));
	say_exactly("pass two", sendmsg(pair[0], &message, 0));
	say_exactly("take", recvmsg(pair[1], &received, 0));
	if (CMSG_FIRSTHDR(&received))
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&received)), sizeof(fds));
	say_exactly("write to one", write(fds[1], "+", 1));
	say_exactly("read from the other", read(sent[0], &byte, 1));
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(sent[1]);
	say("pass a closed one", sendmsg(pair[0], &message, 0));
	item->cmsg_len = 1000;
	say("a length too long", sendmsg(pair[0], &message, 0));
	item->cmsg_len = 3;
	say("a length too short", sendmsg(pair[0], &message, 0));
	item->cmsg_type = 77;
	item->cmsg_len = CMSG_LEN(sizeof(sent));
	say("an unknown kind", sendmsg(pair[0], &message, 0));
	item->cmsg_type = SCM_CREDENTIALS;
	item->cmsg_len = CMSG_LEN(sizeof(claim));
	memcpy(CMSG_DATA(item), &claim, sizeof(claim));
	message.msg_controllen = CMSG_SPACE(sizeof(claim));
	if (getuid() != 0)
		say("somebody else's credentials", sendmsg(pair[0], &message, 0));
	message.msg_control = (void *)8;
	say("bad control data", sendmsg(pair[0], &message, 0));
	(void)close(pair[1]);
	message.msg_control = NULL;
	message.msg_controllen = 0;
	pipes = 0;
	say("nobody is there", sendmsg(pair[0], &message, 0));
	printf("SIGPIPE: %d\n", (int)pipes);
	(void)close(pair[0]);
	(void)close(sent[0]);
}

/* ---- what fails ---- */

static void failures(void)
{
	int tcp = make_socket(AF_INET, SOCK_STREAM), tcp6 = make_socket(AF_INET6, SOCK_STREAM);
	int udp = make_socket(AF_INET, SOCK_STREAM), unconnected = make_socket(AF_INET, SOCK_STREAM);
	union address address;
	socklen_t len = make(&address, "127.0.0.1", free_port());
	const int on = 1;

	say("connect, short", connect(tcp, &address.any, len - 1));
	say("connect, longer", connect(tcp, &address.any, sizeof(address)));
	say("connect, too long", connect(tcp, &address.any, sizeof(address) + 1));
	say("connect, negative", connect(tcp, &address.any, (socklen_t)-1));
	say("connect, bad", connect(tcp, (const struct sockaddr *)8, len));
	say("connect, IPv4 of IPv6", connect(tcp6, &address.any, sizeof(address)));
	say("connect, no descriptor", connect(99, &address.any, len));
	say("connect, no socket", connect(0, &address.any, len));
	say("bind, short", bind(tcp, &address.any, len - 1));
	say("bind elsewhere", bind_to(tcp, "192.0.2.1", 0));
	say("bind elsewhere, IPv6", bind_to(tcp6, "2001:db8::1", 0));
	say("listen, no descriptor", listen(99, 1));
	(void)setsockopt(tcp6, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	say("IPv6 alone, mapped", connect_to(tcp6, "::ffff:127.0.0.1", 9));
	say("bind, IPv6 alone, mapped", bind_to(tcp6, "::ffff:127.0.0.1", 0));
	(void)signal(SIGPIPE, SIG_IGN);
	say("send, not connected", send(unconnected, "x", 1, 0));
	say("sendto, not connected", sendto(unconnected, "x", 1, 0, &address.any, len));
	(void)signal(SIGPIPE, on_pipe);
	say("connect any", connect_to(udp, "0.0.0.0", ntohs(address.v4.sin_port)));
	(void)close(tcp);
	(void)close(tcp6);
	(void)close(udp);
	(void)close(unconnected);
}

/* Two that share a port, as servers for both families do. */
static void both_families(void)
{
	const int on = 1;
	uint16_t port;
	int four = listener(AF_INET, "0.0.0.0", &port), six = make_socket(AF_INET6, SOCK_STREAM), client, again;

	(void)setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	say("bind the other", bind_to(six, "::", port));
	say("listen", listen(six, 5));
	client = make_socket(AF_INET6, SOCK_STREAM);
	say("connect", connect_to(client, "::1", port));
	say("accept", accept(six, NULL, NULL));
	(void)close(client);
	client = make_socket(AF_INET, SOCK_STREAM);
	say("connect", connect_to(client, "127.0.0.1", port));
	say("accept", accept(four, NULL, NULL));
	again = make_socket(AF_INET, SOCK_STREAM);
	say("bind a second", bind_to(again, "127.0.0.1", port));
	(void)close(again);
	(void)close(four);
	(void)close(six);
	(void)close(client);
}

/* listen(2) binds what is not bound. */
static void unbound(void)
{
	int server = make_socket(AF_INET, SOCK_STREAM), client = make_socket(AF_INET, SOCK_STREAM);
	uint16_t port;

	say("listen", listen(server, 1));
	port = say_name("listener", getsockname, server);
	say("connect", connect_to(client, "127.0.0.1", port));
	say("listen, connected", listen(client, 1));
	(void)close(server);
	(void)close(client);
}

static volatile bool connected;

static void *connect_late(void *argument)
{
	uint16_t port = *(uint16_t *)argument;
	int client = make_socket(AF_INET, SOCK_STREAM);

	say("connect, blocking", connect_to(client, "127.0.0.1", port));
	connected = true;
	(void)close(client);
	return NULL;
}

/* More connects than the queue holds: the last waits until somebody is accepted, and its SYN is sent again. */
static void full_queue(void)
{
	int server = make_socket(AF_INET, SOCK_STREAM), client[2];
	uint16_t port;
	pthread_t thread;

	say("listen", listen(server, 0));
	port = say_name("listener", getsockname, server);
	for (unsigned i = 0; i < 2; i++) {
		client[i] = make_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
		(void)connect_to(client[i], "127.0.0.1", port);
	}
	if (pthread_create(&thread, NULL, connect_late, &port) != 0)
		exit(94);
	(void)usleep(100000);
	while (!connected)
		if (poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 50) > 0)
			(void)close(accept(server, NULL, NULL));
	(void)pthread_join(thread, NULL);
	for (unsigned i = 0; i < 2; i++)
		(void)close(client[i]);
	(void)close(server);
}

/* ---- options that are judged where others are on the loopback ---- */

static void option(int fd, const char *kind, int level, int name)
{
	static const int lengths[] = {-1, 0, 1, 2, 3, 4, 5, 4096, 1 << 30};
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || munmap(page + 4096, 4096) < 0)
		exit(93);
	page[0] = 1;
	page[4095] = 1;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct {
			const char *name;
			const char *at;
		} value[] = {
			{"1", page}, {"0", page + 8}, {"NULL", NULL}, {"nowhere", (char *)8}, {"an end", page + 4095}};

		for (size_t k = 0; k < sizeof(value) / sizeof(value[0]); k++) {
			printf("%s, option %d of %d, length %d of %s", kind, name, level, lengths[i], value[k].name);
			say("", setsockopt(fd, level, name, value[k].at, (socklen_t)lengths[i]));
		}
	}
	(void)munmap(page, 4096);
}

static void options(bool streams)
{
	static const struct {
		const char *name;
		int domain, type;
	} kind[] = {{"unix", AF_UNIX, SOCK_STREAM}, {"tcp", AF_INET, SOCK_STREAM}, {"tcp6", AF_INET6, SOCK_STREAM},
		    {"udp", AF_INET, SOCK_DGRAM}, {"udp6", AF_INET6, SOCK_DGRAM}};

	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		int fd;

		if (streams && kind[i].type == SOCK_DGRAM)
			continue;
		fd = make_socket(kind[i].domain, kind[i].type);
		option(fd, kind[i].name, SOL_SOCKET, SO_REUSEADDR);
		option(fd, kind[i].name, IPPROTO_IP, IP_RECVERR);
		option(fd, kind[i].name, IPPROTO_IPV6, IPV6_RECVERR);
		(void)close(fd);
	}
	option(0, "no socket", IPPROTO_IP, IP_RECVERR);
	option(900, "nothing", IPPROTO_IP, IP_RECVERR);
}

/* ---- datagrams ---- */

static void datagrams(void)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	int server = make_socket(AF_INET, SOCK_DGRAM), client = make_socket(AF_INET, SOCK_DGRAM), six;
	struct iovec part = {.iov_base = (char[]){"four"}, .iov_len = 4};
	union address address, from;
	socklen_t len = sizeof(from);
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_name = &address};
	struct mmsghdr many[2];
	static char large[70000];
	char bytes[16];
	uint16_t port;

	say("send, no name", send(client, "x", 1, 0));
	say("bind", bind_to(server, "127.0.0.1", 0));
	port = say_name("server", getsockname, server);
	message.msg_namelen = make(&address, "127.0.0.1", port);
	say_exactly("sendto", sendto(client, "one", 3, 0, &address.any, message.msg_namelen));
	say_exactly("recvfrom", recvfrom(server, bytes, sizeof(bytes), 0, &from.any, &len));
	say_exactly("answer", sendto(server, "back", 4, 0, &from.any, len));
	say_exactly("recv", recv(client, bytes, sizeof(bytes), 0));
	say_exactly("sendmsg", sendmsg(client, &message, 0));
	say_exactly("recv", recv(server, bytes, sizeof(bytes), 0));
	many[0] = many[1] = (struct mmsghdr){.msg_hdr = message};
	say_exactly("sendmmsg", sendmmsg(client, many, 2, 0));
	say_exactly("recv", recv(server, bytes, sizeof(bytes), 0));
	say_exactly("recv", recv(server, bytes, sizeof(bytes), 0));
	say("too large", sendto(client, large, sizeof(large), 0, &address.any, message.msg_namelen));
	say("short name", sendto(client, "x", 1, 0, &address.any, 8));
	say("bad name", sendto(client, "x", 1, 0, (const struct sockaddr *)8, 16));
	say("bad bytes", sendto(client, (void *)8, 1, 0, &address.any, message.msg_namelen));
	address.v4.sin_port = 0;
	say("port 0", sendto(client, "x", 1, 0, &address.any, message.msg_namelen));
	say("connect", connect_to(client, "127.0.0.1", port));
	printf("to the server: %d\n", say_name("peer", getpeername, client) == port);
	say_exactly("send", send(client, "x", 1, 0));
	say_exactly("recv", recv(server, bytes, sizeof(bytes), 0));
	say("disconnect", connect(client, &none, sizeof(none)));
	say_name("peer", getpeername, client);
	six = make_socket(AF_INET6, SOCK_DGRAM);
	say("connect, IPv4 of IPv6", connect_to(six, "127.0.0.1", port));
	say_name("peer", getpeername, six);
	say_exactly("send", send(six, "x", 1, 0));
	say_exactly("recv", recv(server, bytes, sizeof(bytes), 0));
	(void)close(server);
	say_exactly("send to nobody", send(six, "x", 1, 0));
	say("and once more", send(six, "x", 1, 0));
	(void)close(client);
	(void)close(six);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	(void)signal(SIGPIPE, on_pipe);
	connection(AF_INET, "127.0.0.1", "127.0.0.1");
	connection(AF_INET, "0.0.0.0", "127.0.0.1");
	connection(AF_INET, "0.0.0.0", "0.0.0.0");
	connection(AF_INET6, "::1", "::1");
	connection(AF_INET6, "::", "127.0.0.1");
	connection(AF_INET, "127.0.0.1", "::ffff:127.0.0.1");
	both_families();
	unbound();
	full_queue();
	options(argc > 1 && strcmp(argv[1], "streams") == 0);
	failures();
	much();
	pass(SOCK_STREAM);
	pass(SOCK_SEQPACKET);
	if (argc > 1 && strcmp(argv[1], "udp") == 0)
		datagrams();
	return 0;
}
