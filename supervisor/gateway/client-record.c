/*
 * Records that egress asks for. It is believed nothing that can be known here: which connections there are, where they may
 * lead, in which order things happen to them. What is wrong with it gives it up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/gateway/client-private.h"
#include "syscalls/account/denials.h"

#include "base/banned.h"

#define NS_PER_US 1000u

static const char *const event_name[CONTROL_EVENT_MAX] = {
	[CONTROL_EVENT_OPEN] = "open", [CONTROL_EVENT_REQUEST] = "request", [CONTROL_EVENT_CLOSE] = "close",
	[CONTROL_EVENT_DNS] = "dns"};

/* Words of egress' own, never bytes of a program's or a server's. */
static bool is_code(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_./-")] == '\0';
}

/*
 * What was granted and failed outside is no denial: the verdict is allow, as of a call that fails. Egress says in either case
 * that nothing was done.
 */
static bool has_failed(const struct control_record *record)
{
	static const char *const codes[] = {"connect_failed", "dns_fail", "failed", "not_recorded"};

	for (size_t i = 0; !record->allow && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(record->reason, codes[i]) == 0)
			return true;
	return false;
}

static bool is_denied(const struct control_record *record)
{
	return !record->allow && !has_failed(record);
}

/* A proxy's destination is known by its records alone. */
static bool is_proxy(const struct conn_entry *conn)
{
	return conn->host[0] == '\0';
}

static bool is_destination(const struct egress_client *client, const struct conn_entry *conn, const struct control_record *record)
{
	if (is_proxy(conn))
		return policy_net_connect(client->sandbox->policy, record->host, record->port, false).allow;
	return strcmp(record->host, conn->host) == 0 && record->port == conn->port;
}

/* conn: NULL when it is not known. */
static bool is_in_order(const struct egress_client *client, const struct conn_entry *conn, const struct control_record *record)
{
	if (record->id <= client->last_record || !is_code(record->reason) || !is_code(record->cause) || !is_code(record->proto))
		return false;
	if (record->event == CONTROL_EVENT_DNS)
		return record->conn == 0;
	if (!conn)
		return false;
	if (!record->allow)
		return true;
	if (record->event == CONTROL_EVENT_OPEN) /* once more after each HTTP request with a body, so not before one */
		return (is_proxy(conn) || !conn->opened || conn->listed) && is_destination(client, conn, record);
	return record->event != CONTROL_EVENT_REQUEST || (conn->opened && is_destination(client, conn, record));
}

static struct audit_net net_of(const struct conn_entry *conn, const struct control_record *record)
{
	struct audit_net net = {
		.event = event_name[record->event], .conn = record->conn, .port = record->port, .status = record->status,
		.count = record->count, .host = record->host, .proto = record->proto, .real = record->real,
		.dropped = record->dropped, .sni = record->sni, .alpn = record->alpn, .method = record->method,
		.path = record->path, .credential = record->credential, .cause = record->cause,
		.truncated = record->truncated != 0, .has_bytes = record->event == CONTROL_EVENT_CLOSE,
		.bytes_up = record->bytes_up, .bytes_down = record->bytes_down, .dns_us = record->dns_us,
		.connect_us = record->connect_us, .duration_us = record->duration_us};

	if (conn && record->event == CONTROL_EVENT_OPEN)
		net.address = conn->address;
	return net;
}

static int write_record(const struct egress_client *client, const struct conn_entry *conn, const struct control_record *record,
			struct audit_slot *ret_slot)
{
	const struct audit_net net = net_of(conn, record);
	const struct audit_record line = {.pid = conn ? conn->pid : 0, .tid = conn ? conn->pid : 0,
					  .ppid = conn ? conn->ppid : 0, .host_pid = conn ? conn->host_pid : 0,
					  .exe = conn && conn->exe[0] ? conn->exe : NULL,
					  .verdict = is_denied(record) ? VERDICT_DENY : VERDICT_ALLOW,
					  .effect = is_denied(record) ? AUDIT_REFUSED : AUDIT_PERFORMED,
					  .rule = record->rule[0] ? record->rule : NULL,
					  .reason = record->reason[0] ? record->reason : NULL, .net = &net};

	return audit_begin(client->sandbox->audit, &line, ret_slot);
}

/* ---- the result ---- */

/* A flood of names is one record, with the last of them. */
static bool stands_for_others(const struct control_record *record)
{
	return record->event == CONTROL_EVENT_DNS && strcmp(record->reason, "rate_limited") == 0;
}

