/* Messages to egress that found no room in the socket: in order, bounded by who adds to them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/gateway/client-private.h"

#include "base/banned.h"

struct queued {
	struct queued *next;
	int fd; /* owned; -1: none */
	struct control_message message; /* only control_size() of it is there */
};

void queue_init(struct send_queue *queue)
{
	*queue = (struct send_queue){.last = &queue->first};
}

static void drop_first(struct send_queue *queue)
{
	struct queued *first = queue->first;

	queue->first = first->next;
	if (!queue->first)
		queue->last = &queue->first;
	queue->count--;
	if (first->fd >= 0)
		(void)close(first->fd);
	free(first);
}

void queue_done(struct send_queue *queue)
{
	while (queue->first)
		drop_first(queue);
	queue->stuck_ns = 0;
}

static int keep(struct send_queue *queue, const struct control_message *message, int fd)
{
	size_t bytes = control_size((enum control_type)message->type);
	struct queued *item = malloc(offsetof(struct queued, message) + bytes);

	if (!item)
		return -ENOMEM;
	item->next = NULL;
	item->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && item->fd < 0) {
		int error = -errno;

		free(item);
		return error;
	}
	memcpy((char *)item + offsetof(struct queued, message), message, bytes);
	if (!queue->first)
		queue->stuck_ns = io_now_ns();
	*queue->last = item;
	queue->last = &item->next;
	queue->count++;
	return 0;
}

int queue_send(struct send_queue *queue, int control_fd, const struct control_message *message, int fd)
{
	int r = queue->first ? -EAGAIN : control_send(control_fd, message, &fd, fd >= 0 ? 1 : 0);

	/* ENOBUFS: the kernel's memory for it is short; it will not stay so. */
	return r == -EAGAIN || r == -ENOBUFS ? keep(queue, message, fd) : r;
}

int queue_flush(struct send_queue *queue, int control_fd)
{
	while (queue->first) {
		struct queued *first = queue->first;
		int r = control_send(control_fd, &first->message, &first->fd, first->fd >= 0 ? 1 : 0);

		if (r == -EAGAIN || r == -ENOBUFS)
			return io_now_ns() - queue->stuck_ns > QUEUE_STUCK_MS * UINT64_C(1000000) ? -ETIMEDOUT : 0;
		if (r < 0)
			return r;
		drop_first(queue);
		queue->stuck_ns = io_now_ns();
	}
	queue->stuck_ns = 0;
	return 0;
}
