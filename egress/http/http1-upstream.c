/* The upstream connections of mode_http1 and mode_proxy after the first: dialled again, or named by each request. */
#include <errno.h>
#include <string.h>

#include "egress/http/http1-mode.h"
#include "egress/state.h"
#include "egress/tls/context.h"

#include "base/banned.h"

static void upstream_failed(struct conn *conn, int error, const char *reason)
{
	struct http1 *http1 = conn->state;

	conn_drop_upstream(conn, true);
	http1->client_keeps = false;
	http1->reason = reason;
	request_refuse(&http1->verdict, error == -ETIMEDOUT ? 504 : 502, reason);
	request_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
	http1_refuse(conn);
}

static void upstream_tls(struct conn *conn)
{
	struct http1 *http1 = conn->state;

	/* Offers the protocol negotiated before. */
	if (channel_tls(&conn->upstream, tls_client(conn->egress->tls, conn->host, conn->alpn)) < 0) {
		upstream_failed(conn, -ENOMEM, "tls_failed");
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
		upstream_failed(conn, error, "tls_failed");
		return HTTP1_STEP_DONE;
	}
	conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
	http1_judge(conn);
	return HTTP1_STEP_DONE;
}

static void upstream_reopened(struct conn *conn, int error, const char *reason)
{
	if (error)
		upstream_failed(conn, error, reason);
	else if (conn->client.ssl)
		upstream_tls(conn);
	else
		http1_judge(conn);
	conn_pump(conn);
}

void http1_reopen(struct conn *conn)
{
	struct http1 *http1 = conn->state;

	http1->phase = HTTP1_OPENING;
	conn_open(conn, conn->host, conn->port, upstream_reopened);
}

/* Answers the client with the reason why conn_open failed, which is recorded by then. */
static void proxy_refuse(struct conn *conn, int error, const char *reason)
{
	struct http1 *http1 = conn->state;
	bool failed = strcmp(reason, "dns_fail") == 0 || strcmp(reason, "connect_failed") == 0;

	request_refuse(&http1->verdict, !failed ? 403 : error == -ETIMEDOUT ? 504 : 502, reason);
	http1_refuse(conn);
}

static void proxy_opened(struct conn *conn, int error, const char *reason)
{
	if (error)
		proxy_refuse(conn, error, reason);
	else
		http1_judge(conn);
	conn_pump(conn);
}

/* RFC 9112, 3.2.2 ignores Host here; a Host that differs is refused, as it may mislead the server. */
static void proxy_request(struct conn *conn, const struct http1_absolute *target)
{
	struct http1 *http1 = conn->state;
	char host[NET_HOST_MAX], said[NET_HOST_MAX];
	unsigned port, said_port;

	if (!request_authority(target->authority, target->authority_len, 80, host, &port) ||
	    !request_authority(http1->head.host, http1->head.host_len, 80, said, &said_port) ||
	    strcmp(host, said) != 0 || port != said_port) {
		request_refuse(&http1->verdict, 421, "host_mismatch");
		request_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
		http1_refuse(conn);
		return;
	}
	if (conn->upstream.watch.fd >= 0 && strcmp(host, conn->host) == 0 && port == conn->port) {
		http1_judge(conn);
		return;
	}
	http1->phase = HTTP1_OPENING;
	conn_open(conn, host, (uint16_t)port, proxy_opened);
}

static void tunnel_opened(struct conn *conn, int error, const char *reason)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct http1 *http1 = conn->state;

	if (error) {
		proxy_refuse(conn, error, reason);
	} else if (bytes_add(&http1->to_client, yes, strlen(yes)) < 0) {
		conn_close(conn, "no_memory", NULL, true);
		return;
	} else {
		bytes_drop(&http1->from_client, http1->head_len);
		http1->phase = HTTP1_TUNNEL;
	}
	conn_pump(conn);
}

/* CONNECT has no other use for Host, and old clients send none: it is not checked. */
static void proxy_connect(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	char host[NET_HOST_MAX];
	unsigned port;

	memcpy(http1->request.method, head->method, head->method_len);
	if (head->framing != HTTP1_NO_BODY ||
	    !request_authority(head->target, head->target_len, 0, host, &port) || !port) {
		http1_refuse_malformed(conn, -EPROTO);
		return;
	}
	pool_replace_address(conn->egress->pool, host);
	http1->phase = HTTP1_OPENING;
	conn_open(conn, host, (uint16_t)port, tunnel_opened);
}

/* Sends the answer, then starts the mode of the rule, as if the program had connected there itself. */
enum http1_step http1_tunnel(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	struct bytes *in = &http1->from_client;

	if (http1_flush(&http1->to_client, &conn->client) < 0)
		return http1_over(conn, "client_reset", NULL, true);
	if (http1->to_client.data)
		return HTTP1_STEP_NONE;
	if (in->data && channel_unread(&conn->client, bytes_text(in), bytes_left(in)) < 0)
		return http1_over(conn, "no_memory", NULL, true);
	conn_begin(conn);
	return HTTP1_STEP_OVER;
}

void http1_proxy(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	struct http1_absolute absolute;
	int error;

	if (http1->head.method_len == 7 && memcmp(http1->head.method, "CONNECT", 7) == 0) {
		proxy_connect(conn);
		return;
	}
	error = http1_absolute(&http1->head, &absolute) ? http1_describe(http1, &absolute) : -EPROTO;
	if (error)
		http1_refuse_malformed(conn, error);
	else
		proxy_request(conn, &absolute);
}
