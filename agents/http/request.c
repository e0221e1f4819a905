/* An HTTP request: reads its body, suspends its connection while it waits, sends its answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agents/http/private.h"
#include "base/cleanup.h"

/* when fewer bytes are queued, the sender is told to go on */
#define HTTP_STREAM_LOW_WATER_BYTES (HTTP_STREAM_HIGH_WATER_BYTES / 4)
#define HTTP_STREAM_BLOCK_BYTES (32u << 10) /* most bytes that libmicrohttpd takes from the queue at once */
#define HTTP_FORM_PARSER_BYTES (16u << 10)   /* memory of a parser for HTML forms */
#define HTTP_SMALL_BODY_BYTES_MAX (1u << 20) /* a body up to this size is read before a refusal is sent */

/* ---- life ---- */

void http_request_free(struct http_request *request)
{
	loop_remove_source(request->hangup_source);
	loop_cancel_timer(request->body_timer);
	request->server->held_body_bytes -= request->body.len;
	buf_release(&request->body);
	buf_release(&request->stream_queue);
	if (request->pending_headers)
		MHD_destroy_response(request->pending_headers);
	if (request->response)
		MHD_destroy_response(request->response);
	free(request->target);
	free(request->path);
	free(request);
}

void http_request_notify_owner(struct http_request *request, bool complete)
{
	void (*on_done)(void *data, bool complete) = request->on_done;

	request->on_done = NULL;
	request->on_room = NULL;
	request->body_handler = (struct http_body_handler){0};
	if (on_done)
		on_done(request->owner_data, complete);
}

void http_set_owner(struct http_request *request, void (*on_done)(void *data, bool complete), void *data)
{
	request->on_done = on_done;
	request->owner_data = data;
	if (on_done)
		return;
	request->on_room = NULL; /* the rest of the answer is sent without an owner */
	request->body_handler = (struct http_body_handler){0};
}

/* ---- waiting ---- */

static void request_on_hangup(void *data, uint32_t events)
{
	struct http_request *request = data;
	int unread = 0;

	if (!request->is_suspended && !(events & (EPOLLERR | EPOLLHUP)) && ioctl(request->fd, FIONREAD, &unread) == 0 &&
	    unread > 0)
		return; /* libmicrohttpd reads the unread bytes, and they may complete the body */
	if (!request->is_suspended) {
		http_abort(request);
		return;
	}
	request->is_disconnected = true;
	http_request_notify_owner(request, false);
	/* libmicrohttpd then calls server_on_access(), which returns MHD_NO to close the connection */
	http_request_resume(request);
}

/*
 * Watches the socket for a hang-up of the client. libmicrohttpd does not look at a suspended connection. And after a
 * half-close in the middle of a body it would wait for the rest of the body.
 */
static void request_watch_hangup(struct http_request *request)
{
	if (!request->hangup_source)
		request->hangup_source =
			loop_add_source(request->server->loop, request->fd, EPOLLRDHUP, request_on_hangup, request);
}

/* Stops to watch for the client's hang-up; libmicrohttpd notices it. */
static void request_unwatch_hangup(struct http_request *request)
{
	loop_remove_source(request->hangup_source);
	request->hangup_source = NULL;
}

void http_request_suspend(struct http_request *request)
{
	if (request->is_suspended)
		return;
	request->is_suspended = true;
	MHD_suspend_connection(request->connection);
	request_watch_hangup(request);
}

void http_request_resume(struct http_request *request)
{
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	if (request->body_has_ended || request->is_disconnected)
		request_unwatch_hangup(request);
	MHD_resume_connection(request->connection);
	http_server_wake(request->server);
}

/* Cuts the connection. libmicrohttpd notices the shutdown, and calls server_on_completed() for the request. */
static void request_disconnect(struct http_request *request)
{
	request->is_disconnected = true;
	request_unwatch_hangup(request);
	if (request->upgrade_operations) {
		request->upgrade_operations->close(request);
		return;
	}
	(void)shutdown(request->fd, SHUT_RDWR);
	http_request_resume(request);
}

void http_abort(struct http_request *request)
{
	http_request_notify_owner(request, false);
	request_disconnect(request);
}

/* ---- reading a request's body ---- */

