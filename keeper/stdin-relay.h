/*
 * The program's standard input. The keeper copies its own standard input into a pipe or into the run's terminal, so
 * that the program never holds a descriptor of the user's terminal or file.
 */
#ifndef CALLGATE_KEEPER_STDIN_RELAY_H
#define CALLGATE_KEEPER_STDIN_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pollfd;

/* Moves callgate's stdin to the program's pipe or terminal. */
struct stdin_relay {
	int source_fd; /* the keeper's standard input, borrowed; -1: it has ended */
	int pipe_fd; /* writing end of the program's pipe, O_NONBLOCK, owned; -1: closed */
	size_t at, end;
	bool writes_to_terminal; /* pipe_fd is the master side of the run's terminal */
	bool input_line_has_begun;    /* the last byte read was not a newline */
	bool escape_was_typed;       /* Ctrl-] was typed three times within a second; the caller clears it */
	unsigned escape_keys_typed;   /* how many Ctrl-] were typed in a row */
	uint64_t first_escape_key_ns; /* when the first key of the current sequence of Ctrl-] was typed */
	char buffer[65536];           /* bytes read and not yet written: from `at` to `end` */
};

/* Creates the program's stdin, *ret_read_fd (CLOEXEC, owned by the caller); source_fd -1: /dev/null. 0 or -errno. */
int stdin_relay_init(struct stdin_relay *relay, int source_fd, int *ret_read_fd);
/*
 * Relays into the run's terminal and not into a pipe. Takes master_fd (O_NONBLOCK). At the end of the input sends the
 * end-of-file character.
 */
void stdin_relay_init_terminal(struct stdin_relay *relay, int source_fd, int master_fd);
void stdin_relay_release(struct stdin_relay *relay);

/* What to poll: the input, or pipe_fd while bytes are to be written. fd -1 when the relay has ended. */
void stdin_relay_get_pollfd(const struct stdin_relay *relay, struct pollfd *ret_poll);
/* Moves bytes. To be called when the polled descriptor is ready. */
void stdin_relay_move_bytes(struct stdin_relay *relay);

#endif
