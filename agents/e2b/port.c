/*
 * Requests for a port of a sandbox: for a server that a program in it runs on its loopback. A program in the sandbox
 * connects to it (agents/files/connect.c), so that the policy judges the connection, and nothing else is reached. What
 * comes back is hostile (port-answer.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agents/e2b/port-answer.h"
#include "agents/e2b/private.h"
#include "agents/sandbox/fileop.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define PORT_BODY_SLICE_BYTES 16384u /* of a request's body, that waits for the server */
#define PORT_REQUESTS_MAX 64u        /* of a sandbox at a time: each is a program in it */

struct port_request {
	struct e2b_call *call;
	struct fileop *fileop;
	uint16_t port;
	struct buf outgoing; /* head and body, that the program has not taken yet */
	size_t outgoing_sent_bytes;
	bool body_is_chunked, answer_has_begun;
	struct port_answer answer;
};

static void port_request_free(struct port_request *own)
{
	own->call->box->port_request_count--;
	buf_release(&own->outgoing);
	free(own);
}

static void port_answer_is_closed(struct http_request *request, const struct e2b_sandbox *box, uint64_t port)
{
	http_answer_json(request, 502,
			 json_pack("{s:s, s:s, s:i, s:i}", "message", "The sandbox is running but port is not open",
				   "sandboxId", box->id, "port", (int)port, "code", 502));
}

/* ---- the request ---- */

static bool port_text_is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 ? *text != '\t' : *text == 0x7f)
			return false;
	return true;
}

/* Passes on a header of the client, unless it is for this server or about the connection. */
static void port_add_header(void *data, const char *name, const char *value)
{
	static const char *const own[] = {"Host",
					  "Content-Length",
					  "Expect",
					  "X-Access-Token",
					  "E2B-Traffic-Access-Token",
					  "E2b-Sandbox-Id",
					  "E2b-Sandbox-Port",
					  "X-API-Key"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcasecmp(name, own[i]) == 0)
			return;
	if (!port_header_is_of_connection(name) && port_text_is_plain(name) && port_text_is_plain(value))
		buf_printf(data, "%s: %s\r\n", name, value);
}

/* Adds a part of an address, of which libmicrohttpd has undone the encoding. */
static void port_add_encoded(struct buf *text, const char *part, const char *kept)
{
	for (; *part; part++) {
		const char letter = *part;

		if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
		    (letter >= '0' && letter <= '9') || strchr(kept, letter))
			buf_add(text, &letter, 1);
		else
			buf_printf(text, "%%%02X", (unsigned char)letter);
	}
}

struct port_query {
	struct buf *text;
	char separator;
};

static void port_add_parameter(void *data, const char *name, const char *value)
{
	static const char kept[] = "-._~!$'()*,:@/";
	struct port_query *query = data;

	buf_add(query->text, &query->separator, 1);
	query->separator = '&';
	port_add_encoded(query->text, name, kept);
	if (!value)
		return;
	buf_puts(query->text, "=");
	port_add_encoded(query->text, value, kept);
}

static void port_make_head(struct port_request *own)
{
	struct http_request *request = own->call->request;
	struct buf *head = &own->outgoing;
	struct port_query query = {head, '?'};
	const char *length = http_get_header(request, "Content-Length");

	own->body_is_chunked = http_get_header(request, "Transfer-Encoding") != NULL;
	buf_printf(head, "%s ", http_get_method(request));
	port_add_encoded(head, http_get_path(request), "-._~!$&'()*+,;=:@/");
	http_for_each_query(request, port_add_parameter, &query);
	buf_printf(head, " HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n", own->port);
	http_for_each_header(request, port_add_header, head);
	if (own->body_is_chunked)
		buf_puts(head, "Transfer-Encoding: chunked\r\n");
	else if (length && port_text_is_plain(length))
		buf_printf(head, "Content-Length: %s\r\n", length);
	buf_puts(head, "\r\n");
}

/* True: all is written. */
static bool port_flush(struct port_request *own)
{
	struct buf *outgoing = &own->outgoing;
	ssize_t taken;

	while (own->outgoing_sent_bytes < outgoing->len) {
		taken = fileop_write(own->fileop, outgoing->data + own->outgoing_sent_bytes,
				     outgoing->len - own->outgoing_sent_bytes);
		if (taken <= 0)
			return false; /* it has no room, or has ended, which on_answer tells */
		own->outgoing_sent_bytes += (size_t)taken;
	}
	outgoing->len = own->outgoing_sent_bytes = 0;
	return true;
}

static void port_on_program_room(void *data)
{
	struct port_request *own = data;

	if (port_flush(own))
		http_resume_body(own->call->request);
}

static size_t port_on_body_bytes(void *data, const char *bytes, size_t len)
{
	struct port_request *own = data;
	size_t taken = 0;

	while (taken < len && port_flush(own)) {
		const size_t part = len - taken < PORT_BODY_SLICE_BYTES ? len - taken : PORT_BODY_SLICE_BYTES;

		if (own->body_is_chunked)
			buf_printf(&own->outgoing, "%zx\r\n", part);
		buf_add(&own->outgoing, bytes + taken, part);
		if (own->body_is_chunked)
			buf_puts(&own->outgoing, "\r\n");
		taken += part;
	}
	(void)port_flush(own);
	return taken;
}

