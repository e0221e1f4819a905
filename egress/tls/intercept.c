/*
 * mode_hello checks that the ClientHello names the approved host, and chooses pass-through or TLS interception.
 * mode_tls intercepts: a handshake with the server, then one with the program. The program is offered the ALPN protocol
 * that the server selected, so that nothing is translated between HTTP versions. If the server's handshake fails, the
 * program gets an HTTP response inside TLS, because "502" tells more than an alert.
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
#include "egress/conn/sockaddr.h"
#include "egress/http/request.h"
#include "egress/state.h"
#include "egress/tls/context.h"
#include "egress/tls/hello.h"

#define REFUSAL_READ_TIMEOUT_MS 2000 /* time to read the answer, because closing with unread data sends a reset */
#define REFUSAL_HTTP_STATUS 502      /* answer to the program when TLS with the server cannot be set up */
#define REFUSAL_DISCARDED_READS_MAX 64 /* most reads in one round of input that a refused program still sends */

/* The state of telling a program by TLS that its connection is refused. */
struct tls_refusal {
	struct bytes response;   /* the HTTP response that tells of the refusal */
	const char *alpn;        /* ALPN protocol of the response; "": none */
	bool program_sent_bytes; /* the program has sent bytes, so that it expects a response */
};

/* Waits for bytes from one end. The other end is not read in the meantime. */
static void intercept_await_bytes(struct channel *from, struct channel *other)
{
	channel_set_events(from, true, false);
	channel_set_events(other, false, false);
}

/* Where a protocol is in a list such as "h2,http/1.1"; NULL: it is not there. */
static const char *alpn_find_protocol(const char *alpn_list, const char *name)
{
	for (size_t len; *alpn_list; alpn_list += len + (alpn_list[len] == ',')) {
		len = strcspn(alpn_list, ",");
		if (len == strlen(name) && !memcmp(alpn_list, name, len))
			return alpn_list;
	}
	return NULL;
}

/* The ALPN protocols that the program offers and egress can judge, in the program's order. */
static const char *alpn_list_judgeable_protocols(const struct conn *conn)
{
	const struct bytes *early = &conn->client.put_back_bytes;
	const char *h2, *http1;
	struct client_hello hello;

	if (!early->data || hello_parse(early->data + early->at, bytes_count_left(early), &hello) != 1)
		return "";
	h2 = alpn_find_protocol(hello.alpn, "h2");
	http1 = alpn_find_protocol(hello.alpn, "http/1.1");
	if (h2 && http1)
		return h2 < http1 ? "h2,http/1.1" : "http/1.1,h2";
	return h2 ? "h2" : http1 ? "http/1.1" : "";
}

/* Starts TLS as the server that the program wanted, with an ALPN list. Returns false after it has closed conn. */
static bool client_start_tls(struct conn *conn, const char *alpn)
{
	if (channel_start_tls(&conn->client, tls_create_server(conn->egress->tls, conn->host, alpn)) < 0) {
		conn_close(conn, "internal", "tls_failed", true);
		return false;
	}
	conn_set_phase_timeout(conn, CONN_TLS_HANDSHAKE_TIMEOUT_MS, "handshake_timeout");
	return true;
}

/* Returns whether TLS with the program is established. Otherwise the next bytes are awaited, or conn was closed. */
static bool client_continue_handshake(struct conn *conn)
{
	static const int now = 1;
	char text[TLS_ERROR_TEXT_SIZE];
	int error;

	if (SSL_is_init_finished(conn->client.ssl))
		return true;
	error = channel_step_tls_handshake(&conn->client);
	if (error == -EAGAIN) {
		intercept_await_bytes(&conn->client, &conn->upstream);
	} else if (error) {
		conn_close(conn, "client", tls_describe_error(conn->client.ssl, true, error, text), false);
	} else {
		conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
		/*
		 * Without session tickets nothing is sent now, so the ACK of the program's Finished would be delayed by
		 * 40 ms, and Nagle's algorithm in its kernel would hold the request back. Best effort.
		 */
		(void)setsockopt(conn->client.watch.fd, IPPROTO_TCP, TCP_QUICKACK, &now, sizeof(now));
	}
	return error == 0;
}

/* Writes the HTTP/1 response that tells of an error in TLS with the server. */
static void write_http1_refusal(const struct conn *conn, const char *text, struct buf *ret_bytes)
{
	_cleanup_buf_ struct buf body = {0};

	buf_puts(&body, "{\"error\": \"upstream_tls\"");
	request_put_json_text(&body, "host", conn->host);
	buf_printf(&body, ", \"port\": %u, \"reason\": \"upstream_tls\"", (unsigned)conn->port);
	request_put_json_text(&body, "detail", text);
	buf_puts(&body, "}\n");
	buf_printf(ret_bytes,
		   "HTTP/1.1 %d Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		   "Connection: close\r\n\r\n",
		   REFUSAL_HTTP_STATUS, body.len);
	buf_add(ret_bytes, body.data, body.len);
	ret_bytes->failed |= body.failed;
}

