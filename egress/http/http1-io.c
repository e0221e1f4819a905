/* Buffered input and output of mode_http1 and mode_proxy. */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "egress/http/http1-mode.h"
#include "egress/state.h"

#include "base/banned.h"

void http1_in_done(struct http1_in *in)
{
	free(in->data);
	*in = (struct http1_in){0};
}

void http1_in_drop(struct http1_in *in, size_t len)
{
	in->at += len;
	if (in->at == in->len)
		http1_in_done(in);
}

static bool in_make_room(struct http1_in *in)
{
	if (!in->data)
		in->data = malloc(CONN_BUFFER);
	if (in->at) {
		memmove(in->data, in->data + in->at, in->len - in->at);
		in->len -= in->at;
		in->at = 0;
	}
	return in->data != NULL;
}

static enum http1_fill in_receive(struct conn *conn, struct channel *from, struct http1_in *in, bool up)
{
	struct http1 *http1 = conn->state;
	uint64_t wait_ms = 0;
	size_t room = budget_room(&conn->use, up, CONN_BUFFER - in->len, loop_now_ns(conn->egress->loop), &wait_ms);
	bool spent = !room && wait_ms == UINT64_MAX;
	ssize_t got;

	if (!room && !spent) {
		if (!http1->wait_ms || wait_ms < http1->wait_ms)
			http1->wait_ms = wait_ms;
		return HTTP1_FILL_NONE;
	}
	/* At the cap the connection ends when there is one more byte, not at exactly the cap. */
	got = channel_read(from, in->data + in->len, spent ? 1 : room);
	if (got == -EAGAIN) {
		*(up ? &http1->client_waits : &http1->server_waits) = true;
		return HTTP1_FILL_NONE;
	}
	if (got <= 0)
		return got == 0 ? HTTP1_FILL_END : HTTP1_FILL_ERROR;
	if (spent)
		return HTTP1_FILL_CAP;
	budget_spend(&conn->use, up, (size_t)got);
	in->len += (size_t)got;
	return HTTP1_FILL_SOME;
}

enum http1_fill http1_fill(struct conn *conn, bool from_client)
{
	struct http1 *http1 = conn->state;
	struct http1_in *in = from_client ? &http1->from_client : &http1->from_server;
	struct channel *from = from_client ? &conn->client : &conn->upstream;
	bool asked = from_client ? http1->client_waits : http1->server_waits;
	enum http1_fill fill;

	if (from->watch.fd < 0 || asked || (in->data && in->len - in->at == CONN_BUFFER))
		return HTTP1_FILL_NONE;
	if (from->ended)
		return HTTP1_FILL_END;
	if (!in_make_room(in))
		return HTTP1_FILL_MEMORY;
	fill = in_receive(conn, from, in, from_client);
	if (!in->len) /* saves memory: thousands of connections may be idle */
		http1_in_done(in);
	return fill;
}

bool http1_out_empty(const struct http1_out *out)
{
	return out->at == out->len;
}

void http1_out_done(struct http1_out *out)
{
	if (out->data)
		OPENSSL_cleanse(out->data, out->len);
	free(out->data);
	*out = (struct http1_out){0};
}

int http1_out_add(struct http1_out *out, const char *data, size_t len)
{
	if (!len)
		return 0;
	if (!out->data || len > out->cap - out->len) {
		size_t cap = out->len + len > 2 * out->cap ? out->len + len : 2 * out->cap;
		char *grown = malloc(cap);

		if (!grown)
			return -ENOMEM;
		memcpy(grown, out->data ? out->data : "", out->len);
		if (out->data)
			OPENSSL_cleanse(out->data, out->len);
		free(out->data);
		out->data = grown;
		out->cap = cap;
	}
	memcpy(out->data + out->len, data, len);
	out->len += len;
	return 0;
}

int http1_out_flush(struct http1_out *out, struct channel *to)
{
	while (!http1_out_empty(out)) {
		ssize_t sent = channel_write(to, out->data + out->at, out->len - out->at);

		if (sent == -EAGAIN)
			return 0;
		if (sent < 0)
			return (int)sent;
		out->at += (size_t)sent;
	}
	http1_out_done(out);
	return 0;
}

static int out_add_chunk(struct http1_out *out, const char *part, size_t len)
{
	char head[HTTP1_CHUNK_HEAD];
	size_t head_len = http1_chunk_head(head, len);
	int error = http1_out_add(out, head, head_len);

	if (!error)
		error = http1_out_add(out, part, len);
	return error ? error : http1_out_add(out, HTTP1_CHUNK_END, strlen(HTTP1_CHUNK_END));
}

/* Written directly from the input buffer if nothing is queued; the rest is queued. */
static int out_send(struct http1_out *out, struct channel *to, const char *part, size_t len)
{
	if (!out->data) {
		ssize_t sent = channel_write(to, part, len);

		if (sent < 0 && sent != -EAGAIN)
			return (int)sent;
		part += sent > 0 ? sent : 0;
		len -= sent > 0 ? (size_t)sent : 0;
	}
	return len ? http1_out_add(out, part, len) : 0;
}

int http1_pass_body(struct http1_body *body, enum http1_framing as, struct http1_in *in, struct http1_out *out,
		    struct channel *to)
{
	int error = 0;

	while (in->data && !body->ended && !error && out->len < CONN_BUFFER) {
		const char *part;
		size_t len;
		ssize_t used = http1_body_read(body, in->data + in->at, in->len - in->at, &part, &len);

		if (used < 0)
			return (int)used;
		if (len)
			error = as == HTTP1_CHUNKED ? out_add_chunk(out, part, len) : out_send(out, to, part, len);
		http1_in_drop(in, (size_t)used);
	}
	if (!error && body->ended && as == HTTP1_CHUNKED)
		error = http1_out_add(out, HTTP1_CHUNK_LAST, strlen(HTTP1_CHUNK_LAST));
	return error ? error : http1_out_flush(out, to);
}

enum http1_step http1_over(struct conn *conn, const char *cause, const char *reason, bool abort)
{
	conn_close(conn, cause, reason, abort);
	return HTTP1_STEP_OVER;
}

enum http1_step http1_failed(struct conn *conn, enum http1_fill fill, bool from_client)
{
	if (fill == HTTP1_FILL_CAP)
		return http1_over(conn, from_client ? "cap_bytes_up" : "cap_bytes_down", "cap_bytes", true);
	if (fill == HTTP1_FILL_MEMORY)
		return http1_over(conn, "no_memory", NULL, true);
	return http1_over(conn, from_client ? "client_reset" : "server_reset", NULL, true);
}
