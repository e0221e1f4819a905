/* JSON-RPC 2.0 over lines: reading, checking and queueing messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/mcp/rpc.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define RPC_READ_BYTES 65536
#define RPC_WRITE_BYTES_MAX 4096 /* PIPE_BUF: a pipe that is writable by poll(2) takes so many bytes without blocking */

/* A connection on which messages of JSON-RPC come and go, one a line. */
struct rpc {
	struct loop *loop;
	struct rpc_handler handler;
	struct loop_source *input_source, *output_source;
	int input_fd, output_fd;
	bool output_is_socket, has_ended;
	bool is_skipping_line;      /* the rest of the line, which is too long, is dropped */
	struct buf incomplete_line; /* the beginning of the next message */
	struct buf pending_output;  /* output; its first pending_written_bytes are written */
	size_t pending_written_bytes;
};

/* Stops to read requests, and tells the owner once that they have ended. */
static void rpc_report_end(struct rpc *rpc)
{
	if (rpc->has_ended)
		return;
	rpc->has_ended = true;
	loop_remove_source(rpc->input_source);
	rpc->input_source = NULL;
	rpc->handler.on_end(rpc->handler.data);
}

/* ---- output ---- */

bool rpc_is_congested(const struct rpc *rpc)
{
	return rpc->pending_output.len - rpc->pending_written_bytes > RPC_PENDING_OUTPUT_BYTES_MAX;
}

bool rpc_is_flushed(const struct rpc *rpc)
{
	return rpc->pending_output.len == rpc->pending_written_bytes;
}

/* Reads no further requests while too much output waits, and waits for room while any does. */
static void rpc_update_watched_events(struct rpc *rpc)
{
	(void)loop_set_events(rpc->output_source, rpc_is_flushed(rpc) ? 0 : EPOLLOUT);
	if (rpc->input_source)
		(void)loop_set_events(rpc->input_source, rpc_is_congested(rpc) ? 0 : EPOLLIN);
}

