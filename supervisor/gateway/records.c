/*
 * The records that egress asks for. Each is checked: its connection must exist, may lead to that destination, and may
 * have that event now. A wrong record ends the run's network.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/times.h"
#include "policy/paths/suggest.h"
#include "supervisor/gateway/private.h"
#include "supervisor/on-deny.h"
#include "syscalls/account/result/denials.h"

static const enum audit_event record_event[CONTROL_EVENT_MAX] = {[CONTROL_EVENT_OPEN] = AUDIT_EVENT_OPEN,
								 [CONTROL_EVENT_REQUEST] = AUDIT_EVENT_REQUEST,
								 [CONTROL_EVENT_CLOSE] = AUDIT_EVENT_CLOSE,
								 [CONTROL_EVENT_DNS] = AUDIT_EVENT_DNS};

/* Whether a text has only the characters of egress' codes, so that the program or a server cannot have written it. */
static bool record_text_is_code_word(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_./-")] == '\0';
}

/* Whether a granted connect failed outside, which is not a denial. Egress sends allow = 0 for both. */
static bool record_has_failed(const struct control_record *record)
{
	static const char *const codes[] = {"connect_failed", "dns_fail", "failed", "not_recorded"};

	for (size_t i = 0; !record->allow && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(record->reason, codes[i]) == 0)
			return true;
	return false;
}

static bool record_is_denied(const struct control_record *record)
{
	return !record->allow && !record_has_failed(record);
}

/* Whether egress names the destination that its connection was announced with. */
static bool connection_is_to(const struct egress_client *client, const struct connection *conn, const char *host,
			     unsigned port)
{
	if (connection_is_proxy(conn))
		return policy_net_judge_connect(client->sandbox->policy, host, port, false).is_allowed;
	return strcmp(host, conn->host) == 0 && port == conn->port;
}

/* Which step of a connection egress reports by a record. */
static enum connection_step record_get_connection_step(const struct control_record *record)
{
	if (record->event == CONTROL_EVENT_DNS)
		return STEP_NAME_REFUSED;
	if (record->event == CONTROL_EVENT_CLOSE)
		return STEP_LAST_RECORD;
	if (!record->allow)
		return STEP_CONNECTION_REFUSED;
	return record->event == CONTROL_EVENT_OPEN ? STEP_UPSTREAM_GRANTED : STEP_REQUEST_GRANTED;
}

/* Whether egress may ask for this record now. conn NULL: the connection is unknown. */
static bool record_is_permitted_now(const struct egress_client *client, const struct connection *conn,
				const struct control_record *record)
{
	enum connection_step step = record_get_connection_step(record);

	if (record->id <= client->last_record_id)
		return false;
	if (!record_text_is_code_word(record->reason) || !record_text_is_code_word(record->close_cause) ||
	    !record_text_is_code_word(record->proto))
		return false;
	if (step == STEP_NAME_REFUSED && record->conn_id != 0)
		return false;
	return connection_permits_step(conn, step) &&
	       (!connection_step_names_destination(step) ||
		(conn && connection_is_to(client, conn, record->host, record->port)));
}

static struct audit_net record_make_audit_net(const struct connection *conn, const struct control_record *record)
{
	struct audit_net net = {.event_name = audit_event_get_name(record_event[record->event]),
				.conn_id = record->conn_id,
				.port = record->port,
				.http_status = record->http_status,
				.refusal_count = record->refusal_count,
				.host = record->host,
				.proto = record->proto,
				.real = record->real_address,
				.dropped = record->addresses_not_dialled,
				.sni = record->sni,
				.alpn = record->alpn,
				.method = record->method,
				.path = record->path,
				.credential = record->credential_names,
				.cause = record->close_cause,
				.path_is_truncated = record->path_is_truncated != 0,
				.has_byte_counts = record->event == CONTROL_EVENT_CLOSE,
				.bytes_up = record->bytes_up,
				.bytes_down = record->bytes_down,
				.dns_us = record->dns_us,
				.connect_us = record->connect_us,
				.duration_us = record->duration_us};

	if (conn && record->event == CONTROL_EVENT_OPEN)
		net.address = conn->address;
	return net;
}

