/* What a message's fields say about where it ends and what its sender wants of the connection. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1-private.h"

#include "base/banned.h"

/* What was seen while walking over the fields. */
struct seen {
	bool response;
	bool chunked, close, keep_alive, wants_upgrade, websocket, upgrades;
};

static int read_length(struct http1_head *head, const struct field *field, const struct seen *seen)
{
	uint64_t length = 0;

	if (field->value_len == 0 || field->value_len > 18) /* less than 2^63 */
		return -EBADMSG;
	for (size_t i = 0; i < field->value_len; i++) {
		if (field->value[i] < '0' || field->value[i] > '9')
			return -EBADMSG;
		length = length * 10 + (uint64_t)(field->value[i] - '0');
	}
	/* Twice is suspicious in a request; servers exist that repeat it, and the same number twice misleads nobody. */
	if (head->has_length && (!seen->response || head->length != length))
		return -EBADMSG;
	head->has_length = true;
	head->length = length;
	return 0;
}

/* "chunked" and nothing else: other codings, and "chunked" not last or twice, are where readers differ. */
static int read_coding(const struct http1_head *head, const struct field *field, struct seen *seen)
{
	if (seen->chunked || head->minor == 0 || !http1_is(field->value, field->value_len, "chunked"))
		return -EBADMSG;
	seen->chunked = true;
	return 0;
}

static void read_connection(const struct field *field, struct seen *seen)
{
	const char *list = field->value, *word;
	size_t left = field->value_len, len;

	while (http1_next_word(&list, &left, &word, &len)) {
		seen->close |= http1_is(word, len, "close");
		seen->keep_alive |= http1_is(word, len, "keep-alive");
		seen->wants_upgrade |= http1_is(word, len, "upgrade");
	}
}

static int read_host(struct http1_head *head, const struct field *field)
{
	if (head->host)
		return -EBADMSG;
	if (field->value_len == 0)
		return -EPROTO;
	head->host = field->value;
	head->host_len = field->value_len;
	return 0;
}

static int read_request_only(struct http1_head *head, const struct field *field)
{
	if (http1_is(field->name, field->name_len, "host"))
		return read_host(head, field);
	if (!http1_is(field->name, field->name_len, "expect"))
		return 0;
	if (!http1_is(field->value, field->value_len, "100-continue"))
		return -EPROTO;
	head->expects = head->minor > 0;
	return 0;
}

static int read_one(struct http1_head *head, const struct field *field, struct seen *seen)
{
	if (request_field_disguised(field->name, field->name_len))
		return -EBADMSG;
	if (http1_is(field->name, field->name_len, "content-length"))
		return read_length(head, field, seen);
	if (http1_is(field->name, field->name_len, "transfer-encoding"))
		return read_coding(head, field, seen);
	if (http1_is(field->name, field->name_len, "connection"))
		read_connection(field, seen);
	if (http1_is(field->name, field->name_len, "upgrade")) {
		seen->websocket = !seen->upgrades && http1_is(field->value, field->value_len, "websocket");
		seen->upgrades = true;
	}
	return seen->response ? 0 : read_request_only(head, field);
}

static enum http1_framing framing(const struct http1_head *head, const struct seen *seen)
{
	if (seen->chunked)
		return HTTP1_CHUNKED;
	if (head->has_length)
		return head->length ? HTTP1_LENGTH : HTTP1_NO_BODY;
	return seen->response ? HTTP1_UNTIL_CLOSE : HTTP1_NO_BODY;
}

int http1_meaning(struct http1_head *head, bool response)
{
	struct seen seen = {.response = response};

	for (size_t i = 0; i < head->fields; i++) {
		int error = read_one(head, &head->field[i], &seen);

		if (error)
			return error;
	}
	if (seen.chunked && head->has_length) /* the oldest of all: CL.TE and TE.CL */
		return -EBADMSG;
	if (!response && !head->host && !http1_is(head->method, head->method_len, "connect")) /* many proxies' clients */
		return -EPROTO;
	head->framing = framing(head, &seen);
	head->expects &= head->framing != HTTP1_NO_BODY; /* RFC 9110, 10.1.1: not without content to wait with */
	head->keep_alive = !seen.close && (head->minor > 0 || seen.keep_alive);
	head->upgrade = head->minor > 0 && seen.wants_upgrade && seen.websocket;
	if (!response && (head->framing != HTTP1_NO_BODY || !http1_is(head->method, head->method_len, "get")))
		head->upgrade = false;
	return 0;
}