static ssize_t rpc_write_some(const struct rpc *rpc, const char *bytes, size_t len)
{
	if (len > RPC_WRITE_BYTES_MAX)
		len = RPC_WRITE_BYTES_MAX;
	return rpc->output_is_socket ? send(rpc->output_fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
				     : write(rpc->output_fd, bytes, len);
}

static void rpc_on_writable(void *data, uint32_t events)
{
	struct rpc *rpc = data;
	ssize_t done = events & EPOLLOUT ? rpc_write_some(rpc, rpc->pending_output.data + rpc->pending_written_bytes,
							  rpc->pending_output.len - rpc->pending_written_bytes)
					 : -1;

	if (done > 0) {
		rpc->pending_written_bytes += (size_t)done;
	} else if (!(events & EPOLLOUT) || (errno != EAGAIN && errno != EINTR)) {
		loop_remove_source(rpc->output_source); /* the peer reads no more */
		rpc->output_source = NULL;
		rpc_report_end(rpc);
		return;
	}
	if (rpc->pending_written_bytes == rpc->pending_output.len) {
		buf_release(&rpc->pending_output);
		rpc->pending_output = (struct buf){0};
		rpc->pending_written_bytes = 0;
	}
	rpc_update_watched_events(rpc);
}

/* Queues a message for the peer. Takes the reference. */
static void rpc_queue_message(struct rpc *rpc, json_t *message)
{
	_cleanup_free_ char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	if (!text)
		text = strdup("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}");
	if (!text || !rpc->output_source)
		return;
	if (rpc->pending_written_bytes > RPC_PENDING_OUTPUT_BYTES_MAX) {
		buf_drop(&rpc->pending_output, rpc->pending_written_bytes);
		rpc->pending_written_bytes = 0;
	}
	buf_puts(&rpc->pending_output, text);
	buf_puts(&rpc->pending_output, "\n");
	if (rpc->pending_output.failed)
		rpc_report_end(rpc);
	else
		rpc_update_watched_events(rpc);
}

static json_t *rpc_copy_id(const json_t *id)
{
	return id ? json_incref((json_t *)(uintptr_t)id) : json_null();
}

void rpc_send_result(struct rpc *rpc, const json_t *id, json_t *result)
{
	rpc_queue_message(rpc, json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", rpc_copy_id(id), "result", result));
}

/* Sends an error. id: of the request that it answers, NULL if that is unknown. Takes data, which may be NULL. */
void rpc_send_error(struct rpc *rpc, const json_t *id, enum rpc_error code, const char *message, json_t *data)
{
	json_t *error = json_pack("{s:i, s:s, s:o*}", "code", (int)code, "message", message, "data", data);

	rpc_queue_message(rpc,
			  id ? json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", rpc_copy_id(id), "error", error)
			     : json_pack("{s:s, s:o}", "jsonrpc", "2.0", "error", error));
}

/* Sends a message that expects no answer. Takes params. */
void rpc_send_notification(struct rpc *rpc, const char *method, json_t *params)
{
	rpc_queue_message(rpc, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

void rpc_send_request(struct rpc *rpc, const char *id, const char *method, json_t *params)
{
	rpc_queue_message(rpc, json_pack("{s:s, s:s, s:s, s:o}", "jsonrpc", "2.0", "id", id, "method", method, "params",
					 params));
}

/* ---- input ---- */

/* Checks the form of a message (JSON-RPC 2.0, section 4; MCP forbids a null id), and calls the handler. */
static void rpc_handle_message(struct rpc *rpc, const json_t *message)
{
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
	const bool id_is_valid = json_is_string(id) || json_is_integer(id);

	if (!method && id_is_valid && (json_object_get(message, "result") || json_object_get(message, "error"))) {
		/* ids of requests of this side are texts, without NUL */
		if (json_is_string(id) && strlen(json_string_value(id)) == json_string_length(id))
			rpc->handler.on_response(
				rpc->handler.data, json_string_value(id),
				json_object_get(message, "error") ? NULL : json_object_get(message, "result"));
		return;
	}
	if (!version || strcmp(version, "2.0") != 0 || !method || (id && !id_is_valid))
		rpc_send_error(
			rpc, id_is_valid ? id : NULL, RPC_INVALID_REQUEST,
			"not a JSON-RPC 2.0 request: needs \"jsonrpc\": \"2.0\", \"method\", and an \"id\" that is "
			"a string or an integer",
			NULL);
	else if (params && !json_is_object(params))
		rpc_send_error(rpc, id, RPC_INVALID_PARAMS, "\"params\" must be an object", NULL);
	else if (id)
		rpc->handler.on_request(rpc->handler.data, id, method, params);
	else
		rpc->handler.on_notification(rpc->handler.data, method, params);
}

static void rpc_handle_line(struct rpc *rpc, const char *text, size_t len)
{
	json_error_t error;
	json_t *message;

	if (len == 0 || (len == 1 && text[0] == '\r'))
		return;
	message = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (message)
		rpc_handle_message(rpc, message);
	else
		rpc_send_error(rpc, NULL, RPC_PARSE_ERROR, error.text, NULL);
	json_decref(message);
}

/* Adds bytes to the line that is being read. A line that is too long is refused once, and skipped. */
static void rpc_add_to_line(struct rpc *rpc, const char *bytes, size_t len)
{
	if (rpc->is_skipping_line)
		return;
	if (rpc->incomplete_line.len + len <= RPC_LINE_BYTES_MAX) {
		buf_add(&rpc->incomplete_line, bytes, len);
		return;
	}
	rpc->is_skipping_line = true;
	buf_release(&rpc->incomplete_line);
	rpc->incomplete_line = (struct buf){0};
	rpc_send_error(rpc, NULL, RPC_INVALID_REQUEST, "a message is longer than 16 MiB", NULL);
}

/* Handles a line that is complete, unless it was too long. */
static void rpc_finish_line(struct rpc *rpc)
{
	struct buf line = rpc->incomplete_line;

	rpc->incomplete_line = (struct buf){0};
	if (!rpc->is_skipping_line && !line.failed)
		rpc_handle_line(rpc, line.data ? line.data : "", line.len);
	rpc->is_skipping_line = false;
	buf_release(&line);
}

static void rpc_on_readable(void *data, uint32_t events)
{
	struct rpc *rpc = data;
	char bytes[RPC_READ_BYTES], *at = bytes, *newline;
	ssize_t got = read(rpc->input_fd, bytes, sizeof(bytes));

	(void)events;
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		rpc_report_end(rpc);
		return;
	}
	while ((newline = memchr(at, '\n', (size_t)(bytes + got - at)))) {
		rpc_add_to_line(rpc, at, (size_t)(newline - at));
		rpc_finish_line(rpc);
		at = newline + 1;
	}
	rpc_add_to_line(rpc, at, (size_t)(bytes + got - at));
}

/* ---- life ---- */

static bool fd_is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int rpc_create(struct loop *loop, int input_fd, int output_fd, const struct rpc_handler *handler, struct rpc **ret_rpc)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));
	int error;

	if (!rpc)
		return -ENOMEM;
	*rpc = (struct rpc){.loop = loop,
			    .handler = *handler,
			    .input_fd = input_fd,
			    .output_fd = output_fd,
			    .output_is_socket = fd_is_socket(output_fd)};
	errno = ENOMEM;
	rpc->input_source = loop_add_source(loop, input_fd, EPOLLIN, rpc_on_readable, rpc);
	rpc->output_source = rpc->input_source ? loop_add_source(loop, output_fd, 0, rpc_on_writable, rpc) : NULL;
	if (!rpc->output_source) {
		error = -errno;
		rpc_free(rpc);
		return error;
	}
	*ret_rpc = rpc;
	return 0;
}

void rpc_free(struct rpc *rpc)
{
	if (!rpc)
		return;
	loop_remove_source(rpc->input_source);
	loop_remove_source(rpc->output_source);
	buf_release(&rpc->incomplete_line);
	buf_release(&rpc->pending_output);
	free(rpc);
}