/*
 * What the judged policy says of a connection or request that egress allows: --mode observe. Judged here, because
 * egress has the observing policy only. `error` is 0 if the judged policy denies nothing.
 */
static struct policy_observed_denial record_judge_by_judged_policy(const struct egress_client *client,
							    const struct control_record *record)
{
	const struct policy *policy = client->sandbox->policy;
	const bool request = record->event == CONTROL_EVENT_REQUEST;
	char path[NET_PATH_SIZE];

	if (!record->allow || (!request && record->event != CONTROL_EVENT_OPEN))
		return (struct policy_observed_denial){0};
	if (!request)
		return policy_net_judge_connect(policy, record->host, record->port, strcmp(record->proto, "udp") == 0)
			.observed_denial;
	/* Cuts off the "?…" that stands for a query in a record. A normalised path has no other "?". */
	(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(record->path, "?"), record->path);
	return policy_net_judge_request(policy, record->host, record->port, record->method, path,
					strcmp(record->proto, "websocket") == 0)
		.observed_denial;
}

/* Whether the denial of a request is one that the approver is asked about: "ask" is what the denial does, then. */
static bool record_is_asked_about(const struct control_record *record, const struct egress_question *question)
{
	return record->question_id == CONTROL_TOO_MANY_QUESTIONS ||
	       (question && !question->denial.is_allowed && question->permission.is_allowed);
}

/*
 * What the denial does to the process of the connection. ON_DENY_UNSET for names and datagrams, whose process is not
 * known. question: about the request; NULL: there is none.
 */
static enum policy_on_deny record_find_on_deny(const struct egress_client *client, const struct connection *conn,
					       const struct control_record *record,
					       const struct egress_question *question)
{
	enum policy_on_deny mode;

	/* The close record repeats a denial. */
	if (!conn || conn->pidfd < 0 || !record_is_denied(record) || record->event == CONTROL_EVENT_CLOSE)
		return ON_DENY_UNSET;
	if (record_is_asked_about(record, question))
		return ON_DENY_ERRNO;
	mode = policy_find_on_deny(client->sandbox->policy, record->rule[0] ? record->rule : NULL);
	return policy_on_deny_asks(mode) ? ON_DENY_ERRNO : mode; /* denials of connections are not asked about */
}

/* Writes egress' record to the log, with the process of its connection. */
static int record_write_to_log(const struct egress_client *client, const struct connection *conn,
			       const struct control_record *record, const struct egress_question *question,
			       struct audit_outcome_location *ret_location)
{
	const struct policy_observed_denial observed = record_judge_by_judged_policy(client, record);
	const struct audit_net net = record_make_audit_net(conn, record);
	const enum policy_on_deny mode = record_find_on_deny(client, conn, record, question);
	struct audit_record line = {.pid = conn ? conn->pid : 0,
				    .tid = conn ? conn->pid : 0,
				    .ppid = conn ? conn->ppid : 0,
				    .host_pid = conn ? conn->host_pid : 0,
				    .session_program_number = conn ? conn->program_number : 0,
				    .exe = conn && conn->exe[0] ? conn->exe : NULL,
				    .answer = conn ? conn->answer : NULL,
				    .answered_by_uid = -1, /* the record of the connect(2) tells */
				    .verdict = record_is_denied(record) ? VERDICT_DENY : VERDICT_ALLOW,
				    .effect = record_is_denied(record) ? AUDIT_EFFECT_REFUSED : AUDIT_EFFECT_PERFORMED,
				    .on_deny = mode > ON_DENY_ERRNO ? policy_on_deny_get_name(mode) : NULL,
				    .rule = record->rule[0] ? record->rule : NULL,
				    .reason = record->reason[0] ? record->reason : NULL,
				    .net = &net};

	question_add_answer(&line, record, question);
	line.was_observed = observed.error != 0;
	if (line.was_observed) {
		line.verdict = VERDICT_DENY;
		line.rule = observed.rule;
		line.reason = observed.reason;
	}
	return audit_begin_record(client->sandbox->audit, &line, ret_location);
}

/* ---- entries in the result of the run ---- */

/* Whether the record stands for many refused DNS names at once, of which it has only the last one. */
static bool record_is_for_many_refused_names(const struct control_record *record)
{
	return record->event == CONTROL_EVENT_DNS && strcmp(record->reason, "rate_limited") == 0;
}

