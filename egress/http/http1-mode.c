#include "egress/http/http1-mode.h"

#include <errno.h>
#include <string.h>

#include "egress/state.h"

#define HTTP1_STEPS_MAX 64 /* most steps of a connection in one round of the loop */

static void await_next_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	http1->phase = HTTP1_IDLE;
	http1->client_scan = http1->server_scan = (struct http1_scan){0};
	http1->answered = http1->up_lost = http1->forwarded = http1->closes = false;
	http1->head_len = 0;
	memset(&http1->request, 0, sizeof(http1->request));
	memset(&http1->verdict, 0, sizeof(http1->verdict));
	http1->client_keeps = false; /* false until the head of a request says otherwise */
	conn_set_limit(conn, CONN_IDLE_MS, "idle_timeout");
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
	conn_switch_mode(conn, CONN_RELAY);
	return HTTP1_STEP_OVER;
}

/* Waits for the end of the request, because the response ended first: the server may read on or stop reading. */
static enum http1_step await_request_end(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int fill = http1_fill_input(conn, false);

	if (!fill)
		return HTTP1_STEP_NONE;
	if (fill > 0)
		http1->server_keeps = false; /* these bytes are no response: no request is outstanding */
	else
		http1->up_lost = true;
	return HTTP1_STEP_DONE;
}

static enum http1_step end_exchange(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	bool sent = http1->up.ended && !http1->to_server.data;

	if (!http1->answered || !http1->down.ended || http1->to_client.data)
		return HTTP1_STEP_NONE;
	if (conn->status == 101)
		return switch_to_relay(conn);
	if (!sent && !http1->up_lost)
		return await_request_end(conn);
	http1_record_outcome(conn, conn->status);
	if (http1->from_server.data)
		return http1_start_linger(conn, "server", "bad_response");
	if (!sent || (!http1->server_keeps && !http1->closes))
		return http1_start_linger(conn, "server", NULL);
	if (!http1->client_keeps)
		return http1_start_linger(conn, "client", NULL);
	if (http1->closes)
		conn_drop_upstream(conn, false);
	await_next_request(conn);
	return HTTP1_STEP_DONE;
}

static enum http1_step http1_step_exchange(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	enum http1_step up, down;

	/* Checked first, because a client that closes after a complete exchange is no error. */
	if (http1->answered && http1->down.ended && http1->up.ended && !http1->to_client.data && !http1->to_server.data)
		return end_exchange(conn);
	up = http1_move_request(conn);
	if (up == HTTP1_STEP_OVER || http1->phase != HTTP1_EXCHANGE)
		return up;
	down = http1_move_response(conn);
	if (down == HTTP1_STEP_OVER || http1->phase != HTTP1_EXCHANGE)
		return down;
	if (up == HTTP1_STEP_DONE || down == HTTP1_STEP_DONE) {
		conn_set_limit(conn, CONN_IDLE_MS, "idle_timeout");
		return HTTP1_STEP_DONE;
	}
	return end_exchange(conn);
}

static enum http1_step http1_send_refusal(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	if (http1_flush_output(&http1->to_client, &conn->client) < 0)
		return http1_close_conn(conn, "client_reset", NULL, true);
	if (http1->to_client.data)
		return HTTP1_STEP_NONE;
	if (!http1->client_keeps)
		return http1_start_linger(conn, "refused", http1->reason);
	await_next_request(conn);
	return HTTP1_STEP_DONE;
}

static enum http1_step http1_step_once(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	switch (http1->phase) {
	case HTTP1_IDLE:
		return http1_read_request(conn);
	case HTTP1_EXCHANGE:
		return http1_step_exchange(conn);
	case HTTP1_REFUSED:
		return http1_send_refusal(conn);
	case HTTP1_LINGER:
		return http1_continue_linger(conn);
	case HTTP1_TUNNEL:
		return http1_start_tunnel(conn);
	case HTTP1_SHAKING:
		return http1_continue_handshake(conn);
	case HTTP1_OPENING:
	case HTTP1_ASKED:
	default:
		return HTTP1_STEP_NONE; /* a callback will continue */
	}
}

static void http1_pump(struct conn *conn)
{
	enum http1_step did = HTTP1_STEP_DONE;
	struct http1_state *http1 = conn->state;

	http1->proxied = conn->mode == &mode_proxy;
	http1->wait_ms = 0;
	http1->client_waits = http1->server_waits = false;
	for (unsigned steps = 0; did == HTTP1_STEP_DONE && steps < HTTP1_STEPS_MAX; steps++)
		did = http1_step_once(conn);
	if (did == HTTP1_STEP_OVER)
		return;
	if (did == HTTP1_STEP_DONE || http1->wait_ms)
		conn_pump_mode_after(conn, did == HTTP1_STEP_DONE ? 0 : http1->wait_ms);
	channel_set_wait(&conn->client, http1->client_waits, http1->to_client.data != NULL);
	channel_set_wait(&conn->upstream, http1->server_waits, http1->to_server.data != NULL);
}

static void http1_free_buffers(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	http1_record_outcome(conn, -ECONNABORTED); /* no effect if the outcome is recorded already */
	bytes_release(&http1->from_client);
	bytes_release(&http1->from_server);
	bytes_release(&http1->to_client);
	bytes_release(&http1->to_server);
}

#define HTTP1_MODE .state_size = sizeof(struct http1_state), .limit_ms = CONN_IDLE_MS, .limit_cause = "idle_timeout", \
		   .pump = http1_pump, .done = http1_free_buffers
const struct conn_mode mode_http1 = {.name = "http1", HTTP1_MODE};
const struct conn_mode mode_proxy = {.name = "proxy", HTTP1_MODE};
