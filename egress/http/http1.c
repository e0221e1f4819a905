#include "egress/http/http1.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- finding the end of a head ---- */

enum {
	SCAN_IN_FIRST_LINE,          /* the scanner is inside the first line */
	SCAN_AFTER_CR_OF_FIRST_LINE, /* the LF of the first line must come next */
	SCAN_AT_LINE_START,          /* the scanner is at the start of another line */
	SCAN_IN_FIELD_LINE,          /* the scanner is inside a header field */
	SCAN_AFTER_CR_OF_FIELD_LINE, /* the LF of a header field must come next */
	SCAN_AFTER_CR_OF_EMPTY_LINE, /* the LF that ends the head must come next */
};

/* The scanner's state after a byte of a line, or an error. Tabs are allowed in field values only (read_field_line). */
static int http1_scan_head_byte(unsigned state, unsigned char byte, bool at_start)
{
	bool first = state == SCAN_IN_FIRST_LINE;

	if (byte == '\r')
		return at_start ? (first ? -EPROTO : SCAN_AFTER_CR_OF_EMPTY_LINE)
		       : first  ? SCAN_AFTER_CR_OF_FIRST_LINE
				: SCAN_AFTER_CR_OF_FIELD_LINE;
	if (byte == '\n')
		return -EBADMSG; /* RFC 9112, 2.2 permits a bare LF as line end, but parsers differ */
	if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
		return first ? -EPROTO : -EBADMSG; /* in the first line: probably not HTTP at all */
	if (at_start && (byte == ' ' || byte == '\t'))
		return first ? -EPROTO : -EBADMSG; /* a folded line (obs-fold: RFC 9112, 5.2) */
	return (int)(first ? SCAN_IN_FIRST_LINE : SCAN_IN_FIELD_LINE);
}

ssize_t http1_find_head_end(struct http1_head_scan *scan, const char *data, size_t len)
{
	while (scan->at < len) {
		unsigned char byte = (unsigned char)data[scan->at];
		int state;

		if (scan->at >= HTTP_HEAD_BYTES_MAX)
			return -EMSGSIZE;
		if (scan->scanner_state == SCAN_AFTER_CR_OF_FIRST_LINE ||
		    scan->scanner_state == SCAN_AFTER_CR_OF_FIELD_LINE)
			state = byte == '\n' ? SCAN_AT_LINE_START : -EBADMSG;
		else if (scan->scanner_state == SCAN_AFTER_CR_OF_EMPTY_LINE)
			return byte == '\n' ? (ssize_t)++scan->at : -EBADMSG;
		else
			state = http1_scan_head_byte(scan->scanner_state, byte,
						     scan->at == 0 || scan->scanner_state == SCAN_AT_LINE_START);
		if (state < 0)
			return state;
		scan->scanner_state = (unsigned)state;
		scan->at++;
	}
	return scan->at >= HTTP_HEAD_BYTES_MAX ? -EMSGSIZE : 0;
}

const char *http1_get_error_reason(int error)
{
	return error == -EBADMSG ? "smuggling" : error == -EMSGSIZE ? "too_large" : "bad_request";
}

static bool is_token_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || !strchr(REQUEST_TOKEN_BYTES, text[i]))
			return false;
	return len > 0;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Takes the next word from a comma-separated list. False: none is left. */
static bool http1_next_list_member(const char **list, size_t *len, const char **ret_word, size_t *ret_len)
{
	while (*len && memchr(", \t", **list, 3)) {
		++*list;
		--*len;
	}
	*ret_word = *list;
	while (*len && !memchr(", \t", **list, 3)) {
		++*list;
		--*len;
	}
	*ret_len = (size_t)(*list - *ret_word);
	return *ret_len > 0;
}

/* ---- reading header fields ---- */

/* Reads a field line without its CR LF: name, colon, value between optional white space. */
static int read_field_line(const char *line, size_t len, struct http_field *ret_field)
{
	const char *colon = memchr(line, ':', len);
	const char *value, *end = line + len;

	if (!colon)
		return -EPROTO;
	/* Parsers differ about white space before the colon (RFC 9112, 5.1), so it is refused. */
	if (!is_token_text(line, (size_t)(colon - line)))
		return -EBADMSG;
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*ret_field = (struct http_field){.name = line, .name_len = (size_t)(colon - line), .value = value,
				    .value_len = (size_t)(end - value)};
	return 0;
}

