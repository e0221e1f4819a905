#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/http/http2.h"
#include "egress/state.h"

#include "base/banned.h"

static void http2_submit_response(struct http2_stream *stream, bool final)
{
	struct http2 *http2 = stream->http2;
	const struct http2_head *head = &stream->response;
	nghttp2_nv field[HTTP_FIELDS_MAX];
	bool empty = stream->down.ended && !stream->trailers.count && !stream->down.bytes.data;
	size_t count = 0;
	int r;

	for (size_t i = 0; i < head->count; i++) {
		const struct field *one = &head->field[i];

		if (one->name[0] == ':' ? strcmp(one->name, ":status") == 0
					: !request_field_dropped(one->name, one->name_len))
			field[count++] = http2_nv(one, false);
	}
	if (!final)
		r = nghttp2_submit_headers(http2->client, NGHTTP2_FLAG_NONE, stream->client_id, NULL, field, count,
					   NULL);
	else
		r = nghttp2_submit_response(http2->client, stream->client_id, field, count,
					    empty ? NULL : &http2_body_provider);
	if (r != 0)
		http2_abort(stream, NGHTTP2_INTERNAL_ERROR);
}

static ssize_t read_refusal(nghttp2_session *session, int32_t id, uint8_t *out, size_t cap, uint32_t *flags,
			    nghttp2_data_source *source, void *user_data)
{
	struct http2_stream *stream = http2_find(session, id);
	size_t len;

	(void)source;
	(void)user_data;
	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	len = bytes_take(&stream->refusal, out, cap);
	if (!stream->refusal.data) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (!stream->up.ended) /* RFC 9113, 8.1: the rest of the request is not wanted */
			(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	}
	return (ssize_t)len;
}

void http2_refuse(struct http2_stream *stream)
{
	nghttp2_data_provider body = {.read_callback = read_refusal};
	_cleanup_free_ char *text = request_refusal(stream->http2->conn, &stream->asked, &stream->verdict);
	char status[8] = "";
	const struct field first = {":status", 7, status, 3}, type = {"content-type", 12, "application/json", 16};
	nghttp2_nv field[] = {http2_nv(&first, false), http2_nv(&type, false)};

	(void)snprintf(status, sizeof(status), "%03u", stream->verdict.status % 1000);
	stream->phase = HTTP2_ANSWERED;
	http2_drop_body(&stream->up, stream->http2->client, stream->client_id);
	if (!text || bytes_add(&stream->refusal, text, strlen(text)) < 0 ||
	    nghttp2_submit_response(stream->http2->client, stream->client_id, field, 2, &body) != 0)
		http2_abort(stream, NGHTTP2_REFUSED_STREAM);
	stream->http2->conn->status = stream->verdict.status;
}

static int upstream_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			      size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user_data)
{
	struct http2_stream *stream = http2_find(session, frame->hd.stream_id);
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

static void http2_take_head(struct http2_stream *stream)
{
	const char *text = http2_head_find(&stream->response, ":status");
	unsigned status = 0;

	for (size_t i = 0; text && i < 3 && text[i] >= '0' && text[i] <= '9'; i++)
		status = status * 10 + (unsigned)(text[i] - '0');
	if (status >= 200) {
		stream->status = status;
		http2_submit_response(stream, true);
		return;
	}
	http2_submit_response(stream, false);
	http2_head_done(&stream->response); /* for the next one */
}

static int upstream_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
	struct http2_stream *stream = http2_frame_stream(user_data, session, frame);

	if (stream && frame->hd.type == NGHTTP2_HEADERS && !stream->status)
		http2_take_head(stream);
	else if (stream)
		http2_resume_body(stream, false);
	return 0;
}

/* The program's stream gets what has arrived; the record is settled when that stream closes. */
static int upstream_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user_data)
{
	struct http2_stream *stream = http2_find(session, id);

	(void)user_data;
	if (!stream)
		return 0;
	stream->upstream_id = -1;
	if (!stream->down.ended || !stream->status || code != NGHTTP2_NO_ERROR)
		http2_abort(stream, code ? code : NGHTTP2_INTERNAL_ERROR);
	return 0;
}

/*
 * A request that the endpoint no longer accepts (GOAWAY, or no stream ids left) never becomes a stream, so nothing
 * closes it.
 */
static int upstream_on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user_data)
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
	static const struct http2_callbacks callbacks = {.header = upstream_on_header,
							 .frame = upstream_on_frame,
							 .close = upstream_on_close,
							 .not_sent = upstream_on_not_sent};

	return http2_session_create(http2, false, &callbacks, &http2->upstream);
}
