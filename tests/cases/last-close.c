/*
 * The effects of closing the last descriptor of an open file description have happened when close(2) returns.
 *
 * Each try opens and closes something, then checks the effect through another description, with no judged call in
 * between. Prints one line for each kind: the number of tries in which the effect had not happened.
 *
 *     cases-last-close TRIES BUSY [watch] [backlog]
 *
 * BUSY: number of busy loops meanwhile. watch: with inotify. backlog: with connects that take a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUSY_MAX 16

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static int need(int ret, const char *what)
{
	return ret < 0 ? fail(what) : ret;
}

/* What each kind opens: a second description of the same file is held meanwhile. */
static int by_open(void)
{
	return open("file", O_RDWR | O_CLOEXEC);
}

static int by_create(void)
{
	return open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int by_openat2(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = {.flags = O_RDWR | O_CLOEXEC};

	return (int)syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof(how));
}

static int by_link(void)
{
	return open("/proc/self/fd/100", O_RDWR | O_CLOEXEC);
}

/* A memfd has no name, so that it is opened in another way. */
static int by_link_of_memfd(void)
{
	return open("/proc/self/fd/101", O_RDWR | O_CLOEXEC);
}

static int by_directory(void)
{
	return open("dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool try_flock(int (*opened)(void), int held)
{
	int fd = need(opened(), "open");
	bool late;

	need(flock(fd, LOCK_EX), "flock");
	(void)close(fd);
	late = flock(held, LOCK_EX | LOCK_NB) < 0;
	(void)flock(held, LOCK_UN);
	return late;
}

static bool try_description_lock(int (*opened)(void), int held)
{
	struct flock lock = {.l_type = F_WRLCK};
	int fd = need(opened(), "open");
	bool late;

	need(fcntl(fd, F_OFD_SETLK, &lock), "F_OFD_SETLK");
	(void)close(fd);
	late = fcntl(held, F_OFD_SETLK, &lock) < 0;
	lock.l_type = F_UNLCK;
	(void)fcntl(held, F_OFD_SETLK, &lock);
	/* It would keep the next try from locking. */
	while (late && (lock.l_type = F_WRLCK, fcntl(held, F_OFD_GETLK, &lock) == 0) && lock.l_type != F_UNLCK)
		lock = (struct flock){.l_type = F_WRLCK};
	return late;
}

static bool read_ends(int reader)
{
	struct pollfd ready = {.fd = reader, .events = POLLIN};
	char byte;

	return poll(&ready, 1, 0) == 1 && ready.revents & POLLHUP && read(reader, &byte, 1) == 0;
}

/* The only writer closes: the reader has come to the end. */
static bool try_writer(int flags, int reader)
{
	int fd = need(open("fifo", O_WRONLY | O_CLOEXEC | flags), "open of a FIFO to write");

	(void)close(fd);
	return !read_ends(reader);
}

/* The only reader closes: a write fails, and what it would have written is not lost unseen. */
static bool try_reader(int flags, int writer)
{
	int fd = need(open("fifo", O_RDONLY | O_CLOEXEC | flags), "open of a FIFO to read");

	(void)close(fd);
	return write(writer, "x", 1) >= 0 || errno != EPIPE;
}

static bool try_watched(int flags, int inotify)
{
	int fd = need(open("file", flags | O_CLOEXEC), "open of what is watched");
	char events[4096];

	while (read(inotify, events, sizeof(events)) > 0)
		continue;
	(void)close(fd);
	return read(inotify, events, sizeof(events)) <= 0;
}

static const struct sockaddr_un unix_name = {.sun_family = AF_UNIX, .sun_path = "socket"};

/* The peer of a connected socket that was closed has come to the end. */
static bool ends_for_peer(int listener, int family, const void *to, socklen_t len)
{
	int fd = need(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"), peer;
	bool late;
	char byte;

	need(connect(fd, to, len), "connect");
	peer = need(accept(listener, NULL, NULL), "accept");
	(void)close(fd);
	late = recv(peer, &byte, 1, MSG_DONTWAIT) != 0;
	(void)close(peer);
	return late;
}

static bool try_unix_peer(int ignored, int listener)
{
	(void)ignored;
	return ends_for_peer(listener, AF_UNIX, &unix_name, sizeof(unix_name));
}

static bool try_tcp_peer(int ignored, int listener)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	(void)ignored;
	need(getsockname(listener, (struct sockaddr *)&at, &len), "getsockname");
	return ends_for_peer(listener, AF_INET, &at, len);
}

/* A port whose listener was closed is free. */
static bool try_port(int ignored, int unused)
{
	static struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);
	int fd = need(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	bool late;

	(void)ignored;
	(void)unused;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	late = bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0;
	if (late && errno != EADDRINUSE)
		fail("bind");
	if (!late)
		need(listen(fd, 1), "listen");
	(void)getsockname(fd, (struct sockaddr *)&at, &len); /* the kernel chose it the first time */
	(void)close(fd);
	return late;
}

/* A program that has ended can be written, and one that was written can be run. */
static bool try_program(int ignored, int unused)
{
	int fd, status;
	pid_t pid;

	(void)ignored;
	(void)unused;
	fd = need(open("program", O_WRONLY | O_CLOEXEC), "open of a program");
	(void)close(fd);
	pid = need(fork(), "fork");
	if (pid == 0) {
		(void)execl("./program", "program", "0", "0", "ends", NULL);
		_exit(errno == ETXTBSY ? 9 : 8);
	}
	need(waitpid(pid, &status, 0), "waitpid");
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 9)) {
		printf("the program ended with %#x\n", (unsigned)status);
		exit(1);
	}
	fd = open("program", O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno != ETXTBSY)
		fail("open of a program that has ended");
	if (fd >= 0)
		(void)close(fd);
	return fd < 0 || WEXITSTATUS(status) == 9;
}

