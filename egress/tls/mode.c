/*
 * Opening TLS: a handshake with the server, then one with the program, which is offered exactly what the server chose, so
 * that nothing has to be translated between versions of HTTP. What cannot be opened is answered inside TLS where the
 * program lets us get that far, since "502" says more than an alert.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/conn/conn.h"
#include "egress/state.h"
#include "egress/tls/context.h"
#include "egress/tls/hello.h"
#include "egress/tls/mode.h"

#include "base/banned.h"

/* What the program offers of what can be judged, in its order: "h2,http/1.1". */
static void offered(const struct conn *conn, char ret_list[TLS_OFFER_SIZE])
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
		    !tls_offers(ret_list, list, len) && at + 1 + len < TLS_OFFER_SIZE)
			(void)snprintf(ret_list + at, TLS_OFFER_SIZE - at, "%s%.*s", at ? "," : "", (int)len, list);
	}
}

bool tls_offers(const char *list, const char *name, size_t name_len)
{
	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len == name_len && !memcmp(list, name, len))
			return true;
	}
	return false;
}

static void fail(struct conn *conn, const char *reason)
{
	conn_close(conn, "internal", reason, true);
}

/* ---- towards the server ---- */

static bool begin_upstream(struct conn *conn)
{
	char list[TLS_OFFER_SIZE];
	SSL *ssl = NULL;

	offered(conn, list);
	if (conn->egress->tls)
		ssl = tls_client(conn->egress->tls, conn->host, list);
	if (ssl && channel_tls(&conn->upstream, ssl)) {
		SSL_free(ssl);
		ssl = NULL;
	}
	if (!ssl) {
		fail(conn, "tls_failed");
		return false;
	}
	conn_timer(conn, CONN_HANDSHAKE_MS, "upstream_timeout");
	return true;
}

/* False: it waits, or has failed and is being answered. */
static bool shake_upstream(struct conn *conn)
{
	char text[TLS_ERROR_SIZE], list[TLS_OFFER_SIZE], chosen[sizeof(conn->alpn)];
	int error;

	if (SSL_is_init_finished(conn->upstream.ssl))
		return true;
	error = channel_handshake(&conn->upstream);
	if (error == -EAGAIN) {
		channel_wait(&conn->upstream, true, false);
		channel_wait(&conn->client, false, false);
		return false;
	}
	offered(conn, list);
	if (error) {
		(void)tls_error(conn->upstream.ssl, false, error, text);
		tls_answer(conn, list, text);
		return false;
	}
	tls_alpn(conn->upstream.ssl, chosen, sizeof(chosen));
	if (*chosen && !tls_offers(list, chosen, strlen(chosen))) { /* OpenSSL does not look */
		tls_answer(conn, list, "the server chose a protocol that was not offered");
		return false;
	}
	memcpy(conn->alpn, chosen, sizeof(conn->alpn));
	return true;
}

/* ---- towards the program ---- */

bool tls_begin_client(struct conn *conn, const char *alpn)
{
	SSL *ssl = tls_server(conn->egress->tls, conn->host, alpn);

	if (ssl && channel_tls(&conn->client, ssl)) {
		SSL_free(ssl);
		ssl = NULL;
	}
	if (!ssl) {
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

	(void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &now, sizeof(now)); /* else it takes longer */
}

bool tls_shake_client(struct conn *conn)
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
		tls_answer_pump(conn);
		return;
	}
	if ((!conn->upstream.ssl && !begin_upstream(conn)) || !shake_upstream(conn) ||
	    (!conn->client.ssl && !tls_begin_client(conn, conn->alpn)) || !tls_shake_client(conn) || !first_byte(conn))
		return;
	conn_switch(conn, strcmp(conn->alpn, "h2") == 0 ? &mode_http2 : &mode_http1);
}

const struct conn_mode mode_tls = {.name = "tls", .pump = tls_pump, .done = tls_answer_done};
