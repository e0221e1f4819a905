/* Another upstream connection for a client's, after a request that was the last of the one before. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1-mode.h"
#include "egress/state.h"
#include "egress/tls/context.h"

#include "base/banned.h"

static void fail(struct conn *conn, int error, const char *reason)
{
	struct http1 *http1 = conn->state;

	conn_drop_upstream(conn, true);
	http1->client_keeps = false;
	http1->reason = reason;
	http1->verdict = (struct request_verdict){.status = error == -ETIMEDOUT ? 504 : 502, .reason = reason};
	request_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
	http1_refuse(conn);
}

static void begin_tls(struct conn *conn)
{
	struct http1 *http1 = conn->state;

	/* Offers the protocol negotiated before. */
	if (channel_tls(&conn->upstream, tls_client(conn->egress->tls, conn->host, conn->alpn)) < 0) {
		fail(conn, -ENOMEM, "tls_failed");
		return;
	}
	http1->phase = HTTP1_SHAKING;
	conn_timer(conn, CONN_HANDSHAKE_MS, "upstream_timeout");
}

enum http1_step http1_shake(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	char chosen[sizeof(conn->alpn)];
	int error = channel_handshake(&conn->upstream);

	if (error == -EAGAIN) {
		http1->server_waits = true;
		return HTTP1_STEP_NONE;
	}
	if (!error)
		tls_alpn(conn->upstream.ssl, chosen, sizeof(chosen));
	if (!error && *chosen && strcmp(chosen, "http/1.1") != 0)
		error = -EPROTO;
	if (error) {
		fail(conn, error, "tls_failed");
		return HTTP1_STEP_DONE;
	}
	conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
	http1_judge(conn);
	return HTTP1_STEP_DONE;
}

static void reopened(struct conn *conn, int error, const char *reason)
{
	if (error)
		fail(conn, error, reason);
	else if (conn->client.ssl)
		begin_tls(conn);
	else
		http1_judge(conn);
	conn_pump(conn);
}

void http1_reopen(struct conn *conn)
{
	struct http1 *http1 = conn->state;

	http1->phase = HTTP1_OPENING;
	conn_open(conn, conn->host, conn->port, reopened);
}
