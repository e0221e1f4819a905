/* mode_socks: SOCKS5 without authentication, to connect only; names stay names, so that the program resolves nothing. */
#include "egress/conn/socks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/conn.h"
#include "egress/conn/proxy.h"
#include "egress/state.h"

#include "base/banned.h"

/* Both messages together are shorter; what follows them is the connection's. */
#define SOCKS_BYTES 1024

struct socks {
	size_t at, len;
	bool greeted, asked;
	uint8_t data[SOCKS_BYTES];
};

/* A few bytes into an empty socket buffer: what does not fit at once is no client's that reads. */
static bool say(struct conn *conn, const uint8_t *bytes, size_t len)
{
	if (channel_write(&conn->client, bytes, len) == (ssize_t)len)
		return true;
	conn_close(conn, "client_reset", NULL, true);
	return false;
}

/* The bound address is nobody's business. */
static bool reply(struct conn *conn, uint8_t code)
{
	const uint8_t bytes[] = {5, code, 0, 1, 0, 0, 0, 0, 0, 0};

	return say(conn, bytes, sizeof(bytes));
}

static void refuse(struct conn *conn, uint8_t code, const char *reason)
{
	if (reply(conn, code))
		conn_close(conn, "refused", reason, false);
}

static uint8_t code_of(int error, const char *reason)
{
	if (strcmp(reason, "dns_fail") == 0)
		return SOCKS_REPLY_HOST;
	if (strcmp(reason, "connect_failed") != 0)
		return error == -ENETDOWN ? SOCKS_REPLY_FAILED : SOCKS_REPLY_REFUSED;
	switch (error) {
	case -ECONNREFUSED:
		return SOCKS_REPLY_CONNECT;
	case -ENETUNREACH:
		return SOCKS_REPLY_NETWORK;
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
		return SOCKS_REPLY_HOST;
	default:
		return SOCKS_REPLY_FAILED;
	}
}

static void opened(struct conn *conn, int error, const char *reason)
{
	struct socks *socks = conn->state;

	if (error) {
		refuse(conn, code_of(error, reason), reason);
	} else if (socks->at < socks->len &&
		   channel_unread(&conn->client, socks->data + socks->at, socks->len - socks->at) < 0) {
		conn_close(conn, "no_memory", NULL, true);
	} else if (reply(conn, 0)) {
		conn_begin(conn);
	}
}

/* 0: a whole message was dealt with; 1: more bytes are needed, or an answer; -1: closed. */
static int greet(struct conn *conn)
{
	static const uint8_t open_to_all[] = {5, 0}, none_acceptable[] = {5, 0xff};
	struct socks *socks = conn->state;
	bool open;
	ssize_t size = socks_greeting(socks->data, socks->len, &open);

	if (size == 0)
		return 1;
	if (size < 0) {
		conn_close(conn, "refused", "bad_request", false);
		return -1;
	}
	socks->at = (size_t)size;
	socks->greeted = true;
	if (open)
		return say(conn, open_to_all, sizeof(open_to_all)) ? 0 : -1;
	if (say(conn, none_acceptable, sizeof(none_acceptable)))
		conn_close(conn, "refused", "bad_request", false);
	return -1;
}

static int ask(struct conn *conn)
{
	struct socks *socks = conn->state;
	struct socks_request request;
	ssize_t size = socks_request(socks->data + socks->at, socks->len - socks->at, &request);

	if (size == 0)
		return 1;
	if (size < 0) {
		refuse(conn,
		       size == -EOPNOTSUPP     ? SOCKS_REPLY_COMMAND
		       : size == -EAFNOSUPPORT ? SOCKS_REPLY_ADDRESS
		       : size == -EINVAL       ? SOCKS_REPLY_REFUSED
					       : SOCKS_REPLY_FAILED,
		       size == -EINVAL ? "bad_name" : "bad_request");
		return -1;
	}
	socks->at += (size_t)size;
	socks->asked = true;
	conn_timer(conn, CONN_IDLE_MS, "idle_timeout"); /* dialling has limits of its own */
	proxy_name(conn, request.host);
	conn_open(conn, request.host, request.port, opened);
	return 1;
}

static bool begin(struct conn *conn)
{
	conn->state = calloc(1, sizeof(struct socks));
	if (!conn->state) {
		conn_close(conn, "no_memory", NULL, true);
		return false;
	}
	conn_timer(conn, CONN_PEEK_MS, "header_timeout");
	return true;
}

static void socks_pump(struct conn *conn)
{
	struct socks *socks;
	int more = 0;

	if (!conn->state && !begin(conn))
		return;
	socks = conn->state;
	while (!socks->asked) {
		ssize_t got;

		more = !socks->greeted ? greet(conn) : ask(conn);
		if (more < 0)
			return;
		if (more == 0 || socks->asked)
			continue;
		got = channel_read(&conn->client, socks->data + socks->len, sizeof(socks->data) - socks->len);
		if (got == -EAGAIN)
			break;
		if (got <= 0) {
			conn_close(conn, got ? "client_reset" : "client", NULL, got < 0);
			return;
		}
		socks->len += (size_t)got;
	}
	channel_wait(&conn->client, !socks->asked, false);
}

static void socks_done(struct conn *conn)
{
	free(conn->state);
}

const struct conn_mode mode_socks = {.name = "socks", .pump = socks_pump, .done = socks_done};
