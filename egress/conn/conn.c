#include "egress/conn/conn.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "egress/conn/line.h"
#include "egress/state.h"

void conn_pump_mode(struct conn *conn)
{
	if (conn->is_closed || !conn->mode)
		return;
	if (line_queue_is_full(conn->egress->line)) { /* any further step may need to send a record */
		conn->waits_for_control_line = true;
		channel_set_events(&conn->client, false, false);
		channel_set_events(&conn->upstream, false, false);
		return;
	}
	conn->mode->pump(conn);
}

static void conn_on_socket_ready(struct conn *conn)
{
	conn->active_ns = loop_get_now_ns(conn->egress->loop);
	conn_pump_mode(conn);
}

static void conn_on_client_ready(struct watch *watch)
{
	conn_on_socket_ready(container_of(watch, struct conn, client.watch));
}

static void conn_on_upstream_ready(struct watch *watch)
{
	conn_on_socket_ready(container_of(watch, struct conn, upstream.watch));
}

/* The phase's timer has expired: closes the connection, or waits on if the deadline has moved. */
static void conn_on_phase_timeout(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, phase_timer);
	uint64_t now_ns = loop_get_now_ns(conn->egress->loop);

	if (now_ns < conn->phase_deadline_ns)
		loop_set_timer(conn->egress->loop, timer, (conn->phase_deadline_ns - now_ns) / NS_PER_MS + 1);
	else
		conn_close(conn, conn->timeout_cause, NULL, true);
}

/*
 * A later deadline is only stored, because every transfer calls this: conn_on_phase_timeout then sets the timer again.
 */
void conn_set_phase_timeout(struct conn *conn, uint64_t ms, const char *cause)
{
	if (conn->waiting_request_count)
		return;
	conn->phase_deadline_ns = loop_get_now_ns(conn->egress->loop) + ms * NS_PER_MS;
	conn->timeout_cause = cause;
	if (!conn->phase_timer.due_ns || conn->phase_timer.due_ns > conn->phase_deadline_ns)
		loop_set_timer(conn->egress->loop, &conn->phase_timer, ms);
}

void conn_stop_phase_timeout(struct conn *conn)
{
	loop_clear_timer(conn->egress->loop, &conn->phase_timer);
}

static void conn_on_pump_due(struct timer *timer)
{
	conn_pump_mode(container_of(timer, struct conn, pump_timer));
}

/* Lets the connection's mode move bytes again after `ms` milliseconds. */
void conn_pump_mode_after(struct conn *conn, uint64_t ms)
{
	loop_set_timer(conn->egress->loop, &conn->pump_timer, ms);
}

ssize_t conn_read_bytes(struct conn *conn, bool up, void *data, size_t cap, uint64_t *ret_wait_ms)
{
	uint64_t wait_ms = 0;
	size_t room = budget_get_allowed_bytes(&conn->use, up, cap, loop_get_now_ns(conn->egress->loop), &wait_ms);
	bool spent = !room && wait_ms == UINT64_MAX;
	ssize_t got;

	if (!room && !spent) {
		*ret_wait_ms = wait_ms;
		return -EBUSY;
	}
	/* With the budget spent, the connection ends at one byte more than the budget, not at exactly the budget. */
	got = channel_read(up ? &conn->client : &conn->upstream, data, spent ? 1 : room);
	if (got > 0 && spent)
		return -EDQUOT;
	if (got > 0)
		budget_spend_bytes(&conn->use, up, (size_t)got);
	return got;
}

/* Releases the state of the mode, and stops its timers. */
static void conn_leave_mode(struct conn *conn)
{
	if (conn->state && conn->mode->done)
		conn->mode->done(conn);
	free(conn->state);
	conn->mode = NULL;
	conn->state = NULL;
	loop_clear_timer(conn->egress->loop, &conn->phase_timer);
	loop_clear_timer(conn->egress->loop, &conn->pump_timer);
}

