/*
 * mode_socks: SOCKS5 (RFC 1928) without authentication, CONNECT only. The program need not resolve names: egress does.
 */
#include "egress/conn/socks.h"

#include <errno.h>
#include <string.h>

#include "egress/conn/conn.h"
#include "egress/state.h"

/* Size of the buffer for greeting and request, which need less. Bytes after the request are application data. */
#define SOCKS_BUFFER_BYTES 1024

/* The state of a SOCKS connection until its request is read. */
struct socks {
	size_t at, len;
	bool greeted, asked;
	uint8_t data[SOCKS_BUFFER_BYTES];
};

/* Writes a few bytes into an empty send buffer. Only a client that does not read leaves no room; it is disconnected. */
static bool socks_write_bytes(struct conn *conn, const uint8_t *bytes, size_t len)
{
	if (channel_write(&conn->client, bytes, len) == (ssize_t)len)
		return true;
	conn_close(conn, "client_reset", NULL, true);
	return false;
}

/* Sends a SOCKS reply. Its BND.ADDR is 0.0.0.0: egress' own address is not revealed. */
static bool socks_send_reply(struct conn *conn, uint8_t code)
{
	const uint8_t bytes[] = {5, code, 0, 1, 0, 0, 0, 0, 0, 0};

	return socks_write_bytes(conn, bytes, sizeof(bytes));
}

/* Sends the reply to a request that is refused, and closes the connection. */
static void socks_refuse_request(struct conn *conn, uint8_t code, const char *reason)
{
	if (socks_send_reply(conn, code))
		conn_close(conn, "refused", reason, false);
}

/* The code of the SOCKS reply for why a destination is not connected. */
static uint8_t socks_get_reply_code(int error, const char *reason)
{
	if (strcmp(reason, "dns_fail") == 0)
		return SOCKS_REPLY_HOST_UNREACHABLE;
	if (strcmp(reason, "connect_failed") != 0)
		return error == -ENETDOWN ? SOCKS_REPLY_GENERAL_FAILURE : SOCKS_REPLY_NOT_ALLOWED_BY_RULE;
	return error == -ECONNREFUSED                          ? SOCKS_REPLY_CONNECTION_REFUSED
	       : error == -ENETUNREACH                         ? SOCKS_REPLY_NETWORK_UNREACHABLE
	       : error == -EHOSTUNREACH || error == -ETIMEDOUT ? SOCKS_REPLY_HOST_UNREACHABLE
							       : SOCKS_REPLY_GENERAL_FAILURE;
}

static void socks_on_upstream_opened(struct conn *conn, int error, const char *reason)
{
	struct socks *socks = conn->state;

	if (error) {
		socks_refuse_request(conn, socks_get_reply_code(error, reason), reason);
	} else if (socks->at < socks->len &&
		   channel_put_back_bytes(&conn->client, socks->data + socks->at, socks->len - socks->at) < 0) {
		conn_close(conn, "no_memory", NULL, true);
	} else if (socks_send_reply(conn, 0)) {
		conn_start_first_mode(conn);
	}
}

/* Returns 0: the greeting was handled; 1: more bytes are needed; -1: the connection is closed. */
static int socks_handle_greeting(struct conn *conn)
{
	static const uint8_t open_to_all[] = {5, 0}, none_acceptable[] = {5, 0xff};
	struct socks *socks = conn->state;
	bool open;
	ssize_t size = socks_parse_greeting(socks->data, socks->len, &open);

	if (size == 0)
		return 1;
	if (size < 0) {
		conn_close(conn, "refused", "bad_request", false);
		return -1;
	}
	socks->at = (size_t)size;
	socks->greeted = true;
	if (open)
		return socks_write_bytes(conn, open_to_all, sizeof(open_to_all)) ? 0 : -1;
	if (socks_write_bytes(conn, none_acceptable, sizeof(none_acceptable)))
		conn_close(conn, "refused", "bad_request", false);
	return -1;
}

static int socks_handle_request(struct conn *conn)
{
	struct socks *socks = conn->state;
	struct socks_request request;
	ssize_t size = socks_parse_request(socks->data + socks->at, socks->len - socks->at, &request);

	if (size == 0)
		return 1;
	if (size < 0) {
		socks_refuse_request(conn,
				     size == -EOPNOTSUPP     ? SOCKS_REPLY_COMMAND_UNSUPPORTED
		       : size == -EAFNOSUPPORT ? SOCKS_REPLY_ADDRESS_TYPE_UNSUPPORTED
		       : size == -EINVAL       ? SOCKS_REPLY_NOT_ALLOWED_BY_RULE
					       : SOCKS_REPLY_GENERAL_FAILURE,
			     size == -EINVAL ? "bad_name" : "bad_request");
		return -1;
	}
	socks->at += (size_t)size;
	socks->asked = true;
	conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout"); /* dialling has its own limits */
	pool_replace_address_by_name(conn->egress->pool, request.host);
	conn_open_upstream(conn, request.host, request.port, socks_on_upstream_opened);
	return 1;
}

static void socks_pump(struct conn *conn)
{
	struct socks *socks = conn->state;
	int more = 0;

	while (!socks->asked) {
		ssize_t got;

		more = !socks->greeted ? socks_handle_greeting(conn) : socks_handle_request(conn);
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
	channel_set_events(&conn->client, !socks->asked, false);
}

const struct conn_mode mode_socks = {.name = "socks",
				     .state_size = sizeof(struct socks),
				     .first_timeout_ms = CONN_FIRST_BYTES_TIMEOUT_MS,
				     .first_timeout_cause = "header_timeout",
				     .pump = socks_pump};
