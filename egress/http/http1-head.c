/* Request and status lines. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1-private.h"

#include "base/banned.h"

/* "HTTP/1.0" or "HTTP/1.1". A higher 1.x would be allowed to mean the same; nobody has ever sent one. */
static bool read_version(const char *text, size_t len, unsigned *ret_minor)
{
	if (len != 8 || memcmp(text, "HTTP/1.", 7) != 0 || (text[7] != '0' && text[7] != '1'))
		return false;
	*ret_minor = (unsigned)(text[7] - '0');
	return true;
}

/* What may stand in a target (RFC 3986) and what programs put there besides; never a space, a fragment, a control byte. */
static bool is_target(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f || text[i] == '#')
			return false;
	return len > 0;
}

/* Single spaces between exactly three parts: HTTP/0.9 has two. */
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
	if (!http1_is_token(head->method, head->method_len) || head->method_len >= NET_METHOD_MAX ||
	    !is_target(head->target, head->target_len) ||
	    !read_version(second + 1, (size_t)(end - second - 1), &head->minor))
		return -EPROTO;
	return 0;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* The phrase and even the space before it are missing from what some servers send. */
static int read_status_line(const char *line, size_t len, struct http1_head *head)
{
	if (len < 12 || !read_version(line, 8, &head->minor) || line[8] != ' ' || line[9] < '1' || line[9] > '5' ||
	    !is_digit(line[10]) || !is_digit(line[11]) || (len > 12 && line[12] != ' '))
		return -EPROTO;
	head->status = (unsigned)(line[9] - '0') * 100 + (unsigned)(line[10] - '0') * 10 + (unsigned)(line[11] - '0');
	head->phrase = line + (len > 12 ? 13 : 12);
	head->phrase_len = (size_t)(line + len - head->phrase);
	return 0;
}

/* The first line's length without its end; 0: there is none. */
static size_t first_line(const char *data, size_t len)
{
	const char *end = len >= 4 ? memchr(data, '\r', len) : NULL;

	return end ? (size_t)(end - data) : 0;
}

int http1_request(const char *data, size_t len, struct http1_head *ret_head)
{
	struct http1_head head = {0};
	size_t line = first_line(data, len);
	int error;

	error = line ? read_request_line(data, line, &head) : -EPROTO;
	if (!error)
		error = http1_fields(data + line + 2, len - line - 2, &head);
	if (!error)
		error = http1_meaning(&head, false);
	if (!error)
		*ret_head = head;
	return error;
}

/* RFC 9112, 6.3: what never has a body, whatever its fields say. */
static bool has_no_body(unsigned status, const char *method)
{
	return status < 200 || status == 204 || status == 304 || strcmp(method, "HEAD") == 0;
}

int http1_response(const char *data, size_t len, const char *method, struct http1_head *ret_head)
{
	struct http1_head head = {0};
	size_t line = first_line(data, len);
	int error;

	error = line ? read_status_line(data, line, &head) : -EPROTO;
	if (!error)
		error = http1_fields(data + line + 2, len - line - 2, &head);
	if (!error)
		error = http1_meaning(&head, true);
	if (error)
		return error;
	if (has_no_body(head.status, method))
		head.framing = HTTP1_NO_BODY;
	if (head.status < 200 || head.status == 204) { /* RFC 9110, 8.6: may not be said; of HEAD and 304 it may */
		head.has_length = false;
		head.length = 0;
	}
	head.upgrade &= head.status == 101;
	if (head.framing == HTTP1_UNTIL_CLOSE)
		head.keep_alive = false;
	*ret_head = head;
	return 0;
}

bool http1_absolute(const struct http1_head *head, struct http1_absolute *ret_parts)
{
	const char *end = head->target + head->target_len;
	const char *authority = head->target + 7, *path;

	if (head->target_len <= 7 || !http1_is(head->target, 7, "http://"))
		return false;
	for (path = authority; path < end && *path != '/'; path++)
		if (*path == '?')
			return false;
	if (path == authority)
		return false;
	*ret_parts = (struct http1_absolute){.authority = authority, .authority_len = (size_t)(path - authority),
					     .path = path < end ? path : "/",
					     .path_len = path < end ? (size_t)(end - path) : 1};
	return true;
}
