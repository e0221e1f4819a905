/* Buffered input and output of mode_http1 and mode_proxy. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1-mode.h"
#include "egress/state.h"

#include "base/banned.h"

int http1_fill(struct conn *conn, bool from_client)
{
	struct http1 *http1 = conn->state;
	struct bytes *in = from_client ? &http1->from_client : &http1->from_server;
	struct channel *from = from_client ? &conn->client : &conn->upstream;
	bool asked = from_client ? http1->client_waits : http1->server_waits;
	uint64_t wait_ms;
	ssize_t got;

	if (from->watch.fd < 0 || asked || bytes_left(in) == CONN_BUFFER)
		return 0;
	if (from->ended)
		return -ENODATA;
	if (bytes_reserve(in, CONN_BUFFER - bytes_left(in)) < 0)
		return -ENOMEM;
	got = conn_read(conn, from_client, in->data + in->len, CONN_BUFFER - bytes_left(in), &wait_ms);
	if (got > 0)
		in->len += (size_t)got;
	if (!bytes_left(in)) /* saves memory: thousands of connections may be idle */
		bytes_done(in);
	if (got == -EAGAIN)
		*(from_client ? &http1->client_waits : &http1->server_waits) = true;
	if (got == -EBUSY && (!http1->wait_ms || wait_ms < http1->wait_ms))
		http1->wait_ms = wait_ms;
	if (got == -EAGAIN || got == -EBUSY)
		return 0;
	return got > 0 ? 1 : got == 0 ? -ENODATA : (int)got;
}

int http1_flush(struct bytes *out, struct channel *to)
{
	int error = channel_write_bytes(to, out);

	return error == -EAGAIN ? 0 : error;
}

static int out_add_chunk(struct bytes *out, const char *part, size_t len)
{
	char head[HTTP1_CHUNK_HEAD];
	size_t head_len = http1_chunk_head(head, len);
	int error = bytes_add(out, head, head_len);

	if (!error)
		error = bytes_add(out, part, len);
	return error ? error : bytes_add(out, HTTP1_CHUNK_END, strlen(HTTP1_CHUNK_END));
}

/* Written directly from the input buffer if nothing is queued; the rest is queued. */
static int out_send(struct bytes *out, struct channel *to, const char *part, size_t len)
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

int http1_pass_body(struct http1_body *body, enum http1_framing as, struct bytes *in, struct bytes *out,
		    struct channel *to)
{
	int error = 0;

	while (in->data && !body->ended && !error && out->len < CONN_BUFFER) {
		const char *part;
		size_t len;
		ssize_t used = http1_body_read(body, bytes_text(in), bytes_left(in), &part, &len);

		if (used < 0)
			return (int)used;
		if (len)
			error = as == HTTP1_CHUNKED ? out_add_chunk(out, part, len) : out_send(out, to, part, len);
		bytes_drop(in, (size_t)used);
	}
	if (!error && body->ended && as == HTTP1_CHUNKED)
		error = bytes_add(out, HTTP1_CHUNK_LAST, strlen(HTTP1_CHUNK_LAST));
	return error ? error : http1_flush(out, to);
}

enum http1_step http1_over(struct conn *conn, const char *cause, const char *reason, bool abort)
{
	conn_close(conn, cause, reason, abort);
	return HTTP1_STEP_OVER;
}

enum http1_step http1_failed(struct conn *conn, int error, bool from_client)
{
	if (error == -EDQUOT)
		return http1_over(conn, from_client ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes", true);
	if (error == -ENOMEM)
		return http1_over(conn, "no_memory", NULL, true);
	return http1_over(conn, from_client ? "client_reset" : "server_reset", NULL, true);
}
