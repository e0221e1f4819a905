#include "agents/sandbox/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/sandbox/sandbox.h"
#include "base/cleanup.h"

#define TERMINAL_END_OF_FILE_KEY '\4' /* of a terminal in its usual mode */

void stdin_queue_init(struct stdin_queue *input, struct loop *loop, bool is_awaited, void (*on_room)(void *data),
		      void *data)
{
	*input =
		(struct stdin_queue){.loop = loop, .fd = -1, .awaits_fd = is_awaited, .on_room = on_room, .data = data};
}

void stdin_queue_close(struct stdin_queue *input)
{
	loop_remove_source(input->source);
	input->source = NULL;
	input->awaits_fd = false;
	close_fd(&input->fd);
}

void stdin_queue_release(struct stdin_queue *input)
{
	stdin_queue_close(input);
	free(input->pending_bytes);
	input->pending_bytes = NULL;
}

/* Writes what is queued. */
static void stdin_queue_flush(struct stdin_queue *input)
{
	if (input->fd < 0)
		return;
	while (input->at < input->end) {
		ssize_t done = write(input->fd, input->pending_bytes + input->at, input->end - input->at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno != EAGAIN) {
			stdin_queue_close(input); /* EPIPE: the program has closed it */
			return;
		}
		if (done < 0)
			break;
		input->at += (size_t)done;
	}
	if (input->at == input->end)
		input->at = input->end = 0;
	if ((input->end == 0 && input->closes_when_written) ||
	    loop_set_events(input->source, input->end > 0 ? EPOLLOUT : 0) < 0)
		stdin_queue_close(input);
}

static void stdin_queue_on_writable(void *data, uint32_t events)
{
	struct stdin_queue *input = data;

	(void)events;
	stdin_queue_flush(input);
	if (!input->on_room_is_due || (input->end > 0 && input->fd >= 0))
		return;
	input->on_room_is_due = false;
	input->on_room(input->data);
}

int stdin_queue_open(struct stdin_queue *input, int fd)
{
	if (fd < 0)
		return -errno;
	input->fd = fd;
	input->awaits_fd = false;
	input->source = loop_add_source(input->loop, fd, 0, stdin_queue_on_writable, input);
	if (!input->source)
		return -errno;
	/* When more was offered than there was room for, the end of the flush is reported by an event. */
	if (input->on_room_is_due)
		return loop_set_events(input->source, EPOLLOUT);
	stdin_queue_flush(input);
	return 0;
}

/* Queues at most `room` bytes in all. Returns as stdin_queue_write(). */
static ssize_t stdin_queue_append(struct stdin_queue *input, const char *bytes, size_t len, size_t room)
{
	if ((input->fd < 0 && !input->awaits_fd) || input->closes_when_written)
		return -EPIPE;
	if (!input->pending_bytes && !(input->pending_bytes = malloc(SANDBOX_INPUT_BYTES_MAX + 1)))
		return -ENOMEM;
	if (input->at > 0) {
		memmove(input->pending_bytes, input->pending_bytes + input->at, input->end - input->at);
		input->end -= input->at;
		input->at = 0;
	}
	len = len < room - input->end ? len : room - input->end;
	memcpy(input->pending_bytes + input->end, bytes, len);
	input->end += len;
	return (ssize_t)len;
}

ssize_t stdin_queue_write(struct stdin_queue *input, const char *bytes, size_t len)
{
	ssize_t taken = stdin_queue_append(input, bytes, len, SANDBOX_INPUT_BYTES_MAX);

	if (taken < 0)
		return taken;
	input->on_room_is_due = (size_t)taken < len;
	stdin_queue_flush(input);
	/* Flushed at once: the event comes all the same, so that on_room is never called from here. */
	if (input->on_room_is_due && input->fd >= 0 && loop_set_events(input->source, EPOLLOUT) < 0)
		stdin_queue_close(input);
	return input->fd < 0 && !input->awaits_fd ? -EPIPE : taken;
}

void stdin_queue_finish(struct stdin_queue *input, bool is_terminal)
{
	static const char key[] = {TERMINAL_END_OF_FILE_KEY};

	if (is_terminal)
		(void)stdin_queue_append(input, key, 1, SANDBOX_INPUT_BYTES_MAX + 1);
	input->closes_when_written = true;
	stdin_queue_flush(input);
}
