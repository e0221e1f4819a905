/* From a host and a port to an upstream that is on record. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "egress/conn/conn.h"
#include "egress/conn/line.h"
#include "egress/state.h"

#include "base/banned.h"

void conn_drop_upstream(struct conn *conn, bool abort)
{
	conn->bytes_up += conn->upstream.bytes_out;
	conn->bytes_down += conn->upstream.bytes_in;
	channel_done(&conn->upstream, abort);
	conn->upstream.bytes_out = conn->upstream.bytes_in = 0;
}

static void record_init(const struct conn *conn, struct control_record *ret_record)
{
	const struct dial_result *dialled = &conn->dialled;
	char text[NET_ADDRESS_TEXT];

	conn_record_init(conn, CONTROL_EVENT_OPEN, ret_record);
	ret_record->dns_us = dialled->dns_us;
	ret_record->connect_us = dialled->connect_us;
	(void)snprintf(ret_record->dropped, sizeof(ret_record->dropped), "%s", dialled->dropped);
	if (dialled->error < 0 || dialled->address.ss_family == AF_UNSPEC)
		return;
	net_address_text((const struct sockaddr *)&dialled->address, text);
	(void)snprintf(ret_record->real, sizeof(ret_record->real), strchr(text, ':') ? "[%s]:%u" : "%s:%u", text,
		       (unsigned)conn->port);
}

void conn_refuse_open(struct conn *conn, const char *reason)
{
	struct control_record record;

	record_init(conn, &record);
	(void)snprintf(record.reason, sizeof(record.reason), "%s", reason);
	(void)line_record(conn->egress->line, &record, conn, NULL, NULL, NULL); /* without a supervisor the process ends */
}

static void tell(struct conn *conn, int error, const char *reason)
{
	void (*answer)(struct conn *conn, int error, const char *reason) = conn->answer;

	conn->answer = NULL;
	answer(conn, error, reason);
}

/* Puts it on record, gives back what was taken for it, tells. */
static void refuse(struct conn *conn, int error, const char *reason)
{
	conn_refuse_open(conn, reason);
	budget_leave(&conn->use);
	conn_drop_upstream(conn, true);
	if (conn->mode) /* a proxy, which goes on and has no destination now */
		conn->rule = NULL;
	tell(conn, error, reason);
}

static void refuse_now(struct task_later *task)
{
	struct conn *conn = (struct conn *)((char *)task - offsetof(struct conn, later));

	conn->queued = false;
	refuse(conn, conn->refusal, conn->refusal_reason);
}

static void refuse_later(struct conn *conn, int error, const char *reason)
{
	conn->refusal = error;
	conn->refusal_reason = reason;
	conn->later.run = refuse_now;
	conn->queued = true;
	loop_later(conn->egress->loop, &conn->later);
}

static void on_record(struct conn *conn, void *ctx, int error)
{
	(void)ctx;
	if (error < 0) {
		budget_leave(&conn->use);
		conn_drop_upstream(conn, true);
		tell(conn, -ENETDOWN, "not_recorded");
		return;
	}
	conn->opened = true;
	tell(conn, 0, NULL);
}

static void dialled(void *ctx, const struct dial_result *result)
{
	struct conn *conn = ctx;
	struct control_record record;

	conn->dial = NULL;
	conn->dialled = *result;
	conn->dialled.fd = -1;
	if (result->error < 0) {
		refuse(conn, result->error, result->reason ? result->reason : "connect_failed");
		return;
	}
	if (channel_init(&conn->upstream, conn->egress->loop, result->fd, conn_upstream_ready) < 0) {
		(void)close(result->fd);
		conn->upstream.watch.fd = -1;
		refuse(conn, -ENETDOWN, "failed");
		return;
	}
	record_init(conn, &record);
	record.allow = 1;
	(void)snprintf(record.reason, sizeof(record.reason), "granted");
	if (line_record(conn->egress->line, &record, conn, on_record, conn, NULL) < 0)
		refuse(conn, -ENETDOWN, "not_recorded");
}

void conn_open(struct conn *conn, const char *host, uint16_t port,
	       void (*answer)(struct conn *conn, int error, const char *reason))
{
	struct net_verdict verdict = policy_net_connect(conn->egress->policy, host, port, false);

	if (conn->upstream.watch.fd >= 0)
		conn_drop_upstream(conn, false);
	budget_leave(&conn->use);
	memset(&conn->dialled, 0, sizeof(conn->dialled));
	conn->dialled.fd = -1;
	if (host != conn->host)
		(void)snprintf(conn->host, sizeof(conn->host), "%s", host);
	conn->port = port;
	conn->rule = verdict.allow ? verdict.rule : NULL;
	conn->answer = answer;
	if (!conn->rule) {
		refuse_later(conn, -ECONNREFUSED, verdict.reason);
		return;
	}
	if (budget_join(conn->egress->budgets, conn->rule, &conn->use) < 0) {
		refuse_later(conn, -ECONNREFUSED, "cap_connections");
		return;
	}
	conn->dial = dial_start(conn->egress, conn->host, port, conn->rule, dialled, conn);
	if (!conn->dial)
		refuse_later(conn, -ENETDOWN, "no_memory");
}