static void list(struct egress_client *client, const struct control_record *record)
{
	/* Of a name's question the type is no method. */
	const char *method = record->event == CONTROL_EVENT_DNS ? "" : record->method;
	const struct network_item item = {.host = stands_for_others(record) ? "" : record->host, .method = method, .path = record->path,
					  .rule = record->rule, .reason = record->reason, .port = record->port,
					  .status = record->status, .allow = !is_denied(record), .bytes_up = record->bytes_up,
					  .bytes_down = record->bytes_down, .count = record->count ? record->count : 1};

	network_add(client->network, &item);
}

/* "GET https://api.test:443/x", "api.test:443", "api.test". */
static void put_target(char *text, size_t size, const struct control_record *record)
{
	bool v6 = strchr(record->host, ':') != NULL;
	const char *open = v6 ? "[" : "", *shut = v6 ? "]" : "";

	if (record->event == CONTROL_EVENT_REQUEST)
		(void)snprintf(text, size, "%s %s%s%s:%u%s", record->method, open, record->host, shut, record->port, record->path);
	else if (record->port)
		(void)snprintf(text, size, "%s%s%s:%u", open, record->host, shut, record->port);
	else
		(void)snprintf(text, size, "%s", stands_for_others(record) ? "(further names)" : record->host);
}

/* The option that would grant it, where one would. */
static bool put_suggestion(char *text, size_t size, const struct control_record *record, const char *target)
{
	static const char *const codes[] = {"no_rule", "port_not_granted", "method_not_granted", "path_not_granted"};
	bool grantable = false;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		grantable = grantable || strcmp(record->reason, codes[i]) == 0;
	if (!grantable || strpbrk(target, "'\n*"))
		return false;
	if (record->event == CONTROL_EVENT_REQUEST)
		(void)snprintf(text, size, "--allow '%s'", target);
	else
		(void)snprintf(text, size, "--allow-host %s%s", target, record->port ? "" : ":443");
	return true;
}

static void deny(struct egress_client *client, const struct conn_entry *conn, const struct control_record *record,
		 struct audit_slot slot)
{
	char target[NET_METHOD_MAX + NET_HOST_MAX + NET_PATH_MAX + 16], suggestion[sizeof(target) + 32];
	char rule[sizeof(record->rule)], reason[sizeof(record->reason)], op[] = "";
	struct denial item = {.seq = slot.seq, .event = event_name[record->event], .op = "net", .target = target,
			      .exe = conn ? conn->exe : op, .pid = conn ? conn->pid : 0,
			      .host_pid = conn ? conn->host_pid : 0, .count = record->count ? record->count : 1};

	put_target(target, sizeof(target), record);
	memcpy(rule, record->rule, sizeof(rule));
	memcpy(reason, record->reason, sizeof(reason));
	item.rule = rule[0] ? rule : NULL;
	item.reason = reason;
	if (put_suggestion(suggestion, sizeof(suggestion), record, target))
		item.suggest = suggestion;
	denials_add_event(client->sandbox->denials, &item);
	client->denied += item.count;
}

/* ---- one after the other ---- */

/* What the program got is not known here but for what egress says: a response's status, or a refusal. */
static int64_t outcome_of(const struct control_record *record)
{
	if (record->status)
		return record->status;
	if (record->allow || record->event == CONTROL_EVENT_CLOSE)
		return 0;
	if (record->error < 0 && record->error >= -ERRNO_MAX)
		return record->error;
	return record->event == CONTROL_EVENT_DNS ? -ENOENT : -ECONNREFUSED;
}

static uint64_t took_ns(const struct control_record *record)
{
	return (record->event == CONTROL_EVENT_OPEN ? record->dns_us + record->connect_us : record->duration_us) * NS_PER_US;
}

static void end_request(struct egress_client *client, struct request_entry *request, const struct control_done *done)
{
	const struct network_item item = {.host = request->host, .method = request->method, .path = request->path,
					  .rule = request->rule, .reason = done->result < 0 ? "no_response" : "granted",
					  .port = request->port, .status = done->result > 0 ? (unsigned)done->result : 0,
					  .allow = true, .bytes_up = done->bytes_up, .bytes_down = done->bytes_down, .count = 1};

	audit_end(client->sandbox->audit, request->slot, done->result, done->duration_us * NS_PER_US);
	network_add(client->network, &item);
	conns_remove_request(&client->conns, request);
}

int client_done(struct egress_client *client, const struct control_done *done)
{
	struct request_entry *request = conns_find_request(&client->conns, done->id);

	if (!request || done->result < -ERRNO_MAX || done->result > 999)
		return -EBADMSG;
	end_request(client, request, done);
	return 0;
}

