/* The way up: a request's head is read whole, judged and put on record before it is sent on; then its body follows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "egress/mode-http1.h"
#include "egress/state.h"

#include "base/banned.h"

/* ---- forwarding ---- */

static void name_host(const struct conn *conn, struct buf *out)
{
	bool bare = conn->port == (conn->client.ssl ? 443 : 80);

	buf_printf(out, strchr(conn->host, ':') ? "[%s]" : "%s", conn->host);
	if (!bare)
		buf_printf(out, ":%u", conn->port);
}

/* One field on its way, with what secrets it names. */
static int write_field(const struct conn *conn, const struct field *field, struct buf *out)
{
	struct field shown = *field;
	char *value = NULL;
	int found = request_reveal(conn, field, &value, &shown.value_len);

	if (found < 0)
		return found;
	if (found)
		shown.value = value;
	else
		shown.value_len = field->value_len;
	http1_write_field(out, &shown);
	request_wipe(value, found ? shown.value_len : 0);
	return 0;
}

static int write_fields(struct conn *conn, struct buf *out)
{
	struct http1 *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	const char *name;
	char *value;
	int error = request_credential(conn, &http1->verdict, &name, &value);

	if (error)
		return error;
	for (size_t i = 0; i < head->fields && !error; i++) {
		const struct field *field = &head->field[i];

		if (http1_field_passes(head, field, false) && !(name && http1_is(field->name, field->name_len, name)))
			error = write_field(conn, field, out);
	}
	if (name)
		buf_printf(out, "%s: %s\r\n", name, value);
	request_wipe(value, value ? strlen(value) : 0);
	return error;
}

static int write_head(struct conn *conn, struct buf *out)
{
	struct http1 *http1 = conn->state;
	const struct http1_head *head = &http1->head;
	const char *query = memchr(http1->target, '?', http1->target_len);
	size_t query_len = query ? http1->target_len - (size_t)(query - http1->target) : 0;
	_cleanup_buf_ struct buf host = {0};
	int error;

	name_host(conn, &host);
	if (host.failed)
		return -ENOMEM;
	http1_write_request(out, http1->request.method, http1->request.path, query, query_len, host.data);
	error = write_fields(conn, out);
	if (http1->request.upgrade)
		buf_puts(out, "Upgrade: websocket\r\n");
	http1_write_end(out, head->framing, head,
			http1->request.upgrade ? "Upgrade" : http1->client_keeps ? NULL : "close");
	return error ? error : out->failed ? -ENOMEM : 0;
}

static int queue_head(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	struct buf head = {0};
	int error = write_head(conn, &head);

	if (!error)
		error = http1_out_add(&http1->to_server, head.data, head.len);
	request_wipe(head.data, head.data ? head.len : 0); /* by hand: there may be a secret in it */
	return error;
}

void http1_forward_request(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	int error = queue_head(conn);

	if (error) {
		http1_outcome(conn, error);
		http1->verdict = (struct request_verdict){.status = error == -ENOMEM ? 503 : 403,
							  .label = http1->verdict.label,
							  .reason = error == -ENOMEM ? "no_memory" : "no_credential"};
		http1_refuse(conn);
		return;
	}
	http1_in_drop(&http1->from_client, http1->head_len);
	http1->server_keeps = true;
	http1->phase = HTTP1_EXCHANGE;
}

/* ---- judging ---- */

static void on_record(struct conn *conn, void *ctx, int error)
{
	struct http1 *http1 = ctx;

	if (error < 0) {
		http1->verdict = (struct request_verdict){.status = 503, .label = http1->verdict.label,
							  .reason = "not_recorded"};
		http1_refuse(conn);
	} else {
		http1->open_record = true;
		http1_forward_request(conn);
	}
	conn_pump(conn);
}

static bool has_refused_field(const struct http1 *http1)
{
	for (size_t i = 0; i < http1->head.fields; i++)
		if (request_field_refused(&http1->verdict, http1->head.field[i].name, http1->head.field[i].name_len))
			return true;
	return false;
}

