/* Messages made anew from what was understood. Nothing that could end a line gets here: http1_scan has seen to that. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "egress/http/http1-private.h"

#include "base/banned.h"

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
	buf_add(out, head->phrase, head->phrase_len);
	buf_puts(out, "\r\n");
}

void http1_write_field(struct buf *out, const struct field *field)
{
	buf_add(out, field->name, field->name_len);
	buf_puts(out, ": ");
	buf_add(out, field->value, field->value_len);
	buf_puts(out, "\r\n");
}

/* RFC 9110, 7.6.1: what Connection names is between neighbours too. */
static bool is_named_by_connection(const struct http1_head *head, const struct field *field)
{
	for (size_t i = 0; i < head->fields; i++) {
		const char *list = head->field[i].value, *word;
		size_t left = head->field[i].value_len, len;

		if (!http1_is(head->field[i].name, head->field[i].name_len, "connection"))
			continue;
		while (http1_next_word(&list, &left, &word, &len))
			if (len == field->name_len && strncasecmp(word, field->name, len) == 0)
				return true;
	}
	return false;
}

bool http1_field_passes(const struct http1_head *head, const struct field *field, bool response)
{
	if (http1_is(field->name, field->name_len, "content-length") ||
	    http1_is(field->name, field->name_len, "transfer-encoding") ||
	    (!response && http1_is(field->name, field->name_len, "host")) ||
	    (!response && !head->expects && http1_is(field->name, field->name_len, "expect")))
		return false;
	return !request_field_dropped(field->name, field->name_len, response) && !is_named_by_connection(head, field);
}

void http1_write_end(struct buf *out, enum http1_framing framing, const struct http1_head *head, const char *connection)
{
	if (framing == HTTP1_CHUNKED)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (head->has_length && framing != HTTP1_UNTIL_CLOSE)
		buf_printf(out, "Content-Length: %" PRIu64 "\r\n", head->length);
	if (connection)
		buf_printf(out, "Connection: %s\r\n", connection);
	buf_puts(out, "\r\n");
}

size_t http1_chunk_head(char out[HTTP1_CHUNK_HEAD], size_t len)
{
	return (size_t)snprintf(out, HTTP1_CHUNK_HEAD, "%zx\r\n", len);
}
