/*
 * Requests for a port of a sandbox: passed on to a server that listens there on the sandbox's loopback. A program in
 * the sandbox makes the connection (agents/files/connect.c), so that the policy judges it, and no server outside is
 * reached. The server's answer is hostile (port-answer.h). When client and server change to another protocol
 * (WebSocket), bytes are passed on both ways as they come.
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

#define PORT_BODY_BYTES_TAKEN_MAX 16384u /* bytes of a request's body that are taken from the client at a time */
#define PORT_REQUESTS_MAX 64u        /* of one sandbox at a time; each takes a program in the sandbox */

/* A client's request that is passed on to a server in the sandbox, through a program there that has the connection. */
struct port_request {
	struct e2b_call *call;
	struct fileop *fileop;
	uint16_t port;            /* port of the server in the sandbox */
	struct buf request_bytes; /* the request as the server gets it; bytes from sent_request_bytes on are unsent */
	size_t sent_request_bytes;
	bool body_is_chunked, answer_has_begun;
	const char *upgrade_protocol; /* the protocol that the client asks to change to; borrowed; NULL: none */
	int error;           /* errno: why the answer cannot be passed on; 0: it can */
	struct port_answer_parser answer_parser;
};

static void port_request_free(struct port_request *forward)
{
	forward->call->box->port_request_count--;
	buf_release(&forward->request_bytes);
	free(forward);
}

/* Answers as E2B does when no server listens at the port. */
static void port_respond_not_open(struct http_request *request, const struct e2b_sandbox *box, uint64_t port)
{
	http_answer_json(request, 502,
			 json_pack("{s:s, s:s, s:i, s:i}", "message", "The sandbox is running but port is not open",
				   "sandboxId", box->id, "port", (int)port, "code", 502));
}

/* ---- passing on the client's request ---- */

static bool port_text_has_no_control_chars(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 ? *text != '\t' : *text == 0x7f)
			return false;
	return true;
}

/* Passes on a header of the client's request, unless it is hop-by-hop or meant for callgate serve itself. */
static void port_request_add_header(void *data, const char *name, const char *value)
{
	static const char *const dropped[] = {
		"Host",           "Content-Length",   "Expect",   "X-Access-Token", "E2B-Traffic-Access-Token",
		"E2b-Sandbox-Id", "E2b-Sandbox-Port", "X-API-Key"};

	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (strcasecmp(name, dropped[i]) == 0)
			return;
	if (!port_header_is_hop_by_hop(name) && port_text_has_no_control_chars(name) &&
	    port_text_has_no_control_chars(value))
		buf_printf(data, "%s: %s\r\n", name, value);
}

/*
 * Whether a target can be passed on as it is, so that the server gets what the client asked for: it may tell "/a%2Fb"
 * from "/a/b". It is a path with a query, or the "*" of OPTIONS.
 */
static bool port_target_is_valid(const char *target)
{
	if (target[0] != '/' && strcmp(target, "*") != 0)
		return false;
	while (*target > 0x20 && *target < 0x7f)
		target++;
	return *target == '\0';
}

/* Makes the head of the HTTP request to the server in the sandbox. */
static void port_request_make_head(struct port_request *forward)
{
	struct http_request *request = forward->call->request;
	struct buf *head = &forward->request_bytes;
	const char *length = http_get_header(request, "Content-Length");

	forward->body_is_chunked = http_get_header(request, "Transfer-Encoding") != NULL;
	buf_printf(head, "%s %s HTTP/1.1\r\nHost: localhost:%u\r\n", http_get_method(request),
		   http_get_target(request), forward->port);
	if (forward->upgrade_protocol)
		buf_printf(head, "Connection: Upgrade\r\nUpgrade: %s\r\n", forward->upgrade_protocol);
	else
		buf_puts(head, "Connection: close\r\n");
	http_for_each_header(request, port_request_add_header, head);
	if (forward->body_is_chunked)
		buf_puts(head, "Transfer-Encoding: chunked\r\n");
	else if (length && port_text_has_no_control_chars(length))
		buf_printf(head, "Content-Length: %s\r\n", length);
	buf_puts(head, "\r\n");
}

