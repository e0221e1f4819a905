/*
 * Connections after an answer of 101 (Switching Protocols, RFC 9110): bytes go both ways until the owner ends the
 * answer's stream. libmicrohttpd leaves the socket to this file, and closes it in the end, which completes the request.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "agents/http/private.h"
#include "agents/slist.h"

#define UPGRADE_READ_BYTES 32768
#define UPGRADE_IDLE_TIMEOUT_MS (HTTP_IDLE_TIMEOUT_S * 1000u)

/* ---- the end ---- */

/* Ends an upgraded connection. May be called again. */
static void upgrade_close(struct http_request *request)
{
	if (!request->upgrade_operations)
		return;
	request->upgrade_operations = NULL;
	slist_remove(request->server->upgraded_requests, request, next_upgraded);
	loop_remove_source(request->upgrade_source);
	request->upgrade_source = NULL;
	loop_cancel_timer(request->upgrade_timer);
	request->upgrade_timer = NULL;
	/* Fails only for a connection that was closed before. */
	(void)MHD_upgrade_action(request->upgrade_handle, MHD_UPGRADE_ACTION_CLOSE);
	http_server_wake(request->server);
}

/*
 * Cuts the connection. The owner, who may be the caller, is told later, when libmicrohttpd has completed the request.
 */
static void upgrade_disconnect(struct http_request *request)
{
	request->is_disconnected = true;
	upgrade_close(request);
}

static void upgrade_set_timer(struct http_request *request, uint64_t delay_ms);

static void upgrade_on_timer(void *data)
{
	struct http_request *request = data;
	const uint64_t idle_ms = loop_get_now_ms(request->server->loop) - request->upgrade_last_used_ms;

	request->upgrade_timer = NULL;
	if (request->is_disconnected || request->client_is_gone || request->is_awaiting_client_close ||
	    idle_ms >= UPGRADE_IDLE_TIMEOUT_MS)
		upgrade_disconnect(request);
	else
		upgrade_set_timer(request, UPGRADE_IDLE_TIMEOUT_MS - idle_ms);
}

/* Sets the timer of the connection anew. */
static void upgrade_set_timer(struct http_request *request, uint64_t delay_ms)
{
	loop_cancel_timer(request->upgrade_timer);
	request->upgrade_timer = loop_add_timer(request->server->loop, delay_ms, upgrade_on_timer, request);
	if (!request->upgrade_timer)
		upgrade_disconnect(request); /* without a timer an idle connection would never end */
}

/* Tells the owner once that the client sends no more. */
static void upgrade_report_input_end(struct http_request *request)
{
	if (request->client_has_ended)
		return;
	request->client_has_ended = true;
	if (request->body_handler.on_end)
		request->body_handler.on_end(request->body_handler.data);
}

/*
 * The client reads no more: drops the output, and gives the owner HTTP_HALF_CLOSED_TIMEOUT_MS for the input it got
 * before.
 */
static void upgrade_on_client_gone(struct http_request *request)
{
	if (request->client_is_gone || !request->upgrade_operations)
		return;
	request->client_is_gone = true;
	request->stream_queue.len = request->stream_sent_bytes = 0;
	upgrade_report_input_end(request);
	if (request->upgrade_operations)
		upgrade_set_timer(request, HTTP_HALF_CLOSED_TIMEOUT_MS);
}

/*
 * Called when all bytes of a stream that the owner has ended are sent. Shuts the socket down for writing, and waits for
 * the client's end: closing a socket with unread input resets the connection, and bytes on their way are lost.
 */
static void upgrade_shut_down_output(struct http_request *request)
{
	if (request->client_has_ended) {
		upgrade_close(request);
		return;
	}
	if (request->is_awaiting_client_close)
		return;
	request->is_awaiting_client_close = true;
	request->body_handler = (struct http_body_handler){0};
	request->upgrade_input_is_paused = false;
	(void)shutdown(request->fd, SHUT_WR);
	upgrade_set_timer(request, HTTP_HALF_CLOSED_TIMEOUT_MS);
}

/* ---- bytes ---- */

static void upgrade_receive(struct http_request *request)
{
	static char bytes[UPGRADE_READ_BYTES];
	size_t taken;
	ssize_t got;

	if (request->upgrade_input_is_paused || request->client_has_ended)
		return;
	/* What the owner does not take stays in the socket. */
	got = recv(request->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0) {
		upgrade_on_client_gone(request);
		return;
	}
	if (got == 0) {
		upgrade_report_input_end(request);
		return;
	}
	taken = request->body_handler.on_bytes
			? request->body_handler.on_bytes(request->body_handler.data, bytes, (size_t)got)
			: (size_t)got;
	if (!request->upgrade_operations)
		return; /* the owner has cut the connection */
	request->upgrade_input_is_paused = taken < (size_t)got;
	if (taken > 0)
		(void)recv(request->fd, bytes, taken, MSG_DONTWAIT); /* cannot fail: MSG_PEEK has shown these bytes */
	request->upgrade_last_used_ms = loop_get_now_ms(request->server->loop);
}

