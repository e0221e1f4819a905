/*
 * Judges and records an HTTP/1 request, and forwards it: serialised anew, with its secrets. Opens further upstream
 * connections: dialled again, or named by each request of a proxy's client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/http/http1-mode.h"
#include "egress/secrets/secret.h"
#include "egress/state.h"
#include "egress/tls/context.h"

static void http1_write_host(const struct conn *conn, struct buf *out)
{
	bool bare = conn->port == (conn->client.ssl ? 443 : 80);

	buf_printf(out, strchr(conn->host, ':') ? "[%s]" : "%s", conn->host);
	if (!bare)
		buf_printf(out, ":%u", conn->port);
}

/* Writes a header field with its placeholders replaced by secrets. */
static int forward_field(const struct conn *conn, const struct http_field *field, struct buf *out)
{
	struct http_field shown = *field;
	char *value = NULL;
	int found = request_replace_placeholders(conn, field, &value, &shown.value_len);

	if (found < 0)
		return found;
	if (found)
		shown.value = value;
	else
		shown.value_len = field->value_len;
	http1_write_field(out, &shown);
	request_wipe_text(value, found ? shown.value_len : 0);
	return 0;
}

/*
 * Writes the request's header fields for the server: the forwarded ones, and the credential of the rule in place of its
 * field.
 */
static int forward_fields(struct conn *conn, struct buf *out)
{
	struct http1_state *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	const char *name;
	char *value;
	int error = request_make_credential(conn, &http1->verdict, &name, &value);

	if (error)
		return error;
	for (size_t i = 0; i < head->field_count && !error; i++) {
		const struct http_field *field = &head->field[i];

		if (http1_field_is_forwarded(head, field, false) &&
		    !(name && request_field_equals_as_cgi_variable(field->name, field->name_len, name)))
			error = forward_field(conn, field, out);
	}
	if (name)
		buf_printf(out, "%s: %s\r\n", name, value);
	request_wipe_text(value, value ? strlen(value) : 0);
	return error;
}

/* Writes the request's head for the server. 0 or -errno. */
static int forward_head(struct conn *conn, struct buf *out)
{
	struct http1_state *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	const char *query = memchr(http1->origin_form_target, '?', http1->origin_form_target_len);
	size_t query_len = query ? http1->origin_form_target_len - (size_t)(query - http1->origin_form_target) : 0;
	_cleanup_buf_ struct buf host = {0};
	int error;

	http1_write_host(conn, &host);
	if (host.failed)
		return -ENOMEM;
	http1_write_request(out, http1->request.method, http1->request.path, query, query_len, host.data);
	error = forward_fields(conn, out);
	if (http1->request.asks_for_websocket)
		buf_puts(out, "Upgrade: websocket\r\n");
	http1_write_head_end(out, head->framing, head,
			     http1->request.asks_for_websocket                         ? "Upgrade"
			     : http1->server_was_told_to_close || !http1->client_keeps ? "close"
										       : NULL);
	return error ? error : out->failed ? -ENOMEM : 0;
}

/* Queues the request's head for the server, and wipes other copies of it, because it may contain a secret. */
static int http1_queue_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	/* The buffer has its final size, because growing would leave copies of secrets in freed memory. */
	size_t room = http1->head_len + NET_PATH_SIZE + SECRET_VALUE_BYTES_MAX + 1024;
	struct buf head = {.data = malloc(room), .cap = room};
	int error = head.data ? forward_head(conn, &head) : -ENOMEM;

	if (!error)
		error = bytes_add(&http1->to_server, head.data, head.len);
	request_wipe_text(head.data, head.data ? head.len : 0); /* wiped, because the head may contain a secret */
	return error;
}

/*
 * Forwards a request. A request with a body is announced as the connection's last (RFC 9112, 9.6): a server that does
 * not read the body would otherwise take it for the next request and execute that without a record.
 */
