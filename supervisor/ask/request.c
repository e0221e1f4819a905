#include "supervisor/ask/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup-json.h"
#include "base/cleanup.h"
#include "policy/policy.h"
#include "supervisor/ask/endpoint.h"
#include "supervisor/ask/shown.h"
#include "supervisor/report.h"

static void request_add_text(struct buf *bytes, const char *text)
{
	buf_add(bytes, text, strlen(text) + 1);
}

/* Adds what an answer for the run holds for. */
static void request_add_scope(struct buf *bytes, const struct egress_question *request)
{
	const struct control_question *asked = &request->asked;

	request_add_text(bytes, "request");
	request_add_text(bytes, net_proto_get_name(request->permission.rule->proto));
	request_add_text(bytes, asked->host);
	buf_add(bytes, &asked->port, sizeof(asked->port));
	request_add_text(bytes, asked->method);
	request_add_text(bytes, asked->path);
	buf_add(bytes, &asked->asks_for_websocket, sizeof(asked->asks_for_websocket));
	/* which credential is sent, and which budget counts */
	request_add_text(bytes, request->permission.label);
}

bool ask_request_compute_keys(const struct egress_question *request, struct rejudge_keys *ret_keys)
{
	_cleanup_buf_ struct buf bytes = {0};

	request_add_scope(&bytes, request);
	if (bytes.failed)
		return false;
	sha256_hash_bytes(bytes.data, bytes.len, ret_keys->scope);
	request_add_text(&bytes, request->asked.query);
	buf_add(&bytes, &request->asked.body_bytes, sizeof(request->asked.body_bytes));
	buf_add(&bytes, &request->pid, sizeof(request->pid));
	if (bytes.failed)
		return false;
	sha256_hash_bytes(bytes.data, bytes.len, ret_keys->call);
	return true;
}

bool ask_request_shows_scope(const struct egress_question *request)
{
	return shown_is_whole(request->asked.method) && shown_is_whole(request->asked.path);
}

bool ask_request_may_share_question(const struct egress_question *request)
{
	static const char *const safe[] = {"GET", "HEAD", "OPTIONS"}; /* RFC 9110, 9.2.1 */
	const struct control_question *asked = &request->asked;

	for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
		if (strcmp(asked->method, safe[i]) == 0)
			return asked->body_bytes == 0 && !asked->asks_for_websocket;
	return false;
}

struct asking_process ask_request_get_process(const struct sandbox *sandbox, const struct egress_question *request)
{
	const bool is_there = egress_question_process_is_there(request);

	return (struct asking_process){sandbox->tree, is_there ? request->pid : 0, is_there ? request->ppid : 0,
				       request->exe, true};
}

/* ---- the text ---- */

/* Writes the request as a rule's "http" would permit it: "POST /x", "WEBSOCKET /chat". */
static json_t *request_make_http_rule(const struct control_question *asked)
{
	_cleanup_buf_ struct buf text = {0};

	buf_printf(&text, "%s %s", asked->asks_for_websocket ? "WEBSOCKET" : asked->method, asked->path);
	return text.failed ? NULL : report_make_text_json(text.data);
}

/* Why no rule that is added permits just this request. NULL: the rule of request_make_http_rule() does. */
static const char *request_find_why_no_rule(const struct egress_question *request)
{
	if (strcmp(request->denial.reason, "denied_by_rule") == 0)
		return "no rule that is added permits it: the rule that denies it would have to be narrowed";
	if (!net_http_rule_can_name(request->asked.asks_for_websocket ? NULL : request->asked.method,
				    request->asked.path))
		return "no rule that is added permits just this: its method or path would mean something else there";
	return NULL;
}

static json_t *request_make_rule(const struct egress_question *request)
{
	const struct control_question *asked = &request->asked;

	if (request_find_why_no_rule(request))
		return json_null();
	return json_pack("{s:{s:[{s:o, s:i, s:s, s:[o]}]}}", "network", "allow", "host",
			 report_make_text_json(asked->host), "port", (int)asked->port, "proto",
			 net_proto_get_name(request->permission.rule->proto), "http", request_make_http_rule(asked));
}

static const char *request_describe_opening(const struct egress_question *request)
{
	if (request_find_why_no_rule(request))
		return request_find_why_no_rule(request);
	if (request->asked.asks_for_websocket)
		return "every websocket to that path, with any query, header fields and messages, at any time, for "
		       "every program of the run";
	return "every request of that method to that path, with any query, header fields and body, at any time, for "
	       "every program of the run";
}

