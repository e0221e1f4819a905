#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/http/http2.h"
#include "egress/state.h"

/* The header fields that are sent to the endpoint. The values of secret fields are owned, and wiped. */
struct outgoing_fields {
	nghttp2_nv field[HTTP_FIELDS_MAX + 6];
	size_t count;
	char path[HTTP_HEAD_BYTES_MAX + NET_PATH_SIZE];
	char authority[NET_HOST_SIZE + 8];
};

static void outgoing_free(struct outgoing_fields *outgoing)
{
	for (size_t i = 0; i < outgoing->count; i++)
		if (outgoing->field[i].flags & NGHTTP2_NV_FLAG_NO_INDEX)
			request_wipe_text((char *)outgoing->field[i].value, outgoing->field[i].valuelen);
	free(outgoing);
}

/* Adds a field to the request. secret: the text is wiped afterwards. */
static void outgoing_add_text(struct outgoing_fields *outgoing, const char *name, const char *value, bool secret)
{
	const struct http_field field = {name, strlen(name), value, strlen(value)};

	outgoing->field[outgoing->count++] = http2_make_header_nv(&field, secret);
}

/* Adds the pseudo-header fields, with the path that was judged and the query as received. */
static void outgoing_add_target(struct outgoing_fields *outgoing, const struct http2_stream *stream)
{
	const struct conn *conn = stream->http2->conn;
	const char *path = http2_head_find_field(&stream->request, ":path"), *query = path ? strchr(path, '?') : NULL;
	bool v6 = strchr(conn->host, ':') != NULL;

	(void)snprintf(outgoing->path, sizeof(outgoing->path), "%s%s", stream->request_to_judge.path,
		       stream->request_to_judge.has_query && query ? query
								   : ""); /* fits: the head bounds path and query */
	(void)snprintf(outgoing->authority, sizeof(outgoing->authority), conn->port == 443 ? "%s%s%s" : "%s%s%s:%u",
		       v6 ? "[" : "", conn->host, v6 ? "]" : "", conn->port);
	outgoing_add_text(outgoing, ":method", stream->request_to_judge.method, false);
	outgoing_add_text(outgoing, ":scheme", "https", false);
	outgoing_add_text(outgoing, ":authority", outgoing->authority, false);
	outgoing_add_text(outgoing, ":path", outgoing->path, false);
}

/* Whether a field is forwarded. "te: trailers" is the one hop-by-hop field that HTTP/2 keeps; gRPC requires it. */
static bool http2_field_is_forwarded(const char *name, size_t len, const char *value)
{
	if (name[0] == ':' || strcmp(name, "host") == 0)
		return false;
	if (strcmp(name, "te") == 0)
		return strcmp(value, "trailers") == 0;
	return !request_field_is_never_forwarded(name, len);
}

/*
 * Adds the fields that are forwarded, with secrets in place of placeholders, but not `replaced` (NULL: none). 0 or
 * -errno.
 */
static int outgoing_add_received_fields(struct outgoing_fields *outgoing, const struct http2_stream *stream,
					const char *replaced)
{
	for (size_t i = 0; i < stream->request.field_count; i++) {
		struct http_field field = stream->request.field[i];
		char *value;
		size_t len;
		int r;

		if (!http2_field_is_forwarded(field.name, field.name_len, field.value) ||
		    (replaced && request_field_equals_as_cgi_variable(field.name, field.name_len, replaced)))
			continue;
		r = request_replace_placeholders(stream->http2->conn, &field, &value, &len);
		if (r < 0)
			return r;
		if (r) {
			field.value = value;
			field.value_len = len;
		}
		outgoing->field[outgoing->count++] = http2_make_header_nv(&field, r != 0);
	}
	return 0;
}

/* Makes the fields of the request to the server: target, credential, and what is forwarded. 0 or -errno. */
static int outgoing_build_fields(struct outgoing_fields *outgoing, const struct http2_stream *stream)
{
	const char *name = NULL;
	char *value = NULL;
	int r = request_make_credential(stream->http2->conn, &stream->verdict, &name, &value);

	if (r < 0)
		return r;
	outgoing_add_target(outgoing, stream);
	if (name)
		outgoing_add_text(outgoing, name, value, true);
	return outgoing_add_received_fields(outgoing, stream, name);
}

