/*
 * A program in a sandbox: a connection to the session, and the pipes of the program's stdin, stdout and stderr.
 * Callbacks may free the program, so a function that calls one holds a reference.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agents/sandbox/input.h"
#include "agents/sandbox/private.h"
#include "base/cleanup.h"
#include "keeper/session-client.h"

#define PROGRAM_READ_BUFFER_BYTES 65536 /* most bytes of the program's output that one read(2) takes */
#define PROGRAM_RECONNECT_DELAY_MS 2 /* before connecting again, when the session's backlog is full */
#define PROGRAM_CONNECT_ATTEMPTS_MAX 2500 /* most connects to a session whose backlog is full */
/* After the program's end, its terminal is closed when it had no output for this time. */
#define PROGRAM_QUIET_TERMINAL_CLOSE_MS 100
/* Most bytes that are read from a terminal after the program's end: more than the kernel buffers. */
#define PROGRAM_TERMINAL_REMAINING_BYTES_MAX (256 << 10)

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
	unsigned connect_attempts; /* attempts to reach the session so far */
	json_t *request; /* owned; NULL: the program has started, so the request need not be sent again */
	bool request_is_sent;        /* the session has got the request to start the program */
	bool child_stdio_is_counted; /* PROGRAM_CHILD_OPEN_FILES were taken, and not given back yet */
	int child_stdio_fd[3];       /* the program's ends of the pipes; -1 once it has started */
	struct stdin_queue stdin_queue;
	struct program_output outputs[SANDBOX_STREAM_MAX];
	json_t *result; /* how the program ended: the session's last answer; owned; NULL: not received yet */
};

static void program_on_reconnect_timer(void *data);

/* ---- references ---- */

static void program_output_close(struct program_output *output)
{
	loop_remove_source(output->source);
	output->source = NULL;
	close_fd(&output->fd);
}

/* Closes the program's ends of its pipes, which the session has got. */
static void program_close_child_fds(struct sandbox_program *program)
{
	for (int i = 0; i < 3; i++)
		close_fd(&program->child_stdio_fd[i]);
	if (program->child_stdio_is_counted)
		open_files_give_back(PROGRAM_CHILD_OPEN_FILES);
	program->child_stdio_is_counted = false;
}

static void program_close_socket(struct sandbox_program *program)
{
	loop_remove_source(program->socket_source);
	program->socket_source = NULL;
	close_fd(&program->socket_fd);
	loop_cancel_timer(program->reconnect_timer);
	program->reconnect_timer = NULL;
}

static void program_cancel_quiet_timer(struct sandbox_program *program)
{
	loop_cancel_timer(program->quiet_timer);
	program->quiet_timer = NULL;
}

/* Frees the program with its last reference, so that a callback may free it while it is used. */
static void program_drop_reference(struct sandbox_program *program)
{
	if (--program->reference_count > 0)
		return;
	json_decref(program->request);
	json_decref(program->result);
	stdin_queue_release(&program->stdin_queue);
	free(program);
}

void sandbox_program_free(struct sandbox_program *program)
{
	if (!program)
		return;
	program->is_freed = true;
	*program->link = program->next;
	if (program->next)
		program->next->link = program->link;
	program_close_socket(program); /* the session then ends the program */
	program_close_child_fds(program);
	stdin_queue_close(&program->stdin_queue);
	program_cancel_quiet_timer(program);
	for (int i = 0; i < SANDBOX_STREAM_MAX; i++)
		program_output_close(&program->outputs[i]);
	open_files_give_back(PROGRAM_OPEN_FILES);
	program_drop_reference(program);
}

/* ---- end of a program ---- */

/* Calls on_end if the program has ended and all its output was passed on. */
static void program_report_end_if_complete(struct sandbox_program *program)
{
	if (program->is_freed || !program->result || program->outputs[SANDBOX_STDOUT].fd >= 0 ||
	    program->outputs[SANDBOX_STDERR].fd >= 0 || program->end_is_reported)
		return;
	stdin_queue_close(&program->stdin_queue);
	program_cancel_quiet_timer(program);
	program->end_is_reported = true;
	program->reference_count++;
	program->options.on_end(program->options.data, program->result);
	program_drop_reference(program);
}

