/*
 * HTTP/2 (RFC 9113) by nghttp2 inside intercepted TLS: a server session towards the program, a client session towards
 * the endpoint. Streams are forwarded between them. Runs in the egress process; private to http2-*.c.
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
/* Most bytes in transit in each direction, over all streams: the initial flow-control window (RFC 9113, 6.9.2). */
#define HTTP2_WINDOW_BYTES 65535

/* The body of one direction: bytes that are received and not sent yet. */
struct http2_body {
	struct bytes unsent_bytes; /* received and not sent yet */
	bool has_ended;        /* no more bytes will be added */
	bool waits_for_data;   /* nghttp2 waits until http2_resume_body() is called */
	uint64_t bytes_moved;  /* number of bytes that were sent */
	/* of unsent_bytes: bytes by which the connection's window is open again, and the stream's is not */
	size_t bytes_lent;
};

/* The header fields of one message. */
struct http2_head {
	/* owned, HTTP_HEAD_BYTES_MAX bytes: names and values, each NUL-terminated; NULL: there is no field */
	char *field_text;
	size_t field_text_len;                    /* bytes of field_text that are used */
	struct http_field field[HTTP_FIELDS_MAX]; /* names and values point into `field_text` */
	size_t field_count;
	bool is_too_large; /* there were more fields, or bytes, than fit */
};

enum http2_phase {
	HTTP2_RECEIVING_HEAD,      /* the request is arriving */
	HTTP2_AWAITING_ANSWER,     /* waits for the approver's answer to the question about the request */
	HTTP2_AWAITING_RECORD_ACK, /* waits until the request's record is acknowledged */
	HTTP2_FORWARDED,           /* allowed and on record; sending was tried; the record lacks its outcome */
	HTTP2_REFUSED_BY_EGRESS,   /* egress has answered with a refusal */
	HTTP2_OUTCOME_RECORDED,    /* the outcome is recorded */
};

struct http2_state;

/* A request of HTTP/2 and its response, with a stream in each of the two sessions. */
struct http2_stream {
	struct http2_state *http2;
	struct http2_stream *next;
	int32_t client_id, upstream_id; /* ids in the two sessions; -1: no stream there */
	enum http2_phase phase;
	/* response: an interim response until `response_status` is set */
	struct http2_head request, response, trailers;
	struct http2_body up, down;
	/* the program closed the stream while its record was awaited; freed when that is acknowledged */
	bool closed_while_awaiting_ack;
	struct request request_to_judge; /* what of `request` is judged */
	struct request_verdict verdict;
	uint64_t record_id, start_ns;
	unsigned response_status;   /* status of the response; 0: not received */
	struct bytes refusal_body; /* body of the refusal that egress sends */
};

struct http2_output { /* output of nghttp2 that is not sent yet */
	const uint8_t *at;
	size_t len;
};

/* The state of a connection whose HTTP/2 requests are judged: the sessions with program and server. */
struct http2_state {
	struct conn *conn;
	nghttp2_session *client, *upstream;
	struct http2_stream *streams;
	struct http2_output client_out, upstream_out;
	uint64_t budget_wait_ms;  /* time until the budget allows bytes again; 0: no wait */
	const char *close_reason; /* why the connection is to be closed: the budget is spent */
};

/* ---- functions of http2-stream.c ---- */

/* Creates a stream and adds it to http2->streams. NULL: no memory. */
struct http2_stream *http2_stream_create(struct http2_state *http2, int32_t client_id);
/* Removes a stream from http2->streams, no longer waits for its record or answer, and frees the stream. */
void http2_stream_free(struct http2_stream *stream);
/* Adds a header field. 0 or -ENOMEM; beyond HTTP_HEAD_BYTES_MAX or HTTP_FIELDS_MAX only sets is_too_large. */
int http2_head_add_field(struct http2_head *head, const uint8_t *name, size_t name_len, const uint8_t *value,
		   size_t value_len);
/* The value of the first field of that name, or NULL. Borrowed. */
const char *http2_head_find_field(const struct http2_head *head, const char *name);

/* Sends the body of one direction, as the budget allows. */
extern const nghttp2_data_provider http2_body_provider;
/* Continues to send a body: to be called when it has more bytes or its end, or when the budget allows more. */
void http2_resume_body(struct http2_stream *stream, bool up);
/*
 * Opens the connection's window by the bytes of a request that waits for the approver: only its own stream may stand
 * still. The window of the stream bounds them.
 */
void http2_lend_window(struct http2_stream *stream);
/* Drops a body's bytes that are not sent yet, which reopens the flow-control window. id -1: the stream is closed. */
void http2_drop_body(struct http2_body *body, nghttp2_session *session, int32_t id);

struct http2_callbacks { /* callbacks of a session; NULL: none */
	nghttp2_on_begin_headers_callback begin_headers;
	nghttp2_on_header_callback header;
	nghttp2_on_frame_recv_callback frame;
	nghttp2_on_stream_close_callback close;
	nghttp2_on_frame_not_send_callback not_sent;
};
/* Creates a session without automatic window updates, and queues its SETTINGS. 0 or -ENOMEM. */
int http2_session_create(struct http2_state *http2, bool server, const struct http2_callbacks *on,
			 nghttp2_session **ret_session);
/* The stream with this id in a session, or NULL. */
struct http2_stream *http2_find_stream(nghttp2_session *session, int32_t id);
/* The stream of a HEADERS or DATA frame, or NULL. Notes if the frame ends the body. */
struct http2_stream *http2_find_frame_stream(struct http2_state *http2, nghttp2_session *session,
					     const nghttp2_frame *frame);
/* Makes a field for nghttp2, which borrows. secret: peers are told not to index the field (RFC 7541, 7.1.3). */
nghttp2_nv http2_make_header_nv(const struct http_field *field, bool secret);
/* Records the outcome of a forwarded request; does nothing the second time. result: a status or -errno. */
void http2_record_outcome(struct http2_stream *stream, int64_t result);

/* Creates the session towards the endpoint, whose responses are returned to the program. */
int http2_upstream_create(struct http2_state *http2);
/* Responds with stream->verdict, a refusal. */
void http2_send_refusal(struct http2_stream *stream);

/* ---- http2-request.c: the session towards the program, whose requests it forwards ---- */

int http2_client_create(struct http2_state *http2);


#endif