/* Sends to the client as far as its socket has room. */
static void upgrade_send(struct http_request *request)
{
	const struct buf *out = &request->stream_queue;

	while (request->upgrade_operations && request->stream_sent_bytes < out->len) {
		ssize_t sent = send(request->fd, out->data + request->stream_sent_bytes,
				    out->len - request->stream_sent_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			upgrade_on_client_gone(request);
		if (sent < 0)
			return;
		request->upgrade_last_used_ms = loop_get_now_ms(request->server->loop);
		http_request_advance_stream(request, (size_t)sent);
	}
}

/* Waits for input unless it is paused, and for room while there is output. */
static void upgrade_update_events(struct http_request *request)
{
	const bool has_output = request->stream_sent_bytes < request->stream_queue.len;
	uint32_t events;

	if (!request->upgrade_operations || request->is_disconnected)
		return;
	if (request->stream_has_ended && !has_output)
		upgrade_shut_down_output(request);
	if (!request->upgrade_operations)
		return;
	events = (request->upgrade_input_is_paused || request->client_has_ended ? 0 : EPOLLIN) |
		 (has_output ? EPOLLOUT : 0);
	if (loop_set_events(request->upgrade_source, events) < 0)
		upgrade_disconnect(request);
}

/* Reads from the client again. */
static void upgrade_resume_input(struct http_request *request)
{
	request->upgrade_input_is_paused = false;
	upgrade_update_events(request);
}

static void upgrade_on_event(void *data, uint32_t events)
{
	struct http_request *request = data;

	if (request->is_disconnected)
		return;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		upgrade_receive(request);
	if (events & EPOLLOUT)
		upgrade_send(request);
	/* EPOLLHUP may come while input is unread: the client counts as gone only after all input was read. */
	if (events & (EPOLLHUP | EPOLLERR) && request->client_has_ended)
		upgrade_on_client_gone(request);
	upgrade_update_events(request);
}

/* ---- the start ---- */

/* Called by libmicrohttpd when the answer is sent. `early`: what was read after the request. */
static void upgrade_on_socket(void *cls, struct MHD_Connection *connection, void *context, const char *early,
			      size_t early_len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
	static const struct http_upgrade_operations operations = {
		.update = upgrade_update_events, .resume_input = upgrade_resume_input, .close = upgrade_close};
	struct http_request *request = cls;
	struct http_server *server = request->server;

	(void)connection;
	(void)context;
	(void)early;
	request->upgrade_operations = &operations;
	request->upgrade_handle = handle;
	request->next_upgraded = server->upgraded_requests;
	server->upgraded_requests = request;
	request->upgrade_last_used_ms = loop_get_now_ms(server->loop);
	request->upgrade_source = loop_add_source(server->loop, fd, EPOLLIN, upgrade_on_event, request);
	request->is_disconnected |= !request->upgrade_source || early_len > 0;
	/* libmicrohttpd would not notice the end of a connection that is closed in this callback. */
	upgrade_set_timer(request, request->is_disconnected ? 0 : UPGRADE_IDLE_TIMEOUT_MS);
	upgrade_update_events(request);
}

/* Whether a header's list, separated by commas, has the token, whatever its case. */
static bool upgrade_list_has_token(const char *list, const char *token)
{
	while (*list) {
		const size_t len = strcspn(list, " \t,");

		if (len == strlen(token) && strncasecmp(list, token, len) == 0)
			return true;
		list += len;
		list += strspn(list, " \t,");
	}
	return false;
}

const char *http_get_upgrade(const struct http_request *request)
{
	const char *protocol = http_get_header(request, "Upgrade"), *option = http_get_header(request, "Connection");
	const char *length = http_get_header(request, "Content-Length");

	if (!protocol || !*protocol || !option || !upgrade_list_has_token(option, "Upgrade") || !request->is_http_1_1 ||
	    strcmp(request->method, "GET") != 0 || http_get_header(request, "Transfer-Encoding") ||
	    (length && strcmp(length, "0") != 0))
		return NULL;
	for (const char *at = protocol; *at; at++)
		if (*at <= ' ' || *at > '~' || *at == ',')
			return NULL;
	return protocol;
}

int http_begin_upgrade(struct http_request *request, const char *protocol, const struct http_body_handler *handler,
		       void (*on_room)(void *data), void *data)
{
	struct MHD_Response *response;
	int unread = 0;

	if (ioctl(request->fd, FIONREAD, &unread) < 0 || unread > 0)
		return -EPROTO;
	response = MHD_create_response_for_upgrade(upgrade_on_socket, request);
	if (!response || MHD_add_response_header(response, "Upgrade", protocol) != MHD_YES) {
		if (response)
			MHD_destroy_response(response);
		return -ENOMEM;
	}
	request->is_stream = true;
	request->body_handler = *handler;
	request->on_room = on_room;
	request->room_data = data;
	http_request_set_response(request, MHD_HTTP_SWITCHING_PROTOCOLS, NULL, response);
	return 0;
}