/*
 * After the program's end: closes its terminal if that had no output since the last check, otherwise checks again
 * later.
 */
static void program_check_terminal_quiet(void *data)
{
	struct sandbox_program *program = data;
	struct program_output *output = &program->outputs[SANDBOX_STDOUT];

	program->quiet_timer = NULL;
	if (output->had_no_data_since_check && !program->output_is_paused)
		program_output_close(output);
	output->had_no_data_since_check = true;
	if (output->fd >= 0)
		program->quiet_timer = loop_add_timer(program->sandbox->loop, PROGRAM_QUIET_TERMINAL_CLOSE_MS,
						      program_check_terminal_quiet, program);
	program_report_end_if_complete(program);
}

/*
 * Limits what is read after the program's end. The program and its descendants are dead, so all their output is in the
 * pipes. Another program may have got a pipe from them; what it writes from now on is not read. Output on a terminal
 * reaches the reader a moment later, so the terminal is read until it is quiet.
 */
static void program_limit_remaining_output(struct sandbox_program *program)
{
	for (int i = 0; i < SANDBOX_STREAM_MAX; i++) {
		struct program_output *output = &program->outputs[i];

		if (output->fd < 0)
			continue;
		if (program->has_terminal) {
			output->remaining_bytes = PROGRAM_TERMINAL_REMAINING_BYTES_MAX;
			program->quiet_timer = loop_add_timer(program->sandbox->loop, PROGRAM_QUIET_TERMINAL_CLOSE_MS,
							      program_check_terminal_quiet, program);
		} else if (ioctl(output->fd, FIONREAD, &output->remaining_bytes) < 0 || output->remaining_bytes == 0) {
			program_output_close(output);
		}
	}
}

/* Ends the program with the session's result. Takes the reference. */
static void program_end_with_result(struct sandbox_program *program, json_t *result)
{
	program_close_socket(program);
	program_close_child_fds(program);
	program->result = result ? result : json_object();
	program_limit_remaining_output(program);
	program_report_end_if_complete(program);
}

/* Ends the program with a result that has only an error. */
static void program_end_with_error(struct sandbox_program *program, const char *code, const char *message)
{
	program_end_with_result(program, json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message));
}

/* ---- output ---- */

/* Reads output once, and passes it on. After the program's end, only what it had written by then is read. */
static void program_read_output(struct sandbox_program *program, enum sandbox_stream stream)
{
	static char bytes[PROGRAM_READ_BUFFER_BYTES];
	struct program_output *output = &program->outputs[stream];
	const size_t size = output->remaining_bytes >= 0 && output->remaining_bytes < PROGRAM_READ_BUFFER_BYTES
				    ? (size_t)output->remaining_bytes
				    : sizeof(bytes);
	ssize_t got = read(output->fd, bytes, size);

	if (got < 0 && errno == EAGAIN && (output->remaining_bytes < 0 || program->has_terminal))
		return;
	output->had_no_data_since_check = false;
	if (got > 0 && output->remaining_bytes >= 0)
		output->remaining_bytes -= (int)got;
	if (got <= 0 || output->remaining_bytes == 0)
		program_output_close(output);
	program->reference_count++;
	if (got > 0)
		program->options.on_output(program->options.data, stream, bytes, (size_t)got);
	program_report_end_if_complete(program);
	program_drop_reference(program);
}

static void program_on_stdout_readable(void *data, uint32_t events)
{
	(void)events;
	program_read_output(data, SANDBOX_STDOUT);
}

static void program_on_stderr_readable(void *data, uint32_t events)
{
	(void)events;
	program_read_output(data, SANDBOX_STDERR);
}

