/*
 * --tty: a pseudoterminal for the run. The keeper copies bytes between the master side and its own stdin and stdout.
 * The program gets the slave side. During the run callgate's own terminal is in raw mode, so that every key reaches the
 * program, which never gets a descriptor of callgate's terminal.
 */
#ifndef CALLGATE_KEEPER_TERMINAL_H
#define CALLGATE_KEEPER_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

/* The pseudoterminal of a run with --tty, and the user's terminal that it is connected to. */
struct terminal {
	int master_fd;        /* the run's terminal; owned; -1: none */
	int keyboard_fd;      /* callgate's stdin if it is a terminal and used interactively, borrowed; -1: it is not */
	int size_source_fd;          /* the terminal whose size is copied, borrowed; -1: 24 rows of 80 columns */
	struct termios modes_before_raw; /* the modes of keyboard_fd before raw mode */
};

/* The program has no terminal. */
#define TERMINAL_NONE {.master_fd = -1, .keyboard_fd = -1, .size_source_fd = -1}

/*
 * Creates the run's terminal, with the size of callgate's own; no process has it as controlling terminal. keys:
 * callgate's own terminal is used interactively: its modes are copied, and SIGTTOU stops a caller in the background.
 * *ret_slave_fd (CLOEXEC, owned by the caller) is for the program. 0 or -errno. Release with terminal_release in both
 * cases.
 */
int terminal_open(struct terminal *terminal, bool keys, int *ret_slave_fd);
/* As terminal_open(), for the master side of a terminal that has been made, which is taken. */
int terminal_use_master(struct terminal *terminal, bool keys, int master_fd);
void terminal_release(struct terminal *terminal);

/* Returns a CLOEXEC, O_NONBLOCK descriptor of the master side, owned by the caller, or -errno. */
int terminal_dup_master(const struct terminal *terminal);

/* Sets callgate's terminal, if it has one, to raw mode, until terminal_leave_raw_mode or a crash of this process. */
void terminal_set_raw_mode(struct terminal *terminal);
/*
 * Restores the modes that callgate's terminal had before raw mode. Does nothing if this process is in the background,
 * because the shell has then set modes of its own.
 */
void terminal_leave_raw_mode(struct terminal *terminal);

/* Copies the size of callgate's terminal to the run's. If it changes, the kernel sends SIGWINCH to the program. */
void terminal_update_size(const struct terminal *terminal);

#endif
