/* Questions about requests that egress asks its client. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/unit/supervisor/client-rig.h"
#include "tests/unit/unit.h"

static struct client_rig rig;

static void set_up(void)
{
	client_rig_setup(&rig);
}

static void tear_down(void)
{
	client_rig_teardown(&rig);
}

static struct egress_question *asked;
static unsigned withdrawn;

static void note_asked(void *context, struct egress_question *question)
{
	ck_assert_ptr_eq(context, &rig);
	asked = question;
}

static void note_withdrawn(void *context, struct egress_question *question)
{
	ck_assert_ptr_eq(context, &rig);
	ck_assert_ptr_eq(question, asked);
	question->answer.answer_word = "withdrawn";
	withdrawn++;
}

/* Opens a connection whose requests are asked about. Its number. */
static uint64_t open_asking(void)
{
	uint64_t conn;

	asked = NULL;
	withdrawn = 0;
	egress_client_set_asker(rig.client, &(const struct egress_asker){&rig, note_asked, note_withdrawn});
	client_rig_start(&rig, client_rig_connects);
	conn = client_rig_announced(&rig);
	client_rig_open(&rig, conn);
	ck_assert_int_eq(client_rig_outcome(&rig), 0);
	return conn;
}

static struct control_message question(uint64_t conn)
{
	struct control_message message = client_rig_message(CONTROL_QUESTION);

	message.question.id = ++rig.record_id;
	message.question.conn_id = conn;
	message.question.port = CLIENT_RIG_PORT;
	(void)snprintf(message.question.host, sizeof(message.question.host), CLIENT_RIG_HOST);
	(void)snprintf(message.question.method, sizeof(message.question.method), "PUT");
	(void)snprintf(message.question.path, sizeof(message.question.path), "/x");
	(void)snprintf(message.question.query, sizeof(message.question.query), "?q");
	return message;
}

/* The record of the request that question() asks about. */
static struct control_message asked_request(uint64_t conn, uint64_t question_id, bool allow)
{
	struct control_message message = client_rig_request(&rig, conn, "PUT", "/x?…");

	message.record.question_id = question_id;
	message.record.allow = allow;
	message.record.wants_ack = allow;
	(void)snprintf(message.record.reason, sizeof(message.record.reason), allow ? "granted" : "path_not_granted");
	return message;
}

/* Lets the question be answered; egress is told. */
static void answer_question(const char *word, bool permits)
{
	struct control_message ack;

	ck_assert_ptr_nonnull(asked);
	asked->answer.answer_word = word;
	egress_question_answer(asked, permits);
	client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_uint_eq(ack.ack.id, asked->asked.id);
	ck_assert_int_eq(ack.ack.error, permits ? 0 : -EACCES);
}

START_TEST(test_question)
{
	static const struct {
		const char *answer, *verdict;
	} cases[] = {{"once", "ask"}, {"no", "deny"}, {"withdrawn", "deny"}};
	const uint64_t conn = open_asking();
	struct control_message message = question(conn);
	const json_t *record;
	json_t *list;

	client_rig_send(&rig, &message);
	ck_assert_ptr_nonnull(asked);
	ck_assert_str_eq(asked->denial.reason, "path_not_granted");
	ck_assert_str_eq(asked->exe, "/bin/program");
	if (_i < 2)
		answer_question(cases[_i].answer, _i == 0);
	message = asked_request(conn, asked->asked.id, _i == 0);
	client_rig_send(&rig, &message);
	ck_assert(egress_client_is_alive(rig.client));
	ck_assert_uint_eq(rig.client->question_count, 0);
	ck_assert_uint_eq(withdrawn, _i == 2);
	client_rig_close(&rig, conn);
	list = client_rig_log(&rig, "request");
	ck_assert_uint_eq(json_array_size(list), 1);
	record = json_array_get(list, 0);
	ck_assert_str_eq(json_string_value(json_object_get(record, "answer")), cases[_i].answer);
	ck_assert_str_eq(json_string_value(json_object_get(record, "verdict")), cases[_i].verdict);
	json_decref(list);
}
END_TEST

/* What the policy permits, or would not permit after an answer, is not asked about, and is not permitted. */
START_TEST(test_question_about_nothing)
{
	const uint64_t conn = open_asking();
	struct control_message message = question(conn), ack;

	(void)snprintf(message.question.method, sizeof(message.question.method), _i ? "TRACE" : "GET");
	(void)snprintf(message.question.path, sizeof(message.question.path), "/a");
	client_rig_send(&rig, &message);
	ck_assert_ptr_null(asked);
	client_rig_expect(&rig, CONTROL_RECORD_ACK, &ack);
	ck_assert_int_eq(ack.ack.error, -EACCES);
}
END_TEST

