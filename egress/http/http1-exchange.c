/*
 * Moves an HTTP/1 request and its response. The request: its head, then its body, which is forwarded after the verdict.
 * The response: interim responses, the final head, serialised anew, and the body.
 */
#include <errno.h>

#include "egress/http/http1-mode.h"
#include "egress/state.h"

/* Handles a complete head of the client: judges the request, or first connects to its destination. */
static void handle_request_head(struct conn *conn, size_t len)
{
	struct http1_state *http1 = conn->state;
	int error = http1_parse_request(bytes_get_text(&http1->from_client), len, &http1->head);

	conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
	http1->head_len = len;
	http1->start_ns = loop_get_now_ns(conn->egress->loop);
	http1->base_up = conn->bytes_up + conn->upstream.bytes_out;
	http1->base_down = conn->bytes_down + conn->upstream.bytes_in;
	if (!error) {
		http1_body_init(&http1->up, &http1->head, true);
		http1->client_keeps = http1->head.wants_keep_alive;
	}
	if (!error && http1->conn_is_to_proxy) {
		http1_judge_proxy_request(conn);
		return;
	}
	if (!error)
		error = http1_fill_request_from_head(http1, NULL);
	if (error)
		http1_refuse_malformed(conn, error);
	else if (conn->upstream.watch.fd < 0)
		http1_reopen_upstream(conn);
	else
		http1_judge_request(conn);
}

/* Handles what the server sends between requests, when it may only close. */
static enum http1_step http1_read_from_idle_server(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int fill = http1_read_into_input_buffer(conn, false);

	if (!fill)
		return HTTP1_STEP_NO_PROGRESS;
	if (fill > 0)
		return http1_close_conn(conn, "server", "bad_response", true);
	if (!http1->conn_is_to_proxy) /* then the client's connection ends, too, as it would without callgate */
		return http1_close_conn(conn, "server", NULL, false);
	conn_drop_upstream(conn, false);
	return HTTP1_STEP_NO_PROGRESS;
}

enum http1_step http1_read_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	struct bytes *in = &http1->from_client;
	int fill;
	ssize_t len = in->data ? http1_find_head_end(&http1->client_scan, bytes_get_text(in), bytes_count_left(in)) : 0;

	if (len > 0)
		handle_request_head(conn, (size_t)len);
	else if (len < 0)
		http1_refuse_malformed(conn, (int)len);
	if (len)
		return HTTP1_STEP_PROGRESS;
	fill = http1_read_into_input_buffer(conn, true);
	if (fill > 0) {
		if (!http1->head_len) /* first bytes of a request: the time limit covers its whole head */
			conn_set_phase_timeout(conn, CONN_HTTP_HEAD_TIMEOUT_MS, "header_timeout");
		http1->head_len = 1;
		return HTTP1_STEP_PROGRESS;
	}
	if (fill == -ENODATA)
		return http1_close_conn(conn, "client", NULL, false);
	if (fill < 0)
		return http1_close_after_error(conn, fill, true);
	return http1_read_from_idle_server(conn);
}

/* Reads from the client while the response is awaited, to notice the next request or a reset. */
static enum http1_step http1_read_client_ahead_of_response(struct conn *conn)
{
	int fill = conn->client.peer_has_ended ? 0 : http1_read_into_input_buffer(conn, true);

	if (!fill || fill == -ENODATA) /* a half-closed client still reads the response */
		return HTTP1_STEP_NO_PROGRESS;
	return fill > 0 ? HTTP1_STEP_PROGRESS : http1_close_after_error(conn, fill, true);
}

/* Passes a part of the request's body from the program to the server. */
static enum http1_step forward_request_body(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int fill = http1->from_client.data ? 1 : http1_read_into_input_buffer(conn, true);
	int error;

	if (!fill)
		return HTTP1_STEP_NO_PROGRESS;
	if (fill == -ENODATA) /* the request is cut off: the server must not take it for complete */
		return http1_close_conn(conn, "client", NULL, true);
	if (fill < 0)
		return http1_close_after_error(conn, fill, true);
	error = http1_forward_body(&http1->up, http1->up.framing, &http1->from_client, &http1->to_server,
				   &conn->upstream);
	if (error == -ENOMEM)
		return http1_close_conn(conn, "no_memory", NULL, true);
	if (error == -EBADMSG || error == -EMSGSIZE)
		http1_refuse_malformed(conn, error);
	else if (error)
		http1->upstream_is_lost = true;
	return HTTP1_STEP_PROGRESS;
}

enum http1_step http1_step_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	if (http1->upstream_is_lost) { /* the server may have responded before it closed */
		bytes_release(&http1->to_server);
		return HTTP1_STEP_NO_PROGRESS;
	}
	if (http1_flush_output(&http1->to_server, &conn->upstream) < 0) {
		http1->upstream_is_lost = true;
		return HTTP1_STEP_PROGRESS;
	}
	if (http1->to_server.data)
		return HTTP1_STEP_NO_PROGRESS;
	return http1->up.has_ended ? http1_read_client_ahead_of_response(conn) : forward_request_body(conn);
}

/* Queues the response's head for the client. connection: value of the "Connection" field; NULL: none. */
static int http1_queue_response(struct conn *conn, const struct http1_head *head, const char *connection)
{
	struct http1_state *http1 = conn->state;
	_cleanup_buf_ struct buf out = {0};

	http1_write_response(&out, head);
	for (size_t i = 0; i < head->field_count; i++)
		if (http1_field_is_forwarded(head, &head->field[i], true))
			http1_write_field(&out, &head->field[i]);
	if (head->asks_for_websocket)
		buf_puts(&out, "Upgrade: websocket\r\n");
	http1_write_head_end(&out, http1->down_as, head, connection);
	return out.failed ? -ENOMEM : bytes_add(&http1->to_client, out.data, out.len);
}