static int read_fields(const char *data, size_t len, struct http1_head *head)
{
	const char *end = data + len - 2; /* end of the last field, before the empty line */

	head->field_count = 0;
	while (data < end) {
		const char *line = data;
		const char *stop = memchr(line, '\r', (size_t)(end - line));
		int error;

		if (!stop) /* cannot happen: http1_find_head_end() has found a complete head */
			return -EPROTO;
		if (head->field_count == HTTP_FIELDS_MAX)
			return -EMSGSIZE;
		error = read_field_line(line, (size_t)(stop - line), &head->field[head->field_count]);
		if (error)
			return error;
		head->field_count++;
		data = stop + 2;
	}
	return 0;
}

/* What the header fields that were read so far say. */
struct http1_seen_fields {
	bool is_of_response; /* the head is a response's */
	bool chunked, close, keep_alive, wants_upgrade, websocket, upgrades;
};

/* Reads Content-Length. -EBADMSG: malformed, or repeated in a way that could smuggle a request. */
static int read_content_length(struct http1_head *head, const struct http_field *field,
			       const struct http1_seen_fields *seen)
{
	uint64_t length = 0;

	if (field->value_len == 0 || field->value_len > 18) /* at most 18 digits: below 2^63 */
		return -EBADMSG;
	for (size_t i = 0; i < field->value_len; i++) {
		if (!is_digit(field->value[i]))
			return -EBADMSG;
		length = length * 10 + (uint64_t)(field->value[i] - '0');
	}
	/* A repeated length is refused, except in a response with the same value, because some servers repeat it. */
	if (head->has_content_length && (!seen->is_of_response || head->content_length != length))
		return -EBADMSG;
	head->has_content_length = true;
	head->content_length = length;
	return 0;
}

/* Accepts "chunked" only: parsers differ about other codings, and about "chunked" repeated or not last. */
static int read_transfer_coding(const struct http1_head *head, const struct http_field *field,
				struct http1_seen_fields *seen)
{
	if (seen->chunked || head->minor_version == 0 || !http1_name_equals(field->value, field->value_len, "chunked"))
		return -EBADMSG;
	seen->chunked = true;
	return 0;
}

static void read_connection_field(const struct http_field *field, struct http1_seen_fields *seen)
{
	const char *list = field->value, *word;
	size_t left = field->value_len, len;

	while (http1_next_list_member(&list, &left, &word, &len)) {
		seen->close |= http1_name_equals(word, len, "close");
		seen->keep_alive |= http1_name_equals(word, len, "keep-alive");
		seen->wants_upgrade |= http1_name_equals(word, len, "upgrade");
	}
}

/* Reads Host or Expect of a request. 0 or -errno. */
static int read_request_only_field(struct http1_head *head, const struct http_field *field)
{
	if (http1_name_equals(field->name, field->name_len, "host")) {
		if (head->host)
			return -EBADMSG;
		head->host = field->value;
		head->host_len = field->value_len;
		return field->value_len ? 0 : -EPROTO;
	}
	if (!http1_name_equals(field->name, field->name_len, "expect"))
		return 0;
	if (!http1_name_equals(field->value, field->value_len, "100-continue"))
		return -EPROTO;
	head->has_expect_field = head->minor_version > 0;
	return 0;
}

/* Reads one header field, if it is of those that callgate knows. Returns -errno for a dangerous one. */
static int read_known_field(struct http1_head *head, const struct http_field *field, struct http1_seen_fields *seen)
{
	if (request_field_disguises_framing(field->name, field->name_len))
		return -EBADMSG;
	if (http1_name_equals(field->name, field->name_len, "content-length"))
		return read_content_length(head, field, seen);
	if (http1_name_equals(field->name, field->name_len, "transfer-encoding"))
		return read_transfer_coding(head, field, seen);
	if (http1_name_equals(field->name, field->name_len, "connection"))
		read_connection_field(field, seen);
	if (http1_name_equals(field->name, field->name_len, "upgrade")) {
		seen->websocket = !seen->upgrades && http1_name_equals(field->value, field->value_len, "websocket");
		seen->upgrades = true;
	}
	return seen->is_of_response ? 0 : read_request_only_field(head, field);
}

/* How the end of a message's body is found, by its headers (RFC 9112, 6.3). */
static enum http1_framing http1_find_framing(const struct http1_head *head, const struct http1_seen_fields *seen)
{
	if (seen->chunked)
		return HTTP1_CHUNKED;
	if (head->has_content_length)
		return head->content_length ? HTTP1_CONTENT_LENGTH : HTTP1_NO_BODY;
	return seen->is_of_response ? HTTP1_UNTIL_CLOSE : HTTP1_NO_BODY;
}

