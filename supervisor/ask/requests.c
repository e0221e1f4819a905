/* Questions about HTTP requests: asks them, and passes the answers to egress. request.c has what they tell. */
#include <stdlib.h>

#include "base/io.h"
#include "supervisor/ask/question-list.h"
#include "supervisor/ask/request.h"

void ask_answer_request(struct dispatch *dispatch, struct egress_question *request,
			       const struct call_answer *answer, bool permits)
{
	request->answer = *answer;
	request->answer.rule = request->denial.label;
	request->answer.reason = request->denial.reason;
	dispatch->counts.allowed_by_answer_count += permits;
	dispatch->answer_ends_run = dispatch->answer_ends_run || answer->ends_run;
	egress_question_answer(request, permits);
}

/* Asks about a request. ASK_NO_ANSWER_YET, or why it is not asked about. */
static enum ask_result ask_open_request_question(struct dispatch *dispatch, struct egress_question *request,
						 const struct rejudge_keys *keys)
{
	struct question *question = calloc(1, sizeof(*question));
	enum ask_result word = ASK_QUESTION_UNWRITABLE;

	if (question) {
		question->keys = *keys;
		question->request = request;
		question->sandbox = dispatch->sandbox;
		question->answer.uid = -1;
		word = question_list_ask(dispatch->asker, question, NULL, NULL);
	}
	if (word != ASK_NO_ANSWER_YET)
		question_free(question);
	return word;
}

void ask_about_request(void *context, struct egress_question *request)
{
	struct dispatch *dispatch = context;
	struct asker *asker = dispatch->asker;
	struct call_answer answer = {.mode = ON_DENY_ASK, .uid = -1};
	struct rejudge_keys keys;
	size_t at;
	enum ask_result word;

	if (asker->way != &ask_by_approver || !ask_request_compute_keys(request, &keys)) {
		egress_question_answer(request, false);
		return;
	}
	at = question_list_find_lasting_answer(asker, keys.scope);
	word = at < asker->always_answer_count ? asker->always[at].word
					       : ask_open_request_question(dispatch, request, &keys);
	if (word == ASK_NO_ANSWER_YET)
		return;
	if (ask_result_holds_for_run(word)) {
		answer.uid = asker->always[at].uid;
		answer.how = asker->always[at].how;
	}
	answer.answer_word = ask_result_get_name(word);
	ask_answer_request(dispatch, request, &answer, ask_result_allows(word));
}

void ask_withdraw_request(void *context, struct egress_question *request)
{
	struct dispatch *dispatch = context;
	struct asker *asker = dispatch->asker;

	for (struct question **link = &asker->questions; *link; link = &(*link)->next) {
		struct question *question = *link;

		if (question->request != request)
			continue;
		*link = question->next;
		asker->open_question_count--;
		question_list_close(asker, question, ASK_QUESTION_WITHDRAWN, io_read_clock_ns());
		request->answer = question->answer;
		question_free(question);
		return;
	}
}