static void judge(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	struct request_verdict *verdict = &http1->verdict;

	request_judge(conn, &http1->request, verdict);
	if (verdict->allow && has_refused_field(http1))
		*verdict = (struct request_verdict){.status = 403, .label = verdict->label,
						    .reason = "override_not_granted"};
	if (!verdict->allow) {
		request_record(conn, &http1->request, verdict, NULL, NULL, NULL);
		http1_refuse(conn);
		return;
	}
	http1->phase = HTTP1_ASKED;
	request_record(conn, &http1->request, verdict, on_record, http1, &http1->record_id);
}

/* ---- proxied: the request says where to ---- */

static void opened(struct conn *conn, int error, const char *reason)
{
	struct http1 *http1 = conn->state;
	bool failed = error && (strcmp(reason, "dns_fail") == 0 || strcmp(reason, "connect_failed") == 0);

	if (error) { /* which is on record as it is */
		http1->verdict = (struct request_verdict){
			.status = !failed ? 403 : error == -ETIMEDOUT ? 504 : 502, .reason = reason};
		http1_refuse(conn);
	} else {
		judge(conn);
	}
	conn_pump(conn);
}

static bool open_or_judge(struct conn *conn, const struct http1_absolute *target)
{
	struct http1 *http1 = conn->state;
	char host[NET_HOST_MAX], said[NET_HOST_MAX];
	unsigned port, said_port;

	if (!request_authority(target->authority, target->authority_len, 80, host, &port) ||
	    !request_authority(http1->head.host, http1->head.host_len, 80, said, &said_port) ||
	    strcmp(host, said) != 0 || port != said_port)
		return false;
	if (conn->upstream.watch.fd >= 0 && strcmp(host, conn->host) == 0 && port == conn->port) {
		judge(conn);
		return true;
	}
	http1->phase = HTTP1_OPENING;
	conn_open(conn, host, (uint16_t)port, opened);
	return true;
}

/* ---- reading ---- */

/* What of the head request_judge and the record want to know. 0, or -EPROTO, -EMSGSIZE. */
static int describe(struct http1 *http1, const struct http1_absolute *absolute)
{
	const struct http1_head *head = &http1->head;
	struct request *request = &http1->request;
	const char *authority = absolute ? absolute->authority : head->host;
	size_t authority_len = absolute ? absolute->authority_len : head->host_len;
	const char *query;
	int error;

	memcpy(request->method, head->method, head->method_len); /* shorter than NET_METHOD_MAX, and zeroed */
	http1->target = absolute ? absolute->path : head->target;
	http1->target_len = absolute ? absolute->path_len : head->target_len;
	request->upgrade = head->upgrade;
	if (authority_len >= sizeof(request->authority))
		return -EPROTO;
	memcpy(request->authority, authority, authority_len);
	error = net_path_normalise(http1->target, http1->target_len, request->path, &query);
	request->query = !error && query;
	return error == -ENAMETOOLONG ? -EMSGSIZE : error ? -EPROTO : 0;
}

static void read_head(struct conn *conn, size_t len)
{
	struct http1 *http1 = conn->state;
	const char *data = http1->from_client.data + http1->from_client.at;
	int error = http1_request(data, len, &http1->head);
	struct http1_absolute absolute;
	bool is_absolute;

	conn_timer(conn, CONN_IDLE_MS, "idle_timeout");
	http1->head_len = len;
	http1->start_ns = loop_now_ns(conn->egress->loop);
	http1->base_up = conn->bytes_up + conn->upstream.bytes_out;
	http1->base_down = conn->bytes_down + conn->upstream.bytes_in;
	if (error) {
		http1_refuse_malformed(conn, error);
		return;
	}
	http1_body_init(&http1->up, &http1->head, true);
	http1->client_keeps = http1->head.keep_alive;
	is_absolute = http1_absolute(&http1->head, &absolute);
	error = describe(http1, is_absolute ? &absolute : NULL);
	if (!error && is_absolute != http1->proxied)
		error = -EPROTO;
	if (!error && is_absolute && !open_or_judge(conn, &absolute)) {
		http1->verdict = (struct request_verdict){.status = 421, .reason = "host_mismatch"};
		request_record(conn, &http1->request, &http1->verdict, NULL, NULL, NULL);
		http1_refuse(conn);
	} else if (error) {
		http1_refuse_malformed(conn, error);
	} else if (!is_absolute) {
		judge(conn);
	}
}

