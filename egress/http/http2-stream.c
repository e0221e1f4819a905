#include "egress/http/http2.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/conn/line.h"
#include "egress/state.h"

struct http2_stream *http2_stream_create(struct http2_state *http2, int32_t client_id)
{
	struct http2_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->http2 = http2;
	stream->client_id = client_id;
	stream->upstream_id = -1;
	stream->next = http2->streams;
	http2->streams = stream;
	return stream;
}

static void http2_head_release(struct http2_head *head)
{
	free(head->field_text);
	*head = (struct http2_head){0};
}

void http2_stream_free(struct http2_stream *stream)
{
	struct http2_stream **at = &stream->http2->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	request_withdraw(stream->http2->conn, &stream->request_to_judge);
	line_forget_ack_callbacks(stream->http2->conn->egress->line, stream);
	http2_head_release(&stream->request);
	http2_head_release(&stream->response);
	http2_head_release(&stream->trailers);
	bytes_release(&stream->up.unsent_bytes);
	bytes_release(&stream->down.unsent_bytes);
	bytes_release(&stream->refusal_body);
	free(stream);
}

int http2_head_add_field(struct http2_head *head, const uint8_t *name, size_t name_len, const uint8_t *value,
		   size_t value_len)
{
	struct http_field field = {.name_len = name_len, .value_len = value_len};
	size_t size = name_len + value_len + 2;
	char *at;

	if (head->field_count == HTTP_FIELDS_MAX || size > HTTP_HEAD_BYTES_MAX - head->field_text_len)
		head->is_too_large = true;
	if (head->is_too_large)
		return 0;
	if (!head->field_text && !(head->field_text = malloc(HTTP_HEAD_BYTES_MAX)))
		return -ENOMEM;
	field.name = at = head->field_text + head->field_text_len;
	*(char *)mempcpy(at, name, name_len) = '\0';
	field.value = at += name_len + 1;
	*(char *)mempcpy(at, value, value_len) = '\0';
	head->field[head->field_count++] = field;
	head->field_text_len += size;
	return 0;
}

const char *http2_head_find_field(const struct http2_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (strcmp(head->field[i].name, name) == 0)
			return head->field[i].value;
	return NULL;
}

/* Reopens a session's flow-control window by the bytes that are handled. id -1: the stream is closed. */
static void http2_consume_bytes(nghttp2_session *session, int32_t id, size_t len)
{
	/* All of these calls fail only for a closed stream. */
	if (id >= 0)
		(void)nghttp2_session_consume(session, id, len);
	else
		(void)nghttp2_session_consume_connection(session, len);
}

/* As http2_consume_bytes(), of bytes of a body: the connection's window may be open again by some of them. */
static void http2_consume_body_bytes(struct http2_body *body, nghttp2_session *session, int32_t id, size_t len)
{
	const size_t lent = len < body->bytes_lent ? len : body->bytes_lent;

	body->bytes_lent -= lent;
	if (lent && id >= 0)
		(void)nghttp2_session_consume_stream(session, id, lent);
	http2_consume_bytes(session, id, len - lent);
}

void http2_lend_window(struct http2_stream *stream)
{
	const size_t len = bytes_count_left(&stream->up.unsent_bytes);

	(void)nghttp2_session_consume_connection(stream->http2->client, len - stream->up.bytes_lent);
	stream->up.bytes_lent = len;
}

void http2_drop_body(struct http2_body *body, nghttp2_session *session, int32_t id)
{
	if (body->unsent_bytes.data)
		http2_consume_body_bytes(body, session, id, bytes_count_left(&body->unsent_bytes));
	bytes_release(&body->unsent_bytes);
}

void http2_resume_body(struct http2_stream *stream, bool up)
{
	struct http2_body *body = up ? &stream->up : &stream->down;
	int32_t id = up ? stream->upstream_id : stream->client_id;

	if (!body->waits_for_data || id < 0)
		return;
	body->waits_for_data = false;
	/* Fails only for a closed stream. */
	(void)nghttp2_session_resume_data(up ? stream->http2->upstream : stream->http2->client, id);
}

/* How many of `want` bytes the budget allows to be sent now. */
static size_t http2_get_allowed_bytes(struct http2_state *http2, bool up, size_t want)
{
	uint64_t wait_ms = 0;
	size_t room = budget_get_allowed_bytes(&http2->conn->use, up, want, loop_get_now_ns(http2->conn->egress->loop),
					   &wait_ms);

	if (want && !room && wait_ms == UINT64_MAX)
		http2->close_reason = "cap_bytes";
	else if (want && !room)
		http2->budget_wait_ms = wait_ms ? wait_ms : 1;
	return room;
}

/* Sends the response's trailers. False: it has none, or sending failed. */
static bool submit_trailers(const struct http2_stream *stream)
{
	const struct http2_head *head = &stream->trailers;
	nghttp2_nv field[HTTP_FIELDS_MAX];

	for (size_t i = 0; i < head->field_count; i++)
		field[i] = http2_make_header_nv(&head->field[i], false);
	return head->field_count &&
	       nghttp2_submit_trailer(stream->http2->client, stream->client_id, field, head->field_count) == 0;
}

