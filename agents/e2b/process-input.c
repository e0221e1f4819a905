/*
 * Input of programs: SendInput, and the stream StreamInput. Requests wait in line until the program takes what they
 * have; of a stream, no more is read meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "agents/e2b/process.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define PROCESS_MESSAGE_BYTES_MAX (4u << 20) /* of StreamInput */

/* A request that gives input to a program, which has not taken all of it yet. */
struct input {
	struct input *next;
	struct e2b_process *process; /* NULL: StreamInput that has not named it yet, or whose program has ended */
	struct input *next_stream;   /* of the process */
	struct e2b_call *call;
	char *bytes;
	size_t len, at;
	bool is_stream;
	struct buf message;        /* of a stream: envelopes that were not taken yet, the last may be incomplete */
	bool is_taking, has_ended; /* of a stream: input_take_all() runs; there are no more bytes */
	bool is_answered;          /* of a stream: input_take_all() frees it */
};

static void input_free(struct input *input)
{
	struct input **at = input->process ? &input->process->inputs : NULL;

	while (at && *at && *at != input)
		at = &(*at)->next;
	if (at && *at)
		*at = input->next;
	at = input->process ? &input->process->streams : NULL;
	while (at && *at && *at != input)
		at = &(*at)->next_stream;
	if (at && *at)
		*at = input->next_stream;
	buf_release(&input->message);
	free(input->bytes);
	if (input->is_taking)
		*input = (struct input){.is_answered = true};
	else
		free(input);
}

static void input_on_cancel(void *data)
{
	input_free(data);
}

/* The request is done. message NULL: it succeeded. */
static void input_end(struct input *input, enum connect_code code, const char *message)
{
	struct e2b_call *call = input->call;
	struct http_request *request = call->request;
	bool is_stream = input->is_stream;

	input_free(input);
	if (message) {
		e2b_call_finish(call);
		connect_fail(request, code, "%s", message);
	} else if (is_stream) {
		connect_begin(call, json_object(), NULL);
		(void)connect_send(call, json_object());
		connect_end(call, 0, NULL);
	} else {
		e2b_call_finish(call);
		connect_answer(request, json_object());
	}
}

enum input_state { INPUT_WRITTEN, INPUT_WAITS, INPUT_FAILED };

/* Writes what the program takes. INPUT_FAILED: the request was answered. */
static enum input_state input_write(struct input *input)
{
	ssize_t taken = 0;

	while (input->at < input->len) {
		taken = sandbox_program_write(input->process->program, input->bytes + input->at,
					      input->len - input->at);
		if (taken <= 0)
			break;
		input->at += (size_t)taken;
	}
	if (taken < 0) { /* the program has ended or has closed its stdin: as with a pipe, nothing reads it */
		input_end(input, CONNECT_FAILED_PRECONDITION, "the program's stdin is closed");
		return INPUT_FAILED;
	}
	if (input->at < input->len)
		return INPUT_WAITS;
	free(steal_pointer(&input->bytes));
	input->at = input->len = 0;
	return INPUT_WRITTEN;
}

static bool input_take_all(struct input *input);

void process_on_room(void *data)
{
	struct e2b_process *process = data;
	enum input_state state = INPUT_WRITTEN;
	struct input *input;

	while (state != INPUT_WAITS && (input = process->inputs)) {
		state = input_write(input);
		if (state != INPUT_WRITTEN)
			continue;
		if (!input->is_stream) {
			input_end(input, 0, NULL);
			continue;
		}
		process->inputs = input->next;
		input->next = NULL;
		if (!input->is_taking && input_take_all(input))
			http_resume_body(input->call->request);
	}
	if (process->closes_stdin && !process->inputs)
		sandbox_program_close_stdin(process->program);
}

/* Puts a request in line. bytes: taken. */
static void input_add(struct input *input, char *bytes, size_t len)
{
	struct input **at = &input->process->inputs;

	input->bytes = bytes;
	input->len = len;
	input->at = 0;
	while (*at)
		at = &(*at)->next;
	*at = input;
	input->next = NULL;
	process_on_room(input->process);
}

