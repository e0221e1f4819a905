/* Reads the body of a request: into memory, for a handler, or to drop it. */
#include <stdlib.h>
#include <strings.h>

#include "agents/http/private.h"

#define HTTP_FORM_PARSER_BYTES (16u << 10)   /* memory of a parser for HTML forms */
#define HTTP_SMALL_BODY_BYTES_MAX (1u << 20) /* a body up to this size is read before a refusal is sent */

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
		http_request_watch_hangup(request);
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
	http_request_unwatch_hangup(request);
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