void conn_switch_mode(struct conn *conn, enum conn_mode_id id)
{
	const struct conn_mode *mode = conn->modes[id];

	conn_leave_mode(conn);
	conn->mode = mode;
	if (mode->state_size && !(conn->state = calloc(1, mode->state_size))) {
		conn_close(conn, "no_memory", NULL, true);
		return;
	}
	if (mode->first_timeout_ms)
		conn_set_phase_timeout(conn, mode->first_timeout_ms, mode->first_timeout_cause);
	conn_pump_mode(conn);
}

void conn_start_first_mode(struct conn *conn)
{
	const struct net_rule *rule = conn->rule;

	if (!rule)
		conn_switch_mode(conn, conn->port == CONTROL_PORT_SOCKS ? CONN_MODE_SOCKS : CONN_MODE_PROXY);
	else
		conn_switch_mode(conn, rule->proto == NET_HTTP    ? CONN_MODE_HTTP1
				       : rule->proto == NET_HTTPS ? CONN_MODE_HELLO
								  : CONN_MODE_RELAY);
}

struct conn *conn_create(struct egress *egress, const struct control_connect *connect,
			 const struct conn_mode *const *modes)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->egress = egress;
	conn->modes = modes;
	conn->id = connect->conn_id;
	conn->pid = connect->pid;
	conn->port = connect->port;
	conn->source_port = connect->source_port;
	conn->address_family = connect->family;
	conn->was_answered = connect->was_answered && connect->host[0];
	LINE_COPY_TEXT(conn->host, connect->host);
	conn->client.watch.fd = conn->upstream.watch.fd = conn->upstream_dial_result.fd = -1;
	conn->client.loop = conn->upstream.loop = egress->loop;
	conn->phase_timer.fire = conn_on_phase_timeout;
	conn->pump_timer.fire = conn_on_pump_due;
	conn->start_ns = conn->active_ns = loop_get_now_ns(egress->loop);
	conn->next = egress->conns;
	if (conn->next)
		conn->next->slot = &conn->next;
	conn->slot = &egress->conns;
	egress->conns = egress->expected[conn->source_port] = conn;
	egress->conns_count++;
	return conn;
}

/* No longer expects the connection's socket: another connection with the same source port may be announced. */
static void conn_stop_expecting_socket(struct conn *conn)
{
	struct conn **expected = &conn->egress->expected[conn->source_port];

	if (*expected == conn)
		*expected = NULL;
}

void conn_set_accepted_socket(struct conn *conn, int fd)
{
	conn_stop_expecting_socket(conn);
	conn->client_was_accepted = true;
	conn->active_ns = loop_get_now_ns(conn->egress->loop);
	channel_init(&conn->client, conn->egress->loop, fd, conn_on_client_ready);
	if (conn->connected_was_sent)
		conn_start_first_mode(conn);
}

void conn_send_connected(struct conn *conn, int error)
{
	const struct control_message message = {.version = CONTROL_VERSION,
						.type = CONTROL_CONNECTED,
						.connected = {.conn_id = conn->id, .error = error}};

	if (conn->connected_was_sent)
		return;
	conn->connected_was_sent = true;
	(void)line_send_message(conn->egress->line, &message); /* if the control socket has failed, the process ends */
}

/* Frees a closed connection from the loop, when no other callback uses it any more. */
static void conn_on_free_due(struct timer *timer)
{
	free(container_of(timer, struct conn, refuse_or_free_timer));
}

/* Closes the connection to the server, and keeps its byte counts for the record. */
void conn_drop_upstream(struct conn *conn, bool abort)
{
	conn->bytes_up += conn->upstream.bytes_out;
	conn->bytes_down += conn->upstream.bytes_in;
	channel_close(&conn->upstream, abort);
	conn->upstream.bytes_out = conn->upstream.bytes_in = 0;
}