/* Gives the program the request's unsent bytes. True: it has taken all; false: port_on_program_room() goes on. */
static bool port_request_flush(struct port_request *forward)
{
	struct buf *request_bytes = &forward->request_bytes;
	ssize_t taken;

	while (forward->sent_request_bytes < request_bytes->len) {
		taken = fileop_write(forward->fileop, request_bytes->data + forward->sent_request_bytes,
				     request_bytes->len - forward->sent_request_bytes);
		if (taken <= 0)
			return false; /* the program is slow, or has ended: then port_on_program_end() is called */
		forward->sent_request_bytes += (size_t)taken;
	}
	request_bytes->len = forward->sent_request_bytes = 0;
	return true;
}

static void port_on_program_room(void *data)
{
	struct port_request *forward = data;

	if (port_request_flush(forward))
		http_resume_body(forward->call->request);
}

/*
 * Takes bytes of the request's body as far as callgate-files takes them, as chunks if they came so. Returns how many.
 */
static size_t port_on_request_body(void *data, const char *bytes, size_t len)
{
	struct port_request *forward = data;
	size_t taken = 0;

	while (taken < len && port_request_flush(forward)) {
		const size_t part = len - taken < PORT_BODY_BYTES_TAKEN_MAX ? len - taken : PORT_BODY_BYTES_TAKEN_MAX;

		if (forward->body_is_chunked)
			buf_printf(&forward->request_bytes, "%zx\r\n", part);
		buf_add(&forward->request_bytes, bytes + taken, part);
		if (forward->body_is_chunked)
			buf_puts(&forward->request_bytes, "\r\n");
		taken += part;
	}
	(void)port_request_flush(forward);
	return taken;
}

static void port_on_request_body_end(void *data)
{
	struct port_request *forward = data;

	if (forward->body_is_chunked)
		buf_puts(&forward->request_bytes, "0\r\n\r\n");
	(void)port_request_flush(forward);
}

/* ---- passing on another protocol ---- */

/* Takes bytes of an upgraded connection as far as callgate-files takes them. Returns how many. */
static size_t port_on_client_bytes(void *data, const char *bytes, size_t len)
{
	struct port_request *forward = data;
	const ssize_t taken = port_request_flush(forward) ? fileop_write(forward->fileop, bytes, len) : 0;

	return taken > 0 ? (size_t)taken : 0; /* -EPIPE: port_on_program_end() is called soon */
}

/* The client has closed its end. The program in the sandbox does the same when all is sent. */
static void port_on_client_end(void *data)
{
	const struct port_request *forward = data;

	fileop_end_content(forward->fileop);
}

static void port_on_client_room(void *data)
{
	const struct port_request *forward = data;

	fileop_pause_output(forward->fileop, false);
}

/* Changes the client's connection to the protocol that was asked for. 0 or -errno; see http_begin_upgrade(). */
static int port_begin_upgrade(struct port_request *forward)
{
	const struct http_body_handler handler = {
		.on_bytes = port_on_client_bytes, .on_end = port_on_client_end, .data = forward};

	return http_begin_upgrade(forward->call->request, forward->upgrade_protocol, &handler, port_on_client_room,
				  forward);
}

/* ---- passing on the server's answer ---- */

/* Passes a header of the server's answer on to the client. */
static void port_on_answer_header(void *data, const char *name, const char *value)
{
	const struct port_request *forward = data;

	http_add_header(forward->call->request, name, value);
}

/* Begins the answer to the client. length: of the body, -1 if unknown. */
static void port_on_answer_headers_end(void *data, unsigned status, int64_t length)
{
	struct port_request *forward = data;

	if (status == 101)
		forward->error = -port_begin_upgrade(forward);
	forward->answer_has_begun = forward->error == 0;
	if (status == 101)
		return;
	http_begin_stream(forward->call->request, status, NULL, length, port_on_client_room, forward);
}

static void port_on_answer_body(void *data, const char *bytes, size_t len)
{
	const struct port_request *forward = data;

	if (!forward->error && !http_write_stream(forward->call->request, bytes, len))
		fileop_pause_output(forward->fileop, true);
}

/* Ends a request whose answer was passed on completely. */
static void port_request_finish(struct port_request *forward)
{
	struct e2b_call *call = forward->call;
	struct http_request *request = call->request;

	port_request_free(forward);
	e2b_call_finish(call);
	http_end_stream(request);
}