static void http1_forward_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int error;

	/* Bytes that the server sent before the request would be read as the response. */
	if (http1->from_server.data || http1_read_into_input_buffer(conn, false) > 0) {
		http1_refuse_bad_response(conn);
		return;
	}
	http1->server_was_told_to_close = http1->head.framing != HTTP1_NO_BODY;
	error = http1_queue_request(conn);
	if (error) {
		http1_record_outcome(conn, error);
		if (error == -ENOMEM)
			request_set_refusal(&http1->verdict, 503, "no_memory");
		else
			request_set_refusal(&http1->verdict, 403, "no_credential");
		http1_refuse_request(conn);
		return;
	}
	bytes_drop(&http1->from_client, http1->head_len);
	http1->server_keeps = true;
	http1->request_head_was_queued = true;
	http1->phase = HTTP1_EXCHANGE;
}

/* The supervisor has recorded the request, or could not (error): only a recorded one is forwarded. */
static void http1_on_record_acknowledged(void *ctx, int error)
{
	struct conn *conn = ctx;
	struct http1_state *http1 = conn->state;

	if (error < 0) {
		request_set_refusal(&http1->verdict, 503, "not_recorded");
		http1_refuse_request(conn);
	} else {
		http1->record_awaits_outcome = true;
		http1_forward_request(conn);
	}
	conn_pump_mode(conn);
}

static void http1_on_question_answered(void *ctx, int error);

/* Asks about the request. False: it is to be refused. */
static bool http1_ask_about_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	const char *target = http1->origin_form_target;
	const char *query = memchr(target, '?', http1->origin_form_target_len);
	const struct request_details details = {
		.query = query,
		.query_len = query ? http1->origin_form_target_len - (size_t)(query - target) : 0,
		.body_bytes = head->framing == HTTP1_NO_BODY          ? 0
			      : head->framing == HTTP1_CONTENT_LENGTH ? (int64_t)head->content_length
								      : CONTROL_BODY_OF_UNKNOWN_LENGTH};

	if (!request_ask(conn, &http1->request, &details, http1_on_question_answered, conn))
		return false;
	http1->phase = HTTP1_AWAITING_ANSWER;
	return true;
}

enum http1_step http1_watch_while_asked(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	int fill;

	if (channel_peer_has_hung_up(&conn->client))
		return http1_close_conn(conn, "client", NULL, false);
	fill = http1_read_into_input_buffer(conn, false);
	if (fill < 0 && conn->upstream.watch.fd >= 0) {
		conn_drop_upstream(conn, false);
		bytes_release(&http1->from_server);
	}
	return fill > 0 ? HTTP1_STEP_PROGRESS : HTTP1_STEP_NO_PROGRESS;
}

/*
 * The approver has answered. A client that has closed meanwhile is answered no more. A server that has is connected to
 * again.
 */
static void http1_on_question_answered(void *ctx, int error)
{
	struct conn *conn = ctx;
	struct http1_state *http1 = conn->state;

	http1->server_waits = false; /* what has come since the last pump counts, too */
	if (http1_watch_while_asked(conn) == HTTP1_STEP_CONN_ENDED)
		return;
	request_take_answer(conn, &http1->request, error);
	if (error == 0 && conn->upstream.watch.fd < 0)
		http1_reopen_upstream(conn);
	else
		http1_judge_request(conn);
	conn_pump_mode(conn);
}

void http1_judge_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	struct request_verdict *verdict = &http1->verdict;

	request_judge(conn, &http1->request, http1->head.field, http1->head.field_count, verdict);
	if (verdict->can_be_asked_about && http1_ask_about_request(conn))
		return;
	if (!verdict->is_allowed) {
		request_write_record(conn, &http1->request, verdict, NULL, NULL, NULL);
		http1_refuse_request(conn);
		return;
	}
	http1->phase = HTTP1_AWAITING_RECORD_ACK;
	request_write_record(conn, &http1->request, verdict, http1_on_record_acknowledged, conn, &http1->record_id);
}

