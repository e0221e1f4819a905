/* Answers a request: at once, or as a stream. */
#include <stdlib.h>
#include <string.h>

#include "agents/http/private.h"
#include "base/cleanup.h"

/* when fewer bytes are queued, the sender is told to go on */
#define HTTP_STREAM_LOW_WATER_BYTES (HTTP_STREAM_HIGH_WATER_BYTES / 4)
#define HTTP_STREAM_BLOCK_BYTES (32u << 10) /* most bytes that libmicrohttpd takes from the queue at once */

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
	buf_drop(out, request->stream_sent_bytes);
	request->stream_sent_bytes = 0;
	buf_add(out, bytes, len);
	if (out->failed || out->len > HTTP_STREAM_QUEUED_BYTES_MAX) {
		http_request_disconnect(
			request); /* the owner learns it later by on_done, not in the middle of its write */
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
