/* Unix sockets in use: their states and names, what is sent and passed, queues that are full. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cases/diff-sock.h"
#include "tests/cases/diff.h"

/* ---- states ---- */

static void run_states(int type)
{
	int fd, other, client, accepted;

	diff_begin("states %d", type);
	fd = diff_sock(type);
	diff_ret(RAW(__SNR_listen, fd, 1)); /* without a name */
	diff_ret(RAW(__SNR_accept4, fd, 0, 0, 0));
	diff_say_name(__SNR_getpeername, fd);
	diff_ret(diff_bind_to(fd, "one"));
	diff_ret(diff_bind_to(fd, "two"));
	diff_ret(diff_bind_to(fd, "one"));
	diff_ret(diff_bind_to(fd, "missing/x"));
	client = diff_sock(type);
	diff_ret(diff_connect_to(client, "one")); /* no socket listens */
	diff_ret(RAW(__SNR_listen, fd, 0));
	diff_ret(RAW(__SNR_listen, fd, -1));
	diff_ret(diff_connect_to(client, "one"));
	diff_ret(diff_connect_to(client, "one"));
	diff_ret(diff_connect_to(client, "missing"));
	diff_ret(RAW(__SNR_listen, client, 1));
	diff_ret(diff_connect_to(fd, "one")); /* one that listens */
	other = diff_sock(type == SOCK_STREAM ? SOCK_SEQPACKET : SOCK_STREAM);
	diff_ret(diff_connect_to(other, "one"));
	accepted = (int)RAW(__SNR_accept4, fd, 0, 0, SOCK_CLOEXEC);
	diff_say_name(__SNR_getsockname, accepted);
	diff_say_name(__SNR_getpeername, accepted);
	diff_ret(diff_bind_to(accepted, "two"));
	diff_ret(diff_bind_to(client, "dir/mine"));
	diff_say_name(__SNR_getpeername, accepted);
	close(fd);
	diff_ret(diff_connect_to(other, "one"));
	diff_ret(RAW(__SNR_sendto, client, P("x"), 1, MSG_NOSIGNAL, P("addr"), 4));
	diff_ret(RAW(__SNR_sendto, other, P("x"), 1, MSG_NOSIGNAL, P("addr"), 4));
	diff_ret(RAW(__SNR_sendto, client, P("x"), 1, MSG_NOSIGNAL, 0, 0));
	diff_end(true);
	close(accepted);
	close(client);
	close(other);
}

static void run_names(int type)
{
	char path[200];
	int fd, moved, client;

	diff_begin("the file moves %d", type);
	fd = diff_listener(type, "one", 5);
	client = diff_sock(type);
	diff_ret(rename("one", "dir/two"));
	diff_ret(diff_connect_to(client, "dir/two"));
	close(client);
	client = diff_sock(type);
	diff_ret(diff_connect_to(client, "one"));
	diff_ret(link("dir/two", "three"));
	diff_ret(symlink("three", "four"));
	diff_ret(diff_connect_to(client, "four"));
	close(client);
	client = diff_sock(type);
	diff_ret(chmod("three", 0444));
	diff_ret(diff_connect_to(client, "four")); /* root may nevertheless, without capabilities neither */
	diff_ret(chmod("three", 0644));
	moved = open("three", O_PATH | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", moved);
	diff_ret(diff_connect_to(client, path));
	close(client);
	diff_ret(unlink("three"));
	diff_ret(unlink("dir/two"));
	client = diff_sock(type);
	diff_ret(diff_connect_to(client, "four"));
	diff_say_name(__SNR_getsockname, fd);
	diff_ret(mkdir("emptydir/sub", 0755));
	diff_ret(chdir("emptydir/sub"));
	diff_ret(diff_bind_to(client, "../up"));
	diff_say_name(__SNR_getsockname, client);
	diff_ret(chdir("../.."));
	diff_end(true);
	close(fd);
	close(client);
	close(moved);
}

/* ---- data and descriptors ---- */

static long send_fd(int to, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.align = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec vector = {.iov_base = "f", .iov_len = 1};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	return RAW(__SNR_sendmsg, to, P(&message), MSG_NOSIGNAL);
}

static int receive_fd(int from)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte;
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	int fd;

	diff_ret(RAW(__SNR_recvmsg, from, P(&message), MSG_CMSG_CLOEXEC));
	memcpy(&fd, CMSG_DATA(&control.align), sizeof(fd));
	return message.msg_controllen ? fd : -1;
}

