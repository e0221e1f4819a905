#include "egress/http/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "egress/conn/line.h"
#include "egress/http/http1.h"
#include "egress/state.h"

/* Whether the request's authority is the host and port that the connection was approved for. */
static bool request_host_is_of_connection(const struct conn *conn, const struct request *request)
{
	char host[NET_HOST_SIZE];
	unsigned port;

	if (*request->scheme && strcmp(request->scheme, conn->client.ssl ? "https" : "http") != 0)
		return false;
	return request_parse_authority(request->authority, strlen(request->authority), conn->client.ssl ? 443 : 80,
				       host, &port) &&
	       strcmp(host, conn->host) == 0 && port == conn->port;
}

void request_set_refusal(struct request_verdict *verdict, unsigned status, const char *reason)
{
	verdict->is_allowed = false;
	verdict->rule = NULL;
	verdict->refusal_status = status;
	verdict->reason = reason;
}

/* Whether a method is a token, and neither CONNECT nor TRACE, which are not forwarded (RFC 9110, 9.3.6 and 9.3.8). */
static bool request_method_is_valid(const char *method)
{
	return *method && method[strspn(method, REQUEST_TOKEN_BYTES)] == '\0' && strcasecmp(method, "CONNECT") != 0 &&
	       strcasecmp(method, "TRACE") != 0;
}

/* What the policy says, or the policy with the answer that permits the connection, or the request. */
static struct net_verdict request_judge_by_policy(const struct conn *conn, const struct request *request)
{
	const struct policy *policy = conn->egress->policy;

	if (request->is_permitted_by_answer)
		return policy_net_judge_asked_request(policy, conn->host, conn->port, request->method, request->path,
						      request->asks_for_websocket);
	return conn->was_answered ? policy_net_judge_answered_request(policy, conn->host, conn->port, request->method,
								      request->path, request->asks_for_websocket)
				  : policy_net_judge_request(policy, conn->host, conn->port, request->method,
							     request->path, request->asks_for_websocket);
}

/* Why a request must be refused that the rule permits: for its content or its fields. NULL: it need not. */
static const char *request_find_wrong_content(const struct conn *conn, const struct request *request,
					      const struct net_rule *rule, const struct http_field *fields,
					      size_t count)
{
	const bool requests_are_told_apart =
		rule->http_rule_count > 0 ||
		policy_net_asks_about_requests(conn->egress->policy, conn->host, conn->port);

	if (request->has_body && request_method_has_no_body(request->method) && !rule->allows_any_body)
		return "body_not_granted";
	return request_has_override_field(fields, count, requests_are_told_apart) ? "override_not_granted" : NULL;
}

/* Whether an answer would permit a request that the policy denies. */
static bool request_can_be_asked_about(const struct conn *conn, const struct request *request,
				       const struct http_field *fields, size_t count)
{
	const struct net_verdict asked =
		policy_net_judge_asked_request(conn->egress->policy, conn->host, conn->port, request->method,
					       request->path, request->asks_for_websocket);

	return !request->was_asked_about && asked.is_allowed &&
	       !request_find_wrong_content(conn, request, asked.rule, fields, count);
}

void request_judge(struct conn *conn, const struct request *request, const struct http_field *fields, size_t count,
		   struct request_verdict *ret_verdict)
{
	struct egress *egress = conn->egress;
	struct net_verdict verdict;
	const char *reason;

	*ret_verdict = (struct request_verdict){0};
	if (!request_host_is_of_connection(conn, request)) {
		request_set_refusal(ret_verdict, 421, "host_mismatch");
		return;
	}
	if (!request_method_is_valid(request->method)) {
		request_set_refusal(ret_verdict, 403, "method_not_granted");
		return;
	}
	if (conn->rule && conn->rule->proto == NET_HTTPS && !conn->client.ssl) { /* a proxy got "http://host:443/" */
		request_set_refusal(ret_verdict, 403, "proto_not_granted");
		return;
	}
	verdict = request_judge_by_policy(conn, request);
	ret_verdict->label = verdict.label;
	if (!verdict.is_allowed) {
		request_set_refusal(ret_verdict, 403, verdict.reason);
		ret_verdict->can_be_asked_about = request_can_be_asked_about(conn, request, fields, count);
		return;
	}
	reason = request_find_wrong_content(conn, request, verdict.rule, fields, count);
	if (reason) {
		request_set_refusal(ret_verdict, 403, reason);
		return;
	}
	reason = budget_count_request(egress->budgets, verdict.rule, loop_get_now_ns(egress->loop));
	if (reason) {
		request_set_refusal(ret_verdict, 429, reason);
		return;
	}
	ret_verdict->is_allowed = true;
	ret_verdict->rule = verdict.rule;
	ret_verdict->reason = verdict.reason;
}

