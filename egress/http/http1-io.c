/*
 * Helpers of mode_http1 and mode_proxy: buffered input and output, egress' own responses, the outcome of a request, the
 * orderly end of a connection.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/http/http1-mode.h"
#include "egress/state.h"

int http1_read_into_input_buffer(struct conn *conn, bool from_client)
{
	struct http1_state *http1 = conn->state;
	struct bytes *in = from_client ? &http1->from_client : &http1->from_server;
	struct channel *from = from_client ? &conn->client : &conn->upstream;
	bool asked = from_client ? http1->client_waits : http1->server_waits;
	uint64_t wait_ms;
	ssize_t got;

	if (from->watch.fd < 0 || asked || bytes_count_left(in) == CONN_BUFFER_BYTES)
		return 0;
	if (from->peer_has_ended)
		return -ENODATA;
	if (bytes_reserve(in, CONN_BUFFER_BYTES - bytes_count_left(in)) < 0)
		return -ENOMEM;
	got = conn_read_bytes(conn, from_client, in->data + in->len, CONN_BUFFER_BYTES - bytes_count_left(in),
			      &wait_ms);
	if (got > 0)
		in->len += (size_t)got;
	if (!bytes_count_left(in)) /* freed to save memory: thousands of connections may be idle */
		bytes_release(in);
	if (got == -EAGAIN)
		*(from_client ? &http1->client_waits : &http1->server_waits) = true;
	if (got == -EBUSY && (!http1->budget_wait_ms || wait_ms < http1->budget_wait_ms))
		http1->budget_wait_ms = wait_ms;
	if (got == -EAGAIN || got == -EBUSY)
		return 0;
	return got > 0 ? 1 : got == 0 ? -ENODATA : (int)got;
}

int http1_flush_output(struct bytes *out, struct channel *to)
{
	int error = channel_write_bytes(to, out);

	return error == -EAGAIN ? 0 : error;
}

/* Queues bytes as one chunk of a chunked body. 0 or -errno. */
static int http1_queue_chunk(struct bytes *out, const char *part, size_t len)
{
	char head[HTTP1_CHUNK_HEAD_BYTES_MAX];
	size_t head_len = http1_write_chunk_head(head, len);
	int error = bytes_add(out, head, head_len);

	if (!error)
		error = bytes_add(out, part, len);
	return error ? error : bytes_add(out, HTTP1_CHUNK_END, strlen(HTTP1_CHUNK_END));
}

/* Writes directly from the input buffer if nothing is queued, and queues the rest. */
static int http1_send_or_queue_bytes(struct bytes *out, struct channel *to, const char *part, size_t len)
{
	if (!out->data) {
		ssize_t sent = channel_write(to, part, len);

		if (sent < 0 && sent != -EAGAIN)
			return (int)sent;
		part += sent > 0 ? sent : 0;
		len -= sent > 0 ? (size_t)sent : 0;
	}
	return bytes_add(out, part, len);
}

int http1_forward_body(struct http1_body *body, enum http1_framing framing, struct bytes *in, struct bytes *out,
		    struct channel *to)
{
	int error = 0;

	while (in->data && !body->has_ended && !error && out->len < CONN_BUFFER_BYTES) {
		const char *part;
		size_t len;
		ssize_t used = http1_body_read(body, bytes_get_text(in), bytes_count_left(in), &part, &len);

		if (used < 0)
			return (int)used;
		if (len)
			error = framing == HTTP1_CHUNKED ? http1_queue_chunk(out, part, len)
							 : http1_send_or_queue_bytes(out, to, part, len);
		bytes_drop(in, (size_t)used);
	}
	if (!error && body->has_ended && framing == HTTP1_CHUNKED)
		error = bytes_add(out, HTTP1_CHUNK_LAST, strlen(HTTP1_CHUNK_LAST));
	return error ? error : http1_flush_output(out, to);
}

enum http1_step http1_close_conn(struct conn *conn, const char *cause, const char *reason, bool abort)
{
	conn_close(conn, cause, reason, abort);
	return HTTP1_STEP_CONN_ENDED;
}

