/*
 * The program's standard input. The keeper copies its own into a pipe or into the run's terminal, so that the program
 * never holds a descriptor of the caller's terminal or file.
 */
#ifndef CALLGATE_KEEPER_STDIN_RELAY_H
#define CALLGATE_KEEPER_STDIN_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pollfd;

struct stdin_relay {
	int from_fd; /* borrowed; -1: ended */
	int pipe_fd; /* writing end, owned, O_NONBLOCK; -1: closed */
	size_t at, end;
	bool terminal;      /* pipe_fd is a terminal's master side */
	bool line_begun;    /* the last byte read was not a newline */
	bool escaped;       /* Ctrl-] was typed three times within a second; the caller acts on it and clears it */
	unsigned escapes;   /* how many of the three were typed */
	uint64_t escape_ns; /* when the first was */
	char bytes[65536];
};

/* from_fd -1: the program gets /dev/null. *ret_read_fd (CLOEXEC, owned by the caller) is its stdin. 0 or -errno. */
int stdin_relay_init(struct stdin_relay *relay, int from_fd, int *ret_read_fd);
/* Into a terminal: takes master_fd (O_NONBLOCK). The end of input becomes the terminal's end-of-file character. */
void stdin_relay_init_terminal(struct stdin_relay *relay, int from_fd, int master_fd);
void stdin_relay_release(struct stdin_relay *relay);

/* What to poll for: input, or room in the pipe while bytes are pending; fd -1 when done. */
void stdin_relay_fill_poll(const struct stdin_relay *relay, struct pollfd *ret_poll);
/* To be called when the descriptor to poll is ready. */
void stdin_relay_move_bytes(struct stdin_relay *relay);

#endif
