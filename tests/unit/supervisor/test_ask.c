/* The open questions of a run, when one of them ends another one. */
#include <check.h>
#include <stdlib.h>

#include "supervisor/ask/way.h"
#include "supervisor/gateway/private.h"
#include "tests/unit/unit.h"

#define QUESTIONS 3

static struct asker asker;
static struct dispatch dispatch;
static struct egress_client client;
static struct egress_question request[QUESTIONS];
static size_t withdrawn_with_second; /* the question that egress withdraws while the second one ends */

static bool receive_nothing(struct asker *own)
{
	(void)own;
	return true;
}

static enum ask_result find_received(const struct dispatch *own, struct question *question)
{
	(void)own;
	return question->received;
}

/* As an approved connect(2), which reads what egress has sent. */
static void withdraw_with_second(struct asker *own, const struct question *question)
{
	(void)own;
	if (question->request == &request[1])
		ask_withdraw_request(&dispatch, &request[withdrawn_with_second]);
}

static const struct ask_way way = {
	.mode = ON_DENY_ASK, .receive = receive_nothing, .find_answer = find_received, .close = withdraw_with_second};

static void add_question(size_t at, enum ask_result received)
{
	struct question **last = &asker.questions;
	struct question *question = calloc(1, sizeof(*question));

	ck_assert_ptr_nonnull(question);
	while (*last)
		last = &(*last)->next;
	request[at] = (struct egress_question){.client = &client, .is_open = true};
	question->request = &request[at];
	question->deadline_ns = UINT64_MAX;
	question->received = received;
	*last = question;
	asker.open_question_count++;
}

/* The question that is withdrawn is before or behind the one that ends. */
START_TEST(test_withdrawn_meanwhile)
{
	const size_t stays = _i == 0 ? 2 : 0;

	withdrawn_with_second = 2 - stays;
	asker.way = &way;
	dispatch.asker = &asker;
	client.line.fd = -1;
	for (size_t i = 0; i < QUESTIONS; i++)
		add_question(i, i == 1 ? ASK_ANSWER_NO : ASK_NO_ANSWER_YET);
	ck_assert_int_eq(ask_poll_open_questions(&dispatch), ASK_ANSWER_POLL_INTERVAL_MS);
	ck_assert_uint_eq(asker.open_question_count, 1);
	ck_assert_ptr_eq(asker.questions->request, &request[stays]);
	ck_assert_ptr_null(asker.questions->next);
	ck_assert(!request[1].is_open);
	ck_assert_str_eq(request[1].answer.answer_word, "no");
	ck_assert_str_eq(request[withdrawn_with_second].answer.answer_word, "withdrawn");
	ask_withdraw_request(&dispatch, &request[stays]);
	ck_assert_ptr_null(asker.questions);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ask");
	TCase *tests = tcase_create("ask");

	tcase_add_loop_test(tests, test_withdrawn_meanwhile, 0, 2);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
