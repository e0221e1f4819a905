#include "agents/sandbox/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/sandbox/sandbox.h"
#include "base/cleanup.h"

#define TERMINAL_END_OF_FILE_KEY '\4' /* Ctrl-D, in the terminal's default mode */

void stdin_queue_init(struct stdin_queue *input, struct loop *loop, bool awaits_fd, void (*on_room)(void *data),
		      void *data)
{
	*input = (struct stdin_queue){.loop = loop, .fd = -1, .awaits_fd = awaits_fd, .on_room = on_room, .data = data};
}

/* Closes the program's stdin. */
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

/* Writes queued bytes until the descriptor would block. */
static void stdin_queue_flush(struct stdin_queue *input)
{
	if (input->fd < 0)
		return;
	while (input->pending_begin < input->pending_end) {
		ssize_t done = write(input->fd, input->pending_bytes + input->pending_begin,
				     input->pending_end - input->pending_begin);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno != EAGAIN) {
			stdin_queue_close(input); /* EPIPE: the program has closed its stdin */
			return;
		}
		if (done < 0)
			break;
		input->pending_begin += (size_t)done;
	}
	if (input->pending_begin == input->pending_end)
		input->pending_begin = input->pending_end = 0;
	if ((input->pending_end == 0 && input->closes_when_empty) ||
	    loop_set_events(input->source, input->pending_end > 0 ? EPOLLOUT : 0) < 0)
		stdin_queue_close(input);
}

static void stdin_queue_on_writable(void *data, uint32_t events)
{
	struct stdin_queue *input = data;

	(void)events;
	stdin_queue_flush(input);
	if (!input->room_callback_is_due || (input->pending_end > 0 && input->fd >= 0))
		return;
	input->room_callback_is_due = false;
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
	/* If on_room is due, the bytes are written by the event's callback, which then calls on_room. */
	if (input->room_callback_is_due)
		return loop_set_events(input->source, EPOLLOUT);
	stdin_queue_flush(input);
	return 0;
}

/*
 * Queues bytes until the queue has queue_bytes_max. Returns how many bytes were queued, or -errno: -EPIPE: stdin is
 * closed.
 */
static ssize_t stdin_queue_append(struct stdin_queue *input, const char *bytes, size_t len, size_t queue_bytes_max)
{
	if ((input->fd < 0 && !input->awaits_fd) || input->closes_when_empty)
		return -EPIPE;
	if (!input->pending_bytes && !(input->pending_bytes = malloc(SANDBOX_STDIN_QUEUE_BYTES_MAX + 1)))
		return -ENOMEM;
	if (input->pending_begin > 0) {
		memmove(input->pending_bytes, input->pending_bytes + input->pending_begin,
			input->pending_end - input->pending_begin);
		input->pending_end -= input->pending_begin;
		input->pending_begin = 0;
	}
	len = len < queue_bytes_max - input->pending_end ? len : queue_bytes_max - input->pending_end;
	memcpy(input->pending_bytes + input->pending_end, bytes, len);
	input->pending_end += len;
	return (ssize_t)len;
}

ssize_t stdin_queue_write(struct stdin_queue *input, const char *bytes, size_t len)
{
	ssize_t taken = stdin_queue_append(input, bytes, len, SANDBOX_STDIN_QUEUE_BYTES_MAX);

	if (taken < 0)
		return taken;
	input->room_callback_is_due = (size_t)taken < len;
	stdin_queue_flush(input);
	/* Waits for the event even if all was written at once, so that on_room is never called from this function. */
	if (input->room_callback_is_due && input->fd >= 0 && loop_set_events(input->source, EPOLLOUT) < 0)
		stdin_queue_close(input);
	return input->fd < 0 && !input->awaits_fd ? -EPIPE : taken;
}

void stdin_queue_close_when_empty(struct stdin_queue *input, bool is_terminal)
{
	static const char key[] = {TERMINAL_END_OF_FILE_KEY};

	if (is_terminal)
		(void)stdin_queue_append(input, key, 1, SANDBOX_STDIN_QUEUE_BYTES_MAX + 1);
	input->closes_when_empty = true;
	stdin_queue_flush(input);
}
