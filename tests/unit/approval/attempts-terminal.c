/* Attempts at the terminal, where question 1, of A, is shown, and 2 comes behind it. */
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "tests/unit/approval/attempts.h"

#define TYPES(sentence, bytes) TRIES(sentence, bytes "\n", "", 0)

static const struct attempt at_the_terminal[] = {
	TYPES("nothing but Enter", ""),
	TYPES("a word without a number", "once"),
	TYPES("a number without a word", "1"),
	TYPES("the next question's number", "2 once"),
	TYPES("no question's number", "0 once"),
	TYPES("a number that is longer", "11 once"),
	TYPES("a number with a zero before it", "01 once"),
	TYPES("a number with a sign", "+1 once"),
	TYPES("a hexadecimal number", "0x1 once"),
	TYPES("a number that wraps", "18446744073709551617 once"),
	TYPES("two blanks", "1  once"),
	TYPES("a blank before", " 1 once"),
	TYPES("a blank behind", "1 once "),
	TYPES("a tab", "1\tonce"),
	TYPES("no blank", "1once"),
	TYPES("quotation marks, as they are shown", "\"1 once\""),
	TYPES("capitals", "1 ONCE"),
	TYPES("a scope that is not offered", "1 run"),
	TYPES("the other one", "1 remember"),
	TYPES("a word of the protocol that is not offered", "1 none"),
	TYPES("yes", "y"),
	TYPES("two answers in a line", "1 once 1 no"),
	TYPES("the answer of a socket", "{\"id\": \"$A\", \"answer\": \"once\"}"),
	TYPES("the id in place of the number", "$A once"),
	TYPES("an escape sequence", "\x1b[A1 once"),
	TYPES("an answer that was pasted, with marks", "\x1b[200~1 once\x1b[201~"),
	TYPES("an answer in Cyrillic", "1 \xd0\xbence"),
	TYPES("an answer from right to left", "\xe2\x80\xae"
					      "1 once"
					      "\xe2\x80\xac"),
	TYPES("a line that is longer than the room for it",
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	      "xxx"
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
	TRIES("an answer to the next question, typed ahead", "1 no\n2 once\n", "A no; ", 0),
	TRIES("the end of input", "\x04", ALL_GONE, 0),
};

static void rig_make_terminal(struct rig *rig)
{
	int master, slave;

	rig_make(rig, &front_terminal, 0);
	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
	ck_assert_int_eq(fcntl(slave, F_SETFL, O_NONBLOCK), 0);
	rig->approver.options.terminal_fd = slave;
	rig->front_fd = master;
	attempt_write(master, "1 once\n", 7); /* before the question is there: no answer to it */
	rig_open_question(rig, 0, false);
	rig_open_question(rig, 1, false);
	rig_handle(rig, 0);
}

START_TEST(test_terminal)
{
	for (size_t i = 0; i < COUNT(at_the_terminal); i++, attempt_count()) {
		const struct attempt *attempt = &at_the_terminal[i];
		char text[TEXT_BYTES_MAX];
		struct rig rig;

		rig_make_terminal(&rig);
		rig_expect(&rig, "what was typed before the question", "");
		attempt_write(rig.front_fd, text, attempt_expand(attempt, text));
		rig_handle(&rig, 0);
		rig_expect(&rig, attempt->sentence, attempt->expected);
		if (attempt->expected[0] == '\0') {
			attempt_write(rig.front_fd, "1 once\n", 7);
			rig_handle(&rig, 0);
			rig_expect(&rig, attempt->sentence, "A once; ");
		}
		rig_free(&rig);
	}
}
END_TEST

/* Reads what the terminal shows now, and returns whether `text` is its end. */
static bool rig_terminal_shows_end(const struct rig *rig, const char *text)
{
	static char shown[TEXT_BYTES_MAX];
	const size_t len = strlen(text);
	size_t at = 0;
	ssize_t got;

	ck_assert_int_eq(fcntl(rig->front_fd, F_SETFL, O_NONBLOCK), 0);
	while (at < sizeof(shown) && (got = read(rig->front_fd, shown + at, sizeof(shown) - at)) > 0)
		at += (size_t)got;
	return at >= len && memcmp(shown + at - len, text, len) == 0;
}

/* A terminal at which no question is open, and nothing is left to read. */
static void rig_make_empty_terminal(struct rig *rig)
{
	rig_make_terminal(rig);
	questions_close(&rig->approver, &rig->approver.question[1], "withdrawn");
	questions_close(&rig->approver, &rig->approver.question[0], "withdrawn");
	(void)rig_terminal_shows_end(rig, "withdrawn\r\n");
}

static void rig_open_long_question(struct rig *rig)
{
	struct approver_question *question = &rig->approver.question[0];
	char line[20001]; /* a pseudo-terminal takes 8 KiB, and its reader's side 4 KiB */

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	rig_open_question(rig, 0, false);
	free(question->text);
	ck_assert_int_gt(asprintf(&question->text, "{\"seq\": 1, \"shown\": [\"%s\"], \"answers\": [\"once\", \"no\"]}",
				  line),
			 0);
}

/* A question that is longer than the terminal takes at once, when its reader is slow. */
START_TEST(test_long_question_on_terminal)
{
	static const char prompt[] = "answer \"1 once\", \"1 no\": ";
	unsigned turns = 0;
	struct rig rig;

	rig_make_empty_terminal(&rig);
	rig_open_long_question(&rig);
	do {
		rig_handle(&rig, 0);
		rig_expect(&rig, "typed before the end of a long question is shown", "");
		if (rig_terminal_shows_end(&rig, prompt))
			break;
		attempt_write(rig.front_fd, "1 once\n", 7);
	} while (++turns < 100);
	ck_assert_uint_gt(turns, 0);
	ck_assert_uint_lt(turns, 100);
	attempt_write(rig.front_fd, "1 no\n", 5);
	rig_handle(&rig, 0);
	rig_expect(&rig, "a long question", "A no; ");
	rig_free(&rig);
	attempt_count();
}
END_TEST

/* While the person has stopped the output (Ctrl-S), long questions come and go. The last one can be answered. */
START_TEST(test_stopped_terminal)
{
	struct rig rig;

	rig_make_empty_terminal(&rig);
	ck_assert_int_eq(tcflow(rig.approver.options.terminal_fd, TCOOFF), 0);
	for (size_t bytes = 0; bytes < 2u * APPROVER_OUTPUT_BYTES_MAX; bytes += 20000) {
		rig_open_long_question(&rig);
		rig_handle(&rig, 0);
		questions_close(&rig.approver, &rig.approver.question[0], "withdrawn");
	}
	rig_expect(&rig, "a terminal whose output is stopped", "");
	rig_open_question(&rig, 0, false);
	ck_assert_int_eq(tcflow(rig.approver.options.terminal_fd, TCOON), 0);
	do
		rig_handle(&rig, 0);
	while (!rig_terminal_shows_end(&rig, "\"1 no\": "));
	attempt_write(rig.front_fd, "1 no\n", 5);
	rig_handle(&rig, 0);
	rig_expect(&rig, "a terminal whose output was stopped", "A no; ");
	rig_free(&rig);
	attempt_count();
}
END_TEST

void attempts_add_terminal_tests(TCase *all)
{
	tcase_add_test(all, test_terminal);
	tcase_add_test(all, test_long_question_on_terminal);
	tcase_add_test(all, test_stopped_terminal);
}
