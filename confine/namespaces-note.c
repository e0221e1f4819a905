#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/io.h"
#include "confine/namespaces-private.h"

#define MESSAGE_WAIT_AFTER_STOP_MS 500 /* how long a message is still awaited once the run is to end */

bool namespaces_send_message(int fd, const struct namespaces_message *note)
{
	ssize_t sent;

	do
		sent = send(fd, note, sizeof(*note), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)sizeof(*note);
}

bool namespaces_receive_message(int fd, int flags, struct namespaces_message *ret_note)
{
	ssize_t got;

	do
		got = recv(fd, ret_note, sizeof(*ret_note), flags);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(*ret_note))
		return false;
	ret_note->why[sizeof(ret_note->why) - 1] = '\0';
	return true;
}

/* Time to the end of the run's time limit, at most most_ms. -1: no limit. */
static int namespaces_get_timeout_ms(const struct namespaces *namespaces, int most_ms)
{
	uint64_t now = io_read_clock_ns(), left;

	if (!namespaces->time_limit_end_ns)
		return most_ms;
	left = now < namespaces->time_limit_end_ns ? (namespaces->time_limit_end_ns - now) / 1000000 + 1 : 0;
	if (left > INT_MAX)
		left = INT_MAX;
	return most_ms < 0 || left < (uint64_t)most_ms ? (int)left : most_ms;
}

/*
 * EOF on start_socket_fd is not enough: a child of the killed child may still have the other end, and a stopped child
 * keeps it. So this also waits for the pidfd, the signals that end the run, and its time limit.
 */
bool namespaces_await_message(const struct namespaces *namespaces, int pidfd, int stop_fd, int most_ms,
			   struct namespaces_message *ret_note)
{
	struct pollfd wait_for[] = {{.fd = namespaces->start_socket_fd, .events = POLLIN},
				    {.fd = pidfd, .events = POLLIN},
				    {.fd = stop_fd, .events = POLLIN}};

	(void)poll(wait_for, 3, namespaces_get_timeout_ms(namespaces, most_ms)); /* no EINTR: no signal has a handler */
	if (!wait_for[0].revents && !wait_for[1].revents && wait_for[2].revents)
		(void)poll(wait_for, 2, MESSAGE_WAIT_AFTER_STOP_MS);
	return namespaces_receive_message(namespaces->start_socket_fd, MSG_DONTWAIT, ret_note);
}

bool namespaces_send_failure(int fd, enum namespaces_message_kind kind, unsigned layers, const char *format, ...)
{
	struct namespaces_message note = {.kind = kind, .layers = layers};
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(note.why, sizeof(note.why), format, arguments); /* a text longer than note.why is cut */
	va_end(arguments);
	return namespaces_send_message(fd, &note);
}