static void told(const char *what, int late)
{
	printf("%s: %d\n", what, late);
}

static void lock_all(int tries)
{
	static const struct {
		const char *what;
		int (*opened)(void);
	} ways[] = {{"open", by_open},
		    {"open with O_CREAT", by_create},
		    {"openat2", by_openat2},
		    {"/proc/self/fd", by_link},
		    {"a memfd", by_link_of_memfd},
		    {"a directory", by_directory}};
	int file = need(by_create(), "file"), memfd = need(memfd_create("memfd", MFD_CLOEXEC), "memfd_create"), dir;

	(void)mkdir("dir", 0700);
	dir = need(by_directory(), "dir");
	need(dup2(file, 100), "dup2");
	need(dup2(memfd, 101), "dup2");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bool is_dir = ways[i].opened == by_directory;
		int held = is_dir ? dir : ways[i].opened == by_link_of_memfd ? memfd : file;
		int late = 0, late_lock = 0;

		for (int n = 0; n < tries; n++) {
			late += try_flock(ways[i].opened, held);
			late_lock += !is_dir && try_description_lock(ways[i].opened, held);
		}
		printf("%s: flock %d, F_OFD_SETLK %d\n", ways[i].what, late, late_lock);
	}
	(void)close(file);
	(void)close(memfd);
	(void)close(dir);
}

static void each(const char *what, int tries, bool (*once)(int, int), int argument, int fd)
{
	int late = 0;

	for (int n = 0; n < tries; n++)
		late += once(argument, fd);
	told(what, late);
}

static void fifo_all(int tries)
{
	int reader, writer;

	(void)mkfifo("fifo", 0600);
	(void)signal(SIGPIPE, SIG_IGN);
	reader = need(open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC), "fifo");
	each("the end of a FIFO", tries, try_writer, 0, reader);
	each("the end of a FIFO, O_NONBLOCK", tries, try_writer, O_NONBLOCK, reader);
	writer = need(open("fifo", O_WRONLY | O_NONBLOCK | O_CLOEXEC), "fifo");
	(void)close(reader);
	each("a FIFO that has no reader", tries, try_reader, 0, writer);
	each("a FIFO that has no reader, O_NONBLOCK", tries, try_reader, O_NONBLOCK, writer);
	(void)close(writer);
}

