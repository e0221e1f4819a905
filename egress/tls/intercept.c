/*
 * Opening TLS: a handshake with the server, then one with the program, which is offered exactly what the server chose, so
 * that nothing has to be translated between versions of HTTP. What cannot be opened is answered inside TLS where the
 * program lets us get that far, since "502" says more than an alert.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "egress/conn/conn.h"
#include "egress/http/request.h"
#include "egress/state.h"
#include "egress/tls/context.h"
#include "egress/tls/hello.h"

#include "base/banned.h"

#define OFFER_SIZE 16 /* "h2,http/1.1" at most */
#define DRAIN_MS 2000 /* for the program to read the answer: closing with unread data is a reset */
#define STATUS 502
#define DISCARDS_MAX 64

struct refusal {
	char *text;
	size_t len, at;
	char alpn[16];
	bool asked; /* it has sent something, so it is not surprised by an answer */
};

/* ---- ALPN ---- */

static bool alpn_offers(const char *list, const char *name, size_t name_len)
{
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len == name_len && !memcmp(list, name, len))
			return true;
	}
	return false;
}

/* What the program offers of what can be judged, in its order: "h2,http/1.1". */
static void alpn_offered(const struct conn *conn, char ret_list[OFFER_SIZE])
{
	const struct channel_bytes *early = &conn->client.early;
	struct hello hello;
	const char *list = "";
	size_t len;

	ret_list[0] = '\0';
	if (early->data && hello_parse(early->data + early->at, early->len - early->at, &hello) == 1)
		list = hello.alpn;
	for (; *list; list += len + (list[len] == ',')) {
		size_t at = strlen(ret_list);

		len = strcspn(list, ",");
		if (((len == 2 && !memcmp(list, "h2", 2)) || (len == 8 && !memcmp(list, "http/1.1", 8))) &&
		    !alpn_offers(ret_list, list, len) && at + 1 + len < OFFER_SIZE)
			(void)snprintf(ret_list + at, OFFER_SIZE - at, "%s%.*s", at ? "," : "", (int)len, list);
	}
}

/* ---- towards the program ---- */

static void fail(struct conn *conn, const char *reason)
{
	conn_close(conn, "internal", reason, true);
}

static bool begin_client(struct conn *conn, const char *alpn)
{
	if (channel_tls(&conn->client, tls_server(conn->egress->tls, conn->host, alpn)) < 0) {
		fail(conn, "tls_failed");
		return false;
	}
	conn_timer(conn, CONN_HANDSHAKE_MS, "handshake_timeout");
	return true;
}

/*
 * Without tickets we have nothing to send now, and the acknowledgement of the program's Finished would be delayed by 40 ms,
 * for which its kernel (Nagle) holds the request back.
 */
static void acknowledge(int fd)
{
	static const int now = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &now, sizeof(now)); /* only slower without it */
}

static bool shake_client(struct conn *conn)
{
	char text[TLS_ERROR_SIZE];
	int error;

	if (SSL_is_init_finished(conn->client.ssl))
		return true;
	error = channel_handshake(&conn->client);
	if (error == -EAGAIN) {
		channel_wait(&conn->client, true, false);
		channel_wait(&conn->upstream, false, false);
	} else if (error) {
		conn_close(conn, "client", tls_error(conn->client.ssl, true, error, text), false);
	} else {
		conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
		acknowledge(conn->client.watch.fd);
	}
	return error == 0;
}

/* ---- the answer when there is no TLS with the server ---- */

static bool http1_refusal(const struct conn *conn, const char *text, struct buf *ret_bytes)
{
	_cleanup_buf_ struct buf body = {0};

	buf_puts(&body, "{\"error\": \"upstream_tls\"");
	request_put_text(&body, "host", conn->host);
	buf_printf(&body, ", \"port\": %u, \"reason\": \"upstream_tls\"", (unsigned)conn->port);
	request_put_text(&body, "detail", text);
	buf_puts(&body, "}\n");
	buf_printf(ret_bytes,
		   "HTTP/1.1 %d Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		   "Connection: close\r\n\r\n",
		   STATUS, body.len);
	buf_add(ret_bytes, body.data, body.len);
	return !body.failed;
}

