#include "agents/sandbox/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/sandbox/sandbox.h"
#include "base/cleanup.h"

#define INPUT_END_OF_FILE_KEY '\4' /* of a terminal in its usual mode */

void input_init(struct input *input, struct loop *loop, bool is_awaited, void (*on_room)(void *data), void *data)
{
	*input = (struct input){.loop = loop, .fd = -1, .is_awaited = is_awaited, .on_room = on_room, .data = data};
}

void input_close(struct input *input)
{
	loop_unwatch(input->source);
	input->source = NULL;
	input->is_awaited = false;
	close_fd(&input->fd);
}

void input_release(struct input *input)
{
	input_close(input);
	free(input->bytes);
	input->bytes = NULL;
}

/* Writes what is queued. */
static void input_flush(struct input *input)
{
	if (input->fd < 0)
		return;
	while (input->at < input->end) {
		ssize_t done = write(input->fd, input->bytes + input->at, input->end - input->at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno != EAGAIN) {
			input_close(input); /* EPIPE: the program has closed it */
			return;
		}
		if (done < 0)
			break;
		input->at += (size_t)done;
	}
	if (input->at == input->end)
		input->at = input->end = 0;
	if ((input->end == 0 && input->is_closing) ||
	    loop_set_events(input->source, input->end > 0 ? EPOLLOUT : 0) < 0)
		input_close(input);
}

static void input_on_event(void *data, uint32_t events)
{
	struct input *input = data;

	(void)events;
	input_flush(input);
	if (!input->wants_room || (input->end > 0 && input->fd >= 0))
		return;
	input->wants_room = false;
	input->on_room(input->data);
}

int input_open(struct input *input, int fd)
{
	if (fd < 0)
		return -errno;
	input->fd = fd;
	input->is_awaited = false;
	input->source = loop_watch(input->loop, fd, 0, input_on_event, input);
	if (!input->source)
		return -errno;
	/* When more was offered than there was room for, the end of the flush is reported by an event. */
	if (input->wants_room)
		return loop_set_events(input->source, EPOLLOUT);
	input_flush(input);
	return 0;
}

/* Queues at most `room` bytes in all. Returns as input_write(). */
static ssize_t input_queue(struct input *input, const char *bytes, size_t len, size_t room)
{
	if ((input->fd < 0 && !input->is_awaited) || input->is_closing)
		return -EPIPE;
	if (!input->bytes && !(input->bytes = malloc(SANDBOX_INPUT_BYTES_MAX + 1)))
		return -ENOMEM;
	if (input->at > 0) {
		memmove(input->bytes, input->bytes + input->at, input->end - input->at);
		input->end -= input->at;
		input->at = 0;
	}
	len = len < room - input->end ? len : room - input->end;
	memcpy(input->bytes + input->end, bytes, len);
	input->end += len;
	return (ssize_t)len;
}

ssize_t input_write(struct input *input, const char *bytes, size_t len)
{
	ssize_t taken = input_queue(input, bytes, len, SANDBOX_INPUT_BYTES_MAX);

	if (taken < 0)
		return taken;
	input->wants_room = (size_t)taken < len;
	input_flush(input);
	/* Flushed at once: the event comes all the same, so that on_room is never called from here. */
	if (input->wants_room && input->fd >= 0 && loop_set_events(input->source, EPOLLOUT) < 0)
		input_close(input);
	return input->fd < 0 && !input->is_awaited ? -EPIPE : taken;
}

void input_finish(struct input *input, bool is_terminal)
{
	static const char key[] = {INPUT_END_OF_FILE_KEY};

	if (is_terminal)
		(void)input_queue(input, key, 1, SANDBOX_INPUT_BYTES_MAX + 1);
	input->is_closing = true;
	input_flush(input);
}
