#include "keeper/stdin-relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define ESCAPE_KEY 0x1d /* Ctrl-], as systemd-nspawn and telnet have it */
#define ESCAPE_KEY_PRESSES_NEEDED 3 /* of Ctrl-], to kill the run */
/* time within which ESCAPE_KEY_PRESSES_NEEDED presses of the escape key kill the run */
#define ESCAPE_KEYS_WITHIN_NS UINT64_C(1000000000)

/* Does not touch the buffer: its 16 pages are shared with the starter after the fork, and a write would copy them. */
static void stdin_relay_set_all_but_buffer(struct stdin_relay *relay, int source_fd, int pipe_fd)
{
	memset(relay, 0, offsetof(struct stdin_relay, buffer));
	relay->source_fd = source_fd;
	relay->pipe_fd = pipe_fd;
}

int stdin_relay_init(struct stdin_relay *relay, int source_fd, int *ret_read_fd)
{
	int fds[2];

	stdin_relay_set_all_but_buffer(relay, source_fd, -1);
	if (source_fd < 0) {
		*ret_read_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *ret_read_fd < 0 ? -errno : 0;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	(void)fcntl(fds[1], F_SETFL, O_NONBLOCK); /* only the keeper's end: a full pipe must not block the keeper */
	relay->pipe_fd = fds[1];
	*ret_read_fd = fds[0];
	return 0;
}

void stdin_relay_init_terminal(struct stdin_relay *relay, int source_fd, int master_fd)
{
	stdin_relay_set_all_but_buffer(relay, source_fd, master_fd);
	relay->writes_to_terminal = true;
}

void stdin_relay_release(struct stdin_relay *relay)
{
	close_fd(&relay->pipe_fd);
	relay->source_fd = -1;
}

void stdin_relay_get_pollfd(const struct stdin_relay *relay, struct pollfd *ret_poll)
{
	bool pending = relay->at < relay->end;

	*ret_poll = (struct pollfd){.fd = pending ? relay->pipe_fd : relay->source_fd,
				    .events = pending ? POLLOUT : POLLIN};
}

/* Looks for the keys that end a run whose program does not react: in raw mode even Ctrl-C is for the program. */
static void stdin_relay_find_escape_keys(struct stdin_relay *relay)
{
	for (size_t i = 0; i < relay->end; i++) {
		uint64_t now;

		if (relay->buffer[i] != ESCAPE_KEY) {
			relay->escape_keys_typed = 0;
			continue;
		}
		now = io_read_clock_ns();
		if (relay->escape_keys_typed == 0 || now - relay->first_escape_key_ns > ESCAPE_KEYS_WITHIN_NS) {
			relay->escape_keys_typed = 0;
			relay->first_escape_key_ns = now;
		}
		if (++relay->escape_keys_typed == ESCAPE_KEY_PRESSES_NEEDED) {
			relay->escape_was_typed = true;
			relay->escape_keys_typed = 0;
		}
	}
}

/*
 * Sends VEOF: twice in the middle of a line, because the first only flushes the line. It has no effect without ICANON.
 */
static void stdin_relay_send_eof(struct stdin_relay *relay)
{
	struct termios modes;

	relay->source_fd = -1;
	relay->at = relay->end = 0;
	if (tcgetattr(relay->pipe_fd, &modes) < 0 || !(modes.c_lflag & ICANON))
		return;
	relay->buffer[relay->end++] = (char)modes.c_cc[VEOF];
	if (relay->input_line_has_begun)
		relay->buffer[relay->end++] = (char)modes.c_cc[VEOF];
}

static ssize_t stdin_relay_read_input(struct stdin_relay *relay)
{
	ssize_t got = read(relay->source_fd, relay->buffer, sizeof(relay->buffer));

	relay->at = 0;
	relay->end = got > 0 ? (size_t)got : 0;
	if (got > 0)
		relay->input_line_has_begun = relay->buffer[got - 1] != '\n';
	if (relay->writes_to_terminal)
		stdin_relay_find_escape_keys(relay);
	return got;
}

void stdin_relay_move_bytes(struct stdin_relay *relay)
{
	bool out = relay->at < relay->end;
	ssize_t moved;

	if (out) {
		moved = write(relay->pipe_fd, relay->buffer + relay->at, relay->end - relay->at);
		if (moved > 0)
			relay->at += (size_t)moved;
	} else {
		moved = stdin_relay_read_input(relay);
	}
	if (moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	/* The input has ended, or write(2) failed with EPIPE, because the program has closed its stdin. */
	if (relay->writes_to_terminal && !out) {
		stdin_relay_send_eof(relay);
	} else {
		relay->at = relay->end;
		stdin_relay_release(relay);
	}
}
