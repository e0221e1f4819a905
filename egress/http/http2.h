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

#include "egress/conn/bytes.h"
#include "egress/conn/conn.h"
#include "egress/http/request.h"

#define HTTP2_STREAMS_MAX 100
/* Bytes in transit a direction, over all streams: the initial flow-control window (RFC 9113, 6.9.2). */
#define HTTP2_WINDOW 65535

/* The body of one direction: bytes that are received and not yet sent. */
struct http2_body {
	struct bytes bytes;
	bool ended;      /* no more will be added */
	bool deferred;   /* nghttp2 waits for http2_resume_body */
	uint64_t moved;  /* bytes that were sent */
};

/* The header fields of one message. */
struct http2_head {
	char *text; /* owned, HTTP_HEAD_MAX bytes; NULL: no field; names and values, each NUL-terminated */
	size_t text_len;
	struct field field[HTTP_FIELDS_MAX]; /* borrow from text */
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
	struct http2_body up, down;
	bool gone;         /* the program closed the stream while its record was awaited; freed when that arrives */
	struct request asked;
	struct request_verdict verdict;
	uint64_t record_id, start_ns;
	unsigned status;   /* of the response; 0: not received */
	struct bytes refusal; /* body of our refusal */
};

struct http2_output { /* unsent output of nghttp2 */
	const uint8_t *at;
	size_t len;
};

struct http2 {
	struct conn *conn;
	nghttp2_session *client, *upstream;
	struct http2_stream *streams;
	struct http2_output client_out, upstream_out;
	uint64_t wait_ms;  /* time until the budget allows bytes again; 0: no wait */
	const char *reason; /* reason of the end when the budget is spent */
};

/* ---- http2-stream.c ---- */

/* A new stream, in http2->streams. NULL: no memory. */
struct http2_stream *http2_stream_create(struct http2 *http2, int32_t client_id);
/* Removes it from http2->streams, drops the wait for its record, frees it. */
void http2_stream_free(struct http2_stream *stream);
/* Adds a field. 0 or -ENOMEM; past HTTP_HEAD_MAX or HTTP_FIELDS_MAX only sets too_large. */
int http2_head_add_field(struct http2_head *head, const uint8_t *name, size_t name_len, const uint8_t *value,
		   size_t value_len);
/* The value of the first field of that name, or NULL. Borrowed. */
const char *http2_head_find_field(const struct http2_head *head, const char *name);

/* Sends the body of a direction as the budget allows. */
extern const nghttp2_data_provider http2_body_provider;
/* To be called when there are more bytes of a direction's body, or its end, or more budget. */
void http2_resume_body(struct http2_stream *stream, bool up);
/* Drops unread bytes of a body; which reopens the flow-control window. id -1: the stream is closed. */
void http2_drop_body(struct http2_body *body, nghttp2_session *session, int32_t id);

struct http2_callbacks { /* of a session; NULL: none */
	nghttp2_on_begin_headers_callback begin_headers;
	nghttp2_on_header_callback header;
	nghttp2_on_frame_recv_callback frame;
	nghttp2_on_stream_close_callback close;
	nghttp2_on_frame_not_send_callback not_sent;
};
/* A session without automatic window updates, its SETTINGS queued. 0 or -ENOMEM. */
int http2_session_create(struct http2 *http2, bool server, const struct http2_callbacks *on,
			 nghttp2_session **ret_session);
/* The stream of a session's stream id, or NULL. */
struct http2_stream *http2_find_stream(nghttp2_session *session, int32_t id);
/* The stream of a HEADERS or DATA frame, or NULL. Notes the end of its body. */
struct http2_stream *http2_find_frame_stream(struct http2 *http2, nghttp2_session *session, const nghttp2_frame *frame);
/* A field for nghttp2; borrows. secret: peers are told not to index it (RFC 7541, 7.1.3). */
nghttp2_nv http2_make_nv(const struct field *field, bool secret);
/* Records the result of a forwarded request, once: a status or -errno. */
void http2_record_outcome(struct http2_stream *stream, int64_t result);

/* Makes the session towards the endpoint, whose responses are returned. */
int http2_upstream_create(struct http2 *http2);
/* Responds with stream->verdict, a refusal. */
void http2_send_refusal(struct http2_stream *stream);

/* ---- http2-request.c: the session towards the program, whose requests it forwards ---- */

int http2_client_create(struct http2 *http2);


#endif
