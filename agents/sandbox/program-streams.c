/* The streams of a program in a sandbox, also a terminal, and its end: when all output was read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/sandbox/program.h"
#include "base/cleanup.h"

#define PROGRAM_READ_BUFFER_BYTES 65536 /* most bytes of the program's output that one read(2) takes */
/* After the program's end, its terminal is closed when it had no output for this time. */
#define PROGRAM_QUIET_TERMINAL_CLOSE_MS 100
/* Most bytes that are read from a terminal after the program's end: more than the kernel buffers. */
#define PROGRAM_TERMINAL_REMAINING_BYTES_MAX (256 << 10)

/* ---- references ---- */

void program_output_close(struct program_output *output)
{
	loop_remove_source(output->source);
	output->source = NULL;
	close_fd(&output->fd);
}

void program_close_child_fds(struct sandbox_program *program)
{
	for (int i = 0; i < 3; i++)
		close_fd(&program->child_stdio_fd[i]);
	if (program->child_stdio_is_counted)
		open_files_give_back(PROGRAM_CHILD_OPEN_FILES);
	program->child_stdio_is_counted = false;
}

void program_close_socket(struct sandbox_program *program)
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

void program_drop_reference(struct sandbox_program *program)
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

void program_end_with_result(struct sandbox_program *program, json_t *result)
{
	program_close_socket(program);
	program_close_child_fds(program);
	program->result = result ? result : json_object();
	program_limit_remaining_output(program);
	program_report_end_if_complete(program);
}

void program_end_with_error(struct sandbox_program *program, const char *code, const char *message)
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

void program_on_stdout_readable(void *data, uint32_t events)
{
	(void)events;
	program_read_output(data, SANDBOX_STDOUT);
}

void program_on_stderr_readable(void *data, uint32_t events)
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

void program_on_stdin_room(void *data)
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

int program_start_terminal_io(struct sandbox_program *program, int master_fd)
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