static void port_on_body_end(void *data)
{
	struct port_request *own = data;

	if (own->body_is_chunked)
		buf_puts(&own->outgoing, "0\r\n\r\n");
	(void)port_flush(own);
}

/* ---- the answer ---- */

static void port_on_header(void *data, const char *name, const char *value)
{
	const struct port_request *own = data;

	http_add_header(own->call->request, name, value);
}

static void port_on_client_room(void *data)
{
	const struct port_request *own = data;

	fileop_pause_output(own->fileop, false);
}

static void port_on_begin(void *data, unsigned status, int64_t length)
{
	struct port_request *own = data;

	own->answer_has_begun = true;
	http_begin_stream(own->call->request, status, NULL, length, port_on_client_room, own);
}

static void port_on_body(void *data, const char *bytes, size_t len)
{
	const struct port_request *own = data;

	if (!http_write_stream(own->call->request, bytes, len))
		fileop_pause_output(own->fileop, true);
}

/* The answer is complete. */
static void port_finish(struct port_request *own)
{
	struct e2b_call *call = own->call;
	struct http_request *request = call->request;

	port_request_free(own);
	e2b_call_finish(call);
	http_end_stream(request);
}

/* The answer never becomes complete: error is an errno. */
static void port_fail(struct port_request *own, int error)
{
	struct e2b_call *call = own->call;
	struct http_request *request = call->request;
	const struct e2b_sandbox *box = call->box;
	const uint16_t port = own->port;
	const bool has_begun = own->answer_has_begun;

	port_request_free(own);
	if (has_begun) {
		e2b_call_abort(call); /* it must not look complete */
		return;
	}
	e2b_call_finish(call);
	if (error == ECONNREFUSED)
		port_answer_is_closed(request, box, port);
	else if (error == EBADMSG)
		e2b_fail(request, 502, "what listens at port %u of the sandbox gave no HTTP answer", port);
	else
		e2b_fail(request, 502, "port %u of the sandbox cannot be reached: %s", port, strerror(error));
}

static void port_on_data(void *data, const char *bytes, size_t len)
{
	struct port_request *own = data;

	if (port_answer_feed(&own->answer, bytes, len) < 0) {
		fileop_cancel(own->fileop);
		port_fail(own, EBADMSG);
	} else if (own->answer.state == PORT_ANSWER_COMPLETE) {
		fileop_cancel(own->fileop);
		port_finish(own);
	}
}

/* The program has ended: there is no connection, or the server has closed it. */
static void port_on_program_end(void *data, int error, const char *message, const json_t *answer)
{
	struct port_request *own = data;

	(void)message;
	(void)answer;
	if (error == 0 && port_answer_end(&own->answer) == 0)
		port_finish(own);
	else
		port_fail(own, error ? error : EBADMSG);
}

static void port_on_cancel(void *data)
{
	struct port_request *own = data;

	fileop_cancel(own->fileop);
	port_request_free(own);
}

/* ---- the start ---- */

static int port_start(struct port_request *own)
{
	const struct fileop_handler handler = {.on_data = port_on_data,
					       .on_room = port_on_program_room,
					       .on_answer = port_on_program_end,
					       .data = own};
	const struct http_body_handler body = {
		.on_bytes = port_on_body_bytes, .on_end = port_on_body_end, .data = own};
	const struct port_answer_handler answer = {
		.on_header = port_on_header, .on_begin = port_on_begin, .on_body = port_on_body, .data = own};
	struct http_request *request = own->call->request;
	int error;

	port_answer_init(&own->answer, &answer, strcmp(http_get_method(request), "HEAD") == 0);
	port_make_head(own);
	if (own->outgoing.failed)
		return -ENOMEM;
	error = fileop_start(own->call->box->sandbox, json_pack("{s:s, s:i}", "op", "connect", "port", (int)own->port),
			     &handler, &own->fileop);
	if (error < 0)
		return error;
	(void)port_flush(own);
	http_stream_body(request, &body);
	return 0;
}

void port_handle(struct e2b_sandbox *box, struct http_request *request, uint64_t port)
{
	struct port_request *own;
	int error = -ENOMEM;

	if (port == 0 || port > UINT16_MAX) {
		port_answer_is_closed(request, box, port);
		return;
	}
	if (http_get_header(request, "Upgrade") || strcmp(http_get_method(request), "CONNECT") == 0) {
		e2b_fail(request, 501, "this server passes on HTTP requests, and no other protocol (Upgrade, CONNECT)");
		return;
	}
	if (box->port_request_count >= PORT_REQUESTS_MAX) {
		e2b_fail(request, 503, "%u requests for ports of the sandbox are open, the most there may be",
			 PORT_REQUESTS_MAX);
		return;
	}
	own = calloc(1, sizeof(*own));
	if (own)
		own->call = e2b_call_create(box, request, port_on_cancel, own);
	if (!own || !own->call) {
		free(own);
		e2b_fail(request, 503, "the server has no memory");
		return;
	}
	own->port = (uint16_t)port;
	box->port_request_count++;
	error = port_start(own);
	if (error < 0)
		port_fail(own, -error);
}
