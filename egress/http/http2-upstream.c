/* The endpoint's side: sends what was allowed, takes responses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/http/http2.h"
#include "egress/state.h"

#include "base/banned.h"

static struct http2_stream *find(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- the request ---- */

static ssize_t read_up(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap, uint32_t *flags,
		       nghttp2_data_source *source, void *user_data)
{
	struct http2 *http2 = user_data;
	struct http2_stream *stream = find(session, id);
	ssize_t len;

	(void)source;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	len = http2_queue_take(http2, true, &stream->up, out, cap, &stream->up_deferred);
	if (len < 0)
		return len;
	stream->bytes_up += (size_t)len;
	(void)nghttp2_session_consume(http2->client, stream->client_id, (size_t)len); /* fails only when it is closed */
	if (http2_queue_over(&stream->up))
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return len;
}

nghttp2_nv http2_nv(const char *name, size_t name_len, const char *value, size_t value_len, bool secret)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name, /* copied, not written to */
			    .value = (uint8_t *)(uintptr_t)value,
			    .namelen = name_len,
			    .valuelen = value_len,
			    .flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

/* What is sent in place of what the program wrote. Values are wiped. */
struct outgoing {
	nghttp2_nv field[HTTP_FIELDS_MAX + 6];
	size_t count;
	char *owned[HTTP_FIELDS_MAX + 1];
	size_t owned_len[HTTP_FIELDS_MAX + 1];
	size_t owned_count;
	char path[HTTP_HEAD_MAX + NET_PATH_MAX];
	char authority[NET_HOST_MAX + 8];
};

static void outgoing_done(struct outgoing *outgoing)
{
	for (size_t i = 0; i < outgoing->owned_count; i++) {
		explicit_bzero(outgoing->owned[i], outgoing->owned_len[i]);
		free(outgoing->owned[i]);
	}
	free(outgoing);
}

static void put(struct outgoing *outgoing, const char *name, size_t name_len, const char *value, size_t value_len,
		bool secret)
{
	outgoing->field[outgoing->count++] = http2_nv(name, name_len, value, value_len, secret);
}

static void own(struct outgoing *outgoing, char *value, size_t len)
{
	outgoing->owned[outgoing->owned_count] = value;
	outgoing->owned_len[outgoing->owned_count++] = len;
}

/* The text that was judged, and the query as it came. */
static void put_target(struct outgoing *outgoing, const struct http2_stream *stream)
{
	const struct conn *conn = stream->http2->conn;
	const char *path = http2_head_find(&stream->request, ":path"), *query = path ? strchr(path, '?') : NULL;
	bool v6 = strchr(conn->host, ':') != NULL;

	(void)snprintf(outgoing->path, sizeof(outgoing->path), "%s%s", stream->asked.path,
		       stream->asked.query && query ? query : ""); /* both are bounded by the head */
	(void)snprintf(outgoing->authority, sizeof(outgoing->authority), conn->port == 443 ? "%s%s%s" : "%s%s%s:%u",
		       v6 ? "[" : "", conn->host, v6 ? "]" : "", conn->port);
	put(outgoing, ":method", 7, stream->asked.method, strlen(stream->asked.method), false);
	put(outgoing, ":scheme", 7, "https", 5, false);
	put(outgoing, ":authority", 10, outgoing->authority, strlen(outgoing->authority), false);
	put(outgoing, ":path", 5, outgoing->path, strlen(outgoing->path), false);
}

/* "te: trailers" is the one of those fields that HTTP/2 has, and gRPC insists on it. */
static bool is_forwarded(const char *name, size_t len, const char *value)
{
	if (name[0] == ':' || strcmp(name, "host") == 0)
		return false;
	if (strcmp(name, "te") == 0)
		return strcmp(value, "trailers") == 0;
	return !request_field_dropped(name, len, false);
}

static int put_fields(struct outgoing *outgoing, const struct http2_stream *stream, const char *replaced)
{
	const struct http2_head *head = &stream->request;

	for (size_t i = 0; i < head->count; i++) {
		struct field field = {.name = head->text + head->field[i].name, .name_len = head->field[i].name_len,
				      .value = head->text + head->field[i].value, .value_len = head->field[i].value_len};
		char *value;
		size_t len;
		int r;

		if (!is_forwarded(field.name, field.name_len, field.value) ||
		    (replaced && request_field_is(field.name, field.name_len, replaced)))
			continue;
		r = request_reveal(stream->http2->conn, &field, &value, &len);
		if (r < 0)
			return r;
		if (r) {
			own(outgoing, value, len);
			put(outgoing, field.name, field.name_len, value, len, true);
		} else
			put(outgoing, field.name, field.name_len, field.value, field.value_len, false);
	}
	return 0;
}

static int build(struct outgoing *outgoing, const struct http2_stream *stream)
{
	const char *name = NULL;
	char *value = NULL;
	int r = request_credential(stream->http2->conn, &stream->verdict, &name, &value);

	if (r < 0)
		return r;
	put_target(outgoing, stream);
	if (name) {
		own(outgoing, value, strlen(value));
		put(outgoing, name, strlen(name), value, strlen(value), true);
	}
	return put_fields(outgoing, stream, name);
}