/* Records the end of the connection. cause, reason: static codes; reason NULL: no refusal. */
static void conn_write_close_record(struct conn *conn, const char *cause, const char *reason)
{
	struct control_record record;

	conn_init_record(conn, CONTROL_EVENT_CLOSE, &record);
	record.allow = reason == NULL;
	record.http_status = conn->http_status;
	record.bytes_up = conn->bytes_up;
	record.bytes_down = conn->bytes_down;
	record.duration_us = (loop_get_now_ns(conn->egress->loop) - conn->start_ns) / 1000;
	LINE_COPY_TEXT(record.close_cause, cause);
	LINE_COPY_TEXT(record.reason, reason);
	(void)line_send_record(conn->egress->line, &record, NULL, NULL, NULL); /* if it fails, the process ends */
}

void conn_close(struct conn *conn, const char *cause, const char *reason, bool abort)
{
	if (conn->is_closed)
		return;
	conn->is_closed = true;
	conn_leave_mode(conn);
	dial_cancel(conn->running_dial);
	line_forget_ack_callbacks(conn->egress->line, conn);
	budget_drop_connection(&conn->use);
	conn_drop_upstream(conn, abort);
	channel_close(&conn->client, abort);
	conn_send_connected(conn, -ECONNABORTED);
	conn_write_close_record(conn, cause, reason);
	conn_stop_expecting_socket(conn);
	*conn->slot = conn->next;
	if (conn->next)
		conn->next->slot = conn->slot;
	conn->egress->conns_count--;
	conn->refuse_or_free_timer.fire = conn_on_free_due;
	loop_set_timer(conn->egress->loop, &conn->refuse_or_free_timer, 0);
}

/* Fills in the record that tells of an opened connection. */
static void conn_init_open_record(const struct conn *conn, struct control_record *ret_record)
{
	conn_init_record(conn, CONTROL_EVENT_OPEN, ret_record);
	dial_fill_record(&conn->upstream_dial_result, conn->port, ret_record);
}

void conn_write_refusal_record(struct conn *conn, const char *reason)
{
	struct control_record record;

	conn_init_open_record(conn, &record);
	LINE_COPY_TEXT(record.reason, reason);
	(void)line_send_record(conn->egress->line, &record, NULL, NULL, NULL); /* if it fails, the process ends */
}

/* Tells the process that wanted the destination, such as a proxy's client, whether the upstream is connected. */
static void conn_report_open_result(struct conn *conn, int error, const char *reason)
{
	void (*answer)(struct conn *conn, int error, const char *reason) = conn->answer;

	conn->answer = NULL;
	answer(conn, error, reason);
}

/* Records that the destination is refused, drops its connection, and tells the mode or the program. */
static void conn_refuse_upstream(struct conn *conn, int error, const char *reason)
{
	conn_write_refusal_record(conn, reason);
	budget_drop_connection(&conn->use);
	conn_drop_upstream(conn, true);
	if (conn->mode) /* a connection to a proxy goes on, and has no destination for now */
		conn->rule = NULL;
	conn_report_open_result(conn, error, reason);
}

/* Reports the refusal that conn_refuse_upstream_later() kept. */
static void conn_on_delayed_refusal_due(struct timer *timer)
{
	struct conn *conn = container_of(timer, struct conn, refuse_or_free_timer);

	conn_refuse_upstream(conn, conn->upstream_dial_result.error, conn->upstream_dial_result.reason);
}

/* As conn_refuse_upstream(), but from the loop, after the caller has returned. */
static void conn_refuse_upstream_later(struct conn *conn, int error, const char *reason)
{
	conn->upstream_dial_result.error = error;
	conn->upstream_dial_result.reason = reason;
	conn->refuse_or_free_timer.fire = conn_on_delayed_refusal_due;
	loop_set_timer(conn->egress->loop, &conn->refuse_or_free_timer, 0);
}