int http1_fill_request_from_head(struct http1_state *http1, const struct http1_absolute_target *absolute)
{
	const struct http1_head *head = &http1->head;
	struct request *request = &http1->request;
	const char *authority = absolute ? absolute->authority : head->host;
	size_t authority_len = absolute ? absolute->authority_len : head->host_len;
	const char *query;
	int error;

	if (!authority || authority_len >= sizeof(request->authority))
		return -EPROTO;
	memcpy(request->method, head->method, head->method_len); /* shorter than NET_METHOD_SIZE, zeroed before */
	http1->origin_form_target = absolute ? absolute->path : head->target;
	http1->origin_form_target_len = absolute ? absolute->path_len : head->target_len;
	request->asks_for_websocket = head->asks_for_websocket;
	request->has_body = head->framing != HTTP1_NO_BODY;
	memcpy(request->authority, authority, authority_len);
	error = net_path_normalise(http1->origin_form_target, http1->origin_form_target_len, request->path, &query);
	request->has_query = !error && query;
	return error == -ENAMETOOLONG ? -EMSGSIZE : error ? -EPROTO : 0;
}

/* ---- opening upstream connections ---- */

/* Answers the request with 502 or 504, because the server could not be reached. */
static void http1_on_upstream_failed(struct conn *conn, int error, const char *reason)
{
	struct http1_state *http1 = conn->state;

	conn_drop_upstream(conn, true);
	http1->client_keeps = false;
	http1->reason = reason;
	request_set_refusal(&http1->verdict, error == -ETIMEDOUT ? 504 : 502, reason);
	request_write_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
	http1_refuse_request(conn);
}

enum http1_step http1_continue_handshake(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	char chosen[sizeof(conn->alpn)];
	int error = channel_step_tls_handshake(&conn->upstream);

	if (error == -EAGAIN) {
		http1->server_waits = true;
		return HTTP1_STEP_NO_PROGRESS;
	}
	if (!error)
		tls_get_chosen_alpn(conn->upstream.ssl, chosen, sizeof(chosen));
	if (!error && *chosen && strcmp(chosen, "http/1.1") != 0)
		error = -EPROTO;
	if (error) {
		http1_on_upstream_failed(conn, error, "tls_failed");
		return HTTP1_STEP_PROGRESS;
	}
	conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
	http1_judge_request(conn);
	return HTTP1_STEP_PROGRESS;
}

/* The connection to the server has been opened again: continues the request that waits for it. */
static void http1_on_upstream_reopened(struct conn *conn, int error, const char *reason)
{
	struct http1_state *http1 = conn->state;

	if (error) {
		http1_on_upstream_failed(conn, error, reason);
	} else if (!conn->client.ssl) {
		http1_judge_request(conn);
	} else if (channel_start_tls(&conn->upstream, tls_create_client(conn->egress->tls, conn->host,
									conn->alpn)) < 0) {
		/* TLS with the former ALPN protocol could not be added */
		http1_on_upstream_failed(conn, -ENOMEM, "tls_failed");
	} else {
		http1->phase = HTTP1_UPSTREAM_HANDSHAKE;
		conn_set_phase_timeout(conn, CONN_TLS_HANDSHAKE_TIMEOUT_MS, "upstream_timeout");
	}
	conn_pump_mode(conn);
}

void http1_reopen_upstream(struct conn *conn)
{
	struct http1_state *http1 = conn->state;

	http1->phase = HTTP1_OPENING_UPSTREAM;
	conn_open_upstream(conn, conn->host, conn->port, http1_on_upstream_reopened);
}

/* Answers the client with the reason why conn_open_upstream() failed. The failure is recorded by then. */
static void proxy_refuse_request(struct conn *conn, int error, const char *reason)
{
	struct http1_state *http1 = conn->state;
	bool failed = strcmp(reason, "dns_fail") == 0 || strcmp(reason, "connect_failed") == 0;

	request_set_refusal(&http1->verdict, !failed ? 403 : error == -ETIMEDOUT ? 504 : 502, reason);
	http1_refuse_request(conn);
}

