#include "supervisor/gateway/questions.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/gateway/private.h"

void egress_client_set_asker(struct egress_client *client, const struct egress_asker *asker)
{
	client->asker = *asker;
}

void egress_question_answer(struct egress_question *question, bool permits)
{
	const struct control_message answer = {
		.version = CONTROL_VERSION,
		.type = CONTROL_RECORD_ACK,
		.ack = {.id = question->asked.id, .error = permits ? 0 : -EACCES}};

	question->is_open = false;
	question->is_permitted = permits;
	/* A line that has failed is closed by client.c, when it is used next. */
	if (question->client->line.fd >= 0)
		(void)egress_line_send(&question->client->line, &answer, -1);
}

bool egress_question_process_is_there(const struct egress_question *question)
{
	struct pollfd end = {.fd = question->pidfd, .events = POLLIN};

	return question->pidfd >= 0 && poll(&end, 1, 0) == 0;
}

/* Whether egress has written a request as only it can be: a method, a normalised path, a query. */
static bool question_is_well_formed(const struct control_question *asked)
{
	static const char token[] =
		"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char path[NET_PATH_SIZE];
	const char *query;

	return asked->method[0] && asked->method[strspn(asked->method, token)] == '\0' && asked->path[0] == '/' &&
	       net_path_normalise(asked->path, strlen(asked->path), path, &query) == 0 && !query &&
	       strcmp(path, asked->path) == 0 && (asked->query[0] == '\0' || asked->query[0] == '?') &&
	       asked->body_bytes >= CONTROL_BODY_OF_UNKNOWN_LENGTH && asked->asks_for_websocket <= 1;
}

/* What the policy says of the request, and what it says if an answer permits it. */
static void question_judge(struct egress_question *question, const struct connection *conn)
{
	const struct policy *policy = question->client->sandbox->policy;
	const struct control_question *asked = &question->asked;

	question->denial = conn->answer ? policy_net_judge_answered_request(policy, asked->host, asked->port,
									    asked->method, asked->path,
									    asked->asks_for_websocket)
					: policy_net_judge_request(policy, asked->host, asked->port, asked->method,
								   asked->path, asked->asks_for_websocket);
	question->permission = policy_net_judge_asked_request(policy, asked->host, asked->port, asked->method,
							      asked->path, asked->asks_for_websocket);
}

int questions_open(struct egress_client *client, struct connection *conn, const struct control_question *asked)
{
	struct egress_question *question;

	if (asked->id <= client->last_record_id || client->question_count >= CONTROL_QUESTIONS_MAX ||
	    !question_is_well_formed(asked))
		return -EBADMSG;
	client->last_record_id = asked->id;
	question = calloc(1, sizeof(*question));
	if (!question)
		return -ENOMEM;
	*question = (struct egress_question){.next = conn->questions,
					     .client = client,
					     .asked = *asked,
					     .pid = conn->pid,
					     .ppid = conn->ppid,
					     .host_pid = conn->host_pid,
					     .pidfd = conn->pidfd,
					     .exe = conn->exe,
					     .is_open = true};
	question_judge(question, conn);
	question->answer = (struct call_answer){.mode = ON_DENY_ASK,
						.uid = -1,
						.rule = question->denial.label,
						.reason = question->denial.reason};
	conn->questions = question;
	conn->has_asked = true;
	client->question_count++;
	/* Egress judges by the same policy, so it should ask about nothing else. */
	if (question->denial.is_allowed || !question->permission.is_allowed || client->is_ending || !client->asker.ask)
		egress_question_answer(question, false);
	else
		client->asker.ask(client->asker.context, question);
	return 0;
}

/* Whether a record is about the request that was asked about. Of a query the record tells only that there is one. */
static bool question_is_about_record(const struct egress_question *question, const struct control_record *record)
{
	const struct control_question *asked = &question->asked;
	size_t len = strcspn(record->path, "?"), asked_len = strlen(asked->path);

	return asked->port == record->port && strcmp(asked->host, record->host) == 0 &&
	       strcmp(asked->method, record->method) == 0 && len <= asked_len &&
	       memcmp(asked->path, record->path, len) == 0 && (len == asked_len || record->path_is_truncated) &&
	       (asked->query[0] != '\0') == (record->path[len] == '?') &&
	       asked->asks_for_websocket == (strcmp(record->proto, "websocket") == 0);
}

struct egress_question *questions_find_of_record(struct connection *conn, const struct control_record *record,
						 int *ret_error)
{
	struct egress_question *question = conn ? conn->questions : NULL;

	*ret_error = 0;
	if (record->question_id == 0 || (record->question_id == CONTROL_TOO_MANY_QUESTIONS && !record->allow))
		return NULL;
	while (question && question->asked.id != record->question_id)
		question = question->next;
	if (!question || !question_is_about_record(question, record) ||
	    (record->allow && (question->is_open || !question->is_permitted))) {
		*ret_error = -EBADMSG;
		return NULL;
	}
	if (question->is_open)
		question->client->asker.withdraw(question->client->asker.context, question);
	question->is_open = false;
	return question;
}

void questions_remove(struct connection *conn, struct egress_question *question)
{
	struct egress_question **at = &conn->questions;

	while (*at != question)
		at = &(*at)->next;
	*at = question->next;
	question->client->question_count--;
	free(question);
}

const char *question_get_answer_word(const struct control_record *record, const struct egress_question *question)
{
	if (record->question_id == CONTROL_TOO_MANY_QUESTIONS)
		return "too_many";
	return question ? question->answer.answer_word : NULL;
}

void question_add_answer(struct audit_record *line, const struct control_record *record,
			 const struct egress_question *question)
{
	if (question_get_answer_word(record, question))
		line->answer = question_get_answer_word(record, question);
	if (!question || !question->answer.answer_word)
		return;
	line->answered_how = question->answer.how;
	line->answered_by_uid = question->answer.uid;
	line->question_open_ns = question->answer.question_open_ns;
	line->on_deny = policy_on_deny_get_name(ON_DENY_ASK);
	if (!record->allow)
		return;
	line->verdict = VERDICT_ASK;
	line->rule = question->denial.label;
	line->reason = question->denial.reason;
}

struct control_record question_make_cancelled_record(const struct connection *conn,
						     const struct egress_question *question)
{
	const struct control_question *asked = &question->asked;
	const struct net_rule *rule = question->permission.rule;
	const char *proto = rule ? net_proto_get_name(rule->proto) : "";
	struct control_record record = {.conn_id = conn->id,
					.question_id = asked->id,
					.event = CONTROL_EVENT_REQUEST,
					.port = asked->port,
					.error = -ECONNABORTED,
					.refusal_count = 1,
					.reason = "cancelled"};

	memcpy(record.host, asked->host, sizeof(record.host));
	memcpy(record.method, asked->method, sizeof(record.method));
	record.path_is_truncated = (size_t)snprintf(record.path, sizeof(record.path), "%s%s", asked->path,
						    asked->query[0] ? "?…" : "") >= sizeof(record.path);
	(void)snprintf(record.proto, sizeof(record.proto), "%s", asked->asks_for_websocket ? "websocket" : proto);
	return record;
}
