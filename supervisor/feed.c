#include "supervisor/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

int feed_init(struct feed *feed, int from_fd, int *ret_read_fd)
{
	int fds[2];

	feed->from_fd = from_fd;
	feed->pipe_fd = -1;
	feed->at = feed->end = 0;
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

void feed_move(struct feed *feed)
{
	ssize_t moved;

	if (feed->at < feed->end) {
		moved = write(feed->pipe_fd, feed->bytes + feed->at, feed->end - feed->at);
		if (moved > 0)
			feed->at += (size_t)moved;
	} else {
		moved = read(feed->from_fd, feed->bytes, sizeof(feed->bytes));
		feed->at = 0;
		feed->end = moved > 0 ? (size_t)moved : 0;
	}
	/* The end of the input is an end for the program as well; EPIPE: it reads no more. */
	if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) {
		feed->at = feed->end;
		feed_done(feed);
	}
}