void sandbox_program_pause_output(struct sandbox_program *program, bool paused)
{
	if (program->output_is_paused == paused)
		return;
	program->output_is_paused = paused;
	for (int i = 0; i < SANDBOX_STREAM_MAX; i++)
		if (program->outputs[i].source) /* fails when out of memory: reading goes on as before */
			(void)loop_set_events(program->outputs[i].source, paused ? 0 : EPOLLIN);
}

/* ---- input ---- */

static void program_on_stdin_room(void *data)
{
	struct sandbox_program *program = data;

	if (program->options.on_room)
		program->options.on_room(program->options.data);
}

ssize_t sandbox_program_write(struct sandbox_program *program, const char *bytes, size_t len)
{
	return stdin_queue_write(&program->stdin_queue, bytes, len);
}

void sandbox_program_close_stdin(struct sandbox_program *program)
{
	stdin_queue_close_when_empty(&program->stdin_queue, program->has_terminal);
}

/* ---- the terminal ---- */

int sandbox_program_resize(struct sandbox_program *program, unsigned columns, unsigned rows)
{
	if (!program->has_terminal)
		return -ENOTTY;
	program->terminal_size.ws_col = columns < USHRT_MAX ? (unsigned short)columns : USHRT_MAX;
	program->terminal_size.ws_row = rows < USHRT_MAX ? (unsigned short)rows : USHRT_MAX;
	if (program->outputs[SANDBOX_STDOUT].fd >= 0 &&
	    ioctl(program->outputs[SANDBOX_STDOUT].fd, TIOCSWINSZ, &program->terminal_size) < 0)
		return -errno;
	return 0;
}

/* Begins to read and write the terminal. Takes the master side (O_NONBLOCK). 0 or -errno. */
static int program_start_terminal_io(struct sandbox_program *program, int master_fd)
{
	struct loop *loop = program->sandbox->loop;
	struct program_output *output = &program->outputs[SANDBOX_STDOUT];
	int input_fd = fcntl(master_fd, F_DUPFD_CLOEXEC, 3), r = stdin_queue_open(&program->stdin_queue, input_fd);

	output->fd = master_fd;
	if (r < 0)
		return r;
	output->source = loop_add_source(loop, output->fd, program->output_is_paused ? 0 : EPOLLIN,
					 program_on_stdout_readable, program);
	return !output->source || ioctl(master_fd, TIOCSWINSZ, &program->terminal_size) < 0 ? -errno : 0;
}

/* ---- connection to the session ---- */

/* Sends a message to the session. Takes the reference. 0 or -errno: -ESRCH: the program has ended. */
static int program_send_message(struct sandbox_program *program, json_t *message)
{
	int r = program->result ? -ESRCH : program->request_is_sent ? 0 : -EAGAIN;

	if (r == 0)
		return session_client_send(program->socket_fd, message, NULL, 0);
	json_decref(message);
	return r;
}

int sandbox_program_signal(struct sandbox_program *program, int number)
{
	return program_send_message(program, json_pack("{s:s, s:i}", "op", "signal", "signal", number));
}

int sandbox_program_request_denials(struct sandbox_program *program)
{
	return program_send_message(program, json_pack("{s:s}", "op", "denials"));
}

/*
 * Handles the session's message that the program has started. Takes the master side of its terminal; -1: no terminal.
 */
static void program_on_start_message(struct sandbox_program *program, const json_t *answer, int master_fd)
{
	const json_int_t pid = json_integer_value(json_object_get(answer, "pid"));
	const json_int_t number = json_integer_value(json_object_get(answer, "program"));
	int r = 0;

	json_decref(program->request);
	program->request = NULL;
	program_close_child_fds(program);
	if (!program->has_terminal || program->outputs[SANDBOX_STDOUT].fd >= 0)
		cleanup_close(&master_fd);
	else if (master_fd < 0)
		r = -ENOTTY;
	else
		r = program_start_terminal_io(program, master_fd);
	if (r < 0) {
		program_output_close(&program->outputs[SANDBOX_STDOUT]);
		program_end_with_error(program, "no_terminal", strerror(-r));
	} else if (program->options.on_start) {
		program->options.on_start(program->options.data, (pid_t)pid, (unsigned)number);
	}
}

