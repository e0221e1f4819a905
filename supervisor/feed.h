/*
 * The program's standard input: callgate's own, handed on through a pipe so that the program never holds a descriptor
 * of the caller's terminal or file.
 */
#ifndef CALLGATE_SUPERVISOR_FEED_H
#define CALLGATE_SUPERVISOR_FEED_H

#include <stdbool.h>
#include <stddef.h>

struct pollfd;

struct feed {
	int from_fd; /* borrowed; -1: ended */
	int pipe_fd; /* writing end, owned, O_NONBLOCK; -1: closed */
	size_t at, end;
	char bytes[16384];
};

/*
 * from_fd -1: the program gets /dev/null. *ret_read_fd (CLOEXEC, owned by the caller) is for the program. 0 or
 * -errno.
 */
int feed_init(struct feed *feed, int from_fd, int *ret_read_fd);
void feed_done(struct feed *feed);

/*
 * What to poll for: input while nothing waits, else room in the pipe; fd -1 when done. And what to do when it is
 * ready.
 */
void feed_poll(const struct feed *feed, struct pollfd *ret_poll);
void feed_move(struct feed *feed);

#endif