static void record_add_to_network_summary(struct egress_client *client, const struct control_record *record)
{
	/* For a DNS query `method` is the query type. */
	const char *method = record->event == CONTROL_EVENT_DNS ? "" : record->method;
	const struct summary_item item = {.host = record_is_for_many_refused_names(record) ? "" : record->host,
					  .method = method,
					  .path = record->path,
					  .rule = record->rule,
					  .reason = record->reason,
					  .port = record->port,
					  .status = record->http_status,
					  .is_allowed = !record_is_denied(record),
					  .bytes_up = record->bytes_up,
					  .bytes_down = record->bytes_down,
					  .count = record->refusal_count ? record->refusal_count : 1};

	summary_add_entry(&client->summary, &item);
}

/* Writes the target of a denial: "GET https://api.test:443/x", "api.test:443", "api.test". */
static void record_put_target(char *text, size_t size, const struct control_record *record)
{
	bool v6 = strchr(record->host, ':') != NULL;
	const char *open = v6 ? "[" : "", *shut = v6 ? "]" : "";

	if (record->event == CONTROL_EVENT_REQUEST)
		(void)snprintf(text, size, "%s %s%s%s:%u%s", record->method, open, record->host, shut, record->port,
			       record->path);
	else if (record->port)
		(void)snprintf(text, size, "%s%s%s:%u", open, record->host, shut, record->port);
	else
		(void)snprintf(text, size, "%s",
			       record_is_for_many_refused_names(record) ? "(further names)" : record->host);
}

/* The option that would grant the target, owned by the caller. NULL: there is none; *ret_why (static): why not. */
static char *record_suggest_grant(const struct control_record *record, const char **ret_why)
{
	const bool is_request = record->event == CONTROL_EVENT_REQUEST;
	const struct suggest_host none = {0}; /* suggest_make_grant() uses it for paths only */
	const struct suggest_denial denial = {.reason = record->reason,
					      .host = record_is_for_many_refused_names(record) ? NULL : record->host,
					      .port = record->port,
					      .addresses_not_dialled = record->addresses_not_dialled,
					      .http_method = is_request ? record->method : NULL,
					      .http_path = record->path,
					      .is_websocket = strcmp(record->proto, "websocket") == 0};

	return suggest_make_grant(&none, &denial, ret_why);
}

/* Adds what egress has denied to the denials of the result. question: about the request; NULL: there is none. */
static void record_add_denial(struct egress_client *client, const struct connection *conn,
			      const struct control_record *record, const struct egress_question *question,
			      bool observed, struct audit_outcome_location location)
{
	enum policy_on_deny mode = record_find_on_deny(client, conn, record, question);
	char target[NET_METHOD_SIZE + NET_HOST_SIZE + NET_PATH_SIZE + 16];
	char rule[sizeof(record->rule)], reason[sizeof(record->reason)], op[] = "";
	_cleanup_free_ char *suggestion = NULL;
	struct denial item = {.seq = location.seq,
			      .event = audit_event_get_name(record_event[record->event]),
			      .op = "net",
			      .target = target,
			      .exe = conn ? conn->exe : op,
			      .pid = conn ? conn->pid : 0,
			      .host_pid = conn ? conn->host_pid : 0,
			      .was_observed = observed,
			      .program_number = conn ? conn->program_number : 0,
			      .count = record->refusal_count ? record->refusal_count : 1,
			      .on_deny = mode,
			      .answer = question_get_answer_word(record, question)};

	record_put_target(target, sizeof(target), record);
	memcpy(rule, record->rule, sizeof(rule));
	memcpy(reason, record->reason, sizeof(reason));
	item.rule = rule[0] ? rule : NULL;
	item.reason = reason;
	suggestion = record_suggest_grant(record, &item.suggestion_reason);
	item.suggested_option = suggestion;
	denials_add_event(client->sandbox->denials, &item);
	if (conn && mode > ON_DENY_ERRNO)
		on_deny_apply_to_pidfd(client->sandbox->stop_notices, mode, conn->pidfd,
				       conn->host_pid > 0 ? conn->host_pid : conn->pid, location.seq);
	client->denied_count += observed ? 0 : item.count;
}