/* Reads the header fields that callgate knows, and finds the body's framing. Returns -errno for an ambiguous head. */
static int http1_read_and_check_fields(struct http1_head *head, bool response)
{
	struct http1_seen_fields seen = {.is_of_response = response};

	for (size_t i = 0; i < head->field_count; i++) {
		int error = read_known_field(head, &head->field[i], &seen);

		if (error)
			return error;
	}
	if (seen.chunked &&
	    head->has_content_length) /* both: servers differ about which counts (CL.TE and TE.CL smuggling) */
		return -EBADMSG;
	/* clients of proxies often omit Host with CONNECT */
	if (!response && !head->host && !http1_name_equals(head->method, head->method_len, "connect"))
		return -EPROTO;
	head->framing = http1_find_framing(head, &seen);
	head->has_expect_field &= head->framing != HTTP1_NO_BODY; /* RFC 9110, 10.1.1: only before content */
	head->wants_keep_alive = !seen.close && (head->minor_version > 0 || seen.keep_alive);
	head->asks_for_websocket = head->minor_version > 0 && seen.wants_upgrade && seen.websocket;
	if (!response && (head->framing != HTTP1_NO_BODY || !http1_name_equals(head->method, head->method_len, "get")))
		head->asks_for_websocket = false;
	return 0;
}

/* ---- request and status lines ---- */

/* Reads "HTTP/1.0" or "HTTP/1.1". RFC 9112 permits a higher minor version, which no client sends. */
static bool read_http_version(const char *text, size_t len, unsigned *ret_minor)
{
	if (len != 8 || memcmp(text, "HTTP/1.", 7) != 0 || (text[7] != '0' && text[7] != '1'))
		return false;
	*ret_minor = (unsigned)(text[7] - '0');
	return true;
}

/*
 * Whether the text is a request target (RFC 3986), possibly with bytes that programs send unescaped. Spaces, fragments
 * and control characters are refused.
 */
static bool is_request_target(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f || text[i] == '#')
			return false;
	return len > 0;
}

/* Reads a request line: exactly three parts with single spaces between them. HTTP/0.9 has two. */
static int read_request_line(const char *line, size_t len, struct http1_head *head)
{
	const char *end = line + len;
	const char *first = memchr(line, ' ', len);
	const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

	if (!second)
		return -EPROTO;
	head->method = line;
	head->method_len = (size_t)(first - line);
	head->target = first + 1;
	head->target_len = (size_t)(second - first - 1);
	if (!is_token_text(head->method, head->method_len) || head->method_len >= NET_METHOD_SIZE ||
	    !is_request_target(head->target, head->target_len) ||
	    !read_http_version(second + 1, (size_t)(end - second - 1), &head->minor_version))
		return -EPROTO;
	return 0;
}

/* Reads a status line. Some servers omit the reason phrase and the space before it. */
static int read_status_line(const char *line, size_t len, struct http1_head *head)
{
	if (len < 12 || !read_http_version(line, 8, &head->minor_version) || line[8] != ' ' || line[9] < '1' ||
	    line[9] > '5' || !is_digit(line[10]) || !is_digit(line[11]) || (len > 12 && line[12] != ' '))
		return -EPROTO;
	head->status = (unsigned)(line[9] - '0') * 100 + (unsigned)(line[10] - '0') * 10 + (unsigned)(line[11] - '0');
	head->reason_phrase = line + (len > 12 ? 13 : 12);
	head->reason_phrase_len = (size_t)(line + len - head->reason_phrase);
	return 0;
}

/* Parses a whole head and checks it. 0 or -errno. */
static int read_message_head(const char *data, size_t len, bool response, struct http1_head *head)
{
	const char *end = len >= 4 ? memchr(data, '\r', len) : NULL;
	size_t line = end ? (size_t)(end - data) : 0;
	int error;

	if (!line)
		return -EPROTO;
	error = response ? read_status_line(data, line, head) : read_request_line(data, line, head);
	if (!error)
		error = read_fields(data + line + 2, len - line - 2, head);
	return error ? error : http1_read_and_check_fields(head, response);
}

int http1_parse_request(const char *data, size_t len, struct http1_head *ret_head)
{
	struct http1_head head = {0};
	int error = read_message_head(data, len, false, &head);

	if (!error)
		*ret_head = head;
	return error;
}

