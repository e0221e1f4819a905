#include "egress/http/http1-mode.h"

#include <errno.h>
#include <string.h>

#include "egress/state.h"

#define HTTP1_STEPS_PER_LOOP_ROUND_MAX 64 /* most steps of a connection in one round of the loop */

/* Makes the state ready for the next request on the same connection. */
static void await_next_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	http1->phase = HTTP1_IDLE;
	http1->client_scan = http1->server_scan = (struct http1_head_scan){0};
	http1->response_head_was_queued = http1->upstream_is_lost = http1->request_head_was_queued =
		http1->server_was_told_to_close = false;
	http1->head_len = 0;
	memset(&http1->request, 0, sizeof(http1->request));
	memset(&http1->verdict, 0, sizeof(http1->verdict));
	http1->client_keeps = false; /* false until the head of a request says otherwise */
	conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
}

/* After status 101 the connection is no longer HTTP: relays bytes, first those that were read already. */
static enum http1_step switch_to_relay(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	struct bytes *up = &http1->from_client, *down = &http1->from_server;

	http1_record_outcome(conn, 101);
	if ((up->data && channel_put_back_bytes(&conn->client, bytes_get_text(up), bytes_count_left(up)) < 0) ||
	    (down->data && channel_put_back_bytes(&conn->upstream, bytes_get_text(down), bytes_count_left(down)) < 0))
		return http1_close_conn(conn, "no_memory", NULL, true);
	conn_switch_mode(conn, CONN_MODE_RELAY);
	return HTTP1_STEP_CONN_ENDED;
}

/* Waits for the end of the request, because the response ended first: the server may read on or stop reading. */
static enum http1_step await_request_end(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int fill = http1_read_into_input_buffer(conn, false);

	if (!fill)
		return HTTP1_STEP_NO_PROGRESS;
	if (fill > 0)
		http1->server_keeps = false; /* these bytes are no response: no request is outstanding */
	else
		http1->upstream_is_lost = true;
	return HTTP1_STEP_PROGRESS;
}

/* Once both bodies have ended and are sent: awaits the next request on the connection, or begins to close it. */
static enum http1_step end_exchange(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	bool sent = http1->up.has_ended && !http1->to_server.data;

	if (!http1->response_head_was_queued || !http1->down.has_ended || http1->to_client.data)
		return HTTP1_STEP_NO_PROGRESS;
	if (conn->http_status == 101)
		return switch_to_relay(conn);
	if (!sent && !http1->upstream_is_lost)
		return await_request_end(conn);
	http1_record_outcome(conn, conn->http_status);
	if (http1->from_server.data)
		return http1_start_discarding_input(conn, "server", "bad_response");
	if (!sent || (!http1->server_keeps && !http1->server_was_told_to_close))
		return http1_start_discarding_input(conn, "server", NULL);
	if (!http1->client_keeps)
		return http1_start_discarding_input(conn, "client", NULL);
	if (http1->server_was_told_to_close)
		conn_drop_upstream(conn, false);
	await_next_request(conn);
	return HTTP1_STEP_PROGRESS;
}

/* Moves the request towards the server and the response towards the client, as far as sockets allow now. */
static enum http1_step http1_step_exchange(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	enum http1_step up, down;

	/* Checked first, because a client that closes after a complete exchange is no error. */
	if (http1->response_head_was_queued && http1->down.has_ended && http1->up.has_ended && !http1->to_client.data &&
	    !http1->to_server.data)
		return end_exchange(conn);
	up = http1_step_request(conn);
	if (up == HTTP1_STEP_CONN_ENDED || http1->phase != HTTP1_EXCHANGE)
		return up;
	down = http1_step_response(conn);
	if (down == HTTP1_STEP_CONN_ENDED || http1->phase != HTTP1_EXCHANGE)
		return down;
	if (up == HTTP1_STEP_PROGRESS || down == HTTP1_STEP_PROGRESS) {
		conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
		return HTTP1_STEP_PROGRESS;
	}
	return end_exchange(conn);
}

/* Sends the rest of callgate's own refusal to the client, then awaits the next request or begins to close. */
static enum http1_step http1_send_refusal(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	if (http1_flush_output(&http1->to_client, &conn->client) < 0)
		return http1_close_conn(conn, "client_reset", NULL, true);
	if (http1->to_client.data)
		return HTTP1_STEP_NO_PROGRESS;
	if (!http1->client_keeps)
		return http1_start_discarding_input(conn, "refused", http1->reason);
	await_next_request(conn);
	return HTTP1_STEP_PROGRESS;
}

/* Does what the phase of the HTTP/1 connection calls for, once. */
static enum http1_step http1_step_once(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	switch (http1->phase) {
	case HTTP1_IDLE:
		return http1_read_request(conn);
	case HTTP1_EXCHANGE:
		return http1_step_exchange(conn);
	case HTTP1_SENDING_REFUSAL:
		return http1_send_refusal(conn);
	case HTTP1_DISCARDING_INPUT_AT_END:
		return http1_continue_discarding_input(conn);
	case HTTP1_TUNNEL:
		return http1_start_tunnel(conn);
	case HTTP1_UPSTREAM_HANDSHAKE:
		return http1_continue_handshake(conn);
	case HTTP1_AWAITING_ANSWER:
		return http1_watch_while_asked(conn);
	case HTTP1_OPENING_UPSTREAM:
	case HTTP1_AWAITING_RECORD_ACK:
	default:
		return HTTP1_STEP_NO_PROGRESS; /* a callback will continue */
	}
}

static void http1_pump(struct conn *conn)
{
	enum http1_step did = HTTP1_STEP_PROGRESS;
	struct http1_state *http1 = conn->state;

	http1->conn_is_to_proxy = conn->mode == &mode_proxy;
	http1->budget_wait_ms = 0;
	http1->client_waits = http1->server_waits = false;
	for (unsigned steps = 0; did == HTTP1_STEP_PROGRESS && steps < HTTP1_STEPS_PER_LOOP_ROUND_MAX; steps++)
		did = http1_step_once(conn);
	if (did == HTTP1_STEP_CONN_ENDED)
		return;
	if (did == HTTP1_STEP_PROGRESS || http1->budget_wait_ms)
		conn_pump_mode_after(conn, did == HTTP1_STEP_PROGRESS ? 0 : http1->budget_wait_ms);
	if (http1->phase == HTTP1_AWAITING_ANSWER)
		channel_await_hangup(&conn->client);
	else
		channel_set_events(&conn->client, http1->client_waits, http1->to_client.data != NULL);
	channel_set_events(&conn->upstream, http1->server_waits, http1->to_server.data != NULL);
}

static void http1_free_buffers(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	request_withdraw(conn, &http1->request);
	http1_record_outcome(conn, -ECONNABORTED); /* no effect if the outcome is recorded already */
	bytes_release(&http1->from_client);
	bytes_release(&http1->from_server);
	bytes_release(&http1->to_client);
	bytes_release(&http1->to_server);
}

#define HTTP1_MODE_INITIALIZERS                                                             \
	.state_size = sizeof(struct http1_state), .first_timeout_ms = CONN_IDLE_TIMEOUT_MS, \
	.first_timeout_cause = "idle_timeout", .pump = http1_pump, .done = http1_free_buffers
const struct conn_mode mode_http1 = {.name = "http1", HTTP1_MODE_INITIALIZERS};
const struct conn_mode mode_proxy = {.name = "proxy", HTTP1_MODE_INITIALIZERS};