static enum MHD_Result request_queue_response(struct http_request *request)
{
	request->response_is_queued = true;
	return MHD_queue_response(request->connection, request->answer_status, request->response);
}

/* Answers that the body is refused. The rest of it is dropped. */
static void request_refuse_body(struct http_request *request, unsigned status, const char *message)
{
	http_answer_json(request, status, json_pack("{s:i, s:s}", "code", (int)status, "message", message));
}

/* How many headers of a request say where its body ends. */
struct http_body_length_headers {
	unsigned content_lengths, transfer_encodings;
	bool is_coded_otherwise; /* in another transfer coding than "chunked" alone */
};

/* Counts the headers that tell the body's length, because more than one could be used to smuggle a request. */
static enum MHD_Result request_visit_body_length(void *cls, enum MHD_ValueKind kind, const char *name,
						 const char *value)
{
	struct http_body_length_headers *found = cls;

	(void)kind;
	if (strcasecmp(name, "Content-Length") == 0)
		found->content_lengths++;
	if (strcasecmp(name, "Transfer-Encoding") != 0)
		return MHD_YES;
	found->transfer_encodings++;
	found->is_coded_otherwise |= !value || strcasecmp(value, "chunked") != 0;
	return MHD_YES;
}

/*
 * Whether two readers may disagree about the end of the body (RFC 9112, 6.3). libmicrohttpd takes such requests, and a
 * proxy before this server could take the rest of the body for its next client's request.
 */
static bool request_body_length_is_ambiguous(struct http_request *request)
{
	struct http_body_length_headers found = {0};

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, request_visit_body_length, &found);
	return found.content_lengths + found.transfer_encodings > 1 || found.is_coded_otherwise;
}

enum MHD_Result http_request_on_headers(struct http_request *request)
{
	const char *length = http_get_header(request, "Content-Length");
	const struct http_server_options *options = &request->server->options;

	if (request_body_length_is_ambiguous(request)) {
		http_add_header(request, "Connection", "close");
		request_refuse_body(request, 400, "the headers leave open where the body ends");
		return request_queue_response(request);
	}
	options->on_request(options->data, request);
	/*
	 * When libmicrohttpd gets an answer before the body was read, it closes the connection after the answer. So
	 * only a request with a large body, which the client should not send in vain, is answered here.
	 */
	if (request->response && ((length && strtoull(length, NULL, 10) > HTTP_SMALL_BODY_BYTES_MAX) ||
				  http_get_header(request, "Transfer-Encoding")))
		return request_queue_response(request);
	if (length || http_get_header(request, "Transfer-Encoding"))
		request_watch_hangup(request);
	return MHD_YES;
}

static void request_on_body_timeout(void *data)
{
	struct http_request *request = data;

	request->body_timer = NULL;
	http_abort(request);
}

void http_read_body(struct http_request *request, size_t bytes_max,
		    void (*on_body)(void *data, struct http_request *request, const char *bytes, size_t len),
		    void *data)
{
	request->body_use = HTTP_BODY_TO_MEMORY;
	request->body_max_bytes = bytes_max;
	request->on_body = on_body;
	request->on_body_data = data;
	request->body_timer =
		loop_add_timer(request->server->loop, HTTP_BODY_TIMEOUT_MS, request_on_body_timeout, request);
}

void http_stream_body(struct http_request *request, const struct http_body_handler *handler)
{
	request->body_use = HTTP_BODY_TO_HANDLER;
	request->body_handler = *handler;
}

struct MHD_PostProcessor *http_create_form_parser(struct http_request *request, MHD_PostDataIterator on_part,
						  void *data)
{
	return MHD_create_post_processor(request->connection, HTTP_FORM_PARSER_BYTES, on_part, data);
}

void http_resume_body(struct http_request *request)
{
	if (request->upgrade_operations)
		request->upgrade_operations->resume_input(request);
	else
		http_request_resume(request);
}

/* Keeps a part of a body in memory, or refuses the body if there is too much. Returns `len`: all was taken. */
static size_t request_store_body_bytes(struct http_request *request, const char *bytes, size_t len)
{
	struct http_server *server = request->server;

	if (len > request->body_max_bytes - request->body.len) {
		request_refuse_body(request, 413, "the body is too large");
	} else if (len > HTTP_ALL_BODIES_BYTES_MAX - server->held_body_bytes) {
		request_refuse_body(request, 503, "the server has too many bodies in memory; try again");
	} else {
		buf_add(&request->body, bytes, len);
		if (request->body.failed)
			request_refuse_body(request, 503, "the server has no memory");
		else
			server->held_body_bytes += len;
	}
	return len;
}

