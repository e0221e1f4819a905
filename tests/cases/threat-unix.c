/* Threat 39: unix sockets by path, from both sides, and the injected call by which their descriptors are fetched. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/cases/threat-address.h"
#include "tests/cases/threat.h"


static int connect_path(const char *path, int type)
{
	union address address;
	socklen_t len = unix_address(&address, path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), r, error;

	r = connect(fd, &address.any, len);
	error = errno;
	close(fd);
	errno = error;
	return r;
}

static int bind_path(const char *path, int type)
{
	union address address;
	socklen_t len = unix_address(&address, path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	threat_works("bind", bind(fd, &address.any, len));
	threat_works("listen", listen(fd, 64));
	return fd;
}

/* Ways to the sockets on which a process outside listens in a granted directory. */
static void reach_outsiders(void)
{
	static const char *const names[] = {"stream", "seqpacket"};
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	char path[64];

	for (int i = 0; i < 2; i++) {
		int fd = open(names[i], O_PATH | O_CLOEXEC);

		threat_refused("connect to an outsider", connect_path(names[i], types[i]), EACCES);
		threat_works("symlink", symlink(names[i], "link"));
		threat_refused("by a link", connect_path("link", types[i]), EACCES);
		threat_works("hard link", link(names[i], "hard"));
		threat_refused("by a hard link", connect_path("hard", types[i]), EACCES);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		threat_refused("by /proc/self/fd", connect_path(path, types[i]), EACCES);
		threat_works("rename", rename(names[i], "moved"));
		threat_refused("by another name", connect_path("moved", types[i]), EACCES);
		threat_works("rename", rename("moved", names[i]));
		threat_refused("by the wrong type", connect_path(names[i], types[1 - i]), EACCES);
		threat_tries(unlink("link"));
		threat_tries(unlink("hard"));
		close(fd);
	}
	threat_refused("outside of the view", connect_path("../outside", SOCK_STREAM), ENOENT);
	threat_refused("the docker socket", connect_path("/var/run/docker.sock", SOCK_STREAM), ENOENT);
	threat_refused("dbus", connect_path("/run/dbus/system_bus_socket", SOCK_STREAM), ENOENT);
}

static atomic_bool swapping;

/* The name leads to the run's own socket and to the outsider's by turns. */
static void *swap(void *argument)
{
	(void)argument;
	while (atomic_load(&swapping)) {
		threat_tries(syscall(SYS_renameat2, AT_FDCWD, "own", AT_FDCWD, "stream",
				     1u << 1 /* RENAME_EXCHANGE */));
	}
	return NULL;
}

/* The address changes between a listener's and an outsider's while the call is under way. */
static union address flipped;

static void *flip(void *argument)
{
	(void)argument;
	while (atomic_load(&swapping)) {
		memcpy(flipped.local.sun_path, "stream", 7);
		memcpy(flipped.local.sun_path, "own\0\0\0", 7);
	}
	return NULL;
}

static void race(void *(*other)(void *), const char *what)
{
	int listener = bind_path("own", SOCK_STREAM | SOCK_NONBLOCK), met = 0;
	double end = threat_now() + 0.8;
	pthread_t thread;

	(void)unix_address(&flipped, "own");
	atomic_store(&swapping, true);
	threat_works("pthread_create", -pthread_create(&thread, NULL, other, NULL));
	while (threat_now() < end) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

		if (connect(fd, &flipped.any, (socklen_t)(HEAD + 7)) == 0) {
			int accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

			met++;
			if (accepted < 0)
				threat_got("%s: connected to another process", what);
			close(accepted);
		}
		close(fd);
	}
	atomic_store(&swapping, false);
	pthread_join(thread, NULL);
	if (met == 0)
		threat_missed("%s: it never met its own socket", what);
	close(listener);
	/* After an odd number of exchanges the names are the wrong way round. */
	if (connect_path("own", SOCK_STREAM) < 0 && errno == EACCES)
		threat_tries(syscall(SYS_renameat2, AT_FDCWD, "own", AT_FDCWD, "stream", 1u << 1));
	threat_tries(unlink("own"));
}

/* The outsider tries to connect all the time: only what the run itself sends may come in. */
static void be_reached(int type)
{
	int listener = bind_path("inside", type), client, accepted;
	struct pollfd ready = {.fd = listener, .events = POLLIN};
	union address address;
	socklen_t len = unix_address(&address, "inside");

	if (poll(&ready, 1, 300) != 0)
		threat_got("a process connected");
	client = socket(AF_UNIX, type, 0);
	threat_works("connect of a member", connect(client, &address.any, len));
	accepted = accept(listener, NULL, NULL);
	threat_works("accept of a member", accepted);
	threat_works("send", send(client, "x", 1, 0));
	close(client);
	close(accepted);
	close(listener);
	threat_works("unlink", unlink("inside"));
}

