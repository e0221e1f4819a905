/* Questions to the approver: --approve. Equal questions are one, and there are limits for them. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "approval/show.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "policy/policy.h"
#include "supervisor/ask/details.h"
#include "supervisor/ask/endpoint.h"
#include "supervisor/ask/request.h"
#include "supervisor/ask/way.h"
#include "supervisor/dispatch-call.h"

/* Computes the id: only a process that was sent this question, about this call, under this policy, can know it. */
static bool by_approver_make_id(struct approval_question *sent, const char *key, const char *text)
{
	_cleanup_buf_ struct buf bytes = {0};
	unsigned char nonce[32];

	if (getrandom(nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce))
		return false;
	buf_add(&bytes, nonce, sizeof(nonce));
	buf_add(&bytes, sent->policy_sha256, sizeof(sent->policy_sha256));
	buf_add(&bytes, key, SHA256_HEX_SIZE);
	buf_puts(&bytes, text);
	if (bytes.failed)
		return false;
	sha256_hash_bytes(bytes.data, bytes.len, sent->id);
	return true;
}

/* The object of a question, without its id. NULL: out of memory. */
static json_t *by_approver_make_object(const struct asker *asker, const struct question *question,
				       const struct call *denied, const struct call *asked)
{
	const struct question_origin origin = question_get_origin(asker, question);
	const struct sandbox *sandbox = question->request ? question->sandbox : denied->sandbox;
	const struct details_options options = {policy_get_settings(sandbox->policy)->name,
						asker->options.policy_sha256, question->sent.can_hold_for_run,
						asker->options.can_be_remembered, question->sent.cannot_be_once};
	json_t *object;

	if (question->request)
		return ask_request_make_object(&origin, &options, sandbox, question->request);
	object = question_make_object(&origin, denied, asked);
	if (object && details_add(object, &options, denied, asked))
		return object;
	json_decref(object);
	return NULL;
}

/* The text of a question to the approver, in one line; sets its id in `sent`. Owned by the caller; NULL: it failed. */
static char *by_approver_make_line(const struct asker *asker, struct question *question, const struct call *denied,
				   const struct call *asked)
{
	_cleanup_free_ char *text = NULL, *line = NULL;
	json_t *object;

	question_begin_making();
	object = by_approver_make_object(asker, question, denied, asked);
	text = show_as_json(object, JSON_COMPACT);
	if (text && by_approver_make_id(&question->sent, question->keys.call, text) &&
	    json_object_set_new(object, "id", json_string(question->sent.id)) == 0)
		line = show_as_json(object, JSON_COMPACT);
	json_decref(object);
	return question_end_making() ? steal_pointer(&line) : NULL;
}

/* Finds an open question that is equal to this one, so that its answer is for both. NULL: there is none. */
static const struct question *by_approver_find_equal_question(const struct asker *asker,
							      const struct question *question)
{
	if (question->request && !ask_request_may_share_question(question->request))
		return NULL;
	for (const struct question *each = asker->questions; each; each = each->next)
		if (strcmp(each->equality, question->equality) == 0 && each->received == ASK_NO_ANSWER_YET)
			return each;
	return NULL;
}

/*
 * The number of questions that the approver has, or may have: those that are open, and those whose withdrawal could not
 * be sent. Equal calls have one question with one number.
 */
static size_t by_approver_count_numbers(const struct asker *asker)
{
	size_t count = asker->withdrawals.count;

	for (const struct question *each = asker->questions; each; each = each->next) {
		const struct question *before = asker->questions;

		while (before != each && before->number != each->number)
			before = before->next;
		count += before == each;
	}
	return count;
}

/* Computes what makes questions equal. */
static void by_approver_compute_equality(struct question *question, const struct call *denied)
{
	struct asking_process process;

	if (question->request)
		process = ask_request_get_process(question->sandbox, question->request);
	else
		process = details_get_process(denied);
	/* connections to several addresses of one name, or on several descriptors, are one question */
	process_compute_equality(&process,
				 !question->request && denied->net.host[0] ? question->keys.scope : question->keys.call,
				 question->equality);
}

/* Whether people see what an answer for the run would hold for. */
static bool by_approver_shows_scope(const struct question *question, const struct call *asked)
{
	return question->request ? ask_request_shows_scope(question->request) : details_show_scope(asked);
}