/*
 * Lists a request that only the judged policy denies. The denial of a whole connection is not listed here, because that
 * of its connect(2) is listed already.
 */
static void record_list_observed_denial(struct egress_client *client, const struct connection *conn,
					const struct control_record *record, struct audit_outcome_location location)
{
	const struct policy_observed_denial observed = record_judge_by_judged_policy(client, record);
	struct control_record denied;

	if (!observed.error || record->event != CONTROL_EVENT_REQUEST)
		return;
	denied = *record;
	(void)snprintf(denied.rule, sizeof(denied.rule), "%s", observed.rule ? observed.rule : "");
	(void)snprintf(denied.reason, sizeof(denied.reason), "%s", observed.reason);
	record_add_denial(client, conn, &denied, NULL, true, location);
}

/* ---- steps ---- */

/* The result for the log, as egress reports it: a response's status, or a refusal. */
static int64_t record_get_result_value(const struct control_record *record)
{
	if (record->http_status)
		return record->http_status;
	if (record->allow || record->event == CONTROL_EVENT_CLOSE)
		return 0;
	if (record->error < 0 && record->error >= -ERRNO_MAX)
		return record->error;
	return record->event == CONTROL_EVENT_DNS ? -ENOENT : -ECONNREFUSED;
}

/* Removes a connection. If it had no requests, it gets an entry of its own in the result, with its bytes. */
static void connection_list_and_remove(struct egress_client *client, struct connection *conn,
				       const struct control_record *record)
{
	const struct control_request_done aborted = {.result = -ECONNABORTED};
	struct control_record whole = *record;

	while (conn->requests)
		requests_end_with_outcome(client, conn->requests, &aborted);
	if (conn->rule)
		usage_end_connection(client->usage, conn->rule, record->bytes_up, record->bytes_down);
	if (!conn->is_listed_in_result) {
		if (!whole.rule[0] && conn->rule)
			(void)snprintf(whole.rule, sizeof(whole.rule), "%s", conn->rule);
		if (!whole.reason[0] && conn->is_opened)
			(void)snprintf(whole.reason, sizeof(whole.reason), "granted");
		record_add_to_network_summary(client, &whole);
	}
	connections_remove(&client->connections, conn);
}

/* Tells egress whether its record was written, if egress waits for that. */
static int record_send_acknowledgement(struct egress_client *client, const struct control_record *record, int error)
{
	const struct control_message ack = {.version = CONTROL_VERSION, .type = CONTROL_RECORD_ACK,
					    .ack = {.id = record->id, .error = error}};

	return record->wants_ack ? egress_line_send(&client->line, &ack, -1) : 0;
}

/* Applies egress' record that a connection has reached its destination. */
static int record_apply_connection_opened(struct egress_client *client, struct connection *conn,
					  const struct control_record *record)
{
	char *rule = strdup(record->rule);

	if (!rule)
		return -ENOMEM;
	if (conn->rule) /* a rule is stored already if the connection had another upstream connection before */
		usage_end_connection(client->usage, conn->rule, 0, 0);
	usage_count_connection(client->usage, rule);
	free(conn->rule);
	conn->rule = rule;
	conn->is_opened = true;
	return 0;
}

/* Handles a record after it was written. -errno: egress must not do what it asked for. */
static int record_apply_after_writing(struct egress_client *client, struct connection *conn,
				      const struct control_record *record, const struct egress_question *question,
				      struct audit_outcome_location location)
{
	bool opens = record->event == CONTROL_EVENT_OPEN;
	uint64_t took_us = opens ? record->dns_us + record->connect_us : record->duration_us;
	/* The close record repeats the reason of a denial. */
	bool repeats =
		conn && record->event == CONTROL_EVENT_CLOSE && strcmp(conn->last_denial_reason, record->reason) == 0;
	struct request *request;
	int r = 0;