/* Writes the names of the header and of its secrets, such as "authorization GH_TOKEN". */
static void describe_credential(const struct net_rule *rule, char *out, size_t cap)
{
	_cleanup_buf_ struct buf names = {0};
	const char *open = rule->credential_value;

	buf_puts(&names, rule->credential_header);
	while ((open = strchr(open, '{'))) {
		size_t len = strcspn(++open, "}");

		buf_puts(&names, " ");
		buf_add(&names, open, len);
	}
	line_copy_text(out, cap, names.failed ? rule->credential_header : names.data);
}

/* Sets the record's path. The query may contain tokens and data, so the record tells only that there is one. */
static void request_set_recorded_path(const struct request *request, struct control_record *record)
{
	static const char hidden[] = "?…";
	size_t room = sizeof(record->path) - sizeof(hidden);
	size_t len = strlen(request->path);

	record->path_is_truncated = len > room;
	(void)snprintf(record->path, sizeof(record->path), "%.*s%s", (int)(len > room ? room : len), request->path,
		       request->has_query ? hidden : "");
}

/* The record of the request has the number of the question about it, which is over. */
static void request_close_question(struct conn *conn, struct request *request)
{
	if (request->question_id && request->question_id != CONTROL_TOO_MANY_QUESTIONS)
		conn->egress->question_count--;
	request->question_id = 0;
}

void request_write_record(struct conn *conn, struct request *request, const struct request_verdict *verdict,
			  void (*answer)(void *ctx, int error), void *ctx, uint64_t *ret_id)
{
	struct control_record record;

	conn_init_record(conn, CONTROL_EVENT_REQUEST, &record);
	record.allow = verdict->is_allowed;
	record.http_status = verdict->is_allowed ? 0 : verdict->refusal_status;
	record.question_id = request->question_id;
	if (!verdict->is_allowed && !verdict->refusal_status)
		record.error = -ECANCELED; /* no client waits for a response */
	LINE_COPY_TEXT(record.method, request->method);
	request_set_recorded_path(request, &record);
	LINE_COPY_TEXT(record.rule, verdict->label);
	LINE_COPY_TEXT(record.reason, verdict->reason);
	if (request->asks_for_websocket)
		LINE_COPY_TEXT(record.proto, "websocket");
	if (verdict->is_allowed && verdict->rule && verdict->rule->credential_header && conn->upstream.ssl)
		describe_credential(verdict->rule, record.credential_names, sizeof(record.credential_names));
	if (line_send_record(conn->egress->line, &record, answer, ctx, ret_id) < 0 && ret_id)
		*ret_id = 0; /* the control socket has failed, which ends the process */
	request_close_question(conn, request);
}

void request_put_json_text(struct buf *out, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	_cleanup_free_ char *escaped = malloc(len * TEXT_ESCAPED_BYTES_PER_BYTE_MAX + 1);

	if (!escaped) {
		out->failed = true;
		return;
	}
	buf_printf(out, ", \"%s\": \"", key);
	buf_add(out, escaped, text_escape_for_json(escaped, text ? text : "", len));
	buf_puts(out, "\"");
}

/* The error's name in the body of a response that egress makes itself with this HTTP status. */
static const char *request_get_error_name(unsigned status)
{
	if (status == 400 || status == 431)
		return "bad_request";
	if (status == 502 || status == 504)
		return "upstream_failed";
	return status == 503 ? "unavailable" : "refused_by_policy";
}

char *request_make_refusal_body(const struct conn *conn, const struct request *request,
			   const struct request_verdict *verdict)
{
	_cleanup_buf_ struct buf out = {0};

	buf_printf(&out, "{\"error\": \"%s\"", request_get_error_name(verdict->refusal_status));
	request_put_json_text(&out, "host", conn->host);
	buf_printf(&out, ", \"port\": %u", conn->port);
	request_put_json_text(&out, "method", request->method);
	request_put_json_text(&out, "path", request->path);
	request_put_json_text(&out, "rule", verdict->label);
	request_put_json_text(&out, "reason", verdict->reason);
	buf_puts(&out, "}\n");
	return buf_take_text(&out);
}
