/* The queue of what a program is to read: bounded, and written to its pipe or terminal as that takes it. */
#ifndef CALLGATE_AGENTS_SANDBOX_INPUT_H
#define CALLGATE_AGENTS_SANDBOX_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agents/loop.h"

struct input {
	struct loop *loop;
	int fd; /* owned; -1: closed, or awaited */
	struct loop_source *source;
	size_t at, end;
	bool is_awaited; /* input_open() will be called; bytes are queued until then */
	bool is_closing; /* closed when all is written */
	bool wants_room; /* on_room is to be called */
	char *bytes;     /* owned; SANDBOX_INPUT_BYTES_MAX, and room for a key; NULL: nothing was queued yet */
	void (*on_room)(void *data);
	void *data;
};

/* on_room: see sandbox_program_options. It may release the input. */
void input_init(struct input *input, struct loop *loop, bool is_awaited, void (*on_room)(void *data), void *data);
/* Takes a descriptor (O_NONBLOCK), and writes what is queued. 0 or -errno, also of a call that has made no fd. */
int input_open(struct input *input, int fd);
/* See sandbox_program_write(). */
ssize_t input_write(struct input *input, const char *bytes, size_t len);
/* Takes no more, and closes the descriptor when all is written; before, a terminal gets the end-of-file character. */
void input_finish(struct input *input, bool is_terminal);
void input_close(struct input *input);
void input_release(struct input *input);

#endif
