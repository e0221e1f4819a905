/*
 * HTTP/1.0 and HTTP/1.1 messages (RFC 9112), parsed strictly: what two parsers could read differently is refused.
 * Received bytes are never forwarded as they are; http1_write_* serialises what was parsed. Pure; fuzzed. Called in the
 * egress process by mode_http1 and mode_proxy.
 *
 * Errors: -EBADMSG: ambiguous, parsers may differ ("smuggling"); -EPROTO: not HTTP/1.x or malformed ("bad_request");
 * -EMSGSIZE: too long ("too_large").
 */
#ifndef CALLGATE_EGRESS_HTTP_HTTP1_H
#define CALLGATE_EGRESS_HTTP_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "egress/http/request.h"

/* State of the search for the end of a head; zeroed at the head's first byte. */
struct http1_head_scan {
	size_t at;
	unsigned scanner_state; /* of http1.c: what was read of the line so far */
};

/*
 * Finds the end of the head at `data`, of which `len` bytes have arrived. Returns the length of the head with its empty
 * line; 0: incomplete; or an error. Checks each byte once, and refuses control characters, bare LF and obs-fold as they
 * arrive.
 */
ssize_t http1_find_head_end(struct http1_head_scan *scan, const char *data, size_t len);

enum http1_framing {
	HTTP1_NO_BODY,
	HTTP1_CONTENT_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_UNTIL_CLOSE, /* only in responses: the body ends with the connection */
};

/* What the head of a request or response says. Texts are borrowed from the head. */
struct http1_head {
	unsigned minor_version; /* minor version of HTTP/1: 0 or 1 */
	struct http_field field[HTTP_FIELDS_MAX];
	size_t field_count;
	enum http1_framing framing;
	/* Content-Length, if has_content_length; also if there is no body (HEAD, 304) */
	uint64_t content_length;
	bool has_content_length;
	bool wants_keep_alive;   /* the connection persists after this message */
	bool asks_for_websocket; /* an upgrade to a websocket was requested or accepted */
	/* only in a request; texts are borrowed */
	const char *method, *target, *host;
	size_t method_len, target_len, host_len;
	bool has_expect_field; /* the client expects "100 (Continue)" */
	/* only in a response */
	unsigned status;
	const char *reason_phrase;
	size_t reason_phrase_len;
};

/* Parses a complete head, which http1_find_head_end has found. 0 or an error. ret_head borrows from data. */
int http1_parse_request(const char *data, size_t len, struct http1_head *ret_head);
/* Parses the head of a response to a request with this method, as http1_parse_request does. */
int http1_parse_response(const char *data, size_t len, const char *method, struct http1_head *ret_head);

/* Returns the reason that records state for an error of this parser, such as "smuggling". */
const char *http1_get_error_reason(int error);

/*
 * The parts of an absolute-form target "http://host:port/path?query" (RFC 9112, 3.2.2), borrowed. False: another form.
 */
struct http1_absolute_target {
	const char *authority, *path; /* path with query: "/…"; "/" if the target has none */
	size_t authority_len, path_len;
};
bool http1_parse_absolute(const struct http1_head *head, struct http1_absolute_target *ret_parts);

/* The state of reading a message's body to its end. */
struct http1_body {
	enum http1_framing framing;
	bool is_of_request;     /* the body is a request's: chunk extensions are refused, not dropped */
	bool has_ended;         /* the end of the body was read; for HTTP1_UNTIL_CLOSE the caller sets it */
	unsigned parser_state;  /* of http1-body.c: what the next byte belongs to */
	/* Digits of a chunk size, bytes of an extension, or bytes of trailers so far. */
	unsigned framing_part_bytes_seen;
	uint64_t unread_bytes;   /* unread bytes of the body or chunk */
};

void http1_body_init(struct http1_body *body, const struct http1_head *head, bool request);
/*
 * Parses more of a body. Returns how many bytes of data were consumed (0 only if len is 0 or the body has ended), or an
 * error. *ret_len bytes at *ret_part are content. Trailers are checked and dropped.
 */
ssize_t http1_body_read(struct http1_body *body, const char *data, size_t len, const char **ret_part, size_t *ret_len);

/*
 * Write the first line of a request, such as "GET /path?query HTTP/1.1", and its Host; the first line of a response;
 * and a header field. Texts must have no control characters.
 */
void http1_write_request(struct buf *out, const char *method, const char *path, const char *query, size_t query_len,
			 const char *host);
void http1_write_response(struct buf *out, const struct http1_head *head);
void http1_write_field(struct buf *out, const struct http_field *field);
/* Whether a field is forwarded: neither a framing field nor hop-by-hop, by its name or by Connection. */
bool http1_field_is_forwarded(const struct http1_head *head, const struct http_field *field, bool response);
/* Writes framing fields, Connection ("close", "keep-alive", "Upgrade"; NULL: none) and the empty line. */
void http1_write_head_end(struct buf *out, enum http1_framing framing, const struct http1_head *head,
			  const char *connection);
/* Writes a chunk's size line; len > 0. HTTP1_CHUNK_END follows the chunk; HTTP1_CHUNK_LAST ends the body. */
#define HTTP1_CHUNK_HEAD_BYTES_MAX 20
size_t http1_write_chunk_head(char out[HTTP1_CHUNK_HEAD_BYTES_MAX], size_t len);
#define HTTP1_CHUNK_END "\r\n"
#define HTTP1_CHUNK_LAST "0\r\n\r\n"

#endif