/* The destination of a proxied request is connected, or failed (error). */
static void proxy_on_upstream_opened(struct conn *conn, int error, const char *reason)
{
	if (error)
		proxy_refuse_request(conn, error, reason);
	else
		http1_judge_request(conn);
	conn_pump_mode(conn);
}

/* RFC 9112, 3.2.2 ignores Host in favour of the target. A Host that differs is refused: it may mislead the server. */
static void proxy_handle_absolute(struct conn *conn, const struct http1_absolute_target *target)
{
	struct http1_state *http1 = conn->state;
	char host[NET_HOST_SIZE], said[NET_HOST_SIZE];
	unsigned port, said_port;

	if (!request_parse_authority(target->authority, target->authority_len, 80, host, &port) ||
	    !request_parse_authority(http1->head.host, http1->head.host_len, 80, said, &said_port) ||
	    strcmp(host, said) != 0 || port != said_port) {
		request_set_refusal(&http1->verdict, 421, "host_mismatch");
		request_write_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
		http1_refuse_request(conn);
		return;
	}
	if (conn->upstream.watch.fd >= 0 && strcmp(host, conn->host) == 0 && port == conn->port) {
		http1_judge_request(conn);
		return;
	}
	http1->phase = HTTP1_OPENING_UPSTREAM;
	conn_open_upstream(conn, host, (uint16_t)port, proxy_on_upstream_opened);
}

/* The destination of CONNECT is connected, or failed (error). */
static void tunnel_on_upstream_opened(struct conn *conn, int error, const char *reason)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct http1_state *http1 = conn->state;

	if (error) {
		proxy_refuse_request(conn, error, reason);
	} else if (bytes_add(&http1->to_client, yes, strlen(yes)) < 0) {
		conn_close(conn, "no_memory", NULL, true);
		return;
	} else {
		bytes_drop(&http1->from_client, http1->head_len);
		http1->phase = HTTP1_TUNNEL;
	}
	conn_pump_mode(conn);
}

/* Handles CONNECT. Host is not checked: it has no other use there, and old clients send none. */
static void proxy_handle_connect(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	char host[NET_HOST_SIZE];
	unsigned port;

	memcpy(http1->request.method, head->method, head->method_len);
	if (head->framing != HTTP1_NO_BODY ||
	    !request_parse_authority(head->target, head->target_len, 0, host, &port) || !port) {
		http1_refuse_malformed(conn, -EPROTO);
		return;
	}
	pool_replace_address_by_name(conn->egress->pool, host);
	http1->phase = HTTP1_OPENING_UPSTREAM;
	conn_open_upstream(conn, host, (uint16_t)port, tunnel_on_upstream_opened);
}

/* Answers CONNECT, then starts the mode of the rule, as if the program had connected to that host itself. */
enum http1_step http1_start_tunnel(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	struct bytes *in = &http1->from_client;

	if (http1_flush_output(&http1->to_client, &conn->client) < 0)
		return http1_close_conn(conn, "client_reset", NULL, true);
	if (http1->to_client.data)
		return HTTP1_STEP_NO_PROGRESS;
	if (in->data && channel_put_back_bytes(&conn->client, bytes_get_text(in), bytes_count_left(in)) < 0)
		return http1_close_conn(conn, "no_memory", NULL, true);
	conn_start_first_mode(conn);
	return HTTP1_STEP_CONN_ENDED;
}

void http1_judge_proxy_request(struct conn *conn)
{
	struct http1_state *http1 = conn->state;
	struct http1_absolute_target absolute;
	int error;

	if (http1->head.method_len == 7 && memcmp(http1->head.method, "CONNECT", 7) == 0) {
		proxy_handle_connect(conn);
		return;
	}
	error = http1_parse_absolute(&http1->head, &absolute) ? http1_fill_request_from_head(http1, &absolute)
							      : -EPROTO;
	if (error)
		http1_refuse_malformed(conn, error);
	else
		proxy_handle_absolute(conn, &absolute);
}