/* A child connects, sends a descriptor of a file and a socket of its own that listens. */
static void run_passing(int type)
{
	int fd, accepted, got, client;
	pid_t pid;

	diff_begin("passing %d", type);
	fd = diff_listener(type, "dir/server", 5);
	pid = fork();
	if (pid == 0) {
		int own = diff_sock(type), to = diff_sock(type);

		if (diff_connect_to(to, "dir/server") < 0 || diff_bind_to(own, "dir/own") < 0 ||
		    send_fd(to, open("file", O_RDWR | O_CLOEXEC)) < 0 || send_fd(to, own) < 0)
			_exit(1);
		_exit(0);
	}
	accepted = (int)RAW(__SNR_accept4, fd, 0, 0, SOCK_CLOEXEC);
	diff_fd(receive_fd(accepted));
	got = receive_fd(accepted);
	waitpid(pid, NULL, 0);
	diff_say_name(__SNR_getsockname, got);
	diff_ret(RAW(__SNR_listen, got, 1));
	client = diff_sock(type);
	diff_ret(diff_connect_to(client, "dir/own"));
	diff_say_name(__SNR_getpeername, client);
	diff_end(true);
	close(client);
	close(got);
	close(accepted);
	close(fd);
}

/* A blocking connect waits for room and gets it; one that must not wait is told; a signal ends another. */
static void on_alarm(int number)
{
	(void)number;
}

static void run_full(int type)
{
	struct sigaction action = {.sa_handler = on_alarm};
	int fd, status, clients[3], accepted;
	pid_t pid;

	diff_begin("a full queue %d", type);
	fd = diff_listener(type, "full", 0);
	for (int i = 0; i < 2; i++) {
		clients[i] = diff_sock(type | SOCK_NONBLOCK);
		diff_ret(diff_connect_to(clients[i], "full"));
	}
	sigaction(SIGALRM, &action, NULL);
	clients[2] = diff_sock(type);
	ualarm(100000, 100000); /* one that comes before the call interrupts nothing */
	diff_ret(diff_connect_to(clients[2], "full"));
	ualarm(0, 0);
	pid = fork();
	if (pid == 0)
		_exit(diff_connect_to(diff_sock(type), "full") == 0 ? 7 : 1);
	poll(NULL, 0, 50);
	accepted = (int)RAW(__SNR_accept4, fd, 0, 0, SOCK_CLOEXEC);
	diff_ret(accepted < 0 ? accepted : 0);
	waitpid(pid, &status, 0);
	diff_say(" %d", WEXITSTATUS(status));
	diff_end(true);
	for (int i = 0; i < 3; i++)
		close(clients[i]);
	close(accepted);
	close(fd);
}

/* A connect that waits loses its listener. */
static void run_abandoned(void)
{
	int fd, status;
	pid_t pid;

	diff_begin("the listener goes");
	fd = diff_listener(SOCK_STREAM, "gone", 0);
	diff_ret(diff_connect_to(diff_sock(SOCK_STREAM | SOCK_NONBLOCK), "gone"));
	pid = fork();
	if (pid == 0) {
		close(fd);
		_exit((int)-diff_connect_to(diff_sock(SOCK_STREAM), "gone"));
	}
	poll(NULL, 0, 50);
	close(fd);
	waitpid(pid, &status, 0);
	diff_ret(-(long)WEXITSTATUS(status));
	diff_end(true);
}

void diff_sock_use(int type)
{
	run_states(type);
	run_names(type);
	run_passing(type);
	run_full(type);
	signal(SIGALRM, SIG_DFL);
}

void diff_sock_use_once(void)
{
	run_abandoned();
}