static void end_requests(struct egress_client *client, struct conn_entry *conn)
{
	struct control_done done = {.result = -ECONNABORTED};

	while (conn->requests)
		end_request(client, conn->requests, &done);
}

/* A connection without requests is listed itself, by what it moved. */
static void close_conn(struct egress_client *client, struct conn_entry *conn, const struct control_record *record)
{
	struct control_record whole = *record;

	end_requests(client, conn);
	if (conn->rule)
		usage_close(client->usage, conn->rule, record->bytes_up, record->bytes_down);
	if (!conn->listed) {
		if (!whole.rule[0] && conn->rule)
			(void)snprintf(whole.rule, sizeof(whole.rule), "%s", conn->rule);
		if (!whole.reason[0] && conn->opened)
			(void)snprintf(whole.reason, sizeof(whole.reason), "granted");
		list(client, &whole);
	}
	conns_remove(&client->conns, conn);
}

static int answer(struct egress_client *client, const struct control_record *record, int error)
{
	const struct control_message ack = {.version = CONTROL_VERSION, .type = CONTROL_ACK,
					    .ack = {.id = record->id, .error = error}};

	return record->wants_ack ? client_send(client, &ack) : 0;
}

static int take_open(struct egress_client *client, struct conn_entry *conn, const struct control_record *record)
{
	char *rule = strdup(record->rule);

	if (!rule)
		return -ENOMEM;
	if (conn->rule) /* the upstream connection before */
		usage_close(client->usage, conn->rule, 0, 0);
	usage_open(client->usage, rule);
	free(conn->rule);
	conn->rule = rule;
	conn->opened = true;
	return 0;
}

/* The close of a connection says why once more. */
static bool is_told_again(const struct conn_entry *conn, const struct control_record *record)
{
	return conn && record->event == CONTROL_EVENT_CLOSE && strcmp(conn->denied, record->reason) == 0;
}

/* After it is on file. 0 or -errno: it must not be done. */
static int take(struct egress_client *client, struct conn_entry *conn, const struct control_record *record, struct audit_slot slot)
{
	struct request_entry *request;
	int r = 0;

	if (conn && record->event == CONTROL_EVENT_REQUEST && record->allow) {
		conn->listed = true;
		r = conns_add_request(&client->conns, conn, record, &request);
		if (r == 0) {
			request->slot = slot;
			usage_request(client->usage, record->rule);
			return 0; /* DONE tells its outcome */
		}
	} else if (conn && record->event == CONTROL_EVENT_OPEN && record->allow) {
		r = take_open(client, conn, record);
	} else if (!record->allow && !is_told_again(conn, record)) {
		if (is_denied(record)) {
			deny(client, conn, record, slot);
			usage_hit(client->usage, record->rule[0] || !conn || !conn->rule ? record->rule : conn->rule, record);
		}
		list(client, record);
		if (conn) {
			conn->listed = true;
			memcpy(conn->denied, record->reason, sizeof(conn->denied));
		}
	}
	audit_end(client->sandbox->audit, slot, r < 0 ? r : outcome_of(record), took_ns(record));
	return r;
}

static void advise(struct egress_client *client, const struct control_record *record)
{
	if (strcmp(record->reason, "client_rejected_ca") == 0 || strcmp(record->cause, "client_rejected_ca") == 0)
		network_advise(client->network, record->host, "client_rejected_ca");
}

int client_record(struct egress_client *client, const struct control_record *record)
{
	struct conn_entry *conn = record->conn ? conns_find(&client->conns, record->conn) : NULL;
	struct audit_slot slot = {0};
	int r;

	if (!is_in_order(client, conn, record))
		return -EBADMSG;
	client->last_record = record->id;
	if (client->ending && record->wants_ack)
		return answer(client, record, -ESHUTDOWN);
	r = write_record(client, conn, record, &slot);
	if (r == 0)
		r = take(client, conn, record, slot);
	advise(client, record);
	if (conn && record->event == CONTROL_EVENT_CLOSE)
		close_conn(client, conn, record);
	return answer(client, record, r);
}

void client_close(struct egress_client *client, struct conn_entry *conn, const char *cause)
{
	struct control_record record = {.conn = conn->id, .event = CONTROL_EVENT_CLOSE, .allow = 1, .port = conn->port, .count = 1};
	struct audit_slot slot;

	memcpy(record.host, conn->host, sizeof(record.host));
	(void)snprintf(record.cause, sizeof(record.cause), "%s", cause);
	if (write_record(client, conn, &record, &slot) == 0)
		audit_end(client->sandbox->audit, slot, 0, 0);
	close_conn(client, conn, &record);
}
