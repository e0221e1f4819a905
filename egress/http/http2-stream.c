#include "egress/http/http2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/line.h"
#include "egress/state.h"

#include "base/banned.h"

struct http2_stream *http2_stream_create(struct http2 *http2, int32_t client_id)
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

static void queue_done(struct http2_queue *queue)
{
	free(queue->data);
}

void http2_head_done(struct http2_head *head)
{
	free(head->text);
	*head = (struct http2_head){0};
}

void http2_stream_free(struct http2_stream *stream)
{
	struct http2_stream **at = &stream->http2->streams;

	while (*at && *at != stream)
		at = &(*at)->next;
	if (*at)
		*at = stream->next;
	line_forget(stream->http2->conn->egress->line, stream);
	http2_head_done(&stream->request);
	http2_head_done(&stream->response);
	http2_head_done(&stream->trailers);
	queue_done(&stream->up);
	queue_done(&stream->down);
	free(stream->refusal);
	free(stream);
}

/* The offset of a NUL-terminated copy, or -ENOMEM. */
static ssize_t head_store(struct http2_head *head, const uint8_t *text, size_t len)
{
	size_t at = head->text_len;

	if (at + len + 1 > head->text_cap) {
		size_t cap = (at + len + 1) * 2;
		char *larger = realloc(head->text, cap);

		if (!larger)
			return -ENOMEM;
		head->text = larger;
		head->text_cap = cap;
	}
	memcpy(head->text + at, text, len);
	head->text[at + len] = '\0';
	head->text_len = at + len + 1;
	return (ssize_t)at;
}

int http2_head_add(struct http2_head *head, const uint8_t *name, size_t name_len, const uint8_t *value,
		   size_t value_len)
{
	ssize_t name_at, value_at;

	if (head->too_large || head->count == HTTP_FIELDS_MAX ||
	    head->text_len + name_len + value_len + 2 > HTTP_HEAD_MAX) {
		head->too_large = true;
		return 0;
	}
	name_at = head_store(head, name, name_len);
	value_at = name_at < 0 ? name_at : head_store(head, value, value_len);
	if (value_at < 0)
		return -ENOMEM;
	head->field[head->count].name = (uint32_t)name_at;
	head->field[head->count].name_len = (uint32_t)name_len;
	head->field[head->count].value = (uint32_t)value_at;
	head->field[head->count++].value_len = (uint32_t)value_len;
	return 0;
}

const char *http2_head_find(const struct http2_head *head, const char *name)
{
	for (size_t i = 0; i < head->count; i++)
		if (strcmp(head->text + head->field[i].name, name) == 0)
			return head->text + head->field[i].value;
	return NULL;
}

struct field http2_head_field(const struct http2_head *head, size_t index)
{
	return (struct field){.name = head->text + head->field[index].name,
			      .name_len = head->field[index].name_len,
			      .value = head->text + head->field[index].value,
			      .value_len = head->field[index].value_len};
}

bool http2_queue_over(const struct http2_queue *queue)
{
	return queue->ended && queue->len == queue->at;
}

static size_t http2_room(struct http2 *http2, bool up, size_t want)
{
	uint64_t wait_ms = 0;
	size_t room = budget_room(&http2->conn->use, up, want, loop_now_ns(http2->conn->egress->loop), &wait_ms);

	if (room == 0 && wait_ms == UINT64_MAX)
		http2->reason = "cap_bytes";
	else if (room == 0)
		http2->wait_ms = wait_ms ? wait_ms : 1;
	return room;
}

ssize_t http2_queue_take(struct http2 *http2, bool up, struct http2_queue *queue, uint8_t *out, size_t cap,
			 bool *ret_deferred)
{
	size_t len = queue->len - queue->at;

	if (len > cap)
		len = cap;
	if (len)
		len = http2_room(http2, up, len);
	if (len == 0 && !http2_queue_over(queue)) {
		*ret_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (len)
		memcpy(out, queue->data + queue->at, len);
	queue->at += len;
	budget_spend(&http2->conn->use, up, len);
	return (ssize_t)len;
}

int http2_queue_add(struct http2_queue *queue, const uint8_t *data, size_t len)
{
	if (queue->at == queue->len)
		queue->at = queue->len = 0;
	if (queue->len + len > queue->cap) {
		size_t cap;
		uint8_t *larger;

		if (queue->at) {
			memmove(queue->data, queue->data + queue->at, queue->len - queue->at);
			queue->len -= queue->at;
			queue->at = 0;
		}
		cap = queue->len + len;
		if (cap > queue->cap) {
			larger = realloc(queue->data, cap);
			if (!larger)
				return -ENOMEM;
			queue->data = larger;
			queue->cap = cap;
		}
	}
	memcpy(queue->data + queue->len, data, len);
	queue->len += len;
	return 0;
}

/* ---- sessions ---- */

int http2_session_create(struct http2 *http2, bool server, const struct http2_callbacks *on,
			 nghttp2_session **ret_session)
{
	const nghttp2_settings_entry settings[] = {
		server ? (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX}
		       : (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX}};
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	int r = -ENOMEM;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on->begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on->header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on->data);
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

struct http2_stream *http2_find(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

nghttp2_nv http2_nv(const struct field *field, bool secret)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)field->name, /* copied, not written to */
			    .value = (uint8_t *)(uintptr_t)field->value,
			    .namelen = field->name_len,
			    .valuelen = field->value_len,
			    .flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

void http2_abort(struct http2_stream *stream, uint32_t code)
{
	(void)nghttp2_submit_rst_stream(stream->http2->client, NGHTTP2_FLAG_NONE, stream->client_id, code);
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