/* Ends a request whose answer is malformed, incomplete or missing. error: an errno; EBADMSG: malformed. */
static void port_request_fail(struct port_request *forward, int error)
{
	struct e2b_call *call = forward->call;
	struct http_request *request = call->request;
	const struct e2b_sandbox *box = call->box;
	const uint16_t port = forward->port;
	const bool has_begun = forward->answer_has_begun;

	port_request_free(forward);
	if (has_begun) {
		e2b_call_abort(call); /* a partial answer must not look complete */
		return;
	}
	e2b_call_finish(call);
	if (error == ECONNREFUSED)
		port_respond_not_open(request, box, port);
	else if (error == EPROTO)
		e2b_answer_error(request, 400,
				 "the client has sent more than the request before the protocol was changed");
	else if (error == EBADMSG)
		e2b_answer_error(request, 502, "what listens at port %u of the sandbox gave no HTTP answer", port);
	else
		e2b_answer_error(request, sandbox_error_is_lack_of_descriptors(error) ? 429 : 502,
				 "port %u of the sandbox cannot be reached: %s", port, sandbox_describe_error(error));
}

static void port_on_program_output(void *data, const char *bytes, size_t len)
{
	struct port_request *forward = data;

	if (port_answer_feed(&forward->answer_parser, bytes, len) < 0)
		forward->error = EBADMSG;
	if (forward->error) {
		fileop_cancel(forward->fileop);
		port_request_fail(forward, forward->error);
	} else if (forward->answer_parser.state == PORT_ANSWER_COMPLETE) {
		fileop_cancel(forward->fileop);
		port_request_finish(forward);
	}
}

/* Called at the end of the program in the sandbox: it could not connect, or the server has closed the connection. */
static void port_on_program_end(void *data, int error, const char *message, const json_t *answer)
{
	struct port_request *forward = data;

	(void)message;
	(void)answer;
	if (error == 0 && port_answer_on_connection_end(&forward->answer_parser) == 0)
		port_request_finish(forward);
	else
		port_request_fail(forward, error ? error : EBADMSG);
}

static void port_on_cancel(void *data)
{
	struct port_request *forward = data;

	fileop_cancel(forward->fileop);
	port_request_free(forward);
}

/* ---- start of a port request ---- */

/* Starts callgate-files to connect to the port, sends the request's head, and streams the body. 0 or -errno. */
static int port_request_start(struct port_request *forward)
{
	const struct fileop_handler handler = {.on_data = port_on_program_output,
					       .on_room = port_on_program_room,
					       .on_answer = port_on_program_end,
					       .data = forward};
	const struct http_body_handler body = {
		.on_bytes = port_on_request_body, .on_end = port_on_request_body_end, .data = forward};
	const struct port_answer_handler answer = {.on_header = port_on_answer_header,
						   .on_headers_end = port_on_answer_headers_end,
						   .on_body = port_on_answer_body,
						   .data = forward};
	struct http_request *request = forward->call->request;
	int error;

	forward->upgrade_protocol = http_get_upgrade(request);
	port_answer_init(&forward->answer_parser, &answer, strcmp(http_get_method(request), "HEAD") == 0,
			 forward->upgrade_protocol);
	port_request_make_head(forward);
	if (forward->request_bytes.failed)
		return -ENOMEM;
	error = fileop_start(forward->call->box->sandbox,
			     json_pack("{s:s, s:i}", "op", "connect", "port", (int)forward->port), &handler,
			     &forward->fileop);
	if (error < 0)
		return error;
	(void)port_request_flush(forward);
	http_stream_body(request, &body);
	return 0;
}

void port_handle_request(struct e2b_sandbox *box, struct http_request *request, uint64_t port)
{
	struct port_request *forward;
	int error = -ENOMEM;

	if (port == 0 || port > UINT16_MAX) {
		port_respond_not_open(request, box, port);
		return;
	}
	if (strcmp(http_get_method(request), "CONNECT") == 0) {
		e2b_answer_error(request, 501,
				 "this server passes on requests for a port, and is no proxy for CONNECT");
		return;
	}
	if (!port_target_is_valid(http_get_target(request))) {
		e2b_answer_error(request, 400,
				 "the target of a request for a port begins with / and is printable ASCII");
		return;
	}
	if (box->port_request_count >= PORT_REQUESTS_MAX) {
		e2b_answer_error(request, 503, "%u requests for ports of the sandbox are open, the most there may be",
				 PORT_REQUESTS_MAX);
		return;
	}
	forward = calloc(1, sizeof(*forward));
	if (forward)
		forward->call = e2b_call_create(box, request, port_on_cancel, forward);
	if (!forward || !forward->call) {
		free(forward);
		e2b_answer_error(request, 503, "the server has no memory");
		return;
	}
	forward->port = (uint16_t)port;
	box->port_request_count++;
	error = port_request_start(forward);
	if (error < 0)
		port_request_fail(forward, -error);
}
