#include "keeper/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#include "base/banned.h"

#define ESCAPE_KEY 0x1d /* Ctrl-], as systemd-nspawn and telnet have it */
#define ESCAPE_TIMES 3
#define ESCAPE_NS UINT64_C(1000000000)

int feed_init(struct feed *feed, int from_fd, int *ret_read_fd)
{
	int fds[2];

	*feed = (struct feed){.from_fd = from_fd, .pipe_fd = -1};
	if (from_fd < 0) {
		*ret_read_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return *ret_read_fd < 0 ? -errno : 0;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	(void)fcntl(fds[1], F_SETFL, O_NONBLOCK); /* our end only: a slow program must not block the keeper */
	feed->pipe_fd = fds[1];
	*ret_read_fd = fds[0];
	return 0;
}

void feed_init_terminal(struct feed *feed, int from_fd, int master_fd)
{
	*feed = (struct feed){.from_fd = from_fd, .pipe_fd = master_fd, .terminal = true};
}

void feed_done(struct feed *feed)
{
	cleanup_close(&feed->pipe_fd);
	feed->pipe_fd = -1;
	feed->from_fd = -1;
}

void feed_poll(const struct feed *feed, struct pollfd *ret_poll)
{
	bool waits = feed->at < feed->end;

	*ret_poll = (struct pollfd){.fd = waits ? feed->pipe_fd : feed->from_fd, .events = waits ? POLLOUT : POLLIN};
}

/* The way out when the program has stopped listening to Ctrl-C: in raw mode every key is its own. */
static void watch_escape(struct feed *feed)
{
	for (size_t i = 0; i < feed->end; i++) {
		uint64_t now;

		if (feed->bytes[i] != ESCAPE_KEY) {
			feed->escapes = 0;
			continue;
		}
		now = io_now_ns();
		if (feed->escapes == 0 || now - feed->escape_ns > ESCAPE_NS) {
			feed->escapes = 0;
			feed->escape_ns = now;
		}
		if (++feed->escapes == ESCAPE_TIMES) {
			feed->escaped = true;
			feed->escapes = 0;
		}
	}
}

/*
 * Twice when a line was begun: the first hands it on, the second is the end (termios(3), VEOF). A program that has
 * turned lines off reads keys, among which there is no end.
 */
static void end_terminal(struct feed *feed)
{
	struct termios modes;

	feed->from_fd = -1;
	feed->at = feed->end = 0;
	if (tcgetattr(feed->pipe_fd, &modes) < 0 || !(modes.c_lflag & ICANON))
		return;
	feed->bytes[feed->end++] = (char)modes.c_cc[VEOF];
	if (feed->line_begun)
		feed->bytes[feed->end++] = (char)modes.c_cc[VEOF];
}

static ssize_t take(struct feed *feed)
{
	ssize_t got = read(feed->from_fd, feed->bytes, sizeof(feed->bytes));

	feed->at = 0;
	feed->end = got > 0 ? (size_t)got : 0;
	if (got > 0)
		feed->line_begun = feed->bytes[got - 1] != '\n';
	if (feed->terminal)
		watch_escape(feed);
	return got;
}

void feed_move(struct feed *feed)
{
	bool out = feed->at < feed->end;
	ssize_t moved;

	if (out) {
		moved = write(feed->pipe_fd, feed->bytes + feed->at, feed->end - feed->at);
		if (moved > 0)
			feed->at += (size_t)moved;
	} else {
		moved = take(feed);
	}
	if (moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	/* The end of the input is an end for the program as well; EPIPE: it reads no more. */
	if (feed->terminal && !out) {
		end_terminal(feed);
	} else {
		feed->at = feed->end;
		feed_done(feed);
	}
}
