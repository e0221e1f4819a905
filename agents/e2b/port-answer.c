#include "agents/e2b/port-answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/text.h"

#define STATUS_PREFIX "HTTP/1."
#define STATUS_BYTES_MIN (sizeof("HTTP/1.1 200") - 1)
#define CHUNK_DIGITS_MAX 12 /* of its size, in hexadecimal */

bool port_header_is_of_connection(const char *name)
{
	static const char *const names[] = {"Connection",          "Keep-Alive", "Proxy-Authenticate",
					    "Proxy-Authorization", "TE",         "Trailer",
					    "Transfer-Encoding",   "Upgrade",    "Proxy-Connection"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

void port_answer_init(struct port_answer *answer, const struct port_answer_handler *handler, bool is_to_head)
{
	answer->handler = *handler;
	answer->is_to_head = is_to_head;
	answer->state = PORT_ANSWER_STATUS;
	answer->line_count = 0;
	answer->line_len = 0;
}

/* "HTTP/1.1 200 OK" */
static int port_answer_take_status(struct port_answer *answer)
{
	const char *line = answer->line, *digits = line + sizeof(STATUS_PREFIX) - 1 + 2;

	if (strncmp(line, STATUS_PREFIX, sizeof(STATUS_PREFIX) - 1) != 0 || answer->line_len < STATUS_BYTES_MIN ||
	    digits[-1] != ' ' || digits[0] < '1' || digits[0] > '5' || (digits[3] != ' ' && digits[3] != '\0'))
		return -EBADMSG;
	for (int i = 1; i < 3; i++)
		if (digits[i] < '0' || digits[i] > '9')
			return -EBADMSG;
	answer->status = (unsigned)(digits[0] - '0') * 100 + (unsigned)(digits[1] - '0') * 10 +
			 (unsigned)(digits[2] - '0');
	if (answer->status == 101) /* no upgrade was asked for */
		return -EBADMSG;
	answer->has_length = answer->is_chunked = false;
	answer->state = PORT_ANSWER_HEADERS;
	return 0;
}

/* The headers are complete: where the body ends. */
static int port_answer_begin(struct port_answer *answer)
{
	const bool is_interim = answer->status < 200;
	const bool has_no_body = answer->is_to_head || answer->status == 204 || answer->status == 304;
	int64_t length = -1;

	if (is_interim) {
		answer->state = PORT_ANSWER_STATUS;
		return 0;
	}
	if (has_no_body && !answer->is_to_head)
		length = 0;
	else if (answer->has_length && !answer->is_chunked)
		length = (int64_t)answer->length;
	answer->left = answer->length;
	if (has_no_body || length == 0)
		answer->state = PORT_ANSWER_COMPLETE;
	else if (answer->is_chunked)
		answer->state = PORT_ANSWER_CHUNK_SIZE;
	else
		answer->state = length > 0 ? PORT_ANSWER_BODY : PORT_ANSWER_BODY_TO_END;
	answer->handler.on_begin(answer->handler.data, answer->status, length);
	return 0;
}

static int port_answer_take_length(struct port_answer *answer, const char *value)
{
	uint64_t length;

	if (text_parse_number(value, 0, INT64_MAX, &length) < 0 || (answer->has_length && length != answer->length))
		return -EBADMSG;
	answer->has_length = true;
	answer->length = length;
	return 0;
}

static int port_answer_take_header(struct port_answer *answer)
{
	char *name = answer->line, *value = strchr(name, ':'), *end = name + answer->line_len;

	if (answer->line_len == 0)
		return port_answer_begin(answer);
	if (!value || value == name || strcspn(name, " \t\"") < (size_t)(value - name))
		return -EBADMSG; /* also the continuation of a header, which is obsolete */
	*value++ = '\0';
	value += strspn(value, " \t");
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (strcasecmp(name, "Content-Length") == 0)
		return port_answer_take_length(answer, value);
	if (strcasecmp(name, "Transfer-Encoding") == 0) {
		answer->is_chunked = true;
		return strcasecmp(value, "chunked") == 0 ? 0 : -EBADMSG;
	}
	if (answer->status >= 200 && !port_header_is_of_connection(name))
		answer->handler.on_header(answer->handler.data, name, value);
	return 0;
}

/* "1f;extension" */
static int port_answer_take_chunk_size(struct port_answer *answer)
{
	const char *at = answer->line;
	uint64_t size = 0;
	int digit;

	for (; (digit = text_parse_hex_digit(*at)) >= 0; at++)
		size = size << 4 | (uint64_t)digit;
	if (at == answer->line || at - answer->line > CHUNK_DIGITS_MAX || !strchr(" \t;", *at))
		return -EBADMSG; /* strchr(3) finds the end of the text, too */
	answer->left = size;
	answer->state = size > 0 ? PORT_ANSWER_CHUNK : PORT_ANSWER_TRAILERS;
	return 0;
}

static int port_answer_take_line(struct port_answer *answer)
{
	switch (answer->state) {
	case PORT_ANSWER_STATUS:
		return port_answer_take_status(answer);
	case PORT_ANSWER_HEADERS:
		return port_answer_take_header(answer);
	case PORT_ANSWER_CHUNK_SIZE:
		return port_answer_take_chunk_size(answer);
	case PORT_ANSWER_CHUNK_END:
		answer->state = PORT_ANSWER_CHUNK_SIZE;
		return answer->line_len == 0 ? 0 : -EBADMSG;
	case PORT_ANSWER_TRAILERS: /* are not passed on */
		if (answer->line_len == 0)
			answer->state = PORT_ANSWER_COMPLETE;
		return 0;
	case PORT_ANSWER_BODY:
	case PORT_ANSWER_BODY_TO_END:
	case PORT_ANSWER_CHUNK:
	case PORT_ANSWER_COMPLETE:
		break;
	}
	return -EBADMSG;
}

/* Takes bytes up to the end of a line. Returns how many, or -EBADMSG. */
static ssize_t port_answer_feed_line(struct port_answer *answer, const char *bytes, size_t len)
{
	const char *end = memchr(bytes, '\n', len);
	const size_t part = end ? (size_t)(end - bytes) : len;
	const bool is_in_chunks =
		answer->state == PORT_ANSWER_CHUNK_SIZE || answer->state == PORT_ANSWER_CHUNK_END;
	int r;

	if (part > PORT_ANSWER_LINE_BYTES_MAX - answer->line_len)
		return -EBADMSG;
	memcpy(answer->line + answer->line_len, bytes, part);
	answer->line_len += part;
	if (!end)
		return (ssize_t)len;
	if (answer->line_len > 0 && answer->line[answer->line_len - 1] == '\r')
		answer->line_len--;
	answer->line[answer->line_len] = '\0';
	if (strlen(answer->line) != answer->line_len || strchr(answer->line, '\r') ||
	    (!is_in_chunks && ++answer->line_count > PORT_ANSWER_LINES_MAX))
		return -EBADMSG;
	r = port_answer_take_line(answer);
	answer->line_len = 0;
	return r < 0 ? r : (ssize_t)part + 1;
}

/* Passes on bytes of the body. Returns how many. */
static ssize_t port_answer_feed_body(struct port_answer *answer, const char *bytes, size_t len)
{
	const bool is_bounded = answer->state != PORT_ANSWER_BODY_TO_END;

	if (is_bounded && len > answer->left)
		len = (size_t)answer->left;
	if (is_bounded) {
		answer->left -= len;
		if (answer->left == 0)
			answer->state = answer->state == PORT_ANSWER_CHUNK ? PORT_ANSWER_CHUNK_END
									   : PORT_ANSWER_COMPLETE;
	}
	answer->handler.on_body(answer->handler.data, bytes, len);
	return (ssize_t)len;
}

int port_answer_feed(struct port_answer *answer, const char *bytes, size_t len)
{
	ssize_t taken;

	while (len > 0 && answer->state != PORT_ANSWER_COMPLETE) {
		if (answer->state == PORT_ANSWER_BODY || answer->state == PORT_ANSWER_BODY_TO_END ||
		    answer->state == PORT_ANSWER_CHUNK)
			taken = port_answer_feed_body(answer, bytes, len);
		else
			taken = port_answer_feed_line(answer, bytes, len);
		if (taken < 0)
			return (int)taken;
		bytes += taken;
		len -= (size_t)taken;
	}
	return 0;
}

int port_answer_end(struct port_answer *answer)
{
	if (answer->state == PORT_ANSWER_BODY_TO_END)
		answer->state = PORT_ANSWER_COMPLETE;
	return answer->state == PORT_ANSWER_COMPLETE ? 0 : -EBADMSG;
}
