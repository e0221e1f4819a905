/* The program's side: takes requests, has them judged and recorded, gives it the responses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/http/http2.h"
#include "egress/state.h"

#include "base/banned.h"

static struct http2_stream *find(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- a request ---- */

static void refuse(struct http2_stream *stream, unsigned status, const char *reason)
{
	uint64_t id;

	stream->verdict = (struct request_verdict){.status = status, .reason = reason};
	request_record(stream->http2->conn, &stream->asked, &stream->verdict, NULL, NULL, &id);
	http2_refuse(stream);
}

static void on_record(struct conn *conn, void *ctx, int error)
{
	struct http2_stream *stream = ctx;

	if (stream->gone) {
		const struct control_done done = {.id = stream->record_id, .result = -ECANCELED};

		if (error == 0) /* on record: so it has to end there */
			conn_record_done(conn, stream->record_id, &done);
		http2_stream_free(stream);
		return;
	}
	if (error == 0)
		http2_forward(stream);
	else {
		stream->verdict.allow = false;
		stream->verdict.status = 503;
		stream->verdict.reason = "record_failed";
		http2_refuse(stream);
	}
	conn_pump(conn);
}

static bool copy(char *to, size_t cap, const char *from)
{
	size_t len = strlen(from);

	if (len >= cap)
		return false;
	memcpy(to, from, len + 1);
	return true;
}

/* From the pseudo-fields, which nghttp2 has checked for being there once each. NULL, or why not. */
static const char *read_request(struct http2_stream *stream)
{
	const struct http2_head *head = &stream->request;
	struct request *asked = &stream->asked;
	const char *method = http2_head_find(head, ":method"), *scheme = http2_head_find(head, ":scheme");
	const char *authority = http2_head_find(head, ":authority"), *path = http2_head_find(head, ":path");
	const char *host = http2_head_find(head, "host"), *query;

	if (!method || !copy(asked->method, sizeof(asked->method), method) || !scheme ||
	    !copy(asked->scheme, sizeof(asked->scheme), scheme) || !path)
		return "bad_request";
	if (!authority)
		authority = host;
	else if (host && strcmp(host, authority) != 0)
		return "smuggling";
	if (!authority || !copy(asked->authority, sizeof(asked->authority), authority))
		return "bad_request";
	if (net_path_normalise(path, strlen(path), asked->path, &query) < 0)
		return "bad_path";
	asked->query = query != NULL;
	for (size_t i = 0; i < head->count; i++)
		if (request_field_disguised(head->text + head->field[i].name, head->field[i].name_len))
			return "smuggling";
	return NULL;
}

static bool has_refused_field(const struct http2_stream *stream)
{
	const struct http2_head *head = &stream->request;

	for (size_t i = 0; i < head->count; i++)
		if (request_field_refused(&stream->verdict, head->text + head->field[i].name, head->field[i].name_len))
			return true;
	return false;
}

static void judge(struct http2_stream *stream)
{
	struct conn *conn = stream->http2->conn;
	const char *wrong = read_request(stream);

	if (wrong) {
		refuse(stream, 400, wrong);
		return;
	}
	request_judge(conn, &stream->asked, &stream->verdict);
	if (stream->verdict.allow && has_refused_field(stream))
		stream->verdict = (struct request_verdict){.status = 403, .label = stream->verdict.label,
							   .reason = "override_not_granted"};
	stream->phase = HTTP2_JUDGED;
	if (!stream->verdict.allow) {
		request_record(conn, &stream->asked, &stream->verdict, NULL, NULL, &stream->record_id);
		http2_refuse(stream);
		return;
	}
	request_record(conn, &stream->asked, &stream->verdict, on_record, stream, &stream->record_id);
}

/*
 * The head is there. Whether content follows is told by what comes next: where the method has none, the verdict waits for
 * that, since a server in front of others may pass it on by HTTP/1.
 */
static void judge_when_known(struct http2_stream *stream)
{
	const char *method = http2_head_find(&stream->request, ":method");

	if (method && request_lacks_body(method) && !stream->up.ended && !stream->up.len)
		return;
	stream->asked.body = stream->up.len > 0 || !stream->up.ended;
	judge(stream);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = http2_stream_create(user_data, frame->hd.stream_id);
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	stream->start_ns = loop_now_ns(stream->http2->conn->egress->loop);
	(void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream); /* it has just been made */
	return 0;
}

