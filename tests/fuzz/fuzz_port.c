/*
 * The answer of a hostile server in a sandbox: however its bytes are cut, the same is passed on, and that is what
 * port-answer.h promises. The first byte says what the request was: bit 0: HEAD; else bit 1: it asked for WebSocket.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "agents/e2b/port-answer.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"

struct got {
	struct buf text;
	const struct port_answer_parser *parser;
	uint64_t length, body_bytes; /* length UINT64_MAX: not told */
	unsigned status;             /* 0: no answer has begun */
};

static void on_header(void *data, const char *name, const char *value)
{
	struct got *got = data;

	promise(got->status == 0 && *name && !port_header_is_hop_by_hop(name));
	promise(strcasecmp(name, "Content-Length") != 0);
	promise(!strpbrk(name, " \t\r\n:\"") && !strpbrk(value, "\r\n"));
	buf_printf(&got->text, "%s: %s\n", name, value);
}

static void on_headers_end(void *data, unsigned status, int64_t length)
{
	struct got *got = data;

	promise(got->status == 0 && length >= -1);
	promise(status == 101 ? got->parser->upgrade_protocol && length == -1 : status >= 200 && status <= 599);
	got->status = status;
	got->length = length >= 0 ? (uint64_t)length : UINT64_MAX;
	buf_printf(&got->text, "%u %" PRId64 "\n", status, length);
}

static void on_body(void *data, const char *bytes, size_t len)
{
	struct got *got = data;

	promise(got->status != 0 && len > 0 && !got->parser->request_is_head);
	got->body_bytes += len;
	promise(got->length == UINT64_MAX || got->body_bytes <= got->length);
	buf_add(&got->text, bytes, len);
}

/* Returns whether the answer is complete. */
static bool read_in_steps(const uint8_t *data, size_t size, unsigned kind, size_t step, struct got *got)
{
	const struct port_answer_handler handler = {
		.on_header = on_header, .on_headers_end = on_headers_end, .on_body = on_body, .data = got};
	struct port_answer_parser *parser = calloc(1, sizeof(*parser));
	int r = 0;

	promise(parser != NULL);
	*got = (struct got){.parser = parser, .length = UINT64_MAX};
	port_answer_init(parser, &handler, kind & 1, (kind & 3) == 2 ? "websocket" : NULL);
	for (size_t at = 0; r == 0 && at < size; at += step)
		r = port_answer_feed(parser, (const char *)data + at, step < size - at ? step : size - at);
	promise(r == 0 || r == -EBADMSG);
	promise(parser->line_len <= PORT_ANSWER_LINE_BYTES_MAX &&
		parser->line_count <= PORT_ANSWER_HEADER_LINES_MAX + 1);
	r = r == 0 ? port_answer_on_connection_end(parser) : r;
	promise(r < 0 || got->status != 0);
	promise(r < 0 || got->length == UINT64_MAX || got->parser->request_is_head || got->body_bytes == got->length);
	free(parser);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t steps[] = {1, 3, 17, 256};
	struct got whole, parts;
	bool is_complete;

	if (size == 0)
		return 0;
	is_complete = read_in_steps(data + 1, size - 1, data[0], size, &whole);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		promise(read_in_steps(data + 1, size - 1, data[0], steps[i], &parts) == is_complete);
		promise(whole.text.len == parts.text.len);
		promise(whole.text.len == 0 || memcmp(whole.text.data, parts.text.data, whole.text.len) == 0);
		buf_release(&parts.text);
	}
	buf_release(&whole.text);
	return 0;
}