/* Writes empty SETTINGS, then GOAWAY with INTERNAL_ERROR and the text as debug data (RFC 9113, 6.5 and 6.8). */
static void write_http2_refusal(const char *text, struct buf *ret_bytes)
{
	static const char settings[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
	char goaway[17] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
	size_t len = strlen(text) < TLS_ERROR_TEXT_SIZE ? strlen(text) : TLS_ERROR_TEXT_SIZE;

	goaway[2] = (char)(8 + len);
	buf_add(ret_bytes, settings, sizeof(settings));
	buf_add(ret_bytes, goaway, sizeof(goaway));
	buf_add(ret_bytes, text, len);
}
_Static_assert(8 + TLS_ERROR_TEXT_SIZE < 256, "the length is in one byte");

/* The mode's `done`: releases the response that was not sent. */
static void refusal_release(struct conn *conn)
{
	struct tls_refusal *refusal = conn->state;

	bytes_release(&refusal->response);
}

/* Reads and drops what the program sends, a bounded amount in each round. False: end of the stream. */
static bool refusal_discard_input(struct conn *conn, struct tls_refusal *refusal)
{
	char data[4096];
	ssize_t got = 1;

	for (int i = 0; i < REFUSAL_DISCARDED_READS_MAX && got > 0; i++) {
		got = channel_read(&conn->client, data, sizeof(data));
		if (got > 0)
			refusal->program_sent_bytes = true;
	}
	if (got > 0 && channel_has_bytes(&conn->client))
		conn_pump_mode_after(conn, 0);
	return got > 0 || got == -EAGAIN;
}

static void refusal_pump(struct conn *conn)
{
	struct tls_refusal *refusal = conn->state;
	bool more;
	int error = -EAGAIN;

	channel_set_events(&conn->upstream, false, false);
	if ((!conn->client.ssl && !client_start_tls(conn, refusal->alpn)) || !client_continue_handshake(conn))
		return;
	more = refusal_discard_input(conn, refusal);
	if (refusal->program_sent_bytes && !conn->client.fin_was_sent) {
		error = channel_write_bytes(&conn->client, &refusal->response);
		if (!error)
			error = channel_half_close(&conn->client);
		if (!error)
			conn_set_phase_timeout(conn, REFUSAL_READ_TIMEOUT_MS, "refused");
	}
	if (!more || (error && error != -EAGAIN))
		conn_close(conn, "refused", "upstream_tls", refusal->response.data != NULL);
	else
		channel_set_events(&conn->client, true, refusal->program_sent_bytes && !conn->client.fin_was_sent);
}

/* Begins to refuse the program's connection by TLS: with a response in the protocol that the program offers. */
static void refusal_start(struct conn *conn, const char *alpn_list, const char *text)
{
	bool http1 = !*alpn_list || alpn_find_protocol(alpn_list, "http/1.1");
	struct tls_refusal *refusal = calloc(1, sizeof(*refusal));
	_cleanup_buf_ struct buf buf = {0};

	conn->http_status = REFUSAL_HTTP_STATUS;
	conn->state = refusal;
	if (http1)
		write_http1_refusal(conn, text, &buf);
	else
		write_http2_refusal(text, &buf);
	if (!refusal || buf.failed || bytes_add(&refusal->response, buf.data, buf.len) < 0) {
		conn_close(conn, "refused", "upstream_tls", true);
		return;
	}
	refusal->alpn = !*alpn_list ? "" : http1 ? "http/1.1" : "h2";
	refusal_pump(conn);
}

/* Starts TLS with the server. Returns false after it has closed conn. */
static bool upstream_start_tls(struct conn *conn)
{
	struct tls *tls = conn->egress->tls;

	if (!tls || channel_start_tls(&conn->upstream,
				      tls_create_client(tls, conn->host, alpn_list_judgeable_protocols(conn))) < 0) {
		conn_close(conn, "internal", "tls_failed", true);
		return false;
	}
	conn_set_phase_timeout(conn, CONN_TLS_HANDSHAKE_TIMEOUT_MS, "upstream_timeout");
	return true;
}

/* Makes one step of the server's handshake. False: it waits, or it has failed and refusal_start() was called. */
static bool upstream_continue_handshake(struct conn *conn)
{
	char text[TLS_ERROR_TEXT_SIZE], chosen[sizeof(conn->alpn)];
	const char *alpn_list;
	int error;

	if (SSL_is_init_finished(conn->upstream.ssl))
		return true;
	error = channel_step_tls_handshake(&conn->upstream);
	if (error == -EAGAIN) {
		intercept_await_bytes(&conn->upstream, &conn->client);
		return false;
	}
	alpn_list = alpn_list_judgeable_protocols(conn);
	if (error) {
		(void)tls_describe_error(conn->upstream.ssl, false, error, text);
		refusal_start(conn, alpn_list, text);
		return false;
	}
	tls_get_chosen_alpn(conn->upstream.ssl, chosen, sizeof(chosen));
	if (*chosen && !alpn_find_protocol(alpn_list, chosen)) { /* OpenSSL does not check this */
		refusal_start(conn, alpn_list, "the server chose a protocol that was not offered");
		return false;
	}
	memcpy(conn->alpn, chosen, sizeof(conn->alpn));
	return true;
}

/*
 * Waits for the program's first byte, because an HTTP client speaks first. A client that pins certificates may check
 * the run's certificate after the handshake and then close without an alert. That is no proof, so it is recorded as the
 * cause, not as a denial.
 */
static bool await_first_byte(struct conn *conn)
{
	char byte, text[TLS_ERROR_TEXT_SIZE];
	ssize_t got = channel_read(&conn->client, &byte, sizeof(byte));
	const char *reason = NULL;

	if (got > 0 && channel_put_back_bytes(&conn->client, &byte, sizeof(byte)) < 0) {
		conn_close(conn, "internal", "no_memory", true);
		return false;
	}
	if (got > 0)
		return true;
	if (got == -EAGAIN) {
		intercept_await_bytes(&conn->client, &conn->upstream);
		return false;
	}
	if (got == -EPROTO)
		reason = tls_describe_error(conn->client.ssl, true, (int)got, text);
	conn_close(conn, reason ? "client" : "client_rejected_ca", reason, got < 0);
	return false;
}

static void tls_pump(struct conn *conn)
{
	if (conn->state) {
		refusal_pump(conn);
		return;
	}
	if ((!conn->upstream.ssl && !upstream_start_tls(conn)) || !upstream_continue_handshake(conn) ||
	    (!conn->client.ssl && !client_start_tls(conn, conn->alpn)) || !client_continue_handshake(conn) ||
	    !await_first_byte(conn))
		return;
	conn_switch_mode(conn, strcmp(conn->alpn, "h2") == 0 ? CONN_MODE_HTTP2 : CONN_MODE_HTTP1);
}

const struct conn_mode mode_tls = {.name = "tls", .pump = tls_pump, .done = refusal_release};

/* The bytes of the ClientHello that have arrived. */
struct hello_state {
	size_t len;
	uint8_t data[CLIENT_HELLO_BYTES_MAX];
};

/* Sends a plaintext alert, which every TLS client understands (RFC 8446, 6). Best effort: the record has the reason. */
static void hello_refuse(struct conn *conn, const char *reason)
{
	static const uint8_t unrecognized_name[] = {21, 3, 3, 0, 2, 2, 112};

	(void)channel_write(&conn->client, unrecognized_name, sizeof(unrecognized_name));
	conn_close(conn, "refused", reason, false);
}

/*
 * The code of a mismatch, or NULL: the ClientHello is for the connection's host. That name comes from the address that
 * the program connected to, never from the payload.
 */
static const char *hello_find_mismatch(const struct conn *conn, const struct client_hello *hello)
{
	struct sockaddr_storage address;

	if (hello->has_bad_sni)
		return "sni_mismatch";
	if (!hello->sni[0])
		return sockaddr_parse(conn->host, &address) ? NULL : "no_sni";
	return strcmp(hello->sni, conn->host) == 0 ? NULL : "sni_mismatch";
}

/* Refuses a ClientHello that does not fit the connection; else switches to TLS interception or to pass-through. */
static void hello_judge_client_hello(struct conn *conn, struct hello_state *state, const struct client_hello *hello)
{
	const char *reason = hello_find_mismatch(conn, hello);

	memcpy(conn->sni, hello->sni, sizeof(conn->sni));
	memcpy(conn->alpn, hello->alpn, sizeof(conn->alpn) - 1); /* for the record; truncated if it is too long */
	if (reason) {
		hello_refuse(conn, reason);
		return;
	}
	if (channel_put_back_bytes(&conn->client, state->data, state->len) < 0) {
		conn_close(conn, "internal", "no_memory", true);
		return;
	}
	/*
	 * With Encrypted ClientHello the SNI is the outer name. It is the approved one, and only its server can decrypt
	 * the inner name.
	 */
	conn_switch_mode(conn, policy_net_intercepts_tls(conn->egress->policy, conn->host, conn->port)
				       ? CONN_MODE_TLS
				       : CONN_MODE_RELAY);
}

static void hello_pump(struct conn *conn)
{
	struct hello_state *state = conn->state;
	struct client_hello hello;
	int whole = 0;

	while (whole == 0) {
		ssize_t got = channel_read(&conn->client, state->data + state->len, sizeof(state->data) - state->len);

		if (got == -EAGAIN) {
			intercept_await_bytes(&conn->client, &conn->upstream);
			return;
		}
		if (got <= 0) { /* a close before the first byte is no error */
			conn_close(conn, "client", state->len ? "not_tls" : NULL, got < 0);
			return;
		}
		state->len += (size_t)got;
		whole = hello_parse(state->data, state->len, &hello);
	}
	if (whole < 0)
		hello_refuse(conn, "not_tls");
	else
		hello_judge_client_hello(conn, state, &hello);
}

const struct conn_mode mode_hello = {.name = "tls",
				     .state_size = sizeof(struct hello_state),
				     .first_timeout_ms = CONN_FIRST_BYTES_TIMEOUT_MS,
				     .first_timeout_cause = "hello_timeout",
				     .pump = hello_pump};