/* The bytes of a ProcessInput. Owned by the caller; NULL with *ret_why. */
static char *input_decode(const json_t *message, const struct e2b_process *process, size_t *ret_len,
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

void process_give_input(struct e2b_process *process, struct http_request *request, const json_t *message)
{
	const char *why = NULL;
	struct input *input;
	size_t len = 0;
	char *bytes = input_decode(connect_get(message, "input", NULL), process, &len, &why);

	input = bytes ? calloc(1, sizeof(*input)) : NULL;
	if (input) {
		input->process = process;
		input->call = e2b_call_create(process->box, request, input_on_cancel, input);
	}
	if (!input || !input->call) {
		connect_fail(request, why ? CONNECT_INVALID_ARGUMENT : CONNECT_INTERNAL, "%s", why ? why : "no memory");
		free(bytes);
		free(input);
		return;
	}
	input_add(input, bytes, len);
}

void process_end_inputs(struct e2b_process *process)
{
	while (process->inputs)
		input_end(process->inputs, CONNECT_NOT_FOUND, "the program has ended");
	while (process->streams)
		input_end(process->streams, CONNECT_NOT_FOUND, "the program has ended");
}

void process_abort_inputs(struct e2b_process *process)
{
	while (process->inputs) {
		struct e2b_call *call = process->inputs->call;

		input_free(process->inputs);
		e2b_call_abort(call);
	}
	for (; process->streams; process->streams = process->streams->next_stream)
		process->streams->process = NULL; /* they have nothing in line, and e2b_calls_release() cuts them */
}

/* ---- StreamInput ---- */

/* One message of the stream. It may be the last: input->is_answered. */
static void input_handle_message(struct input *input, const json_t *message)
{
	struct e2b_sandbox *box = input->call->box;
	const json_t *start = connect_get(message, "start", NULL), *data = connect_get(message, "data", NULL);
	const char *why = NULL;
	size_t len = 0;
	char *bytes;

	if (start && !input->process) {
		const json_t *selector = connect_get(start, "process", NULL);
		int64_t pid = connect_get_integer(selector, "pid", NULL, 0);

		for (struct e2b_process *process = box->processes; process && !input->process; process = process->next)
			if (process->pid == pid && pid)
				input->process = process;
		if (!input->process) {
			input_end(input, CONNECT_NOT_FOUND, "no such process");
			return;
		}
		input->next_stream = input->process->streams;
		input->process->streams = input;
		return;
	}
	if (!data)
		return; /* keepalive */
	bytes = input->process ? input_decode(connect_get(data, "input", NULL), input->process, &len, &why) : NULL;
	if (bytes)
		input_add(input, bytes, len);
	else
		input_end(input, CONNECT_INVALID_ARGUMENT, why ? why : "the first message names the process");
}

/* Takes one envelope from the collected bytes. False: it is not complete, or the request was answered for it. */
static bool input_take_envelope(struct input *input)
{
	const unsigned char *head = (const unsigned char *)input->message.data;
	size_t size, len = input->message.len;
	_cleanup_json_ json_t *message = NULL;

	if (len < 5)
		return false;
	size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
	if (head[0] != 0 || size > PROCESS_MESSAGE_BYTES_MAX) {
		input_end(input, CONNECT_INVALID_ARGUMENT, "an envelope is compressed or too large");
		return false;
	}
	if (len < size + 5)
		return false;
	message = json_loadb(input->message.data + 5, size, JSON_REJECT_DUPLICATES, NULL);
	memmove(input->message.data, input->message.data + 5 + size, len - 5 - size);
	input->message.len -= 5 + size;
	if (message)
		input_handle_message(input, message);
	else
		input_end(input, CONNECT_INVALID_ARGUMENT, "a message is no JSON");
	return true;
}

/* Takes what was collected, message by message, as far as the program takes it. False: the request was answered. */
static bool input_take_all(struct input *input)
{
	input->is_taking = true;
	while (!input->is_answered && !input->bytes && input_take_envelope(input))
		;
	input->is_taking = false;
	if (input->is_answered) {
		free(input);
		return false;
	}
	if (!input->has_ended || input->bytes)
		return true;
	input_end(input, 0, NULL);
	return false;
}

static size_t input_on_bytes(void *data, const char *bytes, size_t len)
{
	struct input *input = data;

	if (input->bytes)
		return 0; /* the program has not taken the message before */
	buf_add(&input->message, bytes, len);
	if (input->message.failed)
		input_end(input, CONNECT_RESOURCE_EXHAUSTED, "the server has no memory");
	else
		(void)input_take_all(input);
	return len;
}

static void input_on_stream_end(void *data)
{
	struct input *input = data;

	input->has_ended = true;
	if (!input->bytes)
		(void)input_take_all(input);
}

void process_stream_input(struct e2b_sandbox *box, struct http_request *request)
{
	struct input *input = calloc(1, sizeof(*input));
	const struct http_body_handler handler = {
		.on_bytes = input_on_bytes, .on_end = input_on_stream_end, .data = input};

	if (input) {
		input->is_stream = true;
		input->call = e2b_call_create(box, request, input_on_cancel, input);
	}
	if (!input || !input->call) {
		free(input);
		connect_fail(request, CONNECT_INTERNAL, "the server has no memory");
		return;
	}
	http_stream_body(request, &handler);
}
