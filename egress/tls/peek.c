/* The first bytes of a TLS connection: it must be for the approved name, or it goes nowhere. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/conn/conn.h"
#include "egress/state.h"
#include "egress/tls/hello.h"

#include "base/banned.h"

struct hello_state {
	size_t len;
	uint8_t data[HELLO_MAX];
};

/* An alert in the clear, which every TLS client understands (RFC 8446, 6): best effort, the record says it as well. */
static void refuse(struct conn *conn, const char *reason)
{
	static const uint8_t unrecognized_name[] = {21, 3, 3, 0, 2, 2, 112};

	(void)channel_write(&conn->client, unrecognized_name, sizeof(unrecognized_name));
	conn_close(conn, "refused", reason, false);
}

static bool is_address(const char *host)
{
	return strchr(host, ':') || strspn(host, "0123456789.") == strlen(host);
}

/* NULL: it is for whom the program connected to. The name is the address's, never the payload's (network.md, 4). */
static const char *mismatch(const struct conn *conn, const struct hello *hello)
{
	if (hello->bad_sni)
		return "sni_mismatch";
	if (!hello->sni[0])
		return is_address(conn->host) ? NULL : "no_sni";
	return strcmp(hello->sni, conn->host) == 0 ? NULL : "sni_mismatch";
}

static void judge(struct conn *conn, struct hello_state *state, const struct hello *hello)
{
	const char *reason = mismatch(conn, hello);

	memcpy(conn->sni, hello->sni, sizeof(conn->sni));
	memcpy(conn->alpn, hello->alpn, sizeof(conn->alpn) - 1); /* as much as fits: for the record */
	if (reason) {
		refuse(conn, reason);
		return;
	}
	if (channel_unread(&conn->client, state->data, state->len) < 0) {
		conn_close(conn, "internal", "no_memory", true);
		return;
	}
	/* With an encrypted hello inside, what the server reads is for its own: it got the approved name outside. */
	conn_switch(conn, policy_net_intercepts(conn->egress->policy, conn->host, conn->port) ? CONN_TLS : CONN_RELAY);
}

static void hello_pump(struct conn *conn)
{
	struct hello_state *state = conn->state;
	struct hello hello;
	int whole = 0;

	if (!state) {
		conn->state = state = calloc(1, sizeof(*state));
		if (!state) {
			conn_close(conn, "internal", "no_memory", true);
			return;
		}
		conn_timer(conn, CONN_PEEK_MS, "hello_timeout");
	}
	while (whole == 0) {
		ssize_t got = channel_read(&conn->client, state->data + state->len, sizeof(state->data) - state->len);

		if (got == -EAGAIN) {
			channel_wait(&conn->client, true, false);
			channel_wait(&conn->upstream, false, false);
			return;
		}
		if (got <= 0) { /* it may well end before it has said anything */
			conn_close(conn, "client", state->len ? "not_tls" : NULL, got < 0);
			return;
		}
		state->len += (size_t)got;
		whole = hello_parse(state->data, state->len, &hello);
	}
	if (whole < 0)
		refuse(conn, "not_tls");
	else
		judge(conn, state, &hello);
}

static void hello_done(struct conn *conn)
{
	free(conn->state);
	conn->state = NULL;
}

const struct conn_mode mode_hello = {.name = "tls", .pump = hello_pump, .done = hello_done};