/* The supervisor has recorded the connection, or could not (error): only a recorded one is used. */
static void conn_on_open_recorded(void *ctx, int error)
{
	struct conn *conn = ctx;

	if (error < 0) {
		budget_drop_connection(&conn->use);
		conn_drop_upstream(conn, true);
		conn_report_open_result(conn, -ENETDOWN, "not_recorded");
		return;
	}
	conn->open_record_written = true;
	conn_report_open_result(conn, 0, NULL);
}

/* The destination has been dialled: records the connection, which is used once that is acknowledged. */
static void conn_on_dialled(void *ctx, const struct dial_result *result)
{
	struct conn *conn = ctx;
	struct control_record record;

	conn->running_dial = NULL;
	conn->upstream_dial_result = *result;
	conn->upstream_dial_result.fd = -1;
	if (result->error < 0) {
		conn_refuse_upstream(conn, result->error, result->reason ? result->reason : "connect_failed");
		return;
	}
	channel_init(&conn->upstream, conn->egress->loop, result->fd, conn_on_upstream_ready);
	conn_init_open_record(conn, &record);
	record.allow = 1;
	LINE_COPY_TEXT(record.reason, "granted");
	if (line_send_record(conn->egress->line, &record, conn_on_open_recorded, conn, NULL) < 0)
		conn_refuse_upstream(conn, -ENETDOWN, "not_recorded");
}

void conn_open_upstream(struct conn *conn, const char *host, uint16_t port,
			void (*answer)(struct conn *conn, int error, const char *reason))
{
	const struct policy *policy = conn->egress->policy;
	struct net_verdict verdict = conn->was_answered ? policy_net_judge_answered_connect(policy, host, port, false)
							: policy_net_judge_connect(policy, host, port, false);

	if (conn->upstream.watch.fd >= 0)
		conn_drop_upstream(conn, false);
	budget_drop_connection(&conn->use);
	memset(&conn->upstream_dial_result, 0, sizeof(conn->upstream_dial_result));
	conn->upstream_dial_result.fd = -1;
	if (host != conn->host)
		LINE_COPY_TEXT(conn->host, host);
	conn->port = port;
	conn->rule = verdict.is_allowed ? verdict.rule : NULL;
	conn->answer = answer;
	if (!conn->rule) {
		conn_refuse_upstream_later(conn, -ECONNREFUSED, verdict.reason);
		return;
	}
	if (budget_add_connection(conn->egress->budgets, conn->rule, &conn->use) < 0) {
		conn_refuse_upstream_later(conn, -ECONNREFUSED, "cap_connections");
		return;
	}
	conn->running_dial = dial_start(conn->egress, conn->host, port, conn->rule, conn_on_dialled, conn);
	if (!conn->running_dial)
		conn_refuse_upstream_later(conn, -ENETDOWN, "no_memory");
}

void conn_init_record(const struct conn *conn, enum control_event event, struct control_record *ret_record)
{
	const char *proto = conn->rule ? net_proto_get_name(conn->rule->proto) : conn->mode ? conn->mode->name : "tcp";

	*ret_record = (struct control_record){
		.conn_id = conn->id, .pid = conn->pid, .event = (uint8_t)event, .port = conn->port, .refusal_count = 1};
	LINE_COPY_TEXT(ret_record->host, conn->host);
	LINE_COPY_TEXT(ret_record->proto, proto);
	LINE_COPY_TEXT(ret_record->sni, conn->sni);
	LINE_COPY_TEXT(ret_record->alpn, conn->alpn);
	if (conn->rule)
		LINE_COPY_TEXT(ret_record->rule, conn->rule->label);
}

void conn_record_request_outcome(struct conn *conn, uint64_t start_ns, struct control_request_done done)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_REQUEST_DONE, .done = done};

	message.done.duration_us = (loop_get_now_ns(conn->egress->loop) - start_ns) / 1000;
	(void)line_send_message(conn->egress->line, &message); /* if the control socket fails, the process ends */
}