/* Every option there is: those that are allowed are set. */
static void set_options(int fd)
{
	static const int levels[] = {SOL_SOCKET, 0, 1};
	const int on = 1;

	for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++)
		for (int name = 0; name < 128; name++)
			if (name != SO_RCVTIMEO && name != 66) /* 66: the same with wider seconds */
				threat_tries(setsockopt(fd, levels[l], name, &on, sizeof(on)));
}

/* Tells the outsider the abstract name that the kernel chose, if it did. */
static void tell_name(int fd)
{
	union address address = {.any = {.sa_family = AF_UNSPEC}};
	socklen_t len = sizeof(address);
	int file = open("abstract.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	threat_works("getsockname", getsockname(fd, &address.any, &len));
	if (len <= HEAD || address.local.sun_path[0])
		threat_missed("the kernel chose no name");
	else
		threat_works("write", write(file, address.local.sun_path, len - HEAD));
	close(file);
	threat_works("rename", rename("abstract.new", "abstract"));
}

static void expect_no_connection(int fd, const char *what)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	if (poll(&ready, 1, 150) > 0 && ready.revents & POLLIN)
		threat_got("a process connected to %s", what);
}

/* Abstract names: the outsider's is not found, and the outsider does not find the program's. len 0: one is chosen. */
static void be_named(const union address *address, socklen_t len, int type)
{
	int listener = socket(AF_UNIX, type, 0), client = socket(AF_UNIX, type, 0), accepted;
	union address own;
	socklen_t own_len = sizeof(own);

	threat_works("abstract bind", bind(listener, &address->any, len));
	threat_works("listen", listen(listener, 8));
	tell_name(listener);
	expect_no_connection(listener, "an abstract name");
	threat_works("getsockname", getsockname(listener, &own.any, &own_len));
	threat_works("connect of a member", connect(client, &own.any, own_len));
	accepted = accept(listener, NULL, NULL);
	threat_works("accept of a member", accepted);
	threat_works("send", send(client, "x", 1, 0));
	threat_tries(unlink("abstract"));
	close(accepted);
	close(client);
	close(listener);
}