/* Sends a question to the approver, or joins it to an equal one. ASK_NO_ANSWER_YET, or why it is not asked. */
static enum ask_result by_approver_ask(struct asker *asker, struct question *question, const struct call *denied,
				       const struct call *asked)
{
	const struct question *equal;
	_cleanup_free_ char *line = NULL;

	if (asker->approver_is_gone)
		return ASK_APPROVER_GONE;
	by_approver_compute_equality(question, denied);
	equal = by_approver_find_equal_question(asker, question);
	if (equal) {
		question->number = equal->number;
		question->sent = equal->sent;
		question->deadline_ns = equal->deadline_ns;
		return ASK_NO_ANSWER_YET;
	}
	approver_send_withdrawals(&asker->withdrawals, asker->options.approver_fd);
	if (by_approver_count_numbers(asker) >= APPROVAL_OPEN_QUESTIONS_MAX ||
	    !approver_rate_permits(&asker->rate, io_read_clock_ns()))
		return ASK_TOO_MANY_OPEN_QUESTIONS;
	question->sent = (struct approval_question){
		.kind = APPROVAL_QUESTION,
		.can_hold_for_run = question->keys.scope[0] && by_approver_shows_scope(question, asked) &&
				    asker->always_answer_count < sizeof(asker->always) / sizeof(asker->always[0]),
		/* a socket that is connected sends any number, by calls that are not judged */
		.cannot_be_once = !question->request && endpoint_is_of_datagrams(asked),
		.deadline_ns = question->deadline_ns};
	if (question->sent.cannot_be_once && !question->sent.can_hold_for_run)
		return ASK_TOO_MANY_OPEN_QUESTIONS;
	memcpy(question->sent.scope, question->keys.scope, sizeof(question->sent.scope));
	(void)stpncpy(question->sent.policy_sha256, asker->options.policy_sha256, SHA256_HEX_SIZE - 1);
	line = by_approver_make_line(asker, question, denied, asked);
	return line ? approver_send_question(asker->options.approver_fd, &question->sent, line, strlen(line))
		    : ASK_QUESTION_UNWRITABLE;
}

/* Whether an approver has answered a question, or has ended. */
static bool by_approver_has_answer(const struct asker *asker)
{
	for (const struct question *each = asker->questions; each; each = each->next)
		if (each->received != ASK_NO_ANSWER_YET || asker->approver_is_gone)
			return true;
	return false;
}

/*
 * Receives the approver's answers, and sends what could not be sent before. An answer is for the open questions of its
 * id; for none it has no effect.
 */
static bool by_approver_receive(struct asker *asker)
{
	struct approval_answer answer;
	int r;

	approver_send_withdrawals(&asker->withdrawals, asker->options.approver_fd);
	while ((r = approver_receive_answer(asker->options.approver_fd, &answer)) > 0)
		for (struct question *each = asker->questions; each; each = each->next) {
			if (each->received != ASK_NO_ANSWER_YET || strcmp(each->sent.id, answer.id) != 0)
				continue;
			each->received = approver_read_answer(&answer, &each->answer.how);
			if ((ask_result_holds_for_run(each->received) && !each->sent.can_hold_for_run) ||
			    (each->received == ASK_ANSWER_ONCE && each->sent.cannot_be_once))
				each->received = ASK_ANSWER_MALFORMED;
			each->answer.uid = answer.uid;
			each->expires_s = answer.expires_s;
		}
	if (r < 0)
		asker->approver_is_gone = true;
	return by_approver_has_answer(asker);
}

static enum ask_result by_approver_find_answer(const struct dispatch *dispatch, struct question *question)
{
	return question->received == ASK_NO_ANSWER_YET && dispatch->asker->approver_is_gone ? ASK_APPROVER_GONE
											    : question->received;
}

/* Whether an open question, which is another one, waits for the same answer. */
static bool by_approver_has_equal_question(const struct asker *asker, const struct question *question)
{
	for (const struct question *each = asker->questions; each; each = each->next)
		if (each != question && each->number == question->number)
			return true;
	return false;
}

/* A question that was answered is closed there, too. */
static void by_approver_close(struct asker *asker, const struct question *question)
{
	if (question->received == ASK_NO_ANSWER_YET && !by_approver_has_equal_question(asker, question))
		approver_withdraw(&asker->withdrawals, asker->options.approver_fd, &question->sent);
}

static const char *by_approver_get_lasting_key(const struct rejudge_keys *keys)
{
	return keys->scope;
}

const struct ask_way ask_by_approver = {
	.mode = ON_DENY_ASK,
	.ask = by_approver_ask,
	.receive = by_approver_receive,
	.find_answer = by_approver_find_answer,
	.close = by_approver_close,
	.get_lasting_key = by_approver_get_lasting_key,
};