/* Sets the timer for the next attempt to connect to the session. 0 or -ENOMEM. */
static int program_schedule_reconnect(struct sandbox_program *program)
{
	program->reconnect_timer =
		loop_add_timer(program->sandbox->loop, PROGRAM_RECONNECT_DELAY_MS, program_on_reconnect_timer, program);
	return program->reconnect_timer ? 0 : -ENOMEM;
}

/*
 * Connects again later if the session answered "busy": the kernel limits how many descriptors of a user are in flight
 * in sockets, and too many programs are being started. False: another answer, or too many attempts.
 */
static bool program_retry_if_busy(struct sandbox_program *program, const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");
	const char *code = json_string_value(json_object_get(error, "code"));

	if (!program->request || !code || strcmp(code, "busy") != 0 ||
	    ++program->connect_attempts >= PROGRAM_CONNECT_ATTEMPTS_MAX)
		return false;
	program_close_socket(program);
	program->request_is_sent = false;
	return program_schedule_reconnect(program) == 0;
}

static void program_on_session_message(void *data, uint32_t events)
{
	struct sandbox_program *program = data;
	json_t *answer;
	int master_fd, r = session_client_receive(program->socket_fd, &answer, &master_fd);

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		program_end_with_error(program, "session_ended", "the session has ended, and with it the program");
	} else if (json_object_get(answer, "status") || json_object_get(answer, "error")) {
		cleanup_close(&master_fd);
		if (program_retry_if_busy(program, answer))
			json_decref(answer);
		else
			program_end_with_result(program, answer);
	} else if (json_object_get(answer, "denials")) {
		cleanup_close(&master_fd);
		program->reference_count++;
		if (program->options.on_denials)
			program->options.on_denials(program->options.data, json_object_get(answer, "denials"));
		program_drop_reference(program);
		json_decref(answer);
	} else {
		program_on_start_message(program, answer, master_fd);
		json_decref(answer);
	}
}

/* Sends the session the request to start the program. 0 or -errno. */
static int program_send_request(struct sandbox_program *program)
{
	int r;

	program->socket_source = loop_add_source(program->sandbox->loop, program->socket_fd, EPOLLIN,
						 program_on_session_message, program);
	if (!program->socket_source)
		return -errno;
	r = session_client_send(program->socket_fd, json_incref(program->request), program->child_stdio_fd,
				program->has_terminal ? 0 : 3);
	program->request_is_sent = r == 0;
	return r;
}

/* Connects to the session and sends the request. 0, also if another attempt follows later, or -errno. */
static int program_connect(struct sandbox_program *program)
{
	int fd = sandbox_connect(program->sandbox);

	if (fd == -EAGAIN && ++program->connect_attempts < PROGRAM_CONNECT_ATTEMPTS_MAX)
		return program_schedule_reconnect(program);
	if (fd < 0)
		return fd;
	program->socket_fd = fd;
	return program_send_request(program);
}

static void program_on_reconnect_timer(void *data)
{
	struct sandbox_program *program = data;
	int r;

	program->reconnect_timer = NULL;
	r = program_connect(program);
	if (r < 0)
		program_end_with_error(program, "session_ended", strerror(-r));
}

/* ---- start of a program ---- */

/* The request to the session to start a program. NULL: no memory, or an argument is not UTF-8. */
static json_t *program_make_request(const struct sandbox *sandbox, const struct sandbox_program_options *options)
{
	json_t *argv = json_array(), *terminal = NULL;

	for (const char *const *argument = options->argv; *argument; argument++)
		if (json_array_append_new(argv, json_string(*argument)) < 0) {
			json_decref(argv);
			return NULL;
		}
	if (options->has_terminal)
		terminal = json_pack("{s:i, s:i}", "columns", (int)(options->columns & USHRT_MAX), "rows",
				     (int)(options->rows & USHRT_MAX));
	/* "O" takes a reference to env, which is not changed. */
	return json_pack("{s:s, s:b, s:o, s:O*, s:s*, s:I, s:o*}", "op", "exec", "inspected",
			 sandbox->options.looks_at_programs, "argv", argv, "env", (json_t *)(uintptr_t)options->env,
			 "cwd", options->cwd, "wall_ms",
			 (json_int_t)(options->time_limit_ms < INT64_MAX ? options->time_limit_ms : 0), "terminal",
			 terminal);
}