/* Sends the request to the server, or refuses it if it cannot be made. */
static void http2_forward_request(struct http2_stream *stream)
{
	struct http2_state *http2 = stream->http2;
	struct outgoing_fields *outgoing = calloc(1, sizeof(*outgoing));
	bool empty = stream->up.has_ended && !stream->up.unsent_bytes.data;
	int r = outgoing ? outgoing_build_fields(outgoing, stream) : -ENOMEM;
	int32_t id = NGHTTP2_ERR_NOMEM;

	if (r == 0)
		id = nghttp2_submit_request(http2->upstream, NULL, outgoing->field, outgoing->count,
					    empty ? NULL : &http2_body_provider, stream);
	if (outgoing)
		outgoing_free(outgoing);
	stream->phase = HTTP2_FORWARDED;
	if (id >= 0) {
		stream->upstream_id = id;
		return;
	}
	http2_record_outcome(stream, r < 0 ? r : -EIO);
	if (r < 0 && r != -ENOMEM)
		request_set_refusal(&stream->verdict, 403, "no_credential");
	else
		request_set_refusal(&stream->verdict, 503, "failed");
	http2_send_refusal(stream);
}

/* Cancels the request to the server, and drops what has come of the response. */
static void http2_cancel_upstream(struct http2_stream *stream)
{
	nghttp2_session *session = stream->http2->upstream;

	http2_drop_body(&stream->down, session, -1);
	if (stream->upstream_id < 0)
		return;
	(void)nghttp2_session_set_stream_user_data(session, stream->upstream_id, NULL);
	(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->upstream_id, NGHTTP2_CANCEL);
	stream->upstream_id = -1;
}

/* Refuses a request, and records that. reason: static code. */
static void http2_refuse_request(struct http2_stream *stream, unsigned status, const char *reason)
{
	request_set_refusal(&stream->verdict, status, reason);
	request_write_record(stream->http2->conn, &stream->request_to_judge, &stream->verdict, NULL, NULL, NULL);
	http2_send_refusal(stream);
}

static void http2_on_record_acknowledged(void *ctx, int error)
{
	struct http2_stream *stream = ctx;
	struct conn *conn = stream->http2->conn;

	if (stream->closed_while_awaiting_ack) {
		stream->phase = error == 0 ? HTTP2_FORWARDED : stream->phase;
		http2_record_outcome(stream, -ECANCELED); /* a record of an allowed request needs an outcome */
		http2_stream_free(stream);
		return;
	}
	if (error == 0) {
		http2_forward_request(stream);
	} else {
		request_set_refusal(&stream->verdict, 503, "record_failed");
		http2_send_refusal(stream);
	}
	conn_pump_mode(conn);
}

/* Returns false if `from` was cut off, because `to` has too few bytes. */
static bool http2_copy_text_if_it_fits(char *to, size_t cap, const char *from)
{
	return (size_t)snprintf(to, cap, "%s", from) < cap;
}

/*
 * Fills stream->request_to_judge from the pseudo-header fields, which nghttp2 has checked to be unique. NULL, or the
 * code of a refusal's reason.
 */
static const char *http2_read_request(struct http2_stream *stream)
{
	const struct http2_head *head = &stream->request;
	struct request *asked = &stream->request_to_judge;
	const char *method = http2_head_find_field(head, ":method"), *scheme = http2_head_find_field(head, ":scheme");
	const char *authority = http2_head_find_field(head, ":authority"), *path = http2_head_find_field(head, ":path");
	const char *host = http2_head_find_field(head, "host"), *query;

	if (!method || !http2_copy_text_if_it_fits(asked->method, sizeof(asked->method), method) || !scheme ||
	    !http2_copy_text_if_it_fits(asked->scheme, sizeof(asked->scheme), scheme) || !path)
		return "bad_request";
	if (!authority)
		authority = host;
	else if (host && strcmp(host, authority) != 0)
		return "smuggling";
	if (!authority || !http2_copy_text_if_it_fits(asked->authority, sizeof(asked->authority), authority))
		return "bad_request";
	if (net_path_normalise(path, strlen(path), asked->path, &query) < 0)
		return "bad_path";
	asked->has_query = query != NULL;
	for (size_t i = 0; i < head->field_count; i++)
		if (request_field_disguises_framing(head->field[i].name, head->field[i].name_len))
			return "smuggling";
	return NULL;
}

static void http2_on_question_answered(void *ctx, int error);

/* The length of a request's body, as a question tells it. */
static int64_t http2_get_body_bytes(const struct http2_stream *stream)
{
	const char *length = http2_head_find_field(&stream->request, "content-length");
	int64_t bytes = 0;

	if (stream->up.has_ended)
		return (int64_t)bytes_count_left(&stream->up.unsent_bytes);
	if (!length || !*length)
		return CONTROL_BODY_OF_UNKNOWN_LENGTH;
	for (; *length; length++) /* nghttp2 has checked it, and resets a stream whose body has another length */
		if (*length < '0' || *length > '9' || __builtin_mul_overflow(bytes, 10, &bytes) ||
		    __builtin_add_overflow(bytes, *length - '0', &bytes))
			return CONTROL_BODY_OF_UNKNOWN_LENGTH;
	return bytes;
}

