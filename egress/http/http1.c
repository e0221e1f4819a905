#include "egress/http/http1.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "egress/http/http1-private.h"

#include "base/banned.h"

enum {
	FIRST, /* within the first line */
	FIRST_CR,
	START, /* of another line */
	LINE,
	LINE_CR,
	END_CR,
};

/* The state after this byte of a line, or an error. A tab is white space in a value and nowhere else (http1_fields). */
static int line_byte(unsigned state, unsigned char byte, bool at_start)
{
	bool first = state == FIRST;

	if (byte == '\r')
		return at_start ? (first ? -EPROTO : END_CR) : first ? FIRST_CR : LINE_CR;
	if (byte == '\n')
		return -EBADMSG; /* RFC 9112, 2.2 lets a reader take it for an end: so others may, or may not */
	if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
		return first ? -EPROTO : -EBADMSG; /* in the first line: likely no HTTP at all */
	if (at_start && (byte == ' ' || byte == '\t'))
		return first ? -EPROTO : -EBADMSG; /* a folded line, RFC 9112, 5.2 */
	return (int)(first ? FIRST : LINE);
}

static int after_cr(unsigned char byte)
{
	return byte == '\n' ? START : -EBADMSG;
}

ssize_t http1_scan(struct http1_scan *scan, const char *data, size_t len)
{
	while (scan->at < len) {
		unsigned char byte = (unsigned char)data[scan->at];
		int state;

		if (scan->at >= HTTP_HEAD_MAX)
			return -EMSGSIZE;
		if (scan->state == FIRST_CR || scan->state == LINE_CR)
			state = after_cr(byte);
		else if (scan->state == END_CR)
			return byte == '\n' ? (ssize_t)++scan->at : -EBADMSG;
		else
			state = line_byte(scan->state, byte, scan->at == 0 || scan->state == START);
		if (state < 0)
			return state;
		scan->state = (unsigned)state;
		scan->at++;
	}
	return scan->at >= HTTP_HEAD_MAX ? -EMSGSIZE : 0;
}

const char *http1_reason(int error)
{
	return error == -EBADMSG ? "smuggling" : error == -EMSGSIZE ? "too_large" : "bad_request";
}

bool http1_is(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(text, name, len) == 0;
}

/* RFC 9110, 5.6.2. */
static bool is_token_byte(unsigned char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

bool http1_is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_token_byte((unsigned char)text[i]))
			return false;
	return len > 0;
}

bool http1_next_word(const char **list, size_t *len, const char **ret_word, size_t *ret_len)
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

/* One line without its end: name, colon, value between white space. */
static int read_field(const char *line, size_t len, struct field *ret_field)
{
	const char *colon = memchr(line, ':', len);
	const char *value, *end = line + len;

	if (!colon)
		return -EPROTO;
	if (!http1_is_token(line, (size_t)(colon - line))) /* with a space before the colon readers differ: RFC 9112, 5.1 */
		return -EBADMSG;
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t'); value++)
		;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*ret_field = (struct field){.name = line, .name_len = (size_t)(colon - line), .value = value,
				    .value_len = (size_t)(end - value)};
	return 0;
}

int http1_fields(const char *data, size_t len, struct http1_head *head)
{
	const char *end = data + len - 2; /* of the last field: the empty line follows */

	head->fields = 0;
	while (data < end) {
		const char *line = data;
		const char *stop = memchr(line, '\r', (size_t)(end - line));
		int error;

		if (!stop) /* http1_scan has seen a whole head */
			return -EPROTO;
		if (head->fields == HTTP_FIELDS_MAX)
			return -EMSGSIZE;
		error = read_field(line, (size_t)(stop - line), &head->field[head->fields]);
		if (error)
			return error;
		head->fields++;
		data = stop + 2;
	}
	return 0;
}