/* Drops a part of a body that is not wanted. Closes the connection if there is too much of it. Returns `len`. */
static size_t request_discard_body_bytes(struct http_request *request, size_t len)
{
	request->discarded_bytes += len;
	if (request->discarded_bytes > HTTP_DISCARDED_BODY_BYTES_MAX)
		http_abort(request);
	return len;
}

/* Passes a part of the body to who reads it, or drops it. *len: how much of it libmicrohttpd is to keep for later. */
enum MHD_Result http_request_on_body_bytes(struct http_request *request, const char *bytes, size_t *len)
{
	size_t taken = *len;

	if (request->response || request->body_use == HTTP_BODY_DISCARD)
		taken = request_discard_body_bytes(request, *len);
	else if (request->body_use == HTTP_BODY_TO_MEMORY)
		taken = request_store_body_bytes(request, bytes, *len);
	else if (request->body_use == HTTP_BODY_TO_HANDLER && request->body_handler.on_bytes)
		taken = request->body_handler.on_bytes(request->body_handler.data, bytes, *len);
	if (request->is_disconnected)
		return MHD_NO;
	if (taken < *len && !request->response)
		http_request_suspend(request);
	*len -= request->response ? *len : taken;
	return MHD_YES;
}

/* The body has ended: gives it to the request's owner, unless the request is answered already. */
static void request_end_body(struct http_request *request)
{
	request->body_has_ended = true;
	request_unwatch_hangup(request);
	loop_cancel_timer(request->body_timer);
	request->body_timer = NULL;
	if (request->response)
		return;
	if (request->body_use == HTTP_BODY_TO_MEMORY)
		request->on_body(request->on_body_data, request, request->body.data ? request->body.data : "",
				 request->body.len);
	else if (request->body_use == HTTP_BODY_TO_HANDLER && request->body_handler.on_end)
		request->body_handler.on_end(request->body_handler.data);
}

/* The body has ended: queues the answer or, while there is none, suspends the connection. */
enum MHD_Result http_request_on_body_end(struct http_request *request)
{
	if (!request->body_has_ended)
		request_end_body(request);
	if (request->is_disconnected)
		return MHD_NO;
	if (request->response)
		return request_queue_response(request);
	http_request_suspend(request);
	return MHD_YES;
}

/* ---- answering a request ---- */

void http_add_header(struct http_request *request, const char *name, const char *value)
{
	if (!request->pending_headers)
		request->pending_headers = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (request->pending_headers) /* a malformed header is dropped: MHD_add_response_header() fails */
		(void)MHD_add_response_header(request->pending_headers, name, value);
}

/* libmicrohttpd's callback that adds a header to the response `cls`. */
static enum MHD_Result request_copy_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	(void)MHD_add_response_header(cls, name, value);
	return MHD_YES;
}

void http_request_set_response(struct http_request *request, unsigned status, const char *content_type,
			       struct MHD_Response *response)
{
	if (!response || request->response) {
		if (response)
			MHD_destroy_response(response);
		return;
	}
	if (content_type)
		(void)MHD_add_response_header(response, "Content-Type", content_type);
	if (request->pending_headers)
		(void)MHD_get_response_headers(request->pending_headers, request_copy_header, response);
	request->response = response;
	request->answer_status = status;
	http_request_resume(request);
}

void http_answer(struct http_request *request, unsigned status, const char *content_type, const char *bytes, size_t len)
{
	http_request_set_response(request, status, content_type,
				  MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes,
								  MHD_RESPMEM_MUST_COPY));
}

void http_answer_json(struct http_request *request, unsigned status, json_t *value)
{
	_cleanup_free_ char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	json_decref(value);
	http_answer(request, text ? status : 500, "application/json", text ? text : "", text ? strlen(text) : 0);
}