/* Asks about a request. False: it is to be refused. */
static bool http2_ask_about_request(struct http2_stream *stream)
{
	const char *path = http2_head_find_field(&stream->request, ":path"), *query = path ? strchr(path, '?') : NULL;
	const struct request_details details = {
		.query = query, .query_len = query ? strlen(query) : 0, .body_bytes = http2_get_body_bytes(stream)};

	if (!request_ask(stream->http2->conn, &stream->request_to_judge, &details, http2_on_question_answered, stream))
		return false;
	stream->phase = HTTP2_AWAITING_ANSWER;
	http2_lend_window(stream);
	return true;
}

/* Judges a request that was read. An allowed one is forwarded once its record is acknowledged. */
static void http2_judge_read_request(struct http2_stream *stream)
{
	struct conn *conn = stream->http2->conn;

	request_judge(conn, &stream->request_to_judge, stream->request.field, stream->request.field_count,
		      &stream->verdict);
	if (stream->verdict.can_be_asked_about && http2_ask_about_request(stream))
		return;
	stream->phase = HTTP2_AWAITING_RECORD_ACK;
	if (!stream->verdict.is_allowed) {
		request_write_record(conn, &stream->request_to_judge, &stream->verdict, NULL, NULL, &stream->record_id);
		http2_send_refusal(stream);
		return;
	}
	request_write_record(conn, &stream->request_to_judge, &stream->verdict, http2_on_record_acknowledged, stream,
			     &stream->record_id);
}

/* The approver has answered. */
static void http2_on_question_answered(void *ctx, int error)
{
	struct http2_stream *stream = ctx;
	struct conn *conn = stream->http2->conn;

	request_take_answer(conn, &stream->request_to_judge, error);
	http2_judge_read_request(stream);
	conn_pump_mode(conn);
}

/* Judges a request whose head is complete. */
static void http2_judge_request(struct http2_stream *stream)
{
	const char *wrong = http2_read_request(stream);

	if (wrong)
		http2_refuse_request(stream, 400, wrong);
	else
		http2_judge_read_request(stream);
}

/*
 * Judges a request when it is known whether content follows. For a method without content the verdict waits for the
 * next frame, because the server may pass the request on by HTTP/1, where content would be dangerous.
 */
static void http2_judge_when_body_known(struct http2_stream *stream)
{
	const char *method = http2_head_find_field(&stream->request, ":method");

	if (method && request_method_has_no_body(method) && !stream->up.has_ended && !stream->up.unsent_bytes.data)
		return;
	stream->request_to_judge.has_body = stream->up.unsent_bytes.data || !stream->up.has_ended;
	http2_judge_request(stream);
}

/* nghttp2's callback for a new request of the program: creates its stream. */
static int client_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = http2_stream_create(user_data, frame->hd.stream_id);
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	stream->start_ns = loop_get_now_ns(stream->http2->conn->egress->loop);
	/* cannot fail: the stream was just created */
	(void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
	return 0;
}

/* Adds a header field of a request. Trailers are dropped: nothing that is judged may follow the verdict. */
static int client_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
			    const uint8_t *value, size_t value_len, uint8_t flags, void *user_data)
{
	struct http2_stream *stream = http2_find_stream(session, frame->hd.stream_id);

	(void)flags;
	(void)user_data;
	if (!stream || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (http2_head_add_field(&stream->request, name, name_len, value, value_len) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (!stream->request.is_too_large)
		return 0;
	http2_refuse_request(stream, 431, "head_too_large");
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream, so that no more of it is read */
}

/* nghttp2's callback for a frame of the program: judges the head once it is complete, and passes data on. */
static int client_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream = http2_find_frame_stream(user_data, session, frame);

	if (stream && stream->phase == HTTP2_RECEIVING_HEAD)
		http2_judge_when_body_known(stream);
	else if (stream)
		http2_resume_body(stream, true);
	return 0;
}

/* nghttp2's callback for the end of a stream with the program: records the outcome, and frees the stream. */
static int client_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
	struct http2_stream *stream = http2_find_stream(session, id);

	(void)user_data;
	if (!stream)
		return 0;
	http2_drop_body(&stream->up, session, -1);
	if (stream->phase == HTTP2_AWAITING_RECORD_ACK && stream->verdict.is_allowed) {
		stream->closed_while_awaiting_ack = true;
		return 0;
	}
	http2_record_outcome(stream, code == NGHTTP2_NO_ERROR && stream->response_status
					     ? (int64_t)stream->response_status
					     : -ECANCELED);
	http2_cancel_upstream(stream);
	http2_stream_free(stream);
	return 0;
}

/* Creates the HTTP/2 session with the program, in which egress is the server. */
int http2_client_create(struct http2_state *http2)
{
	static const struct http2_callbacks callbacks = {.begin_headers = client_on_begin_headers,
							 .header = client_on_header,
							 .frame = client_on_frame,
							 .close = client_on_close};

	return http2_session_create(http2, true, &callbacks, &http2->client);
}
