/* A connection to a server in the sandbox: stdin goes there, what it sends goes to stdout. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/files/files.h"
#include "base/cleanup.h"
#include "base/io.h"

/* Bytes of stdin that the server has not taken yet. */
struct outgoing {
	char bytes[FILES_CHUNK_BYTES];
	size_t at, end;
	bool has_ended; /* there are no more, or the server takes no more */
};

/* A connection, or -errno. */
static int connect_open(const struct sockaddr *address, socklen_t len)
{
	_cleanup_close_ int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, address, len) < 0 ? -errno : steal_fd(&fd);
}

/* Connects to the loopback, by IPv4 or else by IPv6. */
static int connect_to_port(uint16_t port)
{
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = connect_open((const struct sockaddr *)&v4, sizeof(v4)), other;

	if (fd != -ECONNREFUSED)
		return fd;
	other = connect_open((const struct sockaddr *)&v6, sizeof(v6));
	return other < 0 ? fd : other;
}

static void connect_read_stdin(struct outgoing *outgoing)
{
	ssize_t got = files_read_input(outgoing->bytes, sizeof(outgoing->bytes));

	outgoing->has_ended = got <= 0;
	outgoing->at = 0;
	outgoing->end = got > 0 ? (size_t)got : 0;
}

static void connect_send(int fd, struct outgoing *outgoing)
{
	ssize_t sent = send(fd, outgoing->bytes + outgoing->at, outgoing->end - outgoing->at,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent > 0) {
		outgoing->at += (size_t)sent;
	} else if (errno != EAGAIN && errno != EINTR) { /* its answer may be there all the same */
		outgoing->at = outgoing->end = 0;
		outgoing->has_ended = true;
	}
}

/* Passes on what the server sends. 1; 0: it has closed the connection; or -errno. */
static int connect_receive(int fd)
{
	static char bytes[FILES_CHUNK_BYTES];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	int r;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	r = io_write_all(STDOUT_FILENO, bytes, (size_t)got);
	return r < 0 ? r : got > 0;
}

static int connect_relay(int fd)
{
	static struct outgoing outgoing;
	int r = 1;

	connect_read_stdin(&outgoing); /* what has come with the request, or waits */
	while (r > 0) {
		const bool has_bytes = outgoing.at < outgoing.end;
		struct pollfd wait[] = {{.fd = fd, .events = (short)(POLLIN | (has_bytes ? POLLOUT : 0))},
					{.fd = has_bytes || outgoing.has_ended ? -1 : STDIN_FILENO, .events = POLLIN}};

		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (wait[0].revents & POLLOUT && has_bytes)
			connect_send(fd, &outgoing);
		if (wait[1].revents)
			connect_read_stdin(&outgoing);
		if (wait[0].revents & (POLLIN | POLLHUP | POLLERR))
			r = connect_receive(fd);
	}
	return r;
}

int files_connect(struct job *job)
{
	const json_int_t port = json_integer_value(json_object_get(job->request, "port"));
	_cleanup_close_ int fd = -1;
	int r;

	if (port < 1 || port > UINT16_MAX)
		return job_fail(job, EINVAL, "there is no such port");
	fd = connect_to_port((uint16_t)port);
	r = fd < 0 ? fd : connect_relay(fd);
	return r < 0 ? job_fail(job, -r, "%s", strerror(-r)) : 0;
}
