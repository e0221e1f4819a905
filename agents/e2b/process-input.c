/*
 * Input of programs: by SendInput, or by StreamInput, whose request is a stream of messages. Input waits in a queue
 * until the program reads it. Meanwhile no more of a stream is read from its client.
 */
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/process.h"
#include "agents/slist.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define PROCESS_INPUT_MESSAGE_BYTES_MAX (4u << 20) /* one message of StreamInput */

/* A request of SendInput or StreamInput, until it is answered. */
struct input_request {
	struct input_request *next;
	struct e2b_process
		*process; /* NULL: StreamInput that has not named its program yet, or whose program is freed */
	struct input_request *next_stream_of_process; /* in process->input_streams */
	struct e2b_call *call;
	char *pending_bytes; /* input, of which the program has taken pending_sent_bytes */
	size_t pending_len, pending_sent_bytes;
	bool is_stream_input; /* StreamInput, not SendInput */
	/* Only for StreamInput: */
	struct buf stream_buffer; /* bytes of the request's body that were not parsed yet */
	bool is_parsing_stream;   /* the parser uses the struct: input_request_free() must not free it */
	bool body_has_ended;      /* the whole body of the request has arrived */
	/* input_request_free() was called meanwhile: the parser frees the struct at its end */
	bool was_released_while_parsing;
};

static void input_request_free(struct input_request *input)
{
	if (input->process) {
		slist_remove(input->process->waiting_inputs, input, next);
		slist_remove(input->process->input_streams, input, next_stream_of_process);
	}
	buf_release(&input->stream_buffer);
	free(input->pending_bytes);
	if (input->is_parsing_stream)
		*input = (struct input_request){.was_released_while_parsing = true};
	else
		free(input);
}

static void input_request_on_cancel(void *data)
{
	input_request_free(data);
}

/* Answers the request and frees it. message: why it has failed; NULL: it has succeeded. */
static void input_request_end(struct input_request *input, enum connect_code code, const char *message)
{
	struct e2b_call *call = input->call;
	struct http_request *request = call->request;
	bool is_stream = input->is_stream_input;

	input_request_free(input);
	if (message) {
		e2b_call_finish(call);
		connect_answer_error(request, code, "%s", message);
	} else if (is_stream) {
		connect_begin_stream(call, json_object(), NULL);
		(void)connect_send_message(call, json_object());
		connect_end_stream(call, 0, NULL);
	} else {
		e2b_call_finish(call);
		connect_answer(request, json_object());
	}
}

enum input_state { INPUT_WRITTEN, INPUT_WAITS, INPUT_FAILED };

/* Writes pending bytes to the program, as far as it takes them. INPUT_FAILED: the request was answered and freed. */
static enum input_state input_request_write(struct input_request *input)
{
	ssize_t taken = 0;

	while (input->pending_sent_bytes < input->pending_len) {
		taken = sandbox_program_write(input->process->program, input->pending_bytes + input->pending_sent_bytes,
					      input->pending_len - input->pending_sent_bytes);
		if (taken <= 0)
			break;
		input->pending_sent_bytes += (size_t)taken;
	}
	if (taken < 0) { /* the program has ended, or has closed its stdin */
		input_request_end(input, CONNECT_FAILED_PRECONDITION, "the program's stdin is closed");
		return INPUT_FAILED;
	}
	if (input->pending_sent_bytes < input->pending_len)
		return INPUT_WAITS;
	free(steal_pointer(&input->pending_bytes));
	input->pending_sent_bytes = input->pending_len = 0;
	return INPUT_WRITTEN;
}

static bool input_request_parse_envelopes(struct input_request *input);

void process_on_stdin_room(void *data)
{
	struct e2b_process *process = data;
	enum input_state state = INPUT_WRITTEN;
	struct input_request *input;

	while (state != INPUT_WAITS && (input = process->waiting_inputs)) {
		state = input_request_write(input);
		if (state != INPUT_WRITTEN)
			continue;
		if (!input->is_stream_input) {
			input_request_end(input, 0, NULL);
			continue;
		}
		process->waiting_inputs = input->next;
		input->next = NULL;
		if (!input->is_parsing_stream && input_request_parse_envelopes(input))
			http_resume_body(input->call->request);
	}
	if (process->closes_stdin_after_input && !process->waiting_inputs)
		sandbox_program_close_stdin(process->program);
}

/* Puts a request with its input at the end of the program's queue. bytes: taken. */
static void input_request_queue(struct input_request *input, char *bytes, size_t len)
{
	input->pending_bytes = bytes;
	input->pending_len = len;
	input->pending_sent_bytes = 0;
	slist_append(input->process->waiting_inputs, input, next);
	process_on_stdin_room(input->process);
}