void http_request_advance_stream(struct http_request *request, size_t len)
{
	request->stream_sent_bytes += len;
	if (request->stream_sent_bytes == request->stream_queue.len)
		request->stream_queue.len = request->stream_sent_bytes = 0;
	if (request->wants_room &&
	    request->stream_queue.len - request->stream_sent_bytes < HTTP_STREAM_LOW_WATER_BYTES) {
		request->wants_room = false;
		if (request->on_room)
			request->on_room(request->room_data);
	}
}

/* Callback of libmicrohttpd: copies the next bytes of a streamed answer into its buffer. */
static ssize_t request_supply_stream_bytes(void *cls, uint64_t position, char *bytes, size_t room)
{
	struct http_request *request = cls;
	size_t len = request->stream_queue.len - request->stream_sent_bytes;

	(void)position;
	if (request->is_disconnected)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (len == 0 && request->stream_has_ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (len == 0) {
		http_request_suspend(request);
		return 0;
	}
	len = len > room ? room : len;
	memcpy(bytes, request->stream_queue.data + request->stream_sent_bytes, len);
	http_request_advance_stream(request, len);
	return (ssize_t)len;
}

void http_begin_stream(struct http_request *request, unsigned status, const char *content_type, int64_t bytes_total,
		       void (*on_room)(void *data), void *data)
{
	uint64_t size = bytes_total >= 0 ? (uint64_t)bytes_total : MHD_SIZE_UNKNOWN;

	request->is_stream = true;
	request->on_room = on_room;
	request->room_data = data;
	http_request_set_response(request, status, content_type,
				  MHD_create_response_from_callback(size, HTTP_STREAM_BLOCK_BYTES,
								    request_supply_stream_bytes, request, NULL));
}

bool http_write_stream(struct http_request *request, const char *bytes, size_t len)
{
	struct buf *out = &request->stream_queue;

	if (request->is_disconnected || request->client_is_gone)
		return true;
	if (request->stream_sent_bytes > 0) {
		memmove(out->data, out->data + request->stream_sent_bytes, out->len - request->stream_sent_bytes);
		out->len -= request->stream_sent_bytes;
		request->stream_sent_bytes = 0;
	}
	buf_add(out, bytes, len);
	if (out->failed || out->len > HTTP_STREAM_QUEUED_BYTES_MAX) {
		request_disconnect(request); /* the owner learns it later by on_done, not in the middle of its write */
		return true;
	}
	if (request->response_is_queued)
		http_request_resume(request);
	request->wants_room = out->len > HTTP_STREAM_HIGH_WATER_BYTES;
	if (request->upgrade_operations)
		request->upgrade_operations->update(request);
	return !request->wants_room;
}

void http_end_stream(struct http_request *request)
{
	request->stream_has_ended = true;
	if (request->response_is_queued)
		http_request_resume(request);
	if (request->upgrade_operations)
		request->upgrade_operations->update(request);
}

/* ---- a request's URL and headers ---- */

const char *http_get_method(const struct http_request *request)
{
	return request->method;
}

const char *http_get_path(const struct http_request *request)
{
	return request->path;
}

const char *http_get_target(const struct http_request *request)
{
	return request->target;
}

const char *http_get_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_get_query_parameter(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* What is called for each header field of a request. */
struct http_header_visitor {
	void (*visit)(void *data, const char *name, const char *value);
	void *data;
};

/* libmicrohttpd's callback that passes a header to the visitor `cls`. */
static enum MHD_Result request_visit_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct http_header_visitor *visitor = cls;

	(void)kind;
	visitor->visit(visitor->data, name, value ? value : "");
	return MHD_YES;
}

void http_for_each_header(const struct http_request *request,
			  void (*visit)(void *data, const char *name, const char *value), void *data)
{
	struct http_header_visitor call = {visit, data};

	(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, request_visit_header, &call);
}

bool http_match_path(const char *pattern, const char *path,
		     char ret_part[HTTP_PATH_WILDCARDS_MAX][HTTP_PATH_WILDCARD_SIZE])
{
	size_t part = 0, len;

	while (*pattern) {
		if (pattern[0] != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		len = strcspn(path, "/");
		if (len == 0 || len >= HTTP_PATH_WILDCARD_SIZE || part == HTTP_PATH_WILDCARDS_MAX)
			return false;
		memcpy(ret_part[part], path, len);
		ret_part[part++][len] = '\0';
		path += len;
		pattern += 2;
	}
	return *path == '\0';
}