void http2_forward(struct http2_stream *stream)
{
	struct http2 *http2 = stream->http2;
	nghttp2_data_provider body = {.read_callback = read_up};
	struct outgoing *outgoing = calloc(1, sizeof(*outgoing));
	bool empty = http2_queue_over(&stream->up);
	int r = outgoing ? build(outgoing, stream) : -ENOMEM;
	int32_t id = NGHTTP2_ERR_NOMEM;

	if (r == 0)
		id = nghttp2_submit_request(http2->upstream, NULL, outgoing->field, outgoing->count, empty ? NULL : &body,
					    stream);
	if (outgoing)
		outgoing_done(outgoing);
	stream->phase = HTTP2_FORWARDED;
	if (id >= 0) {
		stream->upstream_id = id;
		return;
	}
	http2_settle(stream, r < 0 ? r : -EIO);
	stream->verdict.allow = false;
	stream->verdict.status = r < 0 && r != -ENOMEM ? 403 : 503;
	stream->verdict.reason = r < 0 && r != -ENOMEM ? "no_credential" : "failed";
	http2_refuse(stream);
}

void http2_more(struct http2_stream *stream)
{
	if (!stream->up_deferred || stream->upstream_id < 0)
		return;
	stream->up_deferred = false;
	(void)nghttp2_session_resume_data(stream->http2->upstream, stream->upstream_id); /* fails only when it is closed */
}

void http2_upstream_cancel(struct http2_stream *stream)
{
	nghttp2_session *session = stream->http2->upstream;

	if (stream->down.len > stream->down.at)
		(void)nghttp2_session_consume_connection(session, stream->down.len - stream->down.at);
	if (stream->upstream_id < 0)
		return;
	(void)nghttp2_session_set_stream_user_data(session, stream->upstream_id, NULL);
	(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->upstream_id, NGHTTP2_CANCEL);
	stream->upstream_id = -1;
}

/* ---- the response ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
		     const uint8_t *value, size_t value_len, uint8_t flags, void *user_data)
{
	struct http2_stream *stream = find(session, frame->hd.stream_id);
	struct http2_head *head;

	(void)flags;
	(void)user_data;
	if (!stream || frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	head = stream->status ? &stream->trailers : &stream->response;
	if (http2_head_add(head, name, name_len, value, value_len) < 0 || head->too_large)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return 0;
}

static void take_head(struct http2_stream *stream)
{
	const char *text = http2_head_find(&stream->response, ":status");
	unsigned status = 0;

	for (size_t i = 0; text && i < 3 && text[i] >= '0' && text[i] <= '9'; i++)
		status = status * 10 + (unsigned)(text[i] - '0');
	if (status >= 200) {
		stream->status = status;
		http2_respond(stream, true);
		return;
	}
	http2_respond(stream, false);
	http2_head_done(&stream->response); /* room for the next */
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream = find(session, frame->hd.stream_id);

	(void)user_data;
	if (!stream || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		stream->down.ended = true;
	if (frame->hd.type == NGHTTP2_HEADERS && !stream->status)
		take_head(stream);
	else
		http2_respond_more(stream);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *user_data)
{
	struct http2_stream *stream = find(session, id);

	(void)flags;
	(void)user_data;
	if (!stream) {
		(void)nghttp2_session_consume(session, id, len);
		return 0;
	}
	if (http2_queue_add(&stream->down, data, len) < 0)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	http2_respond_more(stream);
	return 0;
}

void http2_settle(struct http2_stream *stream, int64_t result)
{
	struct conn *conn = stream->http2->conn;
	struct control_done done = {.id = stream->record_id, .result = result, .bytes_up = stream->bytes_up,
				    .bytes_down = stream->bytes_down};

	if (stream->phase != HTTP2_FORWARDED)
		return;
	stream->phase = HTTP2_ENDED;
	done.duration_us = (loop_now_ns(conn->egress->loop) - stream->start_ns) / 1000;
	conn_record_done(conn, stream->record_id, &done);
}

/* What has come is still given to the program, whose stream settles the record when it closes. */
static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
	struct http2_stream *stream = find(session, id);

	(void)user_data;
	if (!stream)
		return 0;
	stream->upstream_id = -1;
	if (!stream->down.ended || !stream->status || code != NGHTTP2_NO_ERROR)
		http2_abort(stream, code ? code : NGHTTP2_INTERNAL_ERROR);
	return 0;
}

/* A request that the endpoint takes no more (GOAWAY, or out of numbers) was never a stream: nothing closes it. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user_data)
{
	struct http2 *http2 = user_data;

	(void)session;
	(void)error;
	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	for (struct http2_stream *stream = http2->streams; stream; stream = stream->next)
		if (stream->upstream_id == frame->hd.stream_id) {
			stream->upstream_id = -1;
			http2_abort(stream, NGHTTP2_REFUSED_STREAM);
		}
	return 0;
}

int http2_upstream_create(struct http2 *http2)
{
	static const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
							  {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX}};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	int r = -ENOMEM;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
	if (nghttp2_option_new(&option) == 0) {
		nghttp2_option_set_no_auto_window_update(option, 1);
		nghttp2_option_set_no_closed_streams(option, 1);
		if (nghttp2_session_client_new2(&http2->upstream, callbacks, http2, option) == 0 &&
		    nghttp2_submit_settings(http2->upstream, NGHTTP2_FLAG_NONE, settings, 2) == 0)
			r = 0;
		nghttp2_option_del(option);
	}
	nghttp2_session_callbacks_del(callbacks);
	return r;
}
