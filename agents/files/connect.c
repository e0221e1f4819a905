/*
 * The request connect: relays stdin to a TCP server in the sandbox, and the server's bytes to stdout. When stdin ends,
 * the connection is half-closed. When the server closes the connection, the program ends.
 */
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

/* Bytes of stdin that were not sent to the server yet. */
struct connect_unsent_input {
	char bytes[FILES_CHUNK_BYTES];
	size_t sent_bytes, read_bytes;
	bool has_no_more_input; /* stdin has ended, or the server takes no more */
	bool end_was_sent;      /* the connection is shut down for writing */
};

/* Connects to a TCP address. A descriptor owned by the caller, or -errno. */
static int connect_open_socket(const struct sockaddr *address, socklen_t len)
{
	_cleanup_close_ int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, address, len) < 0 ? -errno : steal_fd(&fd);
}

/*
 * Connects to a port of the loopback interface: by IPv4, and by IPv6 if IPv4 is refused. A descriptor owned by the
 * caller, or -errno.
 */
static int connect_to_port(uint16_t port)
{
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = connect_open_socket((const struct sockaddr *)&v4, sizeof(v4)), v6_fd;

	if (fd != -ECONNREFUSED)
		return fd;
	v6_fd = connect_open_socket((const struct sockaddr *)&v6, sizeof(v6));
	return v6_fd < 0 ? fd : v6_fd;
}

/* Reads the next bytes from stdin, or notes its end. The former ones have all been sent. */
static void connect_read_stdin(struct connect_unsent_input *unsent_input)
{
	ssize_t got = files_read_input(unsent_input->bytes, sizeof(unsent_input->bytes));

	unsent_input->has_no_more_input = got <= 0;
	unsent_input->sent_bytes = 0;
	unsent_input->read_bytes = got > 0 ? (size_t)got : 0;
}

/* Sends what the socket has room for. After an error nothing more is sent. */
static void connect_send_unsent_input(int fd, struct connect_unsent_input *unsent_input)
{
	ssize_t sent = send(fd, unsent_input->bytes + unsent_input->sent_bytes,
			    unsent_input->read_bytes - unsent_input->sent_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent > 0) {
		unsent_input->sent_bytes += (size_t)sent;
		/* sends no more, but goes on reading: the server may have answered all the same */
	} else if (errno != EAGAIN && errno != EINTR) {
		unsent_input->sent_bytes = unsent_input->read_bytes = 0;
		unsent_input->has_no_more_input = true;
	}
}

/* Closes the sending end of the connection when all input was sent. */
static void connect_send_end(int fd, struct connect_unsent_input *unsent_input)
{
	if (unsent_input->end_was_sent || !unsent_input->has_no_more_input ||
	    unsent_input->sent_bytes < unsent_input->read_bytes)
		return;
	unsent_input->end_was_sent = true;
	/* may fail if the server has closed the connection, which the next read from it notices */
	(void)shutdown(fd, SHUT_WR);
}

/* Copies bytes of the server to stdout. 1: there may be more; 0: the server has closed the connection; or -errno. */
static int connect_relay_to_stdout(int fd)
{
	static char bytes[FILES_CHUNK_BYTES];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	int r;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	r = io_write_all(STDOUT_FILENO, bytes, (size_t)got);
	return r < 0 ? r : got > 0;
}

/* Copies stdin to the connection, and the connection to stdout until it ends. 0 or -errno. */
static int connect_relay_until_end(int fd)
{
	static struct connect_unsent_input unsent_input;
	int r = 1;

	connect_read_stdin(&unsent_input); /* takes bytes that came with the request, or waits for some */
	while (r > 0) {
		const bool has_bytes = unsent_input.sent_bytes < unsent_input.read_bytes;
		struct pollfd wait[] = {{.fd = fd, .events = (short)(POLLIN | (has_bytes ? POLLOUT : 0))},
					{.fd = has_bytes || unsent_input.has_no_more_input ? -1 : STDIN_FILENO,
					 .events = POLLIN}};

		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (wait[0].revents & POLLOUT && has_bytes)
			connect_send_unsent_input(fd, &unsent_input);
		if (wait[1].revents)
			connect_read_stdin(&unsent_input);
		connect_send_end(fd, &unsent_input);
		if (wait[0].revents & (POLLIN | POLLHUP | POLLERR))
			r = connect_relay_to_stdout(fd);
	}
	return r;
}

int files_connect(struct files_job *job)
{
	const json_int_t port = json_integer_value(json_object_get(job->request, "port"));
	_cleanup_close_ int fd = -1;
	int r;

	if (port < 1 || port > UINT16_MAX)
		return job_fail(job, EINVAL, "there is no such port");
	fd = connect_to_port((uint16_t)port);
	r = fd < 0 ? fd : connect_relay_until_end(fd);
	return r < 0 ? job_fail(job, -r, "%s", strerror(-r)) : 0;
}