static void try_abstract(const char *name)
{
	union address address;
	socklen_t len = abstract_address(&address, name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	threat_refused("abstract connect", connect(fd, &address.any, len), ECONNREFUSED);
	close(fd);
	address.local.sun_path[len - HEAD] = '2'; /* else the outsider would connect to itself */
	be_named(&address, len + 1, SOCK_STREAM);
	be_named(&address, len + 1, SOCK_SEQPACKET);
	be_named(&address, HEAD, SOCK_STREAM);
	be_named(&address, HEAD, SOCK_SEQPACKET);
	/* The outsider's own name is another one here. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	threat_works("bind to the outsider's name", bind(fd, &address.any, len));
	close(fd);
}

/*
 * The kernel binds a socket with SO_PASSCRED to an abstract name by itself, in a connect that fails (way 0) and in one
 * that succeeds, and in a send of a pair's (ways 1 and 2); no process may get at it by that.
 */
static void be_bound(int type, int way)
{
	int listener = bind_path("own", type), other = bind_path("other", SOCK_STREAM + SOCK_SEQPACKET - type),
	    pair[2] = {socket(AF_UNIX, type, 0), -1}, fd;
	union address address;

	if (way == 2) {
		close(pair[0]);
		threat_works("socketpair", socketpair(AF_UNIX, type, 0, pair));
	}
	fd = pair[0];
	threat_refused("listen without a name", listen(fd, 5), EINVAL);
	set_options(fd);
	threat_refused("listen after every option", listen(fd, 5), EINVAL);
	if (way == 0)
		threat_refused("connect to another type", connect(fd, &address.any, unix_address(&address, "other")),
			       EPROTOTYPE);
	else if (way == 1)
		threat_works("connect", connect(fd, &address.any, unix_address(&address, "own")));
	else if (type == SOCK_SEQPACKET)
		threat_works("send", send(fd, "x", 1, 0));
	else /* a send does not bind a stream, but a connect does, though it fails */
		threat_refused("connect again", connect(fd, &address.any, unix_address(&address, "own")), EISCONN);
	tell_name(fd);
	if (way == 0) {
		/* In a network namespace of the run's own the name is its own, and it may listen. */
		if (listen(fd, 5) < 0 && errno != EACCES)
			threat_missed("listen at a name that the kernel chose: %s", strerrorname_np(errno));
		expect_no_connection(fd, "a name that the kernel chose");
	} else {
		threat_refused("listen at an abstract name", listen(fd, 5), EINVAL);
		threat_refused("accept", accept4(fd, NULL, NULL, SOCK_NONBLOCK), EINVAL);
	}
	close(fd);
	close(pair[1]);
	close(listener);
	close(other);
	threat_tries(unlink("own"));
	threat_tries(unlink("other"));
	threat_tries(unlink("abstract"));
}

/* No number above those it had: nothing came in. */
static void check_numbers(int first)
{
	int fd = dup(0);

	if (fd != first)
		threat_got("descriptor %d is not %d", fd, first);
	close(fd);
}

/* unix ABSTRACT: an outsider listens at "stream" and "seqpacket" here and connects to whatever appears as "inside". */
int threat_unix(char **arg)
{
	int first = dup(0);

	close(first);
	reach_outsiders();
	try_abstract(arg[0]);
	race(swap, "swapped names");
	race(flip, "a rewritten address");
	be_reached(SOCK_STREAM);
	be_reached(SOCK_SEQPACKET);
	for (int way = 0; way < 3; way++) {
		be_bound(SOCK_STREAM, way);
		be_bound(SOCK_SEQPACKET, way);
	}
	check_numbers(first);
	return threat_result();
}

/* crowd COUNT: so many threads wait to connect to a full queue while another goes on; then there is room for all. */
static void *wait_for_room(void *argument)
{
	if (connect_path("crowded", SOCK_STREAM) < 0 && errno != EAGAIN)
		threat_missed("a waiting connect: %s", strerrorname_np(errno));
	return argument;
}

int threat_crowd(char **arg)
{
	long count = strtol(arg[0], NULL, 10);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attributes;
	union address address;
	socklen_t len = unix_address(&address, "crowded");
	double begin;
	unsigned slow = 0;

	threat_works("bind", bind(listener, &address.any, len));
	threat_works("listen", listen(listener, 0));
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	for (long i = 0; i < count; i++)
		threat_works("thread", -pthread_create(&threads[i], &attributes, wait_for_room, NULL));
	for (int i = 0; i < 50; i++) {
		struct stat st;

		begin = threat_now();
		threat_works("stat", stat("crowded", &st));
		slow += threat_now() - begin > 0.2;
		poll(NULL, 0, 5);
	}
	/* The first ones wait behind the connects' start, and some for a CPU on a busy machine; not most of them. */
	if (slow > 25)
		threat_got("%u of 50 stats took more than 0.2 s", slow);
	for (;;) {
		struct pollfd ready = {.fd = listener, .events = POLLIN};
		int fd;

		if (poll(&ready, 1, 1000) <= 0)
			break;
		fd = accept(listener, NULL, NULL);
		close(fd);
	}
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return threat_result();
}

/* ---- the errand by which a descriptor is fetched, see supervisor/trace/fetch.c ---- */

static void send_two(int to, int fd)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {.align = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	const int fds[2] = {fd, fd};
	struct iovec vector = {.iov_base = "f", .iov_len = 1};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.align), fds, sizeof(fds));
	threat_tries(sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* Whatever appears among the low numbers is written to, replaced and closed. */
static void *meddle(void *argument)
{
	int file = open("own", O_PATH | O_CLOEXEC);

	while (atomic_load(&swapping))
		for (int fd = 4; fd < 24; fd++) {
			if (fd == file)
				continue;
			send_two(fd, file);
			if (fd % 3 == 0)
				threat_tries(dup2(file, fd));
			if (fd % 3 == 1)
				close(fd);
		}
	return argument;
}

static void on_storm(int number)
{
	(void)number;
}

/* storm: sockets are bound and connected while another thread meddles with every descriptor and signals interrupt. */
int threat_storm(char **arg)
{
	struct sigaction action = {.sa_handler = on_storm, .sa_flags = SA_RESTART};
	const struct itimerval often = {.it_interval = {.tv_usec = 700}, .it_value = {.tv_usec = 700}}, never = {0};
	double end = threat_now() + 2;
	pthread_t thread;
	char name[32];

	(void)arg; /* takes none */
	sigaction(SIGALRM, &action, NULL);
	atomic_store(&swapping, true);
	threat_works("pthread_create", -pthread_create(&thread, NULL, meddle, NULL));
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; threat_now() < end; i++) {
		union address address;
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

		snprintf(name, sizeof(name), "s%u", i);
		threat_tries(bind(fd, &address.any, unix_address(&address, name)));
		threat_tries(listen(fd, 1));
		threat_tries(connect(client, &address.any, unix_address(&address, name)));
		threat_tries(unlink(name));
		close(fd);
		close(client);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	atomic_store(&swapping, false);
	pthread_join(thread, NULL);
	/* There was no harm: the supervisor goes on, and holds no more than before. */
	close(bind_path("after", SOCK_STREAM));
	printf("done\n");
	fflush(stdout);
	for (unsigned i = 0; i < 300 && access("seen", F_OK) < 0; i++) /* the test looks at the supervisor meanwhile */
		poll(NULL, 0, 100);
	return threat_result();
}