/* NULL: out of memory. */
static json_t *request_make_members(const struct control_question *asked)
{
	_cleanup_json_ json_t *members =
		json_pack("{s:s, s:o, s:o*, s:b, s:I}", "method", asked->method, "path",
			  report_make_text_json(asked->path), "query",
			  asked->query[0] ? report_make_text_json(asked->query) : NULL, "websocket",
			  (int)asked->asks_for_websocket, "body_bytes", (json_int_t)asked->body_bytes);

	return question_has_member(members, "query", asked->query[0]) ? json_incref(members) : NULL;
}

static json_t *request_make_endpoint(const struct egress_question *request)
{
	return json_pack("{s:o, s:i, s:s}", "host", report_make_text_json(request->asked.host), "port",
			 (int)request->asked.port, "proto", net_proto_get_name(request->permission.rule->proto));
}

/* Adds what of the request no line can show: the body, and a secret that callgate would add. */
static void request_add_body_lines(struct shown_lines *lines, const struct egress_question *request)
{
	const struct net_rule *rule = request->permission.rule;
	const int64_t bytes = request->asked.body_bytes;

	if (bytes == CONTROL_BODY_OF_UNKNOWN_LENGTH)
		shown_add(lines, "body: of any length, which is not shown");
	else if (bytes > 0)
		shown_add(lines, "body: %" PRId64 " bytes, which are not shown", bytes);
	if (rule->credential_header)
		shown_add(lines, "credential: callgate adds the rule's, \"%s\"", rule->credential_header);
}

/* Repeats which program wants to send which request, in short. */
static void request_add_core_again(struct shown_lines *lines, const struct egress_question *request,
				   const struct asking_process *process)
{
	const struct control_question *asked = &request->asked;

	shown_add_again(lines, "program", process->exe, strlen(process->exe));
	shown_add_again(lines, "host", asked->host, strlen(asked->host));
	shown_add_again(lines, "method", asked->method, strlen(asked->method));
	shown_add_again(lines, "path", asked->path, strlen(asked->path));
	request_add_body_lines(lines, request);
}

static json_t *request_make_lines(const struct egress_question *request, const struct asking_process *process)
{
	const struct control_question *asked = &request->asked;
	struct shown_lines lines = SHOWN_LINES_INIT;

	process_add_lines(&lines, process);
	shown_add(&lines, "wants to: %s", asked->asks_for_websocket ? "open a websocket" : "send an HTTP request");
	endpoint_add_host_lines(&lines, asked->host, asked->port, net_proto_get_name(request->permission.rule->proto));
	shown_add_text(&lines, "method", asked->method);
	shown_add_text(&lines, "path", asked->path);
	if (asked->query[0])
		shown_add_text(&lines, "query", asked->query);
	request_add_body_lines(&lines, request);
	details_add_rule_line(&lines, request_make_rule(request));
	shown_add(&lines, "a rule for this would open: %s", request_describe_opening(request));
	if (shown_exceed_screen(&lines))
		request_add_core_again(&lines, request, process);
	return shown_take(&lines);
}

/* The members that a question about a call has, too. NULL: out of memory. */
static json_t *request_make_common_members(const struct question_origin *origin, const struct egress_question *request)
{
	return json_pack("{s:I, s:o, s:s, s:i, s:o*, s:o, s:s, s:o, s:s, s:I}", "seq", (json_int_t)origin->number,
			 "time", question_make_time(), "run", origin->run_id, "pid", (int)request->pid, "host_pid",
			 request->host_pid > 0 ? json_integer(request->host_pid) : NULL, "exe",
			 report_make_text_json(request->exe), "right", "h", "rule",
			 report_make_text_json(request->permission.label), "reason", request->denial.reason,
			 "timeout_ms", (json_int_t)origin->timeout_ms);
}

json_t *ask_request_make_object(const struct question_origin *origin, const struct details_options *options,
				const struct sandbox *sandbox, const struct egress_question *request)
{
	const struct asking_process process = ask_request_get_process(sandbox, request);
	const char *opening = request_describe_opening(request);
	_cleanup_json_ json_t *object = request_make_common_members(origin, request);

	if (object && question_has_member(object, "host_pid", request->host_pid > 0) &&
	    details_add_policy(object, options) && process_add_members(object, &process) &&
	    json_object_set_new(object, "endpoint", request_make_endpoint(request)) == 0 &&
	    json_object_set_new(object, "request", request_make_members(&request->asked)) == 0 &&
	    json_object_set_new(object, "rule_to_add", request_make_rule(request)) == 0 &&
	    json_object_set_new(object, "rule_would_open", json_string(opening)) == 0 &&
	    json_object_set_new(object, "shown", request_make_lines(request, &process)) == 0)
		return json_incref(object);
	return NULL;
}
