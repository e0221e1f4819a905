/*
 * HTTP/1.0 and HTTP/1.1 messages (RFC 9112), read strictly: whatever two readers could understand differently is refused.
 * Nothing read here is sent on as it is; http1_write_* makes new bytes of what was understood. Pure; fuzzed.
 *
 * Errors: -EBADMSG: bytes that are meant to be, or may be, read differently by somebody else ("smuggling");
 * -EPROTO: not HTTP/1.x, or not as it should be ("bad_request"); -EMSGSIZE: too long.
 */
#ifndef CALLGATE_EGRESS_HTTP_HTTP1_H
#define CALLGATE_EGRESS_HTTP_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "egress/http/request.h"

/* ---- heads ---- */

/* Where the search for a head's end has got to; zeroed at its first byte. */
struct http1_scan {
	size_t at;
	unsigned state;
};

/*
 * The length of the head that data (of which len bytes have come so far) begins with, its empty line included; 0: it goes
 * on. Looks at each byte once, and refuses control characters, lines that do not end in CR LF and folded lines as they come.
 */
ssize_t http1_scan(struct http1_scan *scan, const char *data, size_t len);

enum http1_framing {
	HTTP1_NO_BODY,
	HTTP1_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_UNTIL_CLOSE, /* responses only */
};

struct http1_head {
	unsigned minor; /* HTTP/1.minor: 0 or 1 */
	struct field field[HTTP_FIELDS_MAX];
	size_t fields;
	enum http1_framing framing;
	uint64_t length;        /* content-length, if has_length: also where there is no body (HEAD, 304) */
	bool has_length;
	bool keep_alive;        /* the sender will go on with another message */
	bool upgrade;           /* to a websocket: asked for, or answered */
	/* of a request; texts borrow */
	const char *method, *target, *host;
	size_t method_len, target_len, host_len;
	bool expects;           /* 100-continue */
	/* of a response */
	unsigned status;
	const char *phrase;
	size_t phrase_len;
};

/* Understands a whole head (http1_scan's). 0 or an error. ret_head borrows from data. */
int http1_request(const char *data, size_t len, struct http1_head *ret_head);
/* The same for a response to a request with that method. */
int http1_response(const char *data, size_t len, const char *method, struct http1_head *ret_head);

/* The code for records: "smuggling", "bad_request", "too_large". */
const char *http1_reason(int error);

/* The parts of a target "http://host:port/path?query" (of the request line's other forms: see RFC 9112, 3.2). Borrow. */
struct http1_absolute {
	const char *authority, *path; /* path: "/…", or "/" where there is none */
	size_t authority_len, path_len;
};
bool http1_absolute(const struct http1_head *head, struct http1_absolute *ret_parts);

/* ---- bodies ---- */

struct http1_body {
	enum http1_framing framing;
	bool strict;     /* a request's: chunk extensions are refused, not dropped */
	bool ended;      /* all of it was seen; never by itself with HTTP1_UNTIL_CLOSE */
	unsigned state;
	unsigned count;  /* digits of a chunk's size, bytes of an extension or of trailers */
	uint64_t left;   /* of the body or the chunk */
};

void http1_body_init(struct http1_body *body, const struct http1_head *head, bool request);
/*
 * Reads on: returns how many bytes of data were used (0 only when len is 0 or the body has ended), of which ret_len from
 * *ret_part on are content. Trailers are checked and dropped. Or an error.
 */
ssize_t http1_body_read(struct http1_body *body, const char *data, size_t len, const char **ret_part, size_t *ret_len);

/* ---- what is sent ---- */

/* "GET /path?query HTTP/1.1" with host (both known to be clean), then "HTTP/1.1 200 OK". */
void http1_write_request(struct buf *out, const char *method, const char *path, const char *query, size_t query_len,
			 const char *host);
void http1_write_response(struct buf *out, const struct http1_head *head);
void http1_write_field(struct buf *out, const struct field *field);
/* Whether a field is sent on: neither framing nor between neighbours, by its name or because Connection names it. */
bool http1_field_passes(const struct http1_head *head, const struct field *field, bool response);
/* Framing and the head's end. connection: "close", "keep-alive", "Upgrade" or NULL: not said. */
void http1_write_end(struct buf *out, enum http1_framing framing, const struct http1_head *head, const char *connection);
/* The size line of a chunk of that many bytes (> 0), which "\r\n" has to follow; the last chunk. */
#define HTTP1_CHUNK_HEAD 20
size_t http1_chunk_head(char out[HTTP1_CHUNK_HEAD], size_t len);
#define HTTP1_CHUNK_END "\r\n"
#define HTTP1_CHUNK_LAST "0\r\n\r\n"

#endif
