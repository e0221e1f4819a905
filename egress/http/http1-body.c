/* Parses the bodies of HTTP/1 messages: by length, chunked (RFC 9112, 7.1), or until the connection closes. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1.h"

#define CHUNK_DIGITS_MAX 15u      /* most digits of a chunk size, which is below 2^60 */
#define CHUNK_EXTENSIONS_BYTES_MAX 256u /* most bytes of chunk extensions */
#define CHUNK_TRAILERS_BYTES_MAX 8192u  /* most bytes of all trailers */

enum {
	CHUNK_AT_SIZE,          /* a digit of a chunk's size comes next */
	CHUNK_AT_EXTENSION,     /* inside the extensions after a chunk's size */
	CHUNK_AT_SIZE_LF,       /* the LF of a chunk's size line comes next */
	CHUNK_AT_DATA,          /* inside a chunk's data */
	CHUNK_AT_DATA_CR,       /* the CR after a chunk's data comes next */
	CHUNK_AT_DATA_LF,       /* the LF after a chunk's data comes next */
	CHUNK_AT_TRAILER_START, /* at the start of a trailer line, or of the empty line that ends the body */
	CHUNK_AT_TRAILER,       /* inside a trailer line */
	CHUNK_AT_TRAILER_LF,    /* the LF of a trailer line comes next */
	CHUNK_AT_END_LF,        /* the LF of the empty line comes next, which ends the body */
};

/* Prepares to parse the body that belongs to this head. */
void http1_body_init(struct http1_body *body, const struct http1_head *head, bool request)
{
	*body = (struct http1_body){
		.framing = head->framing, .is_of_request = request, .has_ended = head->framing == HTTP1_NO_BODY};
	if (head->framing == HTTP1_CONTENT_LENGTH)
		body->unread_bytes = head->content_length;
}

static int http1_parse_hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Whether a byte may stand in the text of an HTTP header field (no control characters but the tab). */
static bool is_field_text_byte(char byte)
{
	return ((unsigned char)byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

/* Parses a byte of a chunk's size. Returns the parser's next state, or -EBADMSG. */
static int parse_size_byte(struct http1_body *body, char byte)
{
	int value = http1_parse_hex_digit(byte);

	if (value >= 0) {
		if (++body->framing_part_bytes_seen > CHUNK_DIGITS_MAX)
			return -EBADMSG;
		body->unread_bytes = body->unread_bytes << 4 | (unsigned)value;
		return CHUNK_AT_SIZE;
	}
	if (!body->framing_part_bytes_seen)
		return -EBADMSG;
	body->framing_part_bytes_seen = 0;
	if (byte == '\r')
		return CHUNK_AT_SIZE_LF;
	/*
	 * Chunk extensions are refused in requests: no program uses them, and lenient parsers miss line ends in them.
	 * Old servers pad sizes with spaces.
	 */
	return body->is_of_request || !memchr("; \t", byte, 3) ? -EBADMSG : CHUNK_AT_EXTENSION;
}

/* Parses a byte of the trailers. Returns the parser's next state, -EBADMSG, or -EMSGSIZE if they are too long. */
static int parse_trailer_byte(struct http1_body *body, char byte)
{
	bool start = body->parser_state == CHUNK_AT_TRAILER_START;

	if (++body->framing_part_bytes_seen > CHUNK_TRAILERS_BYTES_MAX)
		return -EMSGSIZE;
	if (byte == '\r')
		return start ? CHUNK_AT_END_LF : CHUNK_AT_TRAILER_LF;
	return !is_field_text_byte(byte) || (start && (byte == ' ' || byte == '\t')) ? -EBADMSG : CHUNK_AT_TRAILER;
}

/* The parser's state after a byte of the framing, or an error. */
static int parse_framing_byte(struct http1_body *body, char byte)
{
	switch (body->parser_state) {
	case CHUNK_AT_SIZE:
		return parse_size_byte(body, byte);
	case CHUNK_AT_EXTENSION:
		if (byte == '\r')
			return CHUNK_AT_SIZE_LF;
		return is_field_text_byte(byte) && ++body->framing_part_bytes_seen <= CHUNK_EXTENSIONS_BYTES_MAX
			       ? CHUNK_AT_EXTENSION
			       : -EBADMSG;
	case CHUNK_AT_SIZE_LF:
		body->framing_part_bytes_seen = 0;
		return byte != '\n' ? -EBADMSG : body->unread_bytes ? CHUNK_AT_DATA : CHUNK_AT_TRAILER_START;
	case CHUNK_AT_DATA_CR:
		return byte == '\r' ? CHUNK_AT_DATA_LF : -EBADMSG;
	case CHUNK_AT_DATA_LF:
		return byte == '\n' ? CHUNK_AT_SIZE : -EBADMSG;
	case CHUNK_AT_TRAILER_LF:
		return byte == '\n' ? CHUNK_AT_TRAILER_START : -EBADMSG;
	case CHUNK_AT_END_LF:
		body->has_ended = byte == '\n';
		return body->has_ended ? CHUNK_AT_END_LF : -EBADMSG;
	default:
		return parse_trailer_byte(body, byte);
	}
}

/* How many of the next `len` bytes are the body's or chunk's; these count as read. */
static size_t body_consume_content_bytes(struct http1_body *body, size_t len)
{
	if (body->framing == HTTP1_UNTIL_CLOSE)
		return len;
	if (len > body->unread_bytes)
		len = (size_t)body->unread_bytes;
	body->unread_bytes -= len;
	return len;
}

/* Reads chunked content up to its next part. Returns how many bytes were read, or -errno. */
static ssize_t read_chunks(struct http1_body *body, const char *data, size_t len, const char **ret_part,
			   size_t *ret_len)
{
	size_t at = 0;

	while (at < len && !body->has_ended) {
		int state;

		if (body->parser_state == CHUNK_AT_DATA) {
			*ret_part = data + at;
			*ret_len = body_consume_content_bytes(body, len - at);
			if (!body->unread_bytes)
				body->parser_state = CHUNK_AT_DATA_CR;
			return (ssize_t)(at + *ret_len);
		}
		state = parse_framing_byte(body, data[at++]);
		if (state < 0)
			return state;
		body->parser_state = (unsigned)state;
	}
	return (ssize_t)at;
}

ssize_t http1_body_read(struct http1_body *body, const char *data, size_t len, const char **ret_part, size_t *ret_len)
{
	*ret_part = data;
	*ret_len = 0;
	if (body->has_ended || !len)
		return 0;
	if (body->framing == HTTP1_CHUNKED)
		return read_chunks(body, data, len, ret_part, ret_len);
	*ret_len = body_consume_content_bytes(body, len);
	body->has_ended = body->framing == HTTP1_CONTENT_LENGTH && !body->unread_bytes;
	return (ssize_t)*ret_len;
}