enum http1_step http1_close_after_error(struct conn *conn, int error, bool from_client)
{
	if (error == -EDQUOT)
		return http1_close_conn(conn, from_client ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes", true);
	if (error == -ENOMEM)
		return http1_close_conn(conn, "no_memory", NULL, true);
	return http1_close_conn(conn, from_client ? "client_reset" : "server_reset", NULL, true);
}

void http1_record_outcome(struct conn *conn, int64_t result)
{
	struct http1_state *http1 = conn->state;

	if (!http1->record_awaits_outcome)
		return;
	http1->record_awaits_outcome = false;
	conn_record_request_outcome(conn, http1->start_ns, (struct control_request_done){
		.id = http1->record_id, .result = result,
		.bytes_up = conn->bytes_up + conn->upstream.bytes_out - http1->base_up,
		.bytes_down = conn->bytes_down + conn->upstream.bytes_in - http1->base_down});
}

static const char *http1_get_reason_phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} known[] = {{400, "Bad Request"}, {403, "Forbidden"}, {421, "Misdirected Request"}, {429, "Too Many Requests"},
		     {431, "Request Header Fields Too Large"}, {502, "Bad Gateway"}, {504, "Gateway Timeout"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].status == status)
			return known[i].phrase;
	return "Service Unavailable";
}

/* Writes the response by which egress refuses a request. */
static int http1_write_refusal(struct buf *out, const struct conn *conn, const struct request *request,
			 const struct request_verdict *verdict, bool keep_alive)
{
	_cleanup_free_ char *body = request_make_refusal_body(conn, request, verdict);

	if (!body)
		return -ENOMEM;
	buf_printf(out,
		   "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		   "Cache-Control: no-store\r\nConnection: %s\r\n\r\n",
		   verdict->refusal_status, http1_get_reason_phrase(verdict->refusal_status), strlen(body),
		   keep_alive ? "keep-alive" : "close");
	if (strcmp(request->method, "HEAD") != 0)
		buf_puts(out, body);
	return out->failed ? -ENOMEM : 0;
}

void http1_refuse_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	_cleanup_buf_ struct buf out = {0};

	http1->client_keeps &= http1->up.has_ended; /* the rest of a refused request is not read */
	conn->http_status = http1->verdict.refusal_status;
	http1->phase = HTTP1_SENDING_REFUSAL;
	if (http1->client_keeps && http1->head_len)
		bytes_drop(&http1->from_client, http1->head_len);
	if (http1_write_refusal(&out, conn, &http1->request, &http1->verdict, http1->client_keeps) < 0 ||
	    bytes_add(&http1->to_client, out.data, out.len) < 0)
		http1->client_keeps = false; /* without memory no response is sent; the connection only ends */
	conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
}

void http1_refuse_malformed(struct conn *conn, int error)
{
	struct http1_state *http1 = conn->state;
	bool begun = http1->phase == HTTP1_EXCHANGE;

	http1->client_keeps = false;
	http1->reason = http1_get_error_reason(error);
	http1->verdict =
		(struct request_verdict){.refusal_status = error == -EMSGSIZE ? 431 : 400, .reason = http1->reason};
	request_write_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
	if (begun) { /* the server must not take the request, which is cut off, for complete */
		http1_record_outcome(conn, error);
		conn_drop_upstream(conn, true);
		bytes_release(&http1->to_server);
	}
	if (!http1->response_head_was_queued) {
		http1_refuse_request(conn);
		return;
	}
	http1->phase = HTTP1_SENDING_REFUSAL;
}

void http1_refuse_bad_response(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	http1_record_outcome(conn, -EPROTO);
	conn_drop_upstream(conn, true);
	http1->client_keeps = false;
	http1->reason = "bad_response";
	request_set_refusal(&http1->verdict, 502, http1->reason);
	bytes_release(&http1->to_server);
	http1_refuse_request(conn);
}

enum http1_step http1_start_discarding_input(struct conn *conn, const char *cause, const char *reason)
{
	struct http1_state *http1 = conn->state;

	conn_drop_upstream(conn, http1->request_head_was_queued && !http1->up.has_ended);
	http1->phase = HTTP1_DISCARDING_INPUT_AT_END;
	http1->cause = cause;
	http1->reason = reason;
	conn_set_phase_timeout(conn, HTTP1_DISCARD_AT_END_MS, cause);
	return HTTP1_STEP_PROGRESS;
}

enum http1_step http1_continue_discarding_input(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	char dropped[4096];
	ssize_t got;
	int error = channel_half_close(&conn->client);

	if (error && error != -EAGAIN)
		return http1_close_conn(conn, http1->cause, http1->reason, true);
	got = channel_read(&conn->client, dropped, sizeof(dropped));
	http1->client_waits = got == -EAGAIN;
	if (got > 0)
		return HTTP1_STEP_PROGRESS;
	return got == -EAGAIN ? HTTP1_STEP_NO_PROGRESS : http1_close_conn(conn, http1->cause, http1->reason, got < 0);
}
