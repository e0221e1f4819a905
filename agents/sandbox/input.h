/* A bounded queue of bytes for a program's stdin. They are written when the program's pipe or terminal has room. */
#ifndef CALLGATE_AGENTS_SANDBOX_INPUT_H
#define CALLGATE_AGENTS_SANDBOX_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agents/loop.h"

/* Input that a program has not taken yet. */
struct stdin_queue {
	struct loop *loop;
	int fd; /* owned; -1: closed, or not opened yet */
	struct loop_source *source;
	size_t pending_begin, pending_end; /* offsets in pending_bytes */
	bool awaits_fd;                    /* stdin_queue_open() will be called; bytes are queued until then */
	bool closes_when_empty;            /* fd is closed when all queued bytes are written */
	bool room_callback_is_due;         /* on_room is to be called once all queued bytes are written */
	/* owned; SANDBOX_STDIN_QUEUE_BYTES_MAX, and one byte for the end-of-file character; NULL: never used */
	char *pending_bytes;
	void (*on_room)(void *data);
	void *data;
};

/*
 * Initialises a queue without descriptor. awaits_fd: stdin_queue_open() will be called later. on_room: as in struct
 * sandbox_program_options; it may release the queue.
 */
void stdin_queue_init(struct stdin_queue *input, struct loop *loop, bool awaits_fd, void (*on_room)(void *data),
		      void *data);
/*
 * Takes a descriptor (O_NONBLOCK), and writes the queued bytes to it. 0 or -errno. fd may be the -errno of a failed
 * call that should have opened it, which is returned.
 */
int stdin_queue_open(struct stdin_queue *input, int fd);
/* As sandbox_program_write(). */
ssize_t stdin_queue_write(struct stdin_queue *input, const char *bytes, size_t len);
/*
 * Takes no more bytes, and closes the descriptor when all are written. A terminal gets the end-of-file character
 * before.
 */
void stdin_queue_close_when_empty(struct stdin_queue *input, bool is_terminal);
void stdin_queue_close(struct stdin_queue *input);
void stdin_queue_release(struct stdin_queue *input);

#endif
