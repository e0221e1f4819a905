/*
 * --tty: a terminal of the run's own. The keeper holds the master side and carries bytes between it and its own
 * standard input and output; the program gets the slave side. The terminal that callgate itself was started on is in
 * raw mode meanwhile, so that every key is the program's, and never reaches the program as a descriptor.
 */
#ifndef CALLGATE_KEEPER_TERMINAL_H
#define CALLGATE_KEEPER_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
	int master_fd;        /* owned; -1: there is none */
	/* callgate's standard input when it is a terminal that shows us, borrowed; -1: it is none */
	int keys_fd;
	int size_fd;          /* whose size the run's terminal has, borrowed; -1: 24 rows of 80 columns */
	struct termios modes; /* of keys_fd as they were found */
};

#define TERMINAL_NONE {.master_fd = -1, .keys_fd = -1, .size_fd = -1}

/*
 * Makes the terminal, with the size of the one callgate was started on. With `keys`, that one is what the program is
 * seen and typed to on: its modes are the new one's, and in the background the caller is stopped (SIGTTOU), as by any
 * program that wants the terminal. *ret_slave_fd (CLOEXEC, owned by the caller) is the program's; neither side becomes
 * the calling process's controlling terminal. 0 or -errno. terminal_done releases in both cases.
 */
int terminal_open(struct terminal *terminal, bool keys, int *ret_slave_fd);
void terminal_done(struct terminal *terminal);

/* A CLOEXEC, O_NONBLOCK descriptor of the master side, owned by the caller, or -errno. */
int terminal_master(const struct terminal *terminal);

/*
 * Raw mode for callgate's terminal, until terminal_restore or a crash of this process; of the process that called it
 * alone, not of its forks. Nothing without a terminal.
 */
void terminal_raw(struct terminal *terminal);
/* The modes as they were, unless the terminal is somebody else's by now: a shell sees to it when it takes it back. */
void terminal_restore(struct terminal *terminal);

/* Hands the size on; the kernel sends SIGWINCH to the program's foreground group when it differs. */
void terminal_resize(const struct terminal *terminal);

#endif
