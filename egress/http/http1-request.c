/* From the client: reads a request's head, then its body, which is forwarded after the verdict. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1-mode.h"
#include "egress/state.h"

#include "base/banned.h"

static void request_head(struct conn *conn, size_t len)
{
	struct http1 *http1 = conn->state;
	int error = http1_request(bytes_text(&http1->from_client), len, &http1->head);

	conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
	http1->head_len = len;
	http1->start_ns = loop_now_ns(conn->egress->loop);
	http1->base_up = conn->bytes_up + conn->upstream.bytes_out;
	http1->base_down = conn->bytes_down + conn->upstream.bytes_in;
	if (!error) {
		http1_body_init(&http1->up, &http1->head, true);
		http1->client_keeps = http1->head.keep_alive;
	}
	if (!error && http1->proxied) {
		http1_proxy(conn);
		return;
	}
	if (!error)
		error = http1_describe(http1, NULL);
	if (error)
		http1_refuse_malformed(conn, error);
	else if (conn->upstream.watch.fd < 0)
		http1_reopen(conn);
	else
		http1_judge(conn);
}

/* Between requests the server may only close. */
static enum http1_step idle_server(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	int fill = http1_fill(conn, false);

	if (!fill)
		return HTTP1_STEP_NONE;
	if (fill > 0)
		return http1_over(conn, "server", "bad_response", true);
	if (!http1->proxied) /* the client sees what it would see without us */
		return http1_over(conn, "server", NULL, false);
	conn_drop_upstream(conn, false);
	return HTTP1_STEP_NONE;
}

enum http1_step http1_read_request(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	struct bytes *in = &http1->from_client;
	int fill;
	ssize_t len = in->data ? http1_scan(&http1->client_scan, bytes_text(in), bytes_left(in)) : 0;

	if (len > 0)
		request_head(conn, (size_t)len);
	else if (len < 0)
		http1_refuse_malformed(conn, (int)len);
	if (len)
		return HTTP1_STEP_DONE;
	fill = http1_fill(conn, true);
	if (fill > 0) {
		if (!http1->head_len) /* the first bytes: the time limit covers the whole head */
			conn_timer(conn, CONN_HEADERS_MS, "header_timeout");
		http1->head_len = 1;
		return HTTP1_STEP_DONE;
	}
	if (fill == -ENODATA)
		return http1_over(conn, "client", NULL, false);
	if (fill < 0)
		return http1_failed(conn, fill, true);
	return idle_server(conn);
}

/* Reads ahead while the response is awaited: the next request, or a reset. */
static enum http1_step read_ahead(struct conn *conn)
{
	int fill = conn->client.ended ? 0 : http1_fill(conn, true);

	if (!fill || fill == -ENODATA) /* a half-closed client still reads */
		return HTTP1_STEP_NONE;
	return fill > 0 ? HTTP1_STEP_DONE : http1_failed(conn, fill, true);
}

static enum http1_step forward_body(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	int fill = http1->from_client.data ? 1 : http1_fill(conn, true);
	int error;

	if (!fill)
		return HTTP1_STEP_NONE;
	if (fill == -ENODATA) /* cut off: the server must not take it for complete */
		return http1_over(conn, "client", NULL, true);
	if (fill < 0)
		return http1_failed(conn, fill, true);
	error = http1_pass_body(&http1->up, http1->up.framing, &http1->from_client, &http1->to_server,
				&conn->upstream);
	if (error == -ENOMEM)
		return http1_over(conn, "no_memory", NULL, true);
	if (error == -EBADMSG || error == -EMSGSIZE)
		http1_refuse_malformed(conn, error);
	else if (error)
		http1->up_lost = true;
	return HTTP1_STEP_DONE;
}

enum http1_step http1_move_up(struct conn *conn)
{
	struct http1 *http1 = conn->state;

	if (http1->up_lost) { /* it may have responded before it closed */
		bytes_done(&http1->to_server);
		return HTTP1_STEP_NONE;
	}
	if (http1_flush(&http1->to_server, &conn->upstream) < 0) {
		http1->up_lost = true;
		return HTTP1_STEP_DONE;
	}
	if (http1->to_server.data)
		return HTTP1_STEP_NONE;
	return http1->up.ended ? read_ahead(conn) : forward_body(conn);
}
