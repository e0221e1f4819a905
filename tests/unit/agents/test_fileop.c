/* What a hostile program in the place of callgate-files makes the server keep. Sandboxes are played: tests/fuzz/. */
#include <check.h>
#include <string.h>

#include "agents/json-bounds.h"
#include "agents/sandbox/fileop.h"
#include "agents/sandbox/sandbox.h"
#include "tests/fuzz/stage.h"
#include "tests/unit/unit.h"

#define VALUES 4500000 /* more than an answer may have */
#define EMPTY_LINES (1u << 20)

static int answers, last_error;

static void on_answer(void *data, int error, const char *message, const json_t *answer)
{
	(void)data;
	(void)message;
	(void)answer;
	answers++;
	last_error = error;
}

static void on_ready(void *data, const char *error)
{
	(void)data;
	ck_assert_ptr_null(error);
}

/* A request for a listing, to which the program's stderr says `text`. Returns the error that comes of it. */
static int ask(const char *text, size_t len)
{
	const struct sandbox_options options = {.on_ready = on_ready};
	const struct fileop_handler handler = {.on_answer = on_answer};
	struct sandbox *sandbox;
	struct fileop *fileop;
	struct loop *loop;

	answers = 0;
	ck_assert_int_eq(loop_create(&loop), 0);
	stage_begin(loop);
	ck_assert_int_eq(sandbox_create(loop, &options, &sandbox), 0);
	(void)stage_play(&(struct script_segment){.op = 'r', .data = ""});
	ck_assert_int_eq(fileop_start(sandbox, json_pack("{s:s, s:s}", "op", "list", "path", "/"), &handler, &fileop),
			 0);
	(void)stage_play(&(struct script_segment){.op = 'e', .data = text, .len = len});
	(void)stage_play(&(struct script_segment){.op = 'x', .data = ""});
	ck_assert_int_eq(answers, 1);
	sandbox_free(sandbox);
	stage_end();
	loop_free(loop);
	return last_error;
}

START_TEST(a_listing_of_too_many_values_is_no_answer)
{
	static const char head[] = "{\"answer\": {\"entries\": [0", tail[] = "]}}\n";
	struct buf text = {0};

	buf_puts(&text, head);
	for (size_t i = 0; i < 10; i++)
		buf_puts(&text, ",0");
	buf_puts(&text, tail);
	ck_assert_int_eq(ask(text.data, text.len), 0);
	text.len = sizeof(head) - 1;
	for (size_t i = 0; i < VALUES; i++)
		buf_add(&text, ",0", 2);
	buf_puts(&text, tail);
	ck_assert_int_ne(ask(text.data, text.len), 0);
	buf_release(&text);
}
END_TEST

/* Quadratic time would not be over before the test's is. */
START_TEST(lines_without_content_cost_little)
{
	char *text = malloc(EMPTY_LINES);

	ck_assert_ptr_nonnull(text);
	memset(text, '\n', EMPTY_LINES);
	ck_assert_int_ne(ask(text, EMPTY_LINES), 0);
	free(text);
}
END_TEST

START_TEST(json_is_measured_before_it_is_parsed)
{
	ck_assert(json_is_within_bounds("[1,2]", 5, 2, 1));
	ck_assert(!json_is_within_bounds("[1,2,3]", 7, 2, 1));
	ck_assert(!json_is_within_bounds("[[1]]", 5, 9, 1));
	ck_assert(json_is_within_bounds("[\"[[[,,,\\\"[[,\"]", 15, 1, 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fileop");
	TCase *cases = tcase_create("all");

	tcase_add_test(cases, a_listing_of_too_many_values_is_no_answer);
	tcase_add_test(cases, lines_without_content_cost_little);
	tcase_add_test(cases, json_is_measured_before_it_is_parsed);
	suite_add_tcase(suite, cases);
	return unit_run(suite);
}
