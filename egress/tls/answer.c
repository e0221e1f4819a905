/* What a program is told when there is no TLS with its server: 502 in HTTP/1.1, a GOAWAY with the reason in HTTP/2. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "egress/tls/context.h"
#include "egress/tls/mode.h"

#include "base/banned.h"

#define DRAIN_MS 2000 /* for the program to take the answer: closing over unread bytes would be a reset */
#define STATUS 502
#define DISCARDS 64

struct answer {
	char *text;
	size_t len, at;
	char alpn[16];
	bool asked; /* it has sent something, so it is not surprised by an answer */
};

static bool puts_escaped(struct buf *buf, const char *text)
{
	_cleanup_free_ char *escaped = malloc(strlen(text) * TEXT_ESCAPE_MAX + 1);

	if (!escaped)
		return false;
	buf_add(buf, escaped, text_escape(escaped, text, strlen(text)));
	return true;
}

static bool http1_answer(const struct conn *conn, const char *text, struct buf *ret_answer)
{
	_cleanup_buf_ struct buf body = {0};

	buf_puts(&body, "{\"error\": \"upstream_tls\", \"host\": \"");
	if (!puts_escaped(&body, conn->host))
		return false;
	buf_printf(&body, "\", \"port\": %u, \"reason\": \"upstream_tls\", \"detail\": \"", (unsigned)conn->port);
	if (!puts_escaped(&body, text))
		return false;
	buf_puts(&body, "\"}\n");
	buf_printf(ret_answer,
		   "HTTP/1.1 %d Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		   "Connection: close\r\n\r\n",
		   STATUS, body.len);
	buf_add(ret_answer, body.data, body.len);
	return !body.failed;
}

/* Empty SETTINGS, then GOAWAY of stream 0 with INTERNAL_ERROR and the text as its debug data: RFC 9113, 6.5 and 6.8. */
static bool http2_answer(const char *text, struct buf *ret_answer)
{
	static const char settings[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
	char goaway[17] = {0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
	size_t len = strlen(text) < TLS_ERROR_SIZE ? strlen(text) : TLS_ERROR_SIZE;

	goaway[2] = (char)(8 + len);
	buf_add(ret_answer, settings, sizeof(settings));
	buf_add(ret_answer, goaway, sizeof(goaway));
	buf_add(ret_answer, text, len);
	return true;
}
_Static_assert(8 + TLS_ERROR_SIZE < 256, "the length is in one byte");

void tls_answer(struct conn *conn, const char *list, const char *text)
{
	bool http1 = !*list || tls_offers(list, "http/1.1", strlen("http/1.1"));
	struct answer *answer = calloc(1, sizeof(*answer));
	_cleanup_buf_ struct buf buf = {0};
	bool made = http1 ? http1_answer(conn, text, &buf) : http2_answer(text, &buf);

	conn_set_status(conn, STATUS);
	if (answer) {
		answer->len = buf.len;
		answer->text = buf_take(&buf);
		(void)snprintf(answer->alpn, sizeof(answer->alpn), "%s", !*list ? "" : http1 ? "http/1.1" : "h2");
	}
	conn->state = answer;
	if (!answer || !answer->text || !made)
		conn_close(conn, "refused", "upstream_tls", true);
	else
		tls_answer_pump(conn);
}

void tls_answer_done(struct conn *conn)
{
	struct answer *answer = conn->state;

	if (answer)
		free(answer->text);
	free(answer);
	conn->state = NULL;
}

/* Reads and forgets, not for ever at a time. False: nothing more comes. */
static bool discard(struct conn *conn, struct answer *answer)
{
	char data[4096];
	ssize_t got = 1;

	for (int i = 0; i < DISCARDS && got > 0; i++) {
		got = channel_read(&conn->client, data, sizeof(data));
		if (got > 0)
			answer->asked = true;
	}
	if (got > 0 && channel_has_bytes(&conn->client))
		conn_pump_after(conn, 0);
	return got > 0 || got == -EAGAIN;
}

/* 0: all of it is on its way; -EAGAIN. */
static int send_answer(struct conn *conn, struct answer *answer)
{
	while (answer->at < answer->len) {
		ssize_t sent = channel_write(&conn->client, answer->text + answer->at, answer->len - answer->at);

		if (sent < 0)
			return (int)sent;
		answer->at += (size_t)sent;
	}
	return channel_shutdown(&conn->client);
}

void tls_answer_pump(struct conn *conn)
{
	struct answer *answer = conn->state;
	bool more;
	int error = -EAGAIN;

	channel_wait(&conn->upstream, false, false);
	if ((!conn->client.ssl && !tls_begin_client(conn, answer->alpn)) || !tls_shake_client(conn))
		return;
	more = discard(conn, answer);
	if (answer->asked && !conn->client.shut) {
		error = send_answer(conn, answer);
		if (!error)
			conn_timer(conn, DRAIN_MS, "refused");
	}
	if (!more || (error && error != -EAGAIN))
		conn_close(conn, "refused", "upstream_tls", answer->at < answer->len);
	else
		channel_wait(&conn->client, true, answer->asked && !conn->client.shut);
}
