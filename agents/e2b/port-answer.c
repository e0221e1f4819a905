#include "agents/e2b/port-answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/text.h"

#define STATUS_LINE_PREFIX "HTTP/1."
#define STATUS_LINE_BYTES_MIN (sizeof("HTTP/1.1 200") - 1) /* a shorter status line is invalid */
#define CHUNK_SIZE_DIGITS_MAX 12 /* most hexadecimal digits of a chunk's size */

bool port_header_is_hop_by_hop(const char *name)
{
	static const char *const names[] = {"Connection",          "Keep-Alive", "Proxy-Authenticate",
					    "Proxy-Authorization", "TE",         "Trailer",
					    "Transfer-Encoding",   "Upgrade",    "Proxy-Connection"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

void port_answer_init(struct port_answer_parser *parser, const struct port_answer_handler *handler,
		      bool request_is_head, const char *upgrade)
{
	parser->handler = *handler;
	parser->request_is_head = request_is_head;
	parser->upgrade_protocol = upgrade;
	parser->state = PORT_ANSWER_STATUS_LINE;
	parser->line_count = 0;
	parser->line_len = 0;
}

/* Parses a status line: "HTTP/1.1 200 OK". */
static int port_answer_parse_status_line(struct port_answer_parser *parser)
{
	const char *line = parser->line, *digits = line + sizeof(STATUS_LINE_PREFIX) - 1 + 2;

	if (strncmp(line, STATUS_LINE_PREFIX, sizeof(STATUS_LINE_PREFIX) - 1) != 0 ||
	    parser->line_len < STATUS_LINE_BYTES_MIN || digits[-1] != ' ' || digits[0] < '1' || digits[0] > '5' ||
	    (digits[3] != ' ' && digits[3] != '\0'))
		return -EBADMSG;
	for (int i = 1; i < 3; i++)
		if (digits[i] < '0' || digits[i] > '9')
			return -EBADMSG;
	parser->status =
		(unsigned)(digits[0] - '0') * 100 + (unsigned)(digits[1] - '0') * 10 + (unsigned)(digits[2] - '0');
	/* 101 Switching Protocols, although the request did not ask for that */
	if (parser->status == 101 && !parser->upgrade_protocol)
		return -EBADMSG;
	parser->has_content_length = parser->is_chunked = parser->has_upgrade = false;
	parser->state = PORT_ANSWER_HEADERS;
	return 0;
}

/* Called at the end of the headers of an answer with status 101 (Switching Protocols): the other protocol begins. */
static int port_answer_begin_upgrade(struct port_answer_parser *parser)
{
	if (!parser->has_upgrade || parser->has_content_length || parser->is_chunked)
		return -EBADMSG;
	parser->state = PORT_ANSWER_UPGRADED;
	parser->handler.on_headers_end(parser->handler.data, parser->status, -1);
	return 0;
}

/* Called at the end of the headers: decides by them how the end of the body is found. */
static int port_answer_end_headers(struct port_answer_parser *parser)
{
	const bool is_interim = parser->status < 200;
	const bool has_no_body = parser->request_is_head || parser->status == 204 || parser->status == 304;
	int64_t length = -1;

	if (parser->status == 101)
		return port_answer_begin_upgrade(parser);
	if (is_interim) {
		parser->state = PORT_ANSWER_STATUS_LINE;
		return 0;
	}
	if (has_no_body && !parser->request_is_head)
		length = 0;
	else if (parser->has_content_length && !parser->is_chunked)
		length = (int64_t)parser->content_length;
	parser->remaining_bytes = parser->content_length;
	if (has_no_body || length == 0)
		parser->state = PORT_ANSWER_COMPLETE;
	else if (parser->is_chunked)
		parser->state = PORT_ANSWER_CHUNK_SIZE;
	else
		parser->state = length > 0 ? PORT_ANSWER_BODY : PORT_ANSWER_BODY_UNTIL_CLOSE;
	parser->handler.on_headers_end(parser->handler.data, parser->status, length);
	return 0;
}

/* Keeps the content length. -EBADMSG: it is malformed, or another was given before. */
static int port_answer_parse_content_length(struct port_answer_parser *parser, const char *value)
{
	uint64_t length;

	if (text_parse_number(value, 0, INT64_MAX, &length) < 0 ||
	    (parser->has_content_length && length != parser->content_length))
		return -EBADMSG;
	parser->has_content_length = true;
	parser->content_length = length;
	return 0;
}

/* Parses a header line, and passes it on unless it is about the connection. 0 or -EBADMSG. */
static int port_answer_parse_header(struct port_answer_parser *parser)
{
	char *name = parser->line, *value = strchr(name, ':'), *end = name + parser->line_len;

	if (parser->line_len == 0)
		return port_answer_end_headers(parser);
	if (!value || value == name || strcspn(name, " \t\"") < (size_t)(value - name))
		/* the line has no valid name and colon, or is a folded line, which is obsolete by RFC 9112 */
		return -EBADMSG;
	*value++ = '\0';
	value += strspn(value, " \t");
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (strcasecmp(name, "Content-Length") == 0)
		return port_answer_parse_content_length(parser, value);
	if (strcasecmp(name, "Transfer-Encoding") == 0) {
		parser->is_chunked = true;
		return strcasecmp(value, "chunked") == 0 ? 0 : -EBADMSG;
	}
	if (parser->status == 101 && strcasecmp(name, "Upgrade") == 0) {
		parser->has_upgrade = true;
		return strcasecmp(value, parser->upgrade_protocol) == 0 ? 0 : -EBADMSG;
	}
	if ((parser->status >= 200 || parser->status == 101) && !port_header_is_hop_by_hop(name))
		parser->handler.on_header(parser->handler.data, name, value);
	return 0;
}

/* Parses the size of a chunk: "1f;extension". */
static int port_answer_parse_chunk_size(struct port_answer_parser *parser)
{
	const char *at = parser->line;
	uint64_t size = 0;
	int digit;

	for (; (digit = text_parse_hex_digit(*at)) >= 0; at++)
		size = size << 4 | (uint64_t)digit;
	/* After the size comes an extension, white space or the end of the line, whose NUL strchr(3) finds as well. */
	if (at == parser->line || at - parser->line > CHUNK_SIZE_DIGITS_MAX || !strchr(" \t;", *at))
		return -EBADMSG;
	parser->remaining_bytes = size;
	parser->state = size > 0 ? PORT_ANSWER_CHUNK : PORT_ANSWER_TRAILERS;
	return 0;
}

/* Parses a line by the parser's state. 0 or -EBADMSG. */
static int port_answer_parse_line(struct port_answer_parser *parser)
{
	switch (parser->state) {
	case PORT_ANSWER_STATUS_LINE:
		return port_answer_parse_status_line(parser);
	case PORT_ANSWER_HEADERS:
		return port_answer_parse_header(parser);
	case PORT_ANSWER_CHUNK_SIZE:
		return port_answer_parse_chunk_size(parser);
	case PORT_ANSWER_CHUNK_END:
		parser->state = PORT_ANSWER_CHUNK_SIZE;
		return parser->line_len == 0 ? 0 : -EBADMSG;
	case PORT_ANSWER_TRAILERS: /* trailers are not passed on */
		if (parser->line_len == 0)
			parser->state = PORT_ANSWER_COMPLETE;
		return 0;
	case PORT_ANSWER_BODY:
	case PORT_ANSWER_BODY_UNTIL_CLOSE:
	case PORT_ANSWER_CHUNK:
	case PORT_ANSWER_UPGRADED:
	case PORT_ANSWER_COMPLETE:
		break;
	}
	return -EBADMSG;
}

/* Takes bytes up to the end of a line, and parses the line when it is complete. Bytes taken, or -EBADMSG. */
static ssize_t port_answer_feed_line(struct port_answer_parser *parser, const char *bytes, size_t len)
{
	const char *end = memchr(bytes, '\n', len);
	const size_t part = end ? (size_t)(end - bytes) : len;
	const bool is_in_chunks = parser->state == PORT_ANSWER_CHUNK_SIZE || parser->state == PORT_ANSWER_CHUNK_END;
	int r;

	if (part > PORT_ANSWER_LINE_BYTES_MAX - parser->line_len)
		return -EBADMSG;
	memcpy(parser->line + parser->line_len, bytes, part);
	parser->line_len += part;
	if (!end)
		return (ssize_t)len;
	if (parser->line_len > 0 && parser->line[parser->line_len - 1] == '\r')
		parser->line_len--;
	parser->line[parser->line_len] = '\0';
	if (strlen(parser->line) != parser->line_len || strchr(parser->line, '\r') ||
	    (!is_in_chunks && ++parser->line_count > PORT_ANSWER_HEADER_LINES_MAX))
		return -EBADMSG;
	r = port_answer_parse_line(parser);
	parser->line_len = 0;
	return r < 0 ? r : (ssize_t)part + 1;
}

/* Passes on bytes of the body, but none after its end. Returns how many bytes were passed on. */
static ssize_t port_answer_feed_body(struct port_answer_parser *parser, const char *bytes, size_t len)
{
	const bool is_bounded = parser->state != PORT_ANSWER_BODY_UNTIL_CLOSE && parser->state != PORT_ANSWER_UPGRADED;

	if (is_bounded && len > parser->remaining_bytes)
		len = (size_t)parser->remaining_bytes;
	if (is_bounded) {
		parser->remaining_bytes -= len;
		if (parser->remaining_bytes == 0)
			parser->state =
				parser->state == PORT_ANSWER_CHUNK ? PORT_ANSWER_CHUNK_END : PORT_ANSWER_COMPLETE;
	}
	parser->handler.on_body(parser->handler.data, bytes, len);
	return (ssize_t)len;
}

int port_answer_feed(struct port_answer_parser *parser, const char *bytes, size_t len)
{
	ssize_t taken;

	while (len > 0 && parser->state != PORT_ANSWER_COMPLETE) {
		if (parser->state == PORT_ANSWER_BODY || parser->state == PORT_ANSWER_BODY_UNTIL_CLOSE ||
		    parser->state == PORT_ANSWER_CHUNK || parser->state == PORT_ANSWER_UPGRADED)
			taken = port_answer_feed_body(parser, bytes, len);
		else
			taken = port_answer_feed_line(parser, bytes, len);
		if (taken < 0)
			return (int)taken;
		bytes += taken;
		len -= (size_t)taken;
	}
	return 0;
}

int port_answer_on_connection_end(struct port_answer_parser *parser)
{
	if (parser->state == PORT_ANSWER_BODY_UNTIL_CLOSE || parser->state == PORT_ANSWER_UPGRADED)
		parser->state = PORT_ANSWER_COMPLETE;
	return parser->state == PORT_ANSWER_COMPLETE ? 0 : -EBADMSG;
}