	if (conn && record->event == CONTROL_EVENT_REQUEST && record->allow) {
		record_list_observed_denial(client, conn, record, location);
		conn->is_listed_in_result = true;
		r = requests_add(&client->connections, conn, record, &request);
		if (r == 0) {
			request->outcome_location = location;
			usage_count_request(client->usage, record->rule);
			return 0; /* CONTROL_REQUEST_DONE ends the record */
		}
	} else if (conn && opens && record->allow) {
		r = record_apply_connection_opened(client, conn, record);
	} else if (!record->allow && !repeats) {
		if (record_is_denied(record)) {
			record_add_denial(client, conn, record, question, false, location);
			usage_mark_hit_budget(client->usage,
					      record->rule[0] || !conn || !conn->rule ? record->rule : conn->rule,
					      record);
		}
		record_add_to_network_summary(client, record);
		if (conn) {
			conn->is_listed_in_result = true;
			memcpy(conn->last_denial_reason, record->reason, sizeof(conn->last_denial_reason));
		}
	}
	audit_end_record(client->sandbox->audit, location, r < 0 ? r : record_get_result_value(record),
			 took_us * NS_PER_US);
	return r;
}

/* Writes a record to the log, and applies it. -errno: egress must not do what it asked for. */
static int record_write_and_apply(struct egress_client *client, struct connection *conn,
				  const struct control_record *record, const struct egress_question *question)
{
	struct audit_outcome_location location = {0};
	int r = record_write_to_log(client, conn, record, question, &location);

	return r == 0 ? record_apply_after_writing(client, conn, record, question, location) : r;
}

/* Records the requests that were asked about and have no record, because their connection ends. */
static void connection_end_questions(struct egress_client *client, struct connection *conn)
{
	while (conn->questions) {
		struct egress_question *question = conn->questions;
		const struct control_record record = question_make_cancelled_record(conn, question);
		int r;

		if (question->is_open)
			client->asker.withdraw(client->asker.context, question);
		question->is_open = false;
		r = record_write_and_apply(client, conn, &record, question);
		(void)r; /* the log has failed, which ends the run */
		questions_remove(conn, question);
	}
}

int records_handle_question(struct egress_client *client, const struct control_question *asked)
{
	struct connection *conn = connections_find_by_id(&client->connections, asked->conn_id);

	if (!conn || !connection_permits_step(conn, STEP_REQUEST_ASKED) ||
	    !connection_is_to(client, conn, asked->host, asked->port))
		return -EBADMSG;
	return questions_open(client, conn, asked);
}

int records_handle_record(struct egress_client *client, const struct control_record *record)
{
	struct connection *conn =
		record->conn_id ? connections_find_by_id(&client->connections, record->conn_id) : NULL;
	struct egress_question *question;
	int r;

	if (!record_is_permitted_now(client, conn, record))
		return -EBADMSG;
	client->last_record_id = record->id;
	question = questions_find_of_record(conn, record, &r);
	if (r < 0)
		return r;
	if (client->is_ending && record->wants_ack)
		r = -ESHUTDOWN;
	else
		r = record_write_and_apply(client, conn, record, question);
	if (question)
		questions_remove(conn, question);
	if (strcmp(record->reason, "client_rejected_ca") == 0 || strcmp(record->close_cause, "client_rejected_ca") == 0)
		summary_add_certificate_advice(&client->summary, record->host, "client_rejected_ca");
	if (conn && record->event == CONTROL_EVENT_CLOSE) {
		connection_end_questions(client, conn);
		connection_list_and_remove(client, conn, record);
	}
	return record_send_acknowledgement(client, record, r);
}

/* Writes the close record of a connection for which egress has sent none. */
static void connection_write_close_record(struct egress_client *client, struct connection *conn, const char *cause)
{
	struct control_record record = {
		.conn_id = conn->id, .event = CONTROL_EVENT_CLOSE, .allow = 1, .port = conn->port, .refusal_count = 1};
	struct audit_outcome_location location;

	connection_end_questions(client, conn);
	memcpy(record.host, conn->host, sizeof(record.host));
	(void)snprintf(record.close_cause, sizeof(record.close_cause), "%s", cause);
	if (record_write_to_log(client, conn, &record, NULL, &location) == 0)
		audit_end_record(client->sandbox->audit, location, 0, 0);
	connection_list_and_remove(client, conn, &record);
}

void records_close_all(struct egress_client *client, const char *cause)
{
	/* A tree's root is a node, which begins with a pointer to its item: tsearch(3). */
	while (client->connections.tree)
		connection_write_close_record(client, *(struct connection **)client->connections.tree, cause);
}