/* Forwards an interim response, such as 100 or 103. HTTP/1.0 has none (RFC 9110, 15.2). */
static int pass_interim_response(struct conn *conn, const struct http1_head *head)
{
	struct http1_state *http1 = conn->state;

	http1->down_as = HTTP1_NO_BODY;
	return http1->head.minor_version ? http1_queue_response(conn, head, NULL) : 0;
}

/*
 * Passes on the head of the final response, and decides on its framing for the client and on keep-alive. 0 or -errno.
 */
static int pass_final_response(struct conn *conn, const struct http1_head *head)
{
	struct http1_state *http1 = conn->state;
	bool old = http1->head.minor_version == 0;
	const char *connection = NULL;

	http1->response_head_was_queued = true;
	conn->http_status = head->status;
	http1_body_init(&http1->down, head, false);
	http1->down_as = head->framing == HTTP1_CHUNKED && old ? HTTP1_UNTIL_CLOSE : head->framing;
	http1->server_keeps = head->wants_keep_alive;
	/* Servers echo "Connection: close". A server that has not read the whole body wants to close by itself. */
	http1->client_keeps &= (head->wants_keep_alive || (http1->server_was_told_to_close && http1->up.has_ended)) &&
			       http1->down_as != HTTP1_UNTIL_CLOSE;
	if (head->asks_for_websocket)
		connection = "Upgrade";
	else if (!http1->client_keeps)
		connection = "close";
	else if (old)
		connection = "keep-alive";
	return http1_queue_response(conn, head, connection);
}

/* Handles the head of an interim or final response, `len` bytes of from_server. A bad one is not passed on. */
static enum http1_step http1_handle_response_head(struct conn *conn, size_t len)
{
	struct http1_state *http1 = conn->state;
	struct bytes *in = &http1->from_server;
	struct http1_head head;
	int error = http1_parse_response(bytes_get_text(in), len, http1->request.method, &head);

	if (!error && (head.status == 101) != (head.asks_for_websocket && http1->request.asks_for_websocket))
		error = -EPROTO;
	if (error) {
		http1_refuse_bad_response(conn);
		return http1->phase == HTTP1_SENDING_REFUSAL ? HTTP1_STEP_PROGRESS : HTTP1_STEP_CONN_ENDED;
	}
	if (head.status < 200 && head.status != 101)
		error = pass_interim_response(conn, &head);
	else
		error = pass_final_response(conn, &head);
	http1->server_scan = (struct http1_head_scan){0};
	bytes_drop(in, len);
	return error ? http1_close_conn(conn, "no_memory", NULL, true) : HTTP1_STEP_PROGRESS;
}

/* Reads from the server until the head of its response is complete, and handles the head. */
static enum http1_step http1_await_response(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	struct bytes *in = &http1->from_server;
	ssize_t len = in->data ? http1_find_head_end(&http1->server_scan, bytes_get_text(in), bytes_count_left(in)) : 0;
	int fill;

	if (len > 0)
		return http1_handle_response_head(conn, (size_t)len);
	if (len < 0) {
		http1_refuse_bad_response(conn);
		return http1->phase == HTTP1_SENDING_REFUSAL ? HTTP1_STEP_PROGRESS : HTTP1_STEP_CONN_ENDED;
	}
	fill = http1_read_into_input_buffer(conn, false);
	if (fill >= 0)
		return fill ? HTTP1_STEP_PROGRESS : HTTP1_STEP_NO_PROGRESS;
	if (fill == -ENODATA) /* the client sees what it would see without callgate, and may retry */
		return http1_close_conn(conn, "server", NULL, false);
	return http1_close_after_error(conn, fill, false);
}

/* Passes what has arrived of the response's body on to the client. */
static enum http1_step http1_return_response_body(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int fill = http1->from_server.data ? 1 : http1_read_into_input_buffer(conn, false);
	int error;

	if (!fill)
		return HTTP1_STEP_NO_PROGRESS;
	if (fill == -ENODATA && http1->down.framing == HTTP1_UNTIL_CLOSE) {
		http1->down.has_ended = true;
		return HTTP1_STEP_PROGRESS;
	}
	if (fill == -ENODATA) /* the response is cut off: a reset tells the client */
		return http1_close_conn(conn, "server", "truncated", true);
	if (fill < 0)
		return http1_close_after_error(conn, fill, false);
	error = http1_forward_body(&http1->down, http1->down_as, &http1->from_server, &http1->to_client, &conn->client);
	if (error == -ENOMEM)
		return http1_close_conn(conn, "no_memory", NULL, true);
	if (error == -EBADMSG || error == -EMSGSIZE)
		return http1_close_conn(conn, "server", "bad_response", true);
	return error ? http1_close_conn(conn, "client_reset", NULL, true) : HTTP1_STEP_PROGRESS;
}

enum http1_step http1_step_response(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	if (http1_flush_output(&http1->to_client, &conn->client) < 0)
		return http1_close_conn(conn, "client_reset", NULL, true);
	if (http1->to_client.data || (http1->response_head_was_queued && http1->down.has_ended))
		return HTTP1_STEP_NO_PROGRESS;
	return http1->response_head_was_queued ? http1_return_response_body(conn) : http1_await_response(conn);
}