/* The other end of a pseudoterminal has hung up. closes_master: which end is closed. */
static bool try_terminal(int closes_master, int unused)
{
	int master = need(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "posix_openpt"), slave;
	struct pollfd left = {.events = POLLIN};
	bool late;

	(void)unused;
	need(unlockpt(master), "unlockpt");
	slave = need(open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC), "open of a pseudoterminal");
	(void)close(closes_master ? master : slave);
	left.fd = closes_master ? slave : master;
	late = poll(&left, 1, 0) != 1 || !(left.revents & POLLHUP);
	(void)close(left.fd);
	return late;
}

static void watch_all(int tries)
{
	int inotify = need(inotify_init1(IN_NONBLOCK | IN_CLOEXEC), "inotify_init1");

	need(inotify_add_watch(inotify, "file", IN_CLOSE), "inotify_add_watch");
	each("IN_CLOSE_NOWRITE", tries, try_watched, O_RDONLY, inotify);
	each("IN_CLOSE_WRITE", tries, try_watched, O_WRONLY, inotify);
	(void)close(inotify);
}

static void socket_all(int tries)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int stream = need(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	int tcp = need(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)unlink("socket");
	need(bind(stream, (const struct sockaddr *)&unix_name, sizeof(unix_name)), "bind");
	need(listen(stream, 8), "listen");
	each("the end of a unix connection", tries, try_unix_peer, 0, stream);
	need(bind(tcp, (const struct sockaddr *)&at, sizeof(at)), "bind of TCP");
	need(listen(tcp, 8), "listen");
	each("the end of a TCP connection", tries, try_tcp_peer, 0, tcp);
	each("a port in use", tries, try_port, 0, -1);
	(void)close(stream);
	(void)close(tcp);
}

#define BACKLOG_TRIES 8

/*
 * A connect that did not wait and found the backlog full is completed later, unseen. Its end is to reach the peer all
 * the same: within a second, as callgate without a network namespace has to hold such a socket until it is connected.
 */
static void backlog(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int listener = need(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"), client[BACKLOG_TRIES] = {0},
	    last = 0;
	struct pollfd ready = {.events = POLLOUT};
	socklen_t len = sizeof(at);
	int peer = -1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(bind(listener, (const struct sockaddr *)&at, sizeof(at)), "bind");
	need(listen(listener, 0), "listen");
	need(getsockname(listener, (struct sockaddr *)&at, &len), "getsockname");
	for (int waits = 1; waits && last < BACKLOG_TRIES; last++) {
		ready.fd = client[last] =
			need(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
		if (connect(ready.fd, (const struct sockaddr *)&at, sizeof(at)) < 0 && errno != EINPROGRESS)
			fail("connect");
		waits = poll(&ready, 1, 50);
	}
	for (int i = 0; i < last; i++) {
		if (peer >= 0)
			(void)close(peer);
		peer = need(accept(listener, NULL, NULL), "accept"); /* the last one takes a second, or three */
		ready.fd = client[i];
		(void)poll(&ready, 1, -1);
	}
	for (int i = 0; i < last; i++)
		(void)close(client[i]);
	ready = (struct pollfd){.fd = peer, .events = POLLIN};
	told("the end of a connection that found a full backlog", last == BACKLOG_TRIES || poll(&ready, 1, 1000) != 1);
	(void)close(peer);
	(void)close(listener);
}

static void be_busy(int count, pid_t *ret_pids)
{
	for (int i = 0; i < count; i++) {
		ret_pids[i] = need(fork(), "fork");
		if (ret_pids[i] > 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			continue;
	}
}

static bool asked(char **argv, const char *for_what)
{
	for (int i = 3; argv[i]; i++)
		if (strcmp(argv[i], for_what) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	int tries = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0, busy = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	pid_t pids[BUSY_MAX];

	if (argc > 3 && asked(argv, "ends"))
		return 0;
	if (tries <= 0 || busy < 0 || busy > BUSY_MAX)
		return 2;
	be_busy(busy, pids);
	lock_all(tries);
	fifo_all(tries);
	if (asked(argv, "watch"))
		watch_all(tries);
	socket_all(tries);
	each("a pseudoterminal without a slave", tries / 10, try_terminal, false, -1);
	each("a pseudoterminal without a master", tries / 10, try_terminal, true, -1);
	if (asked(argv, "backlog"))
		backlog();
	each("a program that was written or has ended", tries / 10, try_program, 0, -1);
	for (int i = 0; i < busy; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	return 0;
}
