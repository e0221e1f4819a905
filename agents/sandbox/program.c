/*
 * A program in a sandbox: its start, and the connection to the session. Callbacks may free the program, so a function
 * that calls one holds a reference.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/sandbox/program.h"
#include "base/cleanup.h"
#include "keeper/session-client.h"

#define PROGRAM_RECONNECT_DELAY_MS 2 /* before connecting again, when the session's backlog is full */
#define PROGRAM_CONNECT_ATTEMPTS_MAX 2500 /* most connects to a session whose backlog is full */

static void program_on_reconnect_timer(void *data);

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
