/*
 * Reads an HTTP/1 answer of a server in a sandbox, piece by piece. The server is hostile: every length is bounded, and
 * an answer that two readers could understand differently is refused. Pure: no I/O.
 */
#ifndef CALLGATE_AGENTS_E2B_PORT_ANSWER_H
#define CALLGATE_AGENTS_E2B_PORT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORT_ANSWER_LINE_BYTES_MAX 16384u /* of a header, or of the size of a chunk */
#define PORT_ANSWER_LINES_MAX 200u        /* headers and trailers of an answer, also of interim answers */

enum port_answer_state {
	PORT_ANSWER_STATUS,
	PORT_ANSWER_HEADERS,
	PORT_ANSWER_BODY,          /* of `left` bytes */
	PORT_ANSWER_BODY_TO_END,   /* of the connection */
	PORT_ANSWER_CHUNK_SIZE,
	PORT_ANSWER_CHUNK,         /* of which `left` bytes are to come */
	PORT_ANSWER_CHUNK_END,
	PORT_ANSWER_TRAILERS,
	PORT_ANSWER_COMPLETE,
};

struct port_answer_handler {
	/* Headers of the final answer, but those that are about the connection or the length of the body. */
	void (*on_header)(void *data, const char *name, const char *value);
	void (*on_begin)(void *data, unsigned status, int64_t length); /* all headers were told; -1: length unknown */
	void (*on_body)(void *data, const char *bytes, size_t len);
	void *data;
};

struct port_answer {
	struct port_answer_handler handler;
	bool is_to_head; /* the request was HEAD: there is no body, whatever the headers say */
	enum port_answer_state state;
	unsigned status, line_count;
	bool has_length, is_chunked;
	uint64_t length, left;
	char line[PORT_ANSWER_LINE_BYTES_MAX + 1];
	size_t line_len;
};

/* Starts a zeroed answer. */
void port_answer_init(struct port_answer *answer, const struct port_answer_handler *handler, bool is_to_head);
/* Takes bytes. 0, or -EBADMSG: it is no answer that can be passed on. After PORT_ANSWER_COMPLETE, takes no more. */
int port_answer_feed(struct port_answer *answer, const char *bytes, size_t len);
/* The connection has ended. 0, or -EBADMSG: the answer is not complete. */
int port_answer_end(struct port_answer *answer);

/* Whether a header is about one connection, not about the message. */
bool port_header_is_of_connection(const char *name);

#endif
