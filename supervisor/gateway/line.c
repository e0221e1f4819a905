/*
 * The control socket to egress. Messages that cannot be sent at once are queued. A received message is checked by
 * control_admits_message() in egress/control.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/gateway/private.h"

#define EGRESS_LINE_STUCK_AFTER_MS 10000 /* egress counts as dead if it reads nothing for this time */

/* A message to egress that its socket has not taken yet. */
struct queued_message {
	struct queued_message *next;
	int fd; /* owned; -1: no descriptor */
	struct control_message message; /* only control_get_message_size() bytes of it are allocated */
};

void egress_line_init(struct egress_line *line, int fd)
{
	*line = (struct egress_line){.fd = fd, .last = &line->first};
}

/* Frees the first queued message, which was sent. */
static void line_drop_first_message(struct egress_line *line)
{
	struct queued_message *first = line->first;

	line->first = first->next;
	if (!line->first)
		line->last = &line->first;
	line->queued_message_count--;
	cleanup_close(&first->fd);
	free(first);
}

void egress_line_close(struct egress_line *line)
{
	close_fd(&line->fd); /* egress ends when the socket is closed */
	while (line->first)
		line_drop_first_message(line);
}

static int line_queue_message(struct egress_line *line, const struct control_message *message, int fd)
{
	size_t bytes = control_get_message_size((enum control_type)message->type);
	struct queued_message *item = malloc(offsetof(struct queued_message, message) + bytes);

	if (!item)
		return -ENOMEM;
	item->next = NULL;
	item->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && item->fd < 0) {
		int error = -errno;

		free(item);
		return error;
	}
	memcpy((char *)item + offsetof(struct queued_message, message), message, bytes);
	if (!line->first)
		line->last_progress_ns = io_read_clock_ns();
	*line->last = item;
	line->last = &item->next;
	line->queued_message_count++;
	return 0;
}

/* Whether a send failed temporarily. ENOBUFS is a temporary lack of kernel memory. */
static bool line_error_is_temporary(int r)
{
	return r == -EAGAIN || r == -ENOBUFS;
}

int egress_line_send(struct egress_line *line, const struct control_message *message, int fd)
{
	int r;

	if (line->fd < 0)
		return -ENETDOWN;
	r = line->first ? -EAGAIN : control_send_message(line->fd, message, &fd, fd >= 0 ? 1 : 0);
	return line_error_is_temporary(r) ? line_queue_message(line, message, fd) : r;
}

int egress_line_send_queued(struct egress_line *line)
{
	while (line->first) {
		struct queued_message *first = line->first;
		int r = control_send_message(line->fd, &first->message, &first->fd, first->fd >= 0 ? 1 : 0);

		if (line_error_is_temporary(r))
			return io_read_clock_ns() - line->last_progress_ns >
					       EGRESS_LINE_STUCK_AFTER_MS * UINT64_C(1000000)
				       ? -ETIMEDOUT
				       : 0;
		if (r < 0)
			return r;
		line_drop_first_message(line);
		line->last_progress_ns = io_read_clock_ns();
	}
	return 0;
}

int egress_line_receive(struct egress_line *line, struct control_message *ret_message)
{
	int fds[CONTROL_FDS_MAX], r;
	size_t count;

	if (line->queued_message_count >= EGRESS_LINE_QUEUED_MESSAGES_MAX)
		return -EAGAIN;
	r = control_receive_message(line->fd, ret_message, fds, &count);
	if (r < 0)
		return r;
	if (control_admits_message(CONTROL_SUPERVISOR, &line->phase, ret_message, count))
		return 0;
	while (count > 0)
		(void)close(fds[--count]);
	return -EBADMSG;
}