/* Decodes the bytes of a ProcessInput. Owned by the caller; NULL: *ret_why says what is wrong, or no memory. */
static char *input_request_decode_bytes(const json_t *message, const struct e2b_process *process, size_t *ret_len,
					const char **ret_why)
{
	const char *text = connect_get_text(message, process->has_terminal ? "pty" : "stdin", NULL);
	char *bytes = text ? connect_decode_base64(text, strlen(text), ret_len) : NULL;

	if (!text)
		*ret_why =
			process->has_terminal ? "a program with a terminal takes input.pty" : "input.stdin is missing";
	else if (!bytes)
		*ret_why = "the input is no base64";
	else if (!process->has_stdin)
		*ret_why = "the program was started without stdin";
	if (bytes && *ret_why) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

void process_queue_input(struct e2b_process *process, struct http_request *request, const json_t *message)
{
	const char *why = NULL;
	struct input_request *input;
	size_t len = 0;
	char *bytes = input_request_decode_bytes(connect_get_member(message, "input", NULL), process, &len, &why);

	input = bytes ? calloc(1, sizeof(*input)) : NULL;
	if (input) {
		input->process = process;
		input->call = e2b_call_create(process->box, request, input_request_on_cancel, input);
	}
	if (!input || !input->call) {
		connect_answer_error(request, why ? CONNECT_INVALID_ARGUMENT : CONNECT_INTERNAL, "%s",
				     why ? why : "no memory");
		free(bytes);
		free(input);
		return;
	}
	input_request_queue(input, bytes, len);
}

void process_end_inputs(struct e2b_process *process)
{
	while (process->waiting_inputs)
		input_request_end(process->waiting_inputs, CONNECT_NOT_FOUND, "the program has ended");
	while (process->input_streams)
		input_request_end(process->input_streams, CONNECT_NOT_FOUND, "the program has ended");
}

void process_abort_inputs(struct e2b_process *process)
{
	while (process->waiting_inputs) {
		struct e2b_call *call = process->waiting_inputs->call;

		input_request_free(process->waiting_inputs);
		e2b_call_abort(call);
	}
	for (; process->input_streams; process->input_streams = process->input_streams->next_stream_of_process)
		process->input_streams->process = NULL; /* e2b_calls_abort_all() cuts the stream later */
}

/* ---- StreamInput ---- */

/*
 * Handles one message of the stream: its first one names the program, others have input. An error is answered, which
 * sets input->was_released_while_parsing.
 */
static void input_request_handle_message(struct input_request *input, const json_t *message)
{
	struct e2b_sandbox *box = input->call->box;
	const json_t *start = connect_get_member(message, "start", NULL),
		     *data = connect_get_member(message, "data", NULL);
	const char *why = NULL;
	size_t len = 0;
	char *bytes;

	if (start && !input->process) {
		const json_t *selector = connect_get_member(start, "process", NULL);
		int64_t pid = connect_get_integer(selector, "pid", NULL, 0);

		for (struct e2b_process *process = box->processes; process && !input->process; process = process->next)
			if (process->pid == pid && pid)
				input->process = process;
		if (!input->process) {
			input_request_end(input, CONNECT_NOT_FOUND, "no such process");
			return;
		}
		input->next_stream_of_process = input->process->input_streams;
		input->process->input_streams = input;
		return;
	}
	if (!data)
		return; /* a keepalive message has neither start nor data */
	bytes = input->process ? input_request_decode_bytes(connect_get_member(data, "input", NULL), input->process,
							    &len, &why)
			       : NULL;
	if (bytes)
		input_request_queue(input, bytes, len);
	else
		input_request_end(input, CONNECT_INVALID_ARGUMENT, why ? why : "the first message names the process");
}

/* Handles the first message in stream_buffer. False: it is incomplete, or malformed, and an error was answered. */
static bool input_request_parse_envelope(struct input_request *input)
{
	const unsigned char *head = (const unsigned char *)input->stream_buffer.data;
	size_t size, len = input->stream_buffer.len;
	_cleanup_json_ json_t *message = NULL;

	if (len < 5)
		return false;
	size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (head[0] != 0 || size > PROCESS_INPUT_MESSAGE_BYTES_MAX) {
		input_request_end(input, CONNECT_INVALID_ARGUMENT, "an envelope is compressed or too large");
		return false;
	}
	if (len < size + 5)
		return false;
	message = json_loadb(input->stream_buffer.data + 5, size, JSON_REJECT_DUPLICATES, NULL);
	buf_drop(&input->stream_buffer, 5 + size);
	if (message)
		input_request_handle_message(input, message);
	else
		input_request_end(input, CONNECT_INVALID_ARGUMENT, "a message is no JSON");
	return true;
}

/*
 * Handles messages in stream_buffer until one has input that the program does not take yet. False: the request was
 * answered and freed.
 */
static bool input_request_parse_envelopes(struct input_request *input)
{
	input->is_parsing_stream = true;
	while (!input->was_released_while_parsing && !input->pending_bytes && input_request_parse_envelope(input))
		;
	input->is_parsing_stream = false;
	if (input->was_released_while_parsing) {
		free(input);
		return false;
	}
	if (!input->body_has_ended || input->pending_bytes)
		return true;
	input_request_end(input, 0, NULL);
	return false;
}

/* Takes a part of StreamInput's body, or 0 bytes while the program has not taken the last message. */
static size_t input_request_on_body_bytes(void *data, const char *bytes, size_t len)
{
	struct input_request *input = data;

	if (input->pending_bytes)
		return 0; /* the program has not taken the input of the last message yet */
	buf_add(&input->stream_buffer, bytes, len);
	if (input->stream_buffer.failed)
		input_request_end(input, CONNECT_RESOURCE_EXHAUSTED, "the server has no memory");
	else
		(void)input_request_parse_envelopes(input);
	return len;
}

static void input_request_on_body_end(void *data)
{
	struct input_request *input = data;

	input->body_has_ended = true;
	if (!input->pending_bytes)
		(void)input_request_parse_envelopes(input);
}

void process_stream_input(struct e2b_sandbox *box, struct http_request *request)
{
	struct input_request *input = calloc(1, sizeof(*input));
	const struct http_body_handler handler = {
		.on_bytes = input_request_on_body_bytes, .on_end = input_request_on_body_end, .data = input};

	if (input) {
		input->is_stream_input = true;
		input->call = e2b_call_create(box, request, input_request_on_cancel, input);
	}
	if (!input || !input->call) {
		free(input);
		connect_answer_error(request, CONNECT_INTERNAL, "the server has no memory");
		return;
	}
	http_stream_body(request, &handler);
}