/* Between requests the server has nothing to say but that it ends. */
static enum http1_step watch_server(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	enum http1_fill fill = http1_fill(conn, false);

	if (fill == HTTP1_FILL_NONE)
		return HTTP1_STEP_NONE;
	if (fill == HTTP1_FILL_SOME)
		return http1_over(conn, "server", "bad_response", true);
	if (!http1->proxied) /* as the client would see it without us: it knows what to do */
		return http1_over(conn, "server", NULL, false);
	conn_drop_upstream(conn, false);
	return HTTP1_STEP_NONE;
}

enum http1_step http1_read_request(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	struct http1_in *in = &http1->from_client;
	enum http1_fill fill;
	ssize_t len = in->data ? http1_scan(&http1->client_scan, in->data + in->at, in->len - in->at) : 0;

	if (len > 0)
		read_head(conn, (size_t)len);
	else if (len < 0)
		http1_refuse_malformed(conn, (int)len);
	if (len)
		return HTTP1_STEP_DONE;
	fill = http1_fill(conn, true);
	if (fill == HTTP1_FILL_SOME) {
		if (!http1->head_len) /* the first bytes of it: the whole has to come in time, however it trickles */
			conn_timer(conn, CONN_HEADERS_MS, "header_timeout");
		http1->head_len = 1;
		return HTTP1_STEP_DONE;
	}
	if (fill == HTTP1_FILL_END)
		return http1_over(conn, "client", NULL, false);
	if (fill != HTTP1_FILL_NONE)
		return http1_failed(conn, fill, true);
	return watch_server(conn);
}

/* What comes while the response is awaited: the next request, kept for then, or that the client is gone. */
static enum http1_step read_ahead(struct conn *conn)
{
	enum http1_fill fill = conn->client.ended ? HTTP1_FILL_NONE : http1_fill(conn, true);

	if (fill == HTTP1_FILL_NONE || fill == HTTP1_FILL_END) /* it may still listen */
		return HTTP1_STEP_NONE;
	return fill == HTTP1_FILL_SOME ? HTTP1_STEP_DONE : http1_failed(conn, fill, true);
}

static enum http1_step move_body(struct conn *conn)
{
	struct http1 *http1 = conn->state;
	enum http1_fill fill = http1->from_client.data ? HTTP1_FILL_SOME : http1_fill(conn, true);
	int error;

	if (fill == HTTP1_FILL_NONE)
		return HTTP1_STEP_NONE;
	if (fill == HTTP1_FILL_END) /* cut off: the server shall not take it for whole */
		return http1_over(conn, "client", NULL, true);
	if (fill != HTTP1_FILL_SOME)
		return http1_failed(conn, fill, true);
	error = http1_pass_body(&http1->up, http1->up.framing, &http1->from_client, &http1->to_server,
				&conn->upstream);
	if (error == -ENOMEM)
		return http1_over(conn, "no_memory", NULL, true);
	if (error == -EBADMSG || error == -EMSGSIZE)
		http1_refuse_malformed(conn, error);
	else if (error)
		http1->up_lost = true;
	return HTTP1_STEP_DONE;
}

enum http1_step http1_move_up(struct conn *conn)
{
	struct http1 *http1 = conn->state;

	if (http1->up_lost) { /* it may have answered before it closed */
		http1_out_done(&http1->to_server);
		return HTTP1_STEP_NONE;
	}
	if (http1_out_flush(&http1->to_server, &conn->upstream) < 0) {
		http1->up_lost = true;
		return HTTP1_STEP_DONE;
	}
	if (!http1_out_empty(&http1->to_server))
		return HTTP1_STEP_NONE;
	return http1->up.ended ? read_ahead(conn) : move_body(conn);
}
