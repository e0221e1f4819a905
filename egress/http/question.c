/*
 * Requests that the policy denies and asks about: they wait for the approver's answer, while everything else goes on.
 * The supervisor asks; egress only tells it the request. What was asked about is what is forwarded: the head of the
 * request is in egress' memory, and is judged again after the answer.
 */
#include <stdio.h>
#include <string.h>

#include "egress/conn/line.h"
#include "egress/http/request.h"
#include "egress/state.h"

bool request_ask(struct conn *conn, struct request *request, const struct request_details *details,
		 void (*answer)(void *ctx, int error), void *ctx)
{
	struct egress *egress = conn->egress;
	struct control_question question = {.conn_id = conn->id,
					    .body_bytes = details->body_bytes,
					    .port = conn->port,
					    .asks_for_websocket = request->asks_for_websocket};

	request->was_asked_about = true;
	if (details->query_len >= sizeof(question.query))
		return false;
	if (egress->question_count >= CONTROL_QUESTIONS_MAX) {
		request->question_id = CONTROL_TOO_MANY_QUESTIONS;
		return false;
	}
	LINE_COPY_TEXT(question.host, conn->host);
	LINE_COPY_TEXT(question.method, request->method);
	LINE_COPY_TEXT(question.path, request->path);
	if (details->query_len)
		memcpy(question.query, details->query, details->query_len);
	if (line_send_question(egress->line, &question, answer, ctx, &request->question_id) < 0)
		return false; /* the control socket has failed, which ends the process */
	egress->question_count++;
	conn_stop_phase_timeout(conn);
	conn->waiting_request_count++;
	request->awaits_answer = true;
	return true;
}

/* The request does not wait any more. The connection has a time limit again when none of its requests does. */
static void request_stop_waiting(struct conn *conn, struct request *request)
{
	if (!request->awaits_answer)
		return;
	request->awaits_answer = false;
	conn->waiting_request_count--;
	conn->active_ns = loop_get_now_ns(conn->egress->loop);
	conn_set_phase_timeout(conn, CONN_IDLE_TIMEOUT_MS, "idle_timeout");
}

void request_take_answer(struct conn *conn, struct request *request, int error)
{
	request_stop_waiting(conn, request);
	request->is_permitted_by_answer = error == 0;
}

void request_withdraw(struct conn *conn, struct request *request)
{
	const struct request_verdict cancelled = {.reason = "cancelled"};

	request_stop_waiting(conn, request);
	if (request->question_id)
		request_write_record(conn, request, &cancelled, NULL, NULL, NULL);
}
