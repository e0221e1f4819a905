#include "egress/conn/conn.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/conn/line.h"
#include "egress/conn/table.h"
#include "egress/state.h"

#include "base/banned.h"

#define NS_PER_MS 1000000u

#define CONN_OF(pointer, member) ((struct conn *)((char *)(pointer)-offsetof(struct conn, member)))

/* ---- what wakes it ---- */

void conn_pump(struct conn *conn)
{
	if (conn->closed || !conn->mode)
		return;
	if (line_full(conn->egress->line)) { /* whatever it does next may have to be told */
		conn->stalled = true;
		channel_wait(&conn->client, false, false);
		channel_wait(&conn->upstream, false, false);
		return;
	}
	conn->mode->pump(conn);
}

static void client_ready(struct watch *watch, unsigned events)
{
	struct conn *conn = CONN_OF(watch, client.watch);

	(void)events; /* reading and writing tell what it was */
	conn->active_ns = loop_now_ns(conn->egress->loop);
	conn_pump(conn);
}

void conn_upstream_ready(struct watch *watch, unsigned events)
{
	struct conn *conn = CONN_OF(watch, upstream.watch);

	(void)events;
	conn->active_ns = loop_now_ns(conn->egress->loop);
	conn_pump(conn);
}

static void timed_out(struct timer *timer)
{
	struct conn *conn = CONN_OF(timer, timer);
	uint64_t now_ns = loop_now_ns(conn->egress->loop);

	if (now_ns < conn->deadline_ns)
		(void)loop_timer_set(conn->egress->loop, timer, (conn->deadline_ns - now_ns) / NS_PER_MS + 1);
	else
		conn_close(conn, conn->timeout_cause, NULL, true);
}

/*
 * Put off again and again by what moves bytes: that only writes the deadline down. Without memory for a timer there is no
 * time limit, which no rule depends on.
 */
void conn_timer(struct conn *conn, uint64_t ms, const char *cause)
{
	conn->deadline_ns = loop_now_ns(conn->egress->loop) + ms * NS_PER_MS;
	conn->timeout_cause = cause;
	if (!conn->timer.due_ns || conn->timer.due_ns > conn->deadline_ns)
		(void)loop_timer_set(conn->egress->loop, &conn->timer, ms);
}

static void again(struct timer *timer)
{
	conn_pump(CONN_OF(timer, again));
}

void conn_pump_after(struct conn *conn, uint64_t ms)
{
	(void)loop_timer_set(conn->egress->loop, &conn->again, ms);
}

/* ---- its life ---- */

static void leave_mode(struct conn *conn)
{
	if (conn->mode && conn->mode->done)
		conn->mode->done(conn);
	conn->mode = NULL;
	conn->state = NULL;
	loop_timer_clear(conn->egress->loop, &conn->timer);
	loop_timer_clear(conn->egress->loop, &conn->again);
}

void conn_switch(struct conn *conn, const struct conn_mode *mode)
{
	leave_mode(conn);
	conn->mode = mode;
	conn_pump(conn);
}

void conn_begin(struct conn *conn)
{
	if (!conn->rule)
		conn_switch(conn, conn->port == CONTROL_PORT_SOCKS ? &mode_socks : &mode_proxy);
	else if (conn->rule->proto == NET_HTTP)
		conn_switch(conn, &mode_http1);
	else if (conn->rule->proto == NET_HTTPS)
		conn_switch(conn, &mode_hello);
	else
		conn_switch(conn, &mode_relay);
}

static void send_connected(struct conn *conn, int error)
{
	const struct control_message message = {.version = CONTROL_VERSION,
						.type = CONTROL_CONNECTED,
						.connected = {.conn = conn->id, .error = error}};

	if (conn->answered)
		return;
	conn->answered = true;
	(void)line_send(conn->egress->line, &message); /* without a supervisor the process ends */
}

/* conn_open's answer for a connection announced with its destination. */
static void announced(struct conn *conn, int error, const char *reason)
{
	send_connected(conn, error);
	if (error < 0)
		conn_close(conn, "refused", reason, true);
	else if (conn->arrived)
		conn_begin(conn);
	else
		conn_timer(conn, CONN_ARRIVE_MS, "cancelled");
}

struct oldest {
	struct conn *conn;
	uint64_t active_ns;
};

static void look_for_oldest(struct conn *conn, void *ctx)
{
	struct oldest *oldest = ctx;

	if (conn->arrived && conn->active_ns < oldest->active_ns)
		*oldest = (struct oldest){.conn = conn, .active_ns = conn->active_ns};
}