/* Makes a pipe between this process, which gets *ret_fd (O_NONBLOCK), and a program. 0 or -errno. */
static int program_make_pipe(bool for_input, int *ret_fd, int *ret_child_fd)
{
	int fd[2], own_end = for_input ? 1 : 0;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	*ret_fd = fd[own_end];
	*ret_child_fd = fd[1 - own_end];
	return fcntl(fd[own_end], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* Makes the pipes to the program, unless it gets a terminal. 0 or -errno. */
static int program_open_streams(struct sandbox_program *program, bool stdin_is_open)
{
	static loop_on_event *const on_output[] = {program_on_stdout_readable, program_on_stderr_readable};
	struct loop *loop = program->sandbox->loop;
	int r = 0;

	if (program->has_terminal)
		return 0;
	if (stdin_is_open) {
		int fd = -1;

		r = program_make_pipe(true, &fd, &program->child_stdio_fd[0]);
		if (r == 0)
			r = stdin_queue_open(&program->stdin_queue, fd);
	} else {
		program->child_stdio_fd[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		r = program->child_stdio_fd[0] < 0 ? -errno : 0;
	}
	for (int i = 0; r == 0 && i < SANDBOX_STREAM_MAX; i++) {
		struct program_output *output = &program->outputs[i];

		r = program_make_pipe(false, &output->fd, &program->child_stdio_fd[1 + i]);
		if (r == 0) {
			output->source = loop_add_source(loop, output->fd, EPOLLIN, on_output[i], program);
			r = output->source ? 0 : -errno;
		}
	}
	return r;
}

int sandbox_start_program(struct sandbox *sandbox, const struct sandbox_program_options *options,
			  struct sandbox_program **ret_program)
{
	struct sandbox_program *program;
	int r;

	if (!sandbox->id || sandbox->session_hold_fd < 0)
		return -ENOTCONN;
	r = open_files_take(PROGRAM_OPEN_FILES + PROGRAM_CHILD_OPEN_FILES);
	if (r < 0)
		return r;
	program = calloc(1, sizeof(*program));
	if (!program) {
		open_files_give_back(PROGRAM_OPEN_FILES + PROGRAM_CHILD_OPEN_FILES);
		return -ENOMEM;
	}
	*program = (struct sandbox_program){.sandbox = sandbox,
					    .next = sandbox->programs,
					    .link = &sandbox->programs,
					    .reference_count = 1,
					    .options = {.on_start = options->on_start,
							.on_output = options->on_output,
							.on_denials = options->on_denials,
							.on_room = options->on_room,
							.on_end = options->on_end,
							.data = options->data},
					    .socket_fd = -1,
					    .child_stdio_is_counted = true,
					    .child_stdio_fd = {-1, -1, -1},
					    .outputs = {{.fd = -1, .remaining_bytes = -1},
							{.fd = -1, .remaining_bytes = -1}}};
	if (sandbox->programs)
		sandbox->programs->link = &program->next;
	sandbox->programs = program;
	program->has_terminal = options->has_terminal;
	stdin_queue_init(&program->stdin_queue, sandbox->loop, options->has_terminal, program_on_stdin_room, program);
	program->terminal_size =
		(struct winsize){.ws_col = (unsigned short)options->columns, .ws_row = (unsigned short)options->rows};
	program->request = program_make_request(sandbox, options);
	r = program->request ? program_open_streams(program, options->stdin_is_open) : -EILSEQ;
	if (r == 0)
		r = program_connect(program);
	if (r < 0)
		sandbox_program_free(program);
	else
		*ret_program = program;
	return r;
}
