/* What program.c, which talks with the session, and program-streams.c share of a program. */
#ifndef CALLGATE_AGENTS_SANDBOX_PROGRAM_H
#define CALLGATE_AGENTS_SANDBOX_PROGRAM_H

#include <sys/ioctl.h>

#include "agents/sandbox/input.h"
#include "agents/sandbox/private.h"

#define PROGRAM_OPEN_FILES 4u       /* stdin, stdout, stderr, and the connection to the session */
#define PROGRAM_CHILD_OPEN_FILES 3u /* the program's ends of its pipes, until it has started */

/* The pipe or terminal from which a program's stdout or stderr is read. */
struct program_output {
	int fd; /* -1: the stream has ended */
	struct loop_source *source;
	int remaining_bytes;          /* bytes that may still be read; -1: all until end of file */
	bool had_no_data_since_check; /* nothing was read since program_check_terminal_quiet() was called last */
};

/* A program in a sandbox, started for a client. */
struct sandbox_program {
	struct sandbox *sandbox;
	struct sandbox_program *next, **link;   /* in sandbox->programs; link: the pointer to this program */
	struct sandbox_program_options options; /* only the callbacks and `data` are kept */
	unsigned reference_count;
	bool is_freed, end_is_reported, output_is_paused;
	bool has_terminal; /* stdio of the program is a terminal */
	struct winsize terminal_size;
	struct loop_timer *quiet_timer; /* after the program's end, for its last output on the terminal */
	int socket_fd;                  /* connection to the session; -1: not connected yet, or closed */
	struct loop_source *socket_source;
	struct loop_timer *reconnect_timer;
	unsigned connect_attempts;   /* attempts to reach the session so far */
	json_t *request;             /* owned; NULL: the program has started, so the request need not be sent again */
	bool request_is_sent;        /* the session has got the request to start the program */
	bool child_stdio_is_counted; /* PROGRAM_CHILD_OPEN_FILES were taken, and not given back yet */
	int child_stdio_fd[3];       /* the program's ends of the pipes; -1 once it has started */
	struct stdin_queue stdin_queue;
	struct program_output outputs[SANDBOX_STREAM_MAX];
	json_t *result; /* how the program ended: the session's last answer; owned; NULL: not received yet */
};

void program_output_close(struct program_output *output);

/* Closes the program's ends of its pipes, which the session has got. */
void program_close_child_fds(struct sandbox_program *program);

void program_close_socket(struct sandbox_program *program);

/* Frees the program with its last reference, so that a callback may free it while it is used. */
void program_drop_reference(struct sandbox_program *program);

/* Ends the program with the session's result. Takes the reference. */
void program_end_with_result(struct sandbox_program *program, json_t *result);

/* Ends the program with a result that has only an error. */
void program_end_with_error(struct sandbox_program *program, const char *code, const char *message);

/* Callbacks of the loop for the program's streams; data: the program. */
void program_on_stdout_readable(void *data, uint32_t events);
void program_on_stderr_readable(void *data, uint32_t events);
void program_on_stdin_room(void *data);

/* Begins to read and write the terminal. Takes the master side (O_NONBLOCK). 0 or -errno. */
int program_start_terminal_io(struct sandbox_program *program, int master_fd);

#endif
