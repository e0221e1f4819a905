/* Threat 39 with unix datagrams: none reaches a socket of a process outside the run, and none comes from there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/cases/threat-address.h"
#include "tests/cases/threat.h"

static struct iovec part = {.iov_base = "x", .iov_len = 1};

/* Every call that takes an address, and a connect with a send after it. */
static void send_every_way(const char *what, const union address *address, socklen_t len, int error)
{
	struct msghdr message = {
		.msg_name = (void *)(uintptr_t)address, .msg_namelen = len, .msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr messages = {.msg_hdr = message};
	int pair[2], fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	threat_works("a datagram pair", socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair));
	for (int i = 0; i < 2; i++) {
		const int from = i ? pair[0] : fd;

		threat_refused(what, sendto(from, "x", 1, 0, &address->any, len), error);
		threat_refused(what, sendmsg(from, &message, 0), error);
		threat_refused(what, sendmmsg(from, &messages, 1, 0), error);
		threat_refused(what, connect(from, &address->any, len), error);
	}
	threat_refused("a send without a peer", write(fd, "x", 1), ENOTCONN);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void send_to_path(const char *what, const char *path, int error)
{
	union address address;
	socklen_t len = unix_address(&address, path);

	send_every_way(what, &address, len, error);
}

static void send_to_outsider(const char *name)
{
	union address address;
	char path[64];
	socklen_t len;
	int fd = open("dgram", O_PATH | O_CLOEXEC);

	send_to_path("to an outsider", "dgram", EACCES);
	threat_works("symlink", symlink("dgram", "link"));
	send_to_path("by a link", "link", EACCES);
	threat_works("hard link", link("dgram", "hard"));
	send_to_path("by a hard link", "hard", EACCES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	send_to_path("by /proc/self/fd", path, EACCES);
	send_to_path("outside of the view", "/dev/log", ENOENT);
	threat_tries(unlink("link"));
	threat_tries(unlink("hard"));
	close(fd);
	len = abstract_address(&address, name);
	address.local.sun_path[len++ - HEAD] = 'd';
	send_every_way("to an abstract name", &address, len, ECONNREFUSED);
}

/* ---- races: a descriptor and an address that change while a message is judged ---- */

static atomic_bool going;
static int swapped_fd, swapped[2];
static union address flipped;

static void *swap_descriptors(void *argument)
{
	for (unsigned i = 0; atomic_load(&going); i++)
		threat_tries(dup2(swapped[i % 2], swapped_fd));
	return argument;
}

static void *flip_address(void *argument)
{
	while (atomic_load(&going)) {
		memcpy(flipped.local.sun_path, "dgram", 6);
		memcpy(flipped.local.sun_path, "inner", 6);
	}
	return argument;
}

/* Sends to the flipped address; what comes to the program's own socket is taken. */
static void send_in_a_race(void *(*other)(void *), int from, int own)
{
	struct msghdr message = {
		.msg_name = &flipped, .msg_namelen = HEAD + 6, .msg_iov = &part, .msg_iovlen = 1};
	double end = threat_now() + 0.5;
	pthread_t thread;
	char byte;

	atomic_store(&going, true);
	threat_works("pthread_create", -pthread_create(&thread, NULL, other, NULL));
	for (unsigned i = 0; threat_now() < end; i++) {
		struct mmsghdr messages = {.msg_hdr = message};

		if (i % 3 == 0)
			threat_tries(sendmsg(from, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
		else if (i % 3 == 1)
			threat_tries(sendmmsg(from, &messages, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
		else
			threat_tries(sendto(from, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, &flipped.any, HEAD + 6));
		threat_tries(recv(own, &byte, 1, MSG_DONTWAIT));
	}
	atomic_store(&going, false);
	pthread_join(thread, NULL);
}

static void race_addresses(void)
{
	int own = socket(AF_UNIX, SOCK_DGRAM, 0);
	union address address;

	threat_works("bind", bind(own, &address.any, unix_address(&address, "inner")));
	(void)unix_address(&flipped, "inner");
	send_in_a_race(flip_address, socket(AF_UNIX, SOCK_DGRAM, 0), own);
	/* A stream or seqpacket socket ignores the outsider's name, and turns into a datagram socket. */
	for (int i = 0; i < 2; i++) {
		int pair[2];

		threat_works("pair", socketpair(AF_UNIX, i ? SOCK_STREAM : SOCK_SEQPACKET, 0, pair));
		swapped[0] = pair[0];
		swapped[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
		swapped_fd = dup(pair[0]);
		(void)unix_address(&flipped, "dgram");
		send_in_a_race(swap_descriptors, swapped_fd, pair[1]);
	}
	close(own);
	threat_tries(unlink("inner"));
}

/* ---- what comes in ---- */

static void tell_name(int fd)
{
	union address address;
	socklen_t len = sizeof(address);
	int file = open("abstract.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	threat_works("getsockname", getsockname(fd, &address.any, &len));
	threat_works("write", write(file, address.local.sun_path, len - HEAD));
	close(file);
	threat_works("rename", rename("abstract.new", "abstract"));
}

static void expect_nothing(int fd, const char *what)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (poll(&ready, 1, 200) > 0)
		threat_got("something came to %s", what);
	close(fd);
}

static void be_reached(const char *name)
{
	union address address;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	socklen_t len;

	threat_works("bind", bind(fd, &address.any, unix_address(&address, "inside")));
	expect_nothing(fd, "a path");
	threat_tries(unlink("inside"));
	len = abstract_address(&address, name);
	address.local.sun_path[len++ - HEAD] = '3';
	for (int i = 0; i < 2; i++) {
		fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		threat_works("abstract bind", bind(fd, &address.any, i ? HEAD : len));
		tell_name(fd);
		expect_nothing(fd, "an abstract name");
	}
	threat_tries(unlink("abstract"));
}

/* With SO_PASSCRED a send would bind the socket to a name of the kernel's choice. */
static void stay_unbound(void)
{
	const int on = 1;
	union address address;
	socklen_t len = sizeof(address);
	int pair[2];

	threat_works("pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	threat_refused("SO_PASSCRED", setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), EPERM);
	for (int level = 0; level <= SOL_SOCKET; level++)
		for (int name = 0; name < 128; name++)
			/* 66 and 67 are the same timeouts, with wider seconds */
			if (name != SO_RCVTIMEO && name != SO_SNDTIMEO && name != 66 && name != 67)
				threat_tries(setsockopt(pair[0], level, name, &on, sizeof(on)));
	threat_works("send", send(pair[0], "x", 1, 0));
	threat_works("write", write(pair[0], "x", 1));
	threat_works("getsockname", getsockname(pair[0], &address.any, &len));
	if (len > HEAD)
		threat_got("a name of the kernel's choice");
}

/* datagrams ABSTRACT: an outsider receives at "dgram" and at ABSTRACT with a "d"; it sends to "inside". */
int threat_datagrams(char **arg)
{
	send_to_outsider(arg[0]);
	race_addresses();
	be_reached(arg[0]);
	stay_unbound();
	return threat_result();
}