/* A request's own trailers are dropped: nothing that is judged may follow the verdict. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		     const uint8_t *value, size_t value_len, uint8_t flags, void *user_data)
{
	struct http2_stream *stream = find(session, frame->hd.stream_id);

	(void)flags;
	(void)user_data;
	if (!stream || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (http2_head_add(&stream->request, name, name_len, value, value_len) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (!stream->request.too_large)
		return 0;
	refuse(stream, 431, "head_too_large");
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* the stream is reset: no more of it is read */
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *user_data)
{
	struct http2_stream *stream = find(session, id);

	(void)flags;
	(void)user_data;
	if (!stream || stream->phase == HTTP2_ANSWERED || stream->phase == HTTP2_ENDED) {
		(void)nghttp2_session_consume(session, id, len); /* nobody wants it: room for other streams */
		return 0;
	}
	return http2_queue_add(&stream->up, data, len) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream = find(session, frame->hd.stream_id);

	(void)user_data;
	if (!stream || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		stream->up.ended = true;
	if (stream->phase == HTTP2_HEAD)
		judge_when_known(stream);
	else
		http2_more(stream);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
	struct http2_stream *stream = find(session, id);

	(void)user_data;
	if (!stream)
		return 0;
	if (stream->up.len > stream->up.at)
		(void)nghttp2_session_consume_connection(session, stream->up.len - stream->up.at);
	if (stream->phase == HTTP2_JUDGED && stream->verdict.allow) {
		stream->gone = true;
		return 0;
	}
	http2_settle(stream, code == NGHTTP2_NO_ERROR && stream->status ? (int64_t)stream->status : -ECANCELED);
	http2_upstream_cancel(stream);
	http2_stream_free(stream);
	return 0;
}

/* ---- its response ---- */

static ssize_t read_down(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap, uint32_t *flags,
			 nghttp2_data_source *source, void *user_data)
{
	struct http2 *http2 = user_data;
	struct http2_stream *stream = find(session, id);
	ssize_t len;

	(void)source;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	len = http2_queue_take(http2, false, &stream->down, out, cap, &stream->down_deferred);
	if (len < 0)
		return len;
	stream->bytes_down += (size_t)len;
	if (stream->upstream_id >= 0)
		(void)nghttp2_session_consume(http2->upstream, stream->upstream_id, (size_t)len);
	else
		(void)nghttp2_session_consume_connection(http2->upstream, (size_t)len);
	if (!http2_queue_over(&stream->down))
		return len;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (stream->trailers.count) {
		nghttp2_nv field[HTTP_FIELDS_MAX];
		const struct http2_head *head = &stream->trailers;

		for (size_t i = 0; i < head->count; i++)
			field[i] = http2_nv(head->text + head->field[i].name, head->field[i].name_len,
					    head->text + head->field[i].value, head->field[i].value_len, false);
		if (nghttp2_submit_trailer(session, id, field, head->count) == 0)
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	}
	return len;
}

void http2_respond(struct http2_stream *stream, bool final)
{
	struct http2 *http2 = stream->http2;
	const struct http2_head *head = &stream->response;
	nghttp2_data_provider body = {.read_callback = read_down};
	nghttp2_nv field[HTTP_FIELDS_MAX];
	size_t count = 0;
	int r;

	for (size_t i = 0; i < head->count; i++) {
		const char *name = head->text + head->field[i].name;

		if (name[0] == ':' ? strcmp(name, ":status") == 0
				   : !request_field_dropped(name, head->field[i].name_len, true))
			field[count++] = http2_nv(name, head->field[i].name_len, head->text + head->field[i].value,
						  head->field[i].value_len, false);
	}
	if (!final)
		r = nghttp2_submit_headers(http2->client, NGHTTP2_FLAG_NONE, stream->client_id, NULL, field, count, NULL);
	else
		r = nghttp2_submit_response(http2->client, stream->client_id, field, count,
					    stream->down.ended && !stream->trailers.count && !stream->down.len ? NULL : &body);
	if (r != 0)
		http2_abort(stream, NGHTTP2_INTERNAL_ERROR);
}

void http2_respond_more(struct http2_stream *stream)
{
	if (!stream->down_deferred)
		return;
	stream->down_deferred = false;
	(void)nghttp2_session_resume_data(stream->http2->client, stream->client_id); /* fails only when it is closed */
}

static ssize_t read_refusal(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap, uint32_t *flags,
			    nghttp2_data_source *source, void *user_data)
{
	struct http2_stream *stream = find(session, id);
	size_t len;

	(void)source;
	(void)user_data;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	len = strlen(stream->refusal + stream->refusal_at);
	if (len > cap)
		len = cap;
	memcpy(out, stream->refusal + stream->refusal_at, len);
	stream->refusal_at += len;
	if (!stream->refusal[stream->refusal_at]) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (!stream->up.ended) /* RFC 9113, 8.1: the rest of the request is not wanted */
			(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	}
	return (ssize_t)len;
}

void http2_refuse(struct http2_stream *stream)
{
	nghttp2_data_provider body = {.read_callback = read_refusal};
	char status[4] = {(char)('0' + stream->verdict.status / 100 % 10), (char)('0' + stream->verdict.status / 10 % 10),
			  (char)('0' + stream->verdict.status % 10), '\0'};
	nghttp2_nv field[] = {http2_nv(":status", 7, status, 3, false),
			      http2_nv("content-type", 12, "application/json", 16, false)};

	stream->phase = HTTP2_ANSWERED;
	if (stream->up.len > stream->up.at)
		(void)nghttp2_session_consume(stream->http2->client, stream->client_id, stream->up.len - stream->up.at);
	stream->up.at = stream->up.len;
	if (!stream->refusal)
		stream->refusal = request_refusal(stream->http2->conn, &stream->asked, &stream->verdict);
	if (!stream->refusal || nghttp2_submit_response(stream->http2->client, stream->client_id, field, 2, &body) != 0)
		http2_abort(stream, NGHTTP2_REFUSED_STREAM);
	conn_set_status(stream->http2->conn, stream->verdict.status);
}

void http2_abort(struct http2_stream *stream, uint32_t code)
{
	(void)nghttp2_submit_rst_stream(stream->http2->client, NGHTTP2_FLAG_NONE, stream->client_id, code);
}

int http2_client_create(struct http2 *http2)
{
	static const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX},
							  {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX}};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	int r = -ENOMEM;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	if (nghttp2_option_new(&option) == 0) {
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		if (nghttp2_session_server_new2(&http2->client, callbacks, http2, option) == 0 &&
		    nghttp2_submit_settings(http2->client, NGHTTP2_FLAG_NONE, settings, 2) == 0)
			r = 0;
		nghttp2_option_del(option);
	}
	nghttp2_session_callbacks_del(callbacks);
	return r;
}
