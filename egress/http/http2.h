/*
 * HTTP/2 (RFC 9113) by nghttp2 inside intercepted TLS: a server session towards the program, a client session towards
 * the endpoint; streams are forwarded between them. Runs in the egress process; private to http2-*.c.
 */
#ifndef CALLGATE_EGRESS_HTTP_HTTP2_H
#define CALLGATE_EGRESS_HTTP_HTTP2_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"
#include "egress/http/request.h"

#define HTTP2_STREAMS_MAX 100
/* Bytes in transit a direction, over all streams: the initial flow-control window (RFC 9113, 6.9.2). */
#define HTTP2_WINDOW 65535

/* Bytes of a body that are received and not yet sent. */
struct http2_queue {
	uint8_t *data; /* owned */
	size_t at, len, cap;
	bool ended;    /* no more will be added */
};

/* The header fields of one message, in one allocation. */
struct http2_head {
	char *text; /* owned; names and values, each NUL-terminated */
	size_t text_len, text_cap;
	struct {
		uint32_t name, value; /* offsets in text */
		uint32_t name_len, value_len;
	} field[HTTP_FIELDS_MAX];
	size_t count;
	bool too_large;
};

enum http2_phase {
	HTTP2_HEAD,     /* the request is arriving */
	HTTP2_JUDGED,   /* the acknowledgement of its record is awaited */
	HTTP2_FORWARDED,
	HTTP2_ANSWERED, /* refused by us */
	HTTP2_ENDED,    /* the outcome is recorded */
};

struct http2;

struct http2_stream {
	struct http2 *http2;
	struct http2_stream *next;
	int32_t client_id, upstream_id; /* -1: none */
	enum http2_phase phase;
	struct http2_head request, response, trailers; /* response: an interim one until status is set */
	struct http2_queue up, down;
	bool up_deferred, down_deferred; /* the data provider waits for bytes */
	bool gone;         /* the program closed the stream while its record was awaited; freed when that arrives */
	struct request asked;
	struct request_verdict verdict;
	uint64_t record_id, start_ns, bytes_up, bytes_down;
	unsigned status;   /* of the response; 0: not received */
	char *refusal;     /* owned; body of our refusal */
	size_t refusal_at;
};

struct http2 {
	struct conn *conn;
	nghttp2_session *client, *upstream;
	struct http2_stream *streams;
	const uint8_t *client_out, *upstream_out; /* unsent output of nghttp2 */
	size_t client_out_len, upstream_out_len;
	uint64_t wait_ms;  /* until the budget allows bytes again; 0: no wait */
	const char *reason; /* reason of the end when the budget is spent */
};

/* ---- http2-stream.c ---- */

/* A new stream, in http2->streams. NULL: no memory. */
struct http2_stream *http2_stream_create(struct http2 *http2, int32_t client_id);
/* Removes it from http2->streams, drops the wait for its record, frees it. */
void http2_stream_free(struct http2_stream *stream);
/* Adds a field. 0 or -ENOMEM; past HTTP_HEAD_MAX or HTTP_FIELDS_MAX only sets too_large. */
int http2_head_add(struct http2_head *head, const uint8_t *name, size_t name_len, const uint8_t *value,
		   size_t value_len);
/* The value of the first field of that name, or NULL. Borrowed. */
const char *http2_head_find(const struct http2_head *head, const char *name);
/* Field `index`, for request.h. Borrows. */
struct field http2_head_field(const struct http2_head *head, size_t index);
void http2_head_done(struct http2_head *head);
int http2_queue_add(struct http2_queue *queue, const uint8_t *data, size_t len);
/*
 * For nghttp2's data providers: moves bytes to out, as far as the budget allows. Returns their number, 0 at the end
 * (http2_queue_over), or NGHTTP2_ERR_DEFERRED with *ret_deferred set.
 */
ssize_t http2_queue_take(struct http2 *http2, bool up, struct http2_queue *queue, uint8_t *out, size_t cap,
			 bool *ret_deferred);
/* Whether the queue is empty and nothing follows. */
bool http2_queue_over(const struct http2_queue *queue);

struct http2_callbacks { /* of a session; NULL: none */
	nghttp2_on_begin_headers_callback begin_headers;
	nghttp2_on_header_callback header;
	nghttp2_on_data_chunk_recv_callback data;
	nghttp2_on_frame_recv_callback frame;
	nghttp2_on_stream_close_callback close;
	nghttp2_on_frame_not_send_callback not_sent;
};
/* A session without automatic window updates, its SETTINGS queued. 0 or -ENOMEM. */
int http2_session_create(struct http2 *http2, bool server, const struct http2_callbacks *on,
			 nghttp2_session **ret_session);
/* The stream of a session's stream id, or NULL. */
struct http2_stream *http2_find(nghttp2_session *session, int32_t id);
/* A field for nghttp2; borrows. secret: peers are told not to index it (RFC 7541, 7.1.3). */
nghttp2_nv http2_nv(const struct field *field, bool secret);
/* Resets the program's stream with an HTTP/2 error code. */
void http2_abort(struct http2_stream *stream, uint32_t code);
/* Records the result of a forwarded request, once: a status or -errno. */
void http2_settle(struct http2_stream *stream, int64_t result);

/* ---- http2-request.c: the session towards the program, whose requests it forwards ---- */

int http2_client_create(struct http2 *http2);
/* The program has sent more of the body, or its end. */
void http2_more(struct http2_stream *stream);

/* ---- http2-response.c: the session towards the endpoint, whose responses it returns ---- */

int http2_upstream_create(struct http2 *http2);
/* Responds with stream->verdict, a refusal. */
void http2_refuse(struct http2_stream *stream);
/* There are more bytes of the response, or its end. */
void http2_respond_more(struct http2_stream *stream);

#endif
