/*
 * One HTTP/1 connection: each request is judged and recorded before a byte of it is forwarded. mode_proxy does the same
 * for requests whose target names the destination. Runs in the egress process; private to http1-*.c.
 */
#ifndef CALLGATE_EGRESS_HTTP_HTTP1_MODE_H
#define CALLGATE_EGRESS_HTTP_HTTP1_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/conn/conn.h"
#include "egress/http/http1.h"
#include "egress/http/request.h"

enum http1_phase {
	HTTP1_IDLE,                /* reads the head of a request */
	HTTP1_OPENING_UPSTREAM,    /* connects upstream: for a proxy, or again after a request with a body */
	HTTP1_UPSTREAM_HANDSHAKE,  /* TLS handshake with a new upstream */
	HTTP1_TUNNEL,              /* sends the answer to CONNECT, then leaves HTTP */
	HTTP1_AWAITING_ANSWER,     /* waits for the approver's answer to the question about the request */
	HTTP1_AWAITING_RECORD_ACK, /* waits for the acknowledgement of the request's record */
	HTTP1_EXCHANGE,            /* forwards the body, returns the response */
	HTTP1_SENDING_REFUSAL,     /* sends a refusal to the client */
	/* half-closed, waits for the client to close: closing with unread bytes sends a reset */
	HTTP1_DISCARDING_INPUT_AT_END,
};

#define HTTP1_DISCARD_AT_END_MS 3000 /* how long input is read and dropped before a connection is closed */

/* The state of a connection whose HTTP/1 requests are judged, for one request after the other. */
struct http1_state {
	enum http1_phase phase;
	bool conn_is_to_proxy;                 /* the program uses callgate as its proxy */
	struct bytes from_client, from_server; /* bytes read and not parsed yet; at most CONN_BUFFER_BYTES */
	struct bytes to_client, to_server;     /* bytes to be sent */
	struct http1_head_scan client_scan, server_scan;
	struct http1_head head;      /* head of the request; borrows from from_client until it is forwarded */
	size_t head_len;             /* length of the request's head in from_client */
	const char *origin_form_target;          /* the request's target in origin form */
	size_t origin_form_target_len;
	struct request request; /* the request as it is judged */
	struct request_verdict verdict;
	struct http1_body up, down;  /* framing of request body and response body as received */
	enum http1_framing down_as;  /* framing of the response towards the client */
	bool client_keeps, server_keeps; /* the client's, or the server's, connection persists for another request */
	/* the server was sent "Connection: close", because the request has a body */
	bool server_was_told_to_close;
	bool request_head_was_queued;         /* the request's head was queued for the server */
	bool upstream_is_lost;                /* the server no longer reads the body */
	bool response_head_was_queued;        /* the response's head was queued for the client */
	bool record_awaits_outcome;            /* the request's record awaits its outcome */
	uint64_t record_id, start_ns, base_up, base_down;
	/* client_waits, server_waits and budget_wait_ms are set anew in each round of the loop */
	bool client_waits, server_waits; /* reading from this end would block */
	uint64_t budget_wait_ms;            /* time until the budget allows bytes again; 0: no wait */
	/* cause and reason for the close record, kept during HTTP1_DISCARDING_INPUT_AT_END */
	const char *cause, *reason;
};

/* The result of one step of a connection. */
enum http1_step {
	HTTP1_STEP_NO_PROGRESS,  /* no progress is possible now */
	HTTP1_STEP_PROGRESS,  /* progress was made: take another step */
	HTTP1_STEP_CONN_ENDED,  /* the connection is closed or has another mode */
};

/* ---- functions of http1-io.c ---- */

/*
 * Reads from the client or the server, as much as there is room for. 1: bytes were read; 0: no bytes, no room or no
 * budget now; -ENODATA: end of the stream; -EDQUOT: the byte budget is spent; -ENOMEM; other -errno of reading.
 */
int http1_read_into_input_buffer(struct conn *conn, bool from_client);
/* Sends as much as possible; the rest stays in `out`. 0 or -errno. */
int http1_flush_output(struct bytes *out, struct channel *to);
/*
 * Forwards the bytes of a body in `in`, with `framing`. 0; -EBADMSG or -EMSGSIZE: malformed (the bytes before
 * were sent); -ENOMEM; -errno of writing.
 */
int http1_forward_body(struct http1_body *body, enum http1_framing framing, struct bytes *in, struct bytes *out,
		    struct channel *to);
/*
 * Close the connection; http1_close_after_error: after an error of http1_read_into_input_buffer. Return
 * HTTP1_STEP_CONN_ENDED.
 */
enum http1_step http1_close_conn(struct conn *conn, const char *cause, const char *reason, bool abort);
enum http1_step http1_close_after_error(struct conn *conn, int error, bool from_client);

/* Answers with http1->verdict, a refusal. Reads the next request if this one was read completely. */
void http1_refuse_request(struct conn *conn);
/* Handles a malformed request: records it and answers 400 or 431. error: as in http1.h. */
void http1_refuse_malformed(struct conn *conn, int error);
/* Handles a malformed response: records the outcome and answers 502. */
void http1_refuse_bad_response(struct conn *conn);
/* When everything is sent: half-closes, waits until the client closes, then closes with cause and reason. */
enum http1_step http1_start_discarding_input(struct conn *conn, const char *cause, const char *reason);
enum http1_step http1_continue_discarding_input(struct conn *conn);
/* Completes the record of the request; does nothing the second time. result: an HTTP status or -errno. */
void http1_record_outcome(struct conn *conn, int64_t result);

/* ---- functions of http1-forward.c ---- */

/* Fills http1->request from the head. absolute: target of a proxied request; may be NULL. 0, -EPROTO or -EMSGSIZE. */
int http1_fill_request_from_head(struct http1_state *http1, const struct http1_absolute_target *absolute);
/* Judges and records http1->request. Then refuses or forwards it, or first asks about it. */
void http1_judge_request(struct conn *conn);
/*
 * In the phase HTTP1_AWAITING_ANSWER: closes the connection if the client does so. Does not read from the client, whose
 * next bytes would move the head of the request. Notices the end of the server, too.
 */
enum http1_step http1_watch_while_asked(struct conn *conn);

/*
 * Dials the same endpoint again for a request, because the upstream connection ended, as it does after every request
 * with a body. Uses TLS if the former connection did. Judges the request, or answers 502 or 504 if dialling fails.
 */
void http1_reopen_upstream(struct conn *conn);
/* In the phase HTTP1_UPSTREAM_HANDSHAKE: continues the TLS handshake. */
enum http1_step http1_continue_handshake(struct conn *conn);

/* Judges a request of a proxy's client: CONNECT, or an absolute-form target. */
void http1_judge_proxy_request(struct conn *conn);
/* In the phase HTTP1_TUNNEL: sends the answer to CONNECT. */
enum http1_step http1_start_tunnel(struct conn *conn);

/* ---- functions of http1-exchange.c ---- */

/* In the phase HTTP1_IDLE: reads a head and has it judged. */
enum http1_step http1_read_request(struct conn *conn);
/* In the phase HTTP1_EXCHANGE: forwards the body, and reads what the client sends after it. */
enum http1_step http1_step_request(struct conn *conn);
/* In the phase HTTP1_EXCHANGE: returns the response. */
enum http1_step http1_step_response(struct conn *conn);

#endif