/* nghttp2's source for a body that is passed on, in either direction, as fast as the budget allows. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap, uint32_t *flags,
			 nghttp2_data_source *source, void *user_data)
{
	struct http2_state *http2 = user_data;
	struct http2_stream *stream = http2_find_stream(session, id);
	bool up = session == http2->upstream;
	struct http2_body *body;
	size_t len;

	(void)source;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	body = up ? &stream->up : &stream->down;
	len = bytes_count_left(&body->unsent_bytes);
	len = http2_get_allowed_bytes(http2, up, len < cap ? len : cap);
	if (!len && !(body->has_ended && !body->unsent_bytes.data)) {
		body->waits_for_data = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	(void)bytes_take(&body->unsent_bytes, out, len);
	budget_spend_bytes(&http2->conn->use, up, len);
	body->bytes_moved += len;
	http2_consume_body_bytes(body, up ? http2->client : http2->upstream,
				 up ? stream->client_id : stream->upstream_id, len);
	if (body->has_ended && !body->unsent_bytes.data)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (body->has_ended && !body->unsent_bytes.data && !up && submit_trailers(stream))
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return (ssize_t)len;
}

const nghttp2_data_provider http2_body_provider = {.read_callback = read_body};

/* nghttp2's callback for a part of a body, from either side: keeps it to be passed on. */
static int http2_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
		   void *user_data)
{
	struct http2_state *http2 = user_data;
	struct http2_stream *stream = http2_find_stream(session, id);
	bool up = session == http2->client;

	(void)flags;
	if (!stream || (up && (stream->phase == HTTP2_REFUSED_BY_EGRESS || stream->phase == HTTP2_OUTCOME_RECORDED))) {
		http2_consume_bytes(session, id, len); /* bytes of a body that is no longer wanted are dropped */
		return 0;
	}
	if (bytes_add(up ? &stream->up.unsent_bytes : &stream->down.unsent_bytes, data, len) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (up && stream->phase == HTTP2_AWAITING_ANSWER)
		http2_lend_window(stream);
	http2_resume_body(stream, up);
	return 0;
}

struct http2_stream *http2_find_frame_stream(struct http2_state *http2, nghttp2_session *session,
					     const nghttp2_frame *frame)
{
	struct http2_stream *stream = http2_find_stream(session, frame->hd.stream_id);

	if (!stream || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return NULL;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		*(session == http2->client ? &stream->up.has_ended : &stream->down.has_ended) = true;
	return stream;
}

int http2_session_create(struct http2_state *http2, bool server, const struct http2_callbacks *on,
			 nghttp2_session **ret_session)
{
	const nghttp2_settings_entry settings[] = {
		server ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX}
		       : (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_BYTES_MAX}};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	int r = -ENOMEM;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on->begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on->header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, http2_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on->frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on->close);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on->not_sent);
	if (nghttp2_option_new(&option) == 0) {
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		if ((server ? nghttp2_session_server_new2(ret_session, callbacks, http2, option)
			    : nghttp2_session_client_new2(ret_session, callbacks, http2, option)) == 0 &&
		    nghttp2_submit_settings(*ret_session, NGHTTP2_FLAG_NONE, settings, 2) == 0)
			r = 0;
		nghttp2_option_del(option);
	}
	nghttp2_session_callbacks_del(callbacks);
	return r;
}

struct http2_stream *http2_find_stream(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

nghttp2_nv http2_make_header_nv(const struct http_field *field, bool secret)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)field->name, /* nghttp2 copies it and does not write to it */
			    .value = (uint8_t *)(uintptr_t)field->value,
			    .namelen = field->name_len,
			    .valuelen = field->value_len,
			    .flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

/* Resets the program's stream with an HTTP/2 error code. */
static void http2_reset_stream(struct http2_stream *stream, uint32_t code)
{
	(void)nghttp2_submit_rst_stream(stream->http2->client, NGHTTP2_FLAG_NONE, stream->client_id, code);
}

void http2_record_outcome(struct http2_stream *stream, int64_t result)
{
	if (stream->phase != HTTP2_FORWARDED)
		return;
	stream->phase = HTTP2_OUTCOME_RECORDED;
	conn_record_request_outcome(stream->http2->conn, stream->start_ns, (struct control_request_done){
		.id = stream->record_id, .result = result,
		.bytes_up = stream->up.bytes_moved, .bytes_down = stream->down.bytes_moved});
}

/* ---- the session towards the endpoint, whose responses are returned to the program ---- */

/* Sends the response's head to the client. final: else an interim response, after which others follow. */
static void http2_submit_response(struct http2_stream *stream, bool final)
{
	struct http2_state *http2 = stream->http2;
	const struct http2_head *head = &stream->response;
	nghttp2_nv field[HTTP_FIELDS_MAX];
	bool empty = stream->down.has_ended && !stream->trailers.field_count && !stream->down.unsent_bytes.data;
	size_t count = 0;
	int r;

	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *one = &head->field[i];

		if (one->name[0] == ':' ? strcmp(one->name, ":status") == 0
					: !request_field_is_never_forwarded(one->name, one->name_len))
			field[count++] = http2_make_header_nv(one, false);
	}
	if (!final)
		r = nghttp2_submit_headers(http2->client, NGHTTP2_FLAG_NONE, stream->client_id, NULL, field, count,
					   NULL);
	else
		r = nghttp2_submit_response(http2->client, stream->client_id, field, count,
					    empty ? NULL : &http2_body_provider);
	if (r != 0)
		http2_reset_stream(stream, NGHTTP2_INTERNAL_ERROR);
}

