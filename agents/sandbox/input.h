/* The queue of what a program is to read: bounded, and written to its pipe or terminal as that takes it. */
#ifndef CALLGATE_AGENTS_SANDBOX_INPUT_H
#define CALLGATE_AGENTS_SANDBOX_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agents/loop.h"

struct stdin_queue {
	struct loop *loop;
	int fd; /* owned; -1: closed, or awaited */
	struct loop_source *source;
	size_t at, end;
	bool awaits_fd;           /* stdin_queue_open() will be called; bytes are queued until then */
	bool closes_when_written; /* closed when all is written */
	bool on_room_is_due;      /* on_room is to be called */
	char *pending_bytes;      /* owned; SANDBOX_INPUT_BYTES_MAX, and room for a key; NULL: nothing was queued yet */
	void (*on_room)(void *data);
	void *data;
};

/* on_room: see sandbox_program_options. It may release the input. */
void stdin_queue_init(struct stdin_queue *input, struct loop *loop, bool is_awaited, void (*on_room)(void *data),
		      void *data);
/* Takes a descriptor (O_NONBLOCK), and writes what is queued. 0 or -errno, also of a call that has made no fd. */
int stdin_queue_open(struct stdin_queue *input, int fd);
/* See sandbox_program_write(). */
ssize_t stdin_queue_write(struct stdin_queue *input, const char *bytes, size_t len);
/* Takes no more, and closes the descriptor when all is written; before, a terminal gets the end-of-file character. */
void stdin_queue_finish(struct stdin_queue *input, bool is_terminal);
void stdin_queue_close(struct stdin_queue *input);
void stdin_queue_release(struct stdin_queue *input);

#endif