/* A program that keeps thousands of connections idle shall not keep itself from opening one more. */
static bool make_room(struct egress *egress)
{
	uint64_t now_ns = loop_now_ns(egress->loop);
	struct oldest oldest = {.active_ns = now_ns - CONN_EVICT_MS * (uint64_t)NS_PER_MS};

	if (conn_table_count(egress->conns) < egress->conns_max)
		return true;
	conn_table_each(egress->conns, look_for_oldest, &oldest);
	if (oldest.conn)
		conn_close(oldest.conn, "evicted", NULL, true);
	return oldest.conn != NULL;
}

static struct conn *conn_create(struct egress *egress, const struct control_connect *connect)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->egress = egress;
	conn->id = connect->conn;
	conn->pid = connect->pid;
	conn->port = connect->port;
	conn->source_port = connect->source_port;
	conn->family = connect->family;
	(void)snprintf(conn->host, sizeof(conn->host), "%s", connect->host);
	conn->client.watch.fd = conn->upstream.watch.fd = conn->dialled.fd = -1;
	conn->client.loop = conn->upstream.loop = egress->loop;
	conn->timer.fire = timed_out;
	conn->again.fire = again;
	conn->start_ns = conn->active_ns = loop_now_ns(egress->loop);
	conn_table_add(egress->conns, conn);
	conn_table_expect(egress->conns, conn);
	return conn;
}

void conn_announce(struct egress *egress, const struct control_connect *connect)
{
	bool room = !egress->ending && make_room(egress);
	struct conn *former = conn_table_expected(egress->conns, connect->source_port);
	struct conn *conn;

	if (former) /* its socket is gone, or the port could not be another's now */
		conn_close(former, "cancelled", NULL, true);
	conn = conn_create(egress, connect);
	if (!conn) { /* the supervisor waits for an answer that cannot be given in good order */
		line_fail(egress->line);
		return;
	}
	if (!room) {
		conn_refuse_open(conn, egress->ending ? "ending" : "too_many_connections");
		announced(conn, -ECONNREFUSED, egress->ending ? "ending" : "too_many_connections");
	} else if (conn->host[0]) {
		conn_open(conn, connect->host, connect->port, announced);
	} else {
		announced(conn, 0, NULL);
	}
}

void conn_arrive(struct conn *conn, int fd)
{
	conn_table_arrived(conn->egress->conns, conn);
	conn->arrived = true;
	conn->active_ns = loop_now_ns(conn->egress->loop);
	if (channel_init(&conn->client, conn->egress->loop, fd, client_ready) < 0) {
		(void)close(fd);
		conn->client.watch.fd = -1;
		conn_close(conn, "failed", NULL, true);
		return;
	}
	if (conn->answered)
		conn_begin(conn);
}

void conn_cancel(struct conn *conn)
{
	if (!conn->arrived)
		conn_close(conn, "cancelled", NULL, true);
}

void conn_set_status(struct conn *conn, unsigned status)
{
	conn->status = status;
}

static void release(struct task_later *task)
{
	free(CONN_OF(task, later));
}

static void record_close(struct conn *conn, const char *cause, const char *reason)
{
	struct control_record record;

	conn_record_init(conn, CONTROL_EVENT_CLOSE, &record);
	record.allow = reason == NULL;
	record.status = conn->status;
	record.bytes_up = conn->bytes_up;
	record.bytes_down = conn->bytes_down;
	record.duration_us = (loop_now_ns(conn->egress->loop) - conn->start_ns) / 1000;
	(void)snprintf(record.cause, sizeof(record.cause), "%s", cause);
	(void)snprintf(record.reason, sizeof(record.reason), "%s", reason ? reason : "");
	(void)line_record(conn->egress->line, &record, conn, NULL, NULL, NULL); /* as for send_connected */
}

void conn_close(struct conn *conn, const char *cause, const char *reason, bool abort)
{
	if (conn->closed)
		return;
	conn->closed = true;
	leave_mode(conn);
	if (conn->dial)
		dial_cancel(conn->dial);
	line_forget(conn->egress->line, conn, NULL);
	budget_leave(&conn->use);
	conn_drop_upstream(conn, abort);
	channel_done(&conn->client, abort);
	send_connected(conn, -ECONNABORTED);
	record_close(conn, cause, reason);
	conn_table_remove(conn->egress->conns, conn);
	conn->later.run = release;
	if (!conn->queued)
		loop_later(conn->egress->loop, &conn->later);
}