/* nghttp2's source for the body of a refusal. At the end, the rest of the request is declined. */
static ssize_t http2_read_refusal(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap, uint32_t *flags,
			    nghttp2_data_source *source, void *user_data)
{
	struct http2_stream *stream = http2_find_stream(session, id);
	size_t len;

	(void)source;
	(void)user_data;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	len = bytes_take(&stream->refusal_body, out, cap);
	if (!stream->refusal_body.data) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (!stream->up.has_ended) /* the rest of the request is not wanted (RFC 9113, 8.1) */
			(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	}
	return (ssize_t)len;
}

void http2_send_refusal(struct http2_stream *stream)
{
	nghttp2_data_provider body = {.read_callback = http2_read_refusal};
	_cleanup_free_ char *text =
		request_make_refusal_body(stream->http2->conn, &stream->request_to_judge, &stream->verdict);
	char status[8] = "";
	const struct http_field first = {":status", 7, status, 3}, type = {"content-type", 12, "application/json", 16};
	nghttp2_nv field[] = {http2_make_header_nv(&first, false), http2_make_header_nv(&type, false)};

	(void)snprintf(status, sizeof(status), "%03u", stream->verdict.refusal_status % 1000);
	stream->phase = HTTP2_REFUSED_BY_EGRESS;
	http2_drop_body(&stream->up, stream->http2->client, stream->client_id);
	if (!text || bytes_add(&stream->refusal_body, text, strlen(text)) < 0 ||
	    nghttp2_submit_response(stream->http2->client, stream->client_id, field, 2, &body) != 0)
		http2_reset_stream(stream, NGHTTP2_REFUSED_STREAM);
	stream->http2->conn->http_status = stream->verdict.refusal_status;
}

/* nghttp2's callback for a field of the server's response or trailers: keeps it. */
static int upstream_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			      size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user_data)
{
	struct http2_stream *stream = http2_find_stream(session, frame->hd.stream_id);
	struct http2_head *head;

	(void)flags;
	(void)user_data;
	if (!stream || frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	head = stream->response_status ? &stream->trailers : &stream->response;
	if (http2_head_add_field(head, name, name_len, value, value_len) < 0 || head->is_too_large)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return 0;
}

/* Passes on the head of an interim or of the final response. */
static void http2_handle_response_head(struct http2_stream *stream)
{
	const char *text = http2_head_find_field(&stream->response, ":status");
	unsigned status = 0;

	for (size_t i = 0; text && i < 3 && text[i] >= '0' && text[i] <= '9'; i++)
		status = status * 10 + (unsigned)(text[i] - '0');
	if (status >= 200) {
		stream->response_status = status;
		http2_submit_response(stream, true);
		return;
	}
	http2_submit_response(stream, false);
	http2_head_release(&stream->response); /* emptied for the next response */
}

/* nghttp2's callback for a frame of the server: handles the response's head, and passes data on. */
static int upstream_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream = http2_find_frame_stream(user_data, session, frame);

	if (stream && frame->hd.type == NGHTTP2_HEADERS && !stream->response_status)
		http2_handle_response_head(stream);
	else if (stream)
		http2_resume_body(stream, false);
	return 0;
}

/*
 * Called when the endpoint's stream closes. The program's stream still gets what has arrived; the outcome is recorded
 * when that closes.
 */
static int upstream_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
	struct http2_stream *stream = http2_find_stream(session, id);

	(void)user_data;
	if (!stream)
		return 0;
	stream->upstream_id = -1;
	if (!stream->down.has_ended || !stream->response_status || code != NGHTTP2_NO_ERROR)
		http2_reset_stream(stream, code ? code : NGHTTP2_INTERNAL_ERROR);
	return 0;
}

/*
 * Handles a request that the endpoint no longer accepts (GOAWAY, or no stream ids left). It never becomes a stream, so
 * that no other callback ends it.
 */
static int upstream_on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user_data)
{
	struct http2_state *http2 = user_data;

	(void)session;
	(void)error;
	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	for (struct http2_stream *stream = http2->streams; stream; stream = stream->next)
		if (stream->upstream_id == frame->hd.stream_id) {
			stream->upstream_id = -1;
			http2_reset_stream(stream, NGHTTP2_REFUSED_STREAM);
		}
	return 0;
}

int http2_upstream_create(struct http2_state *http2)
{
	static const struct http2_callbacks callbacks = {.header = upstream_on_header,
							 .frame = upstream_on_frame,
							 .close = upstream_on_close,
							 .not_sent = upstream_on_not_sent};

	return http2_session_create(http2, false, &callbacks, &http2->upstream);
}