int http1_parse_response(const char *data, size_t len, const char *method, struct http1_head *ret_head)
{
	struct http1_head head = {0};
	int error = read_message_head(data, len, true, &head);

	if (error)
		return error;
	/* Responses that never have a body, whatever their fields say (RFC 9112, 6.3). */
	if (head.status < 200 || head.status == 204 || head.status == 304 || strcmp(method, "HEAD") == 0)
		head.framing = HTTP1_NO_BODY;
	if (head.status < 200 || head.status == 204) { /* no length permitted (RFC 9110, 8.6), unlike HEAD and 304 */
		head.has_content_length = false;
		head.content_length = 0;
	}
	head.asks_for_websocket &= head.status == 101;
	if (head.framing == HTTP1_UNTIL_CLOSE)
		head.wants_keep_alive = false;
	*ret_head = head;
	return 0;
}

/* Splits a target such as "http://host:port/path", as proxies get it, into authority and path. false: it is none. */
bool http1_parse_absolute(const struct http1_head *head, struct http1_absolute_target *ret_parts)
{
	const char *end = head->target + head->target_len;
	const char *authority = head->target + 7, *path;

	if (head->target_len <= 7 || !http1_name_equals(head->target, 7, "http://"))
		return false;
	for (path = authority; path < end && *path != '/'; path++)
		if (*path == '?')
			return false;
	if (path == authority)
		return false;
	*ret_parts = (struct http1_absolute_target){.authority = authority, .authority_len = (size_t)(path - authority),
					     .path = path < end ? path : "/",
					     .path_len = path < end ? (size_t)(end - path) : 1};
	return true;
}

/* ---- writing messages ---- */

void http1_write_request(struct buf *out, const char *method, const char *path, const char *query, size_t query_len,
			 const char *host)
{
	buf_printf(out, "%s %s", method, path);
	if (query_len)
		buf_add(out, query, query_len);
	buf_printf(out, " HTTP/1.1\r\nHost: %s\r\n", host);
}

void http1_write_response(struct buf *out, const struct http1_head *head)
{
	buf_printf(out, "HTTP/1.1 %03u ", head->status);
	buf_add(out, head->reason_phrase, head->reason_phrase_len);
	buf_puts(out, "\r\n");
}

/* Writes "name: value" and the end of the line. */
void http1_write_field(struct buf *out, const struct http_field *field)
{
	buf_add(out, field->name, field->name_len);
	buf_puts(out, ": ");
	buf_add(out, field->value, field->value_len);
	buf_puts(out, "\r\n");
}

/* Whether Connection lists the field, which makes it hop-by-hop (RFC 9110, 7.6.1). */
static bool is_named_by_connection(const struct http1_head *head, const struct http_field *field)
{
	for (size_t i = 0; i < head->field_count; i++) {
		const char *list = head->field[i].value, *word;
		size_t left = head->field[i].value_len, len;

		if (!http1_name_equals(head->field[i].name, head->field[i].name_len, "connection"))
			continue;
		while (http1_next_list_member(&list, &left, &word, &len))
			if (len == field->name_len && strncasecmp(word, field->name, len) == 0)
				return true;
	}
	return false;
}

bool http1_field_is_forwarded(const struct http1_head *head, const struct http_field *field, bool response)
{
	if (http1_name_equals(field->name, field->name_len, "content-length") ||
	    http1_name_equals(field->name, field->name_len, "transfer-encoding") ||
	    (!response && http1_name_equals(field->name, field->name_len, "host")) ||
	    (!response && !head->has_expect_field && http1_name_equals(field->name, field->name_len, "expect")))
		return false;
	return !request_field_is_never_forwarded(field->name, field->name_len) && !is_named_by_connection(head, field);
}

void http1_write_head_end(struct buf *out, enum http1_framing framing, const struct http1_head *head,
			  const char *connection)
{
	if (framing == HTTP1_CHUNKED)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (head->has_content_length && framing != HTTP1_UNTIL_CLOSE)
		buf_printf(out, "Content-Length: %" PRIu64 "\r\n", head->content_length);
	if (connection)
		buf_printf(out, "Connection: %s\r\n", connection);
	buf_puts(out, "\r\n");
}

size_t http1_write_chunk_head(char out[HTTP1_CHUNK_HEAD_BYTES_MAX], size_t len)
{
	return (size_t)snprintf(out, HTTP1_CHUNK_HEAD_BYTES_MAX, "%zx\r\n", len);
}
