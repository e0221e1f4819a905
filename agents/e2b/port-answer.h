/*
 * A parser for the HTTP/1 answer of a server in a sandbox, which comes piece by piece. The server is hostile: every
 * length is bounded, and an answer that two parsers could understand differently is refused. So is a change of the
 * protocol (101) that the request did not ask for. Pure: no I/O.
 */
#ifndef CALLGATE_AGENTS_E2B_PORT_ANSWER_H
#define CALLGATE_AGENTS_E2B_PORT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORT_ANSWER_LINE_BYTES_MAX 16384u /* of one line: status, header, trailer, or size of a chunk */
#define PORT_ANSWER_HEADER_LINES_MAX 200u        /* header and trailer lines, those of interim (1xx) answers included */

/* What the parser expects next. */
enum port_answer_state {
	PORT_ANSWER_STATUS_LINE,
	PORT_ANSWER_HEADERS,
	PORT_ANSWER_BODY,        /* remaining_bytes of the body, whose length is known */
	PORT_ANSWER_BODY_UNTIL_CLOSE, /* the body, which ends with the connection */
	PORT_ANSWER_CHUNK_SIZE,
	PORT_ANSWER_CHUNK,     /* remaining_bytes of a chunk */
	PORT_ANSWER_CHUNK_END, /* the empty line after a chunk */
	PORT_ANSWER_TRAILERS,
	PORT_ANSWER_UPGRADED, /* bytes of another protocol, to the end of the connection */
	PORT_ANSWER_COMPLETE,
};

/* Callbacks that get the parsed answer. */
struct port_answer_handler {
	/* Gets each header of the final answer, but hop-by-hop headers and Content-Length. */
	void (*on_header)(void *data, const char *name, const char *value);
	/*
	 * Called after the last header, before the body. body_bytes: the body's length; -1: unknown. After status 101,
	 * on_body gets the bytes of the other protocol.
	 */
	void (*on_headers_end)(void *data, unsigned status, int64_t body_bytes);
	void (*on_body)(void *data, const char *bytes, size_t len);
	void *data;
};

/* Parses the HTTP response of a server in the sandbox. */
struct port_answer_parser {
	struct port_answer_handler handler;
	bool request_is_head; /* the request's method was HEAD: no body comes, whatever the headers say */
	const char *upgrade_protocol;  /* borrowed: the protocol that the request asks to change to; NULL: none */
	enum port_answer_state state;
	unsigned status, line_count;
	bool has_content_length, is_chunked, has_upgrade;
	uint64_t content_length;  /* valid if has_content_length */
	uint64_t remaining_bytes; /* bytes of the body, or of its present chunk, that are still to come */
	char line[PORT_ANSWER_LINE_BYTES_MAX + 1];
	size_t line_len;
};

/*
 * Initialises a parser that is zeroed. request_is_head: the request was a HEAD request. upgrade: the protocol that the
 * request asks to change to, borrowed; NULL: none.
 */
void port_answer_init(struct port_answer_parser *parser, const struct port_answer_handler *handler,
		      bool request_is_head, const char *upgrade);
/* Parses the next bytes of the answer. 0, or -EBADMSG: the answer is malformed. Bytes after its end are ignored. */
int port_answer_feed(struct port_answer_parser *parser, const char *bytes, size_t len);
/* To be called at the end of the connection. 0, or -EBADMSG: the answer is not complete. */
int port_answer_on_connection_end(struct port_answer_parser *parser);

/* Whether a header is hop-by-hop: about one connection, not about the message. */
bool port_header_is_hop_by_hop(const char *name);

#endif