/* Empty SETTINGS, then GOAWAY of stream 0 with INTERNAL_ERROR and the text as its debug data: RFC 9113, 6.5 and 6.8. */
static bool http2_refusal(const char *text, struct buf *ret_bytes)
{
	static const char settings[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
	char goaway[17] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
	size_t len = strlen(text) < TLS_ERROR_SIZE ? strlen(text) : TLS_ERROR_SIZE;

	goaway[2] = (char)(8 + len);
	buf_add(ret_bytes, settings, sizeof(settings));
	buf_add(ret_bytes, goaway, sizeof(goaway));
	buf_add(ret_bytes, text, len);
	return true;
}
_Static_assert(8 + TLS_ERROR_SIZE < 256, "the length is in one byte");

static void refusal_done(struct conn *conn)
{
	struct refusal *refusal = conn->state;

	if (refusal)
		free(refusal->text);
	free(refusal);
	conn->state = NULL;
}

/* Reads and forgets, not for ever at a time. False: nothing more comes. */
static bool refusal_discard(struct conn *conn, struct refusal *refusal)
{
	char data[4096];
	ssize_t got = 1;

	for (int i = 0; i < DISCARDS_MAX && got > 0; i++) {
		got = channel_read(&conn->client, data, sizeof(data));
		if (got > 0)
			refusal->asked = true;
	}
	if (got > 0 && channel_has_bytes(&conn->client))
		conn_pump_after(conn, 0);
	return got > 0 || got == -EAGAIN;
}

/* 0: all of it is on its way; -EAGAIN. */
static int refusal_send(struct conn *conn, struct refusal *refusal)
{
	while (refusal->at < refusal->len) {
		ssize_t sent = channel_write(&conn->client, refusal->text + refusal->at, refusal->len - refusal->at);

		if (sent < 0)
			return (int)sent;
		refusal->at += (size_t)sent;
	}
	return channel_shutdown(&conn->client);
}

static void refusal_pump(struct conn *conn)
{
	struct refusal *refusal = conn->state;
	bool more;
	int error = -EAGAIN;

	channel_wait(&conn->upstream, false, false);
	if ((!conn->client.ssl && !begin_client(conn, refusal->alpn)) || !shake_client(conn))
		return;
	more = refusal_discard(conn, refusal);
	if (refusal->asked && !conn->client.shut) {
		error = refusal_send(conn, refusal);
		if (!error)
			conn_timer(conn, DRAIN_MS, "refused");
	}
	if (!more || (error && error != -EAGAIN))
		conn_close(conn, "refused", "upstream_tls", refusal->at < refusal->len);
	else
		channel_wait(&conn->client, true, refusal->asked && !conn->client.shut);
}

static void refusal_begin(struct conn *conn, const char *list, const char *text)
{
	bool http1 = !*list || alpn_offers(list, "http/1.1", strlen("http/1.1"));
	struct refusal *refusal = calloc(1, sizeof(*refusal));
	_cleanup_buf_ struct buf buf = {0};
	bool made = http1 ? http1_refusal(conn, text, &buf) : http2_refusal(text, &buf);

	conn->status = STATUS;
	if (refusal) {
		refusal->len = buf.len;
		refusal->text = buf_take(&buf);
		(void)snprintf(refusal->alpn, sizeof(refusal->alpn), "%s", !*list ? "" : http1 ? "http/1.1" : "h2");
	}
	conn->state = refusal;
	if (!refusal || !refusal->text || !made)
		conn_close(conn, "refused", "upstream_tls", true);
	else
		refusal_pump(conn);
}

/* ---- towards the server ---- */

static bool begin_upstream(struct conn *conn)
{
	char list[OFFER_SIZE];

	alpn_offered(conn, list);
	if (!conn->egress->tls || channel_tls(&conn->upstream, tls_client(conn->egress->tls, conn->host, list)) < 0) {
		fail(conn, "tls_failed");
		return false;
	}
	conn_timer(conn, CONN_HANDSHAKE_MS, "upstream_timeout");
	return true;
}

/* False: it waits, or has failed and is being answered. */
static bool shake_upstream(struct conn *conn)
{
	char text[TLS_ERROR_SIZE], list[OFFER_SIZE], chosen[sizeof(conn->alpn)];
	int error;

	if (SSL_is_init_finished(conn->upstream.ssl))
		return true;
	error = channel_handshake(&conn->upstream);
	if (error == -EAGAIN) {
		channel_wait(&conn->upstream, true, false);
		channel_wait(&conn->client, false, false);
		return false;
	}
	alpn_offered(conn, list);
	if (error) {
		(void)tls_error(conn->upstream.ssl, false, error, text);
		refusal_begin(conn, list, text);
		return false;
	}
	tls_alpn(conn->upstream.ssl, chosen, sizeof(chosen));
	if (*chosen && !alpn_offers(list, chosen, strlen(chosen))) { /* OpenSSL does not look */
		refusal_begin(conn, list, "the server chose a protocol that was not offered");
		return false;
	}
	memcpy(conn->alpn, chosen, sizeof(conn->alpn));
	return true;
}

/*
 * Waits for the program's first byte: in HTTP the client speaks first. Who pins certificates may look at ours only after the
 * handshake, and then goes without one; that is no proof, so it is the cause on record, and no denial.
 */
static bool first_byte(struct conn *conn)
{
	char byte, text[TLS_ERROR_SIZE];
	ssize_t got = channel_read(&conn->client, &byte, sizeof(byte));
	const char *reason = NULL;

	if (got > 0 && channel_unread(&conn->client, &byte, sizeof(byte)) < 0) {
		fail(conn, "no_memory");
		return false;
	}
	if (got > 0)
		return true;
	if (got == -EAGAIN) {
		channel_wait(&conn->client, true, false);
		channel_wait(&conn->upstream, false, false);
		return false;
	}
	if (got == -EPROTO)
		reason = tls_error(conn->client.ssl, true, (int)got, text);
	conn_close(conn, reason ? "client" : "client_rejected_ca", reason, got < 0);
	return false;
}

static void tls_pump(struct conn *conn)
{
	if (conn->state) {
		refusal_pump(conn);
		return;
	}
	if ((!conn->upstream.ssl && !begin_upstream(conn)) || !shake_upstream(conn) ||
	    (!conn->client.ssl && !begin_client(conn, conn->alpn)) || !shake_client(conn) || !first_byte(conn))
		return;
	conn_switch(conn, strcmp(conn->alpn, "h2") == 0 ? CONN_HTTP2 : CONN_HTTP1);
}

const struct conn_mode mode_tls = {.name = "tls", .pump = tls_pump, .done = refusal_done};