/* A connection that ends with a question: it is withdrawn, and on record. */
START_TEST(test_question_left)
{
	const uint64_t conn = open_asking();
	struct control_message message = question(conn);
	json_t *list;

	client_rig_send(&rig, &message);
	if (_i == 0) {
		client_rig_close(&rig, conn);
	} else {
		cleanup_close(&rig.egress_fd);
		rig.egress_fd = -1;
		for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
			client_rig_step(&rig);
	}
	ck_assert_uint_eq(withdrawn, 1);
	ck_assert_uint_eq(rig.client->question_count, 0);
	list = client_rig_log(&rig, "request");
	ck_assert_uint_eq(json_array_size(list), 1);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "answer")), "withdrawn");
	json_decref(list);
}
END_TEST

static void lie_question(struct control_question *lie, int which)
{
	if (which == 0)
		(void)snprintf(lie->path, sizeof(lie->path), "/a/../x");
	else if (which == 1)
		(void)snprintf(lie->path, sizeof(lie->path), "x");
	else if (which == 2)
		(void)snprintf(lie->path, sizeof(lie->path), "/\x1b[2J");
	else if (which == 3)
		(void)snprintf(lie->method, sizeof(lie->method), "P UT");
	else if (which == 4)
		(void)snprintf(lie->host, sizeof(lie->host), "other.test");
	else if (which == 5)
		lie->port++;
	else if (which == 6)
		lie->conn_id++;
	else if (which == 7)
		lie->id = 1;
	else if (which == 8)
		(void)snprintf(lie->query, sizeof(lie->query), "q");
	else if (which == 9)
		lie->body_bytes = -2;
	else
		memset(lie->query, '?', sizeof(lie->query));
}

/* A record that is not of the question, or permits what no answer permits. */
static struct control_message lie_about_answer(uint64_t conn, int which)
{
	const uint64_t id = asked->asked.id;
	struct control_message message = asked_request(conn, id, true);

	if (which == 11)
		return message; /* not answered yet */
	answer_question("once", which != 12);
	if (which == 13)
		(void)snprintf(message.record.path, sizeof(message.record.path), "/y?…");
	else if (which == 14)
		(void)snprintf(message.record.path, sizeof(message.record.path), "/x");
	else if (which == 15)
		(void)snprintf(message.record.method, sizeof(message.record.method), "GET");
	else if (which == 16)
		message.record.question_id = id + 1;
	else if (which == 17)
		message.record.question_id = CONTROL_TOO_MANY_QUESTIONS;
	else if (which == 18)
		(void)snprintf(message.record.proto, sizeof(message.record.proto), "websocket");
	else if (which == 19) {
		client_rig_send(&rig, &message); /* once, but not twice */
		ck_assert(egress_client_is_alive(rig.client));
		message = asked_request(conn, id, true);
	}
	return message;
}

START_TEST(test_lying_question)
{
	const uint64_t conn = open_asking();
	struct control_message message = question(conn);

	if (_i < 11)
		lie_question(&message.question, _i);
	client_rig_send(&rig, &message);
	if (_i >= 11) {
		message = lie_about_answer(conn, _i);
		client_rig_send(&rig, &message);
	}
	for (int i = 0; i < 100 && egress_client_is_alive(rig.client); i++)
		client_rig_step(&rig);
	ck_assert(!egress_client_is_alive(rig.client));
	ck_assert_str_eq(client_rig_text_of(&rig, "close", "cause"), "egress_failed");
}
END_TEST

static void note_left(void *context, struct egress_question *question)
{
	(void)context;
	question->answer.answer_word = "withdrawn";
}

/* More questions than egress may have. */
START_TEST(test_too_many_questions)
{
	const uint64_t conn = open_asking();

	for (unsigned i = 0; i <= CONTROL_QUESTIONS_MAX && egress_client_is_alive(rig.client); i++) {
		struct control_message message = question(conn);

		client_rig_send(&rig, &message);
		ck_assert_int_eq(egress_client_is_alive(rig.client), i < CONTROL_QUESTIONS_MAX);
		egress_client_set_asker(rig.client, &(const struct egress_asker){&rig, note_asked, note_left});
	}
	ck_assert_uint_eq(rig.client->question_count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("egress_questions");
	TCase *tests = tcase_create("egress_questions");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, test_question, 0, 3);
	tcase_add_loop_test(tests, test_question_about_nothing, 0, 2);
	tcase_add_loop_test(tests, test_question_left, 0, 2);
	tcase_add_loop_test(tests, test_lying_question, 0, 20);
	tcase_add_test(tests, test_too_many_questions);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
