/* What is put on record about a connection. */
#include <stdio.h>
#include <string.h>

#include "egress/conn/conn.h"
#include "egress/conn/line.h"
#include "egress/state.h"

#include "base/banned.h"

static const char *proto_of(const struct conn *conn)
{
	if (conn->rule)
		return net_proto_name(conn->rule->proto);
	return conn->mode ? conn->mode->name : "tcp";
}

#define COPY(field, text) (void)snprintf(field, sizeof(field), "%s", text)

void conn_record_init(const struct conn *conn, enum control_event event, struct control_record *ret_record)
{
	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->conn = conn->id;
	ret_record->pid = conn->pid;
	ret_record->event = (uint8_t)event;
	ret_record->port = conn->port;
	ret_record->count = 1;
	COPY(ret_record->host, conn->host);
	COPY(ret_record->proto, proto_of(conn));
	COPY(ret_record->sni, conn->sni);
	COPY(ret_record->alpn, conn->alpn);
	if (conn->rule)
		COPY(ret_record->rule, conn->rule->label);
}

void conn_record(struct conn *conn, struct control_record *record,
		 void (*answer)(struct conn *conn, void *ctx, int error), void *ctx, uint64_t *ret_id)
{
	/* An error means that there is no supervisor any more or no memory: both end the process, and with it what waits. */
	if (line_record(conn->egress->line, record, conn, answer, ctx, ret_id) < 0 && ret_id)
		*ret_id = 0;
}

void conn_forget(struct conn *conn, void *ctx)
{
	line_forget(conn->egress->line, conn, ctx);
}

void conn_record_done(struct conn *conn, uint64_t id, const struct control_done *done)
{
	struct control_message message = {.version = CONTROL_VERSION, .type = CONTROL_DONE, .done = *done};

	message.done.id = id;
	(void)line_send(conn->egress->line, &message); /* without a supervisor the process ends */
}
