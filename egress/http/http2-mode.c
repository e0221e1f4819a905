/*
 * mode_http2: moves bytes between two channels and two nghttp2 sessions. The connection is never closed inside a
 * callback of nghttp2.
 */
#include <errno.h>

#include "egress/conn/line.h"
#include "egress/http/http2.h"
#include "egress/state.h"

#define HTTP2_READ_BYTES 16384
#define HTTP2_READS_PER_LOOP_ROUND_MAX 16 /* most reads from each end in one round of the loop */
#define HTTP2_QUEUED_FRAMES_MAX ((size_t)HTTP2_STREAMS_MAX * 2)

/* Lets streams that wait for the budget try again. */
static void resume_waiting_streams(struct http2_state *http2)
{
	http2->budget_wait_ms = 0;
	for (struct http2_stream *stream = http2->streams; stream; stream = stream->next) {
		http2_resume_body(stream, true);
		http2_resume_body(stream, false);
	}
}

/* False while a peer does not read interim responses and refusals, which flow control does not bound. */
static bool http2_session_has_queue_room(nghttp2_session *to)
{
	return nghttp2_session_get_outbound_queue_size(to) < HTTP2_QUEUED_FRAMES_MAX;
}

/* Reads from one end into its session. Returns the bytes read; 0: none now; -EPIPE: end of the stream; -errno. */
static ssize_t session_read_bytes(struct http2_state *http2, struct channel *channel, nghttp2_session *session)
{
	uint8_t data[HTTP2_READ_BYTES];
	ssize_t total = 0, got = -EAGAIN;

	/* A few bytes can be a request and its cancellation, with a record each: stops if the control line is full. */
	for (unsigned reads = 0;
	     reads < HTTP2_READS_PER_LOOP_ROUND_MAX && http2_session_has_queue_room(http2->client) &&
	     http2_session_has_queue_room(http2->upstream) && !line_queue_is_full(http2->conn->egress->line);
	     reads++) {
		got = channel_read(channel, data, sizeof(data));
		if (got <= 0)
			break;
		total += got;
		if (nghttp2_session_mem_recv(session, data, (size_t)got) < 0)
			return -EPROTO;
	}
	if (got == 0)
		return total ? total : -EPIPE;
	return got > 0 || got == -EAGAIN ? total : got;
}

/* Sends a session's output. Returns the bytes sent; 0: none now; -errno. */
static ssize_t session_write_bytes(struct channel *channel, nghttp2_session *session, struct http2_output *out)
{
	ssize_t total = 0, sent;

	for (;;) {
		if (out->len == 0) {
			ssize_t made = nghttp2_session_mem_send(session, &out->at);

			if (made <= 0)
				return made < 0 ? -EPROTO : total;
			out->len = (size_t)made;
		}
		sent = channel_write(channel, out->at, out->len);
		if (sent < 0)
			return sent == -EAGAIN ? total : sent;
		out->at += sent;
		out->len -= (size_t)sent;
		total += sent;
	}
}

/* Whether the HTTP/2 session wants neither to read nor to write any more. */
static bool session_is_over(nghttp2_session *session)
{
	return !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session);
}

/* Reads and sends once in each direction. False: the connection is closed. */
static bool http2_step_once(struct http2_state *http2, bool *ret_moved)
{
	struct conn *conn = http2->conn;
	ssize_t client = session_read_bytes(http2, &conn->client, http2->client);
	ssize_t upstream = session_read_bytes(http2, &conn->upstream, http2->upstream);
	ssize_t client_sent = session_write_bytes(&conn->client, http2->client, &http2->client_out);
	ssize_t upstream_sent = session_write_bytes(&conn->upstream, http2->upstream, &http2->upstream_out);

	*ret_moved = client > 0 || upstream > 0 || client_sent > 0 || upstream_sent > 0;
	if (http2->close_reason)
		conn_close(conn, http2->close_reason, http2->close_reason, true);
	else if (client == -EPROTO || client_sent == -EPROTO)
		conn_close(conn, "protocol_error", "bad_request", true);
	else if (client < 0 || client_sent < 0)
		conn_close(conn, "client", NULL, client != -EPIPE);
	else if (upstream == -EPROTO || upstream_sent == -EPROTO)
		conn_close(conn, "upstream_protocol_error", "bad_response", true);
	else if ((upstream < 0 || upstream_sent < 0) && !*ret_moved)
		conn_close(conn, "server", NULL, http2->streams != NULL);
	else
		return true;
	return false;
}

static void http2_pump(struct conn *conn)
{
	struct http2_state *http2 = conn->state;
	bool moved, room;

	if (!http2->conn) {
		http2->conn = conn;
		if (http2_client_create(http2) < 0 || http2_upstream_create(http2) < 0) {
			conn_close(conn, "no_memory", NULL, true);
			return;
		}
	}
	if (http2->budget_wait_ms)
		resume_waiting_streams(http2);
	if (!http2_step_once(http2, &moved))
		return;
	if (session_is_over(http2->client) || session_is_over(http2->upstream)) {
		conn_close(conn, session_is_over(http2->client) ? "client" : "server", NULL, false);
		return;
	}
	if (moved)
		conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
	room = http2_session_has_queue_room(http2->client) && http2_session_has_queue_room(http2->upstream);
	channel_set_events(&conn->client, room, http2->client_out.len > 0);
	channel_set_events(&conn->upstream, room, http2->upstream_out.len > 0);
	if (moved || http2->budget_wait_ms)
		conn_pump_mode_after(conn, moved ? 0 : http2->budget_wait_ms);
}

static void http2_free_state(struct conn *conn)
{
	struct http2_state *http2 = conn->state;

	while (http2->streams) {
		http2_record_outcome(http2->streams, http2->streams->response_status && http2->streams->down.has_ended
							     ? (int64_t)http2->streams->response_status
							     : -ECONNRESET);
		http2_stream_free(http2->streams);
	}
	nghttp2_session_del(http2->client);
	nghttp2_session_del(http2->upstream);
}

const struct conn_mode mode_http2 = {
	.name = "h2", .state_size = sizeof(struct http2_state), .pump = http2_pump, .done = http2_free_state};
