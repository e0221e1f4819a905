/*
 * The program's standard input: callgate's own, handed on through a pipe or the run's own terminal so that the program
 * never holds a descriptor of the caller's terminal or file.
 */
#ifndef CALLGATE_KEEPER_FEED_H
#define CALLGATE_KEEPER_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pollfd;

struct feed {
	int from_fd; /* borrowed; -1: ended */
	int pipe_fd; /* writing end, owned, O_NONBLOCK; -1: closed */
	size_t at, end;
	bool terminal;      /* pipe_fd is a terminal's master side */
	bool line_begun;    /* what was read last is no whole line */
	bool escaped;       /* Ctrl-] was read three times within a second; whoever acts on it clears it */
	unsigned escapes;   /* of them, so far */
	uint64_t escape_ns; /* when the first was */
	char bytes[16384];
};

/*
 * from_fd -1: the program gets /dev/null. *ret_read_fd (CLOEXEC, owned by the caller) is for the program. 0 or
 * -errno.
 */
int feed_init(struct feed *feed, int from_fd, int *ret_read_fd);
/* Into a terminal: takes master_fd (O_NONBLOCK). The end of the input becomes the terminal's end-of-file character. */
void feed_init_terminal(struct feed *feed, int from_fd, int master_fd);
void feed_done(struct feed *feed);

/*
 * What to poll for: input while nothing waits, else room in the pipe; fd -1 when done. And what to do when it is
 * ready.
 */
void feed_poll(const struct feed *feed, struct pollfd *ret_poll);
void feed_move(struct feed *feed);

#endif
