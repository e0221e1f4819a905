/*
 * What a hostile or confused front may try: by its socket, command or terminal, by the file of --approvals, by text
 * that people are shown, and by the channel to the supervisor. Each attempt is a row: its sentence, its bytes, and all
 * that may come of it; afterwards an honest answer must still be taken. Prints how many there are.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/ask/approver.h"
#include "tests/unit/approval/attempts.h"
#include "tests/unit/unit.h"

static unsigned attempts;

void attempt_count(void)
{
	attempts++;
}

/* ---- the socket ---- */

#define ONCE_A "{\"id\": \"$A\", \"answer\": \"once\"}\n"
#define WORD(sentence, word) TRIES(sentence, "{\"id\": \"$A\", \"answer\": " word "}\n", "A malformed; ", OFFERS_RUN)
#define MORE(sentence, more) \
	TRIES(sentence, "{\"id\": \"$A\", \"answer\": " more "}\n", "A malformed; ", OFFERS_RUN | HAS_FILE)
#define NO_ID(sentence, id) TRIES(sentence, "{\"id\": " id ", \"answer\": \"once\"}\n", "", OFFERS_RUN)
#define NONSENSE(sentence, line) TRIES(sentence, line "\n" ONCE_A, ALL_GONE, OFFERS_RUN)

static const struct attempt at_the_socket[] = {
	/* ids */
	NO_ID("the id of no question", "\"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd\""),
	NO_ID("the id of a question that is closed", "\"$C\""),
	NO_ID("an empty id", "\"\""),
	NO_ID("the beginning of an id", "\"aaaaaaaa\""),
	NO_ID("an id with a digit more", "\"$Aa\""),
	NO_ID("an id with a blank behind it", "\"$A \""),
	NO_ID("an id with a line's end in it", "\"$A\\n\""),
	NO_ID("two ids in one", "\"$A$B\""),
	NO_ID("an id in capitals", "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
	NO_ID("an id of look-alikes", "\"\\u0430$A\""),
	NO_ID("a pattern for all ids", "\"*\""),
	NO_ID("an id with a path", "\"../$A\""),
	NO_ID("the scope in place of the id", "\"$S\""),
	NO_ID("the policy in place of the id", "\"$P\""),
	NO_ID("the number in place of the id", "\"1\""),
	NONSENSE("a number for an id", "{\"id\": 1, \"answer\": \"once\"}"),
	NONSENSE("null for an id", "{\"id\": null, \"answer\": \"once\"}"),
	NONSENSE("true for an id", "{\"id\": true, \"answer\": \"once\"}"),
	NONSENSE("a list of ids", "{\"id\": [\"$A\", \"$B\"], \"answer\": \"once\"}"),
	NONSENSE("an object for an id", "{\"id\": {\"$A\": 1}, \"answer\": \"once\"}"),
	NONSENSE("no id", "{\"answer\": \"once\"}"),
	NONSENSE("the id under another name", "{\"ID\": \"$A\", \"answer\": \"once\"}"),
	NONSENSE("two ids for one answer", "{\"id\": \"$C\", \"id\": \"$A\", \"answer\": \"once\"}"),
	NONSENSE("an id with a NUL behind it", "{\"id\": \"$A\\u0000\", \"answer\": \"once\"}"),
	TRIES("an answer to what was closed, and then an honest one",
	      "{\"id\": \"$C\", \"answer\": \"once\"}\n"
	      "{\"id\": \"$B\", \"answer\": \"no\"}\n",
	      "B no; ", 0),
	TRIES("an answer twice, the other way", "{\"id\": \"$A\", \"answer\": \"no\"}\n" ONCE_A, "A no; ", 0),
	TRIES("an answer a hundred times",
	      "{\"id\": \"$A\", \"answer\": \"no\"}\n" ONCE_A ONCE_A ONCE_A ONCE_A ONCE_A ONCE_A ONCE_A ONCE_A ONCE_A
		      ONCE_A,
	      "A no; ", 0),
	TRIES("an answer behind the end", ONCE_A, "A once; B gone; ", ENDS),
	TRIES("the end alone", "", ALL_GONE, ENDS),
	/* words */
	WORD("a word in capitals", "\"ONCE\""),
	WORD("a word with a blank behind it", "\"once \""),
	WORD("a word with a blank before it", "\" once\""),
	WORD("a word with a line's end", "\"once\\n\""),
	WORD("a word that begins well", "\"oncex\""),
	WORD("the beginning of a word", "\"on\""),
	WORD("no letters", "\"\""),
	WORD("yes", "\"yes\""),
	WORD("the word of another protocol", "\"allow\""),
	WORD("its word for ever", "\"allow-always\""),
	WORD("a word of the record", "\"remembered\""),
	WORD("another one", "\"approver_gone\""),
	WORD("a word with a look-alike", "\"\\u043ence\""),
	WORD("a word with a character of no width", "\"on\\u200bce\""),
	WORD("a word from right to left", "\"\\u202eecno\""),
	WORD("two words", "\"once run\""),
	WORD("the number of a word", "0"),
	WORD("another number", "1.5"),
	WORD("true", "true"),
	WORD("null", "null"),
	WORD("a list with a word", "[\"once\"]"),
	WORD("an object with a word", "{\"once\": true}"),
	WORD("a path", "\"/etc/shadow\""),
	TRIES("no word", "{\"id\": \"$A\"}\n", "A malformed; ", OFFERS_RUN),
	TRIES("a scope that is not offered", "{\"id\": \"$A\", \"answer\": \"run\"}\n", "A malformed; ", 0),
	TRIES("the other one", "{\"id\": \"$A\", \"answer\": \"remember\"}\n", "A malformed; ", HAS_FILE),
	TRIES("to be remembered without a file", "{\"id\": \"$A\", \"answer\": \"remember\"}\n", "A malformed; ",
	      OFFERS_RUN),
	TRIES("the approver does not decide", "{\"id\": \"$A\", \"answer\": \"none\"}\n", "A unanswered; ", OFFERS_RUN),
	NONSENSE("two words for one id", "{\"id\": \"$A\", \"answer\": \"no\", \"answer\": \"once\"}"),
	NONSENSE("a word with a NUL behind it", "{\"id\": \"$A\", \"answer\": \"once\\u0000\"}"),
	/* more than a word */
	MORE("another path with the word", "\"once\", \"path\": \"/\""),
	MORE("the same path with the word", "\"once\", \"resolved\": \"/x\""),
	MORE("another right with the word", "\"once\", \"right\": \"w\""),
	MORE("another user with the word", "\"once\", \"uid\": 0"),
	MORE("another scope with the word", "\"run\", \"scope\": \"$S\""),
	MORE("another policy with the word", "\"remember\", \"policy_sha256\": \"$P\""),
	MORE("another way with the word", "\"once\", \"way\": 4"),
	MORE("a comment with the word", "\"once\", \"\": \"\""),
	MORE("an end of what has none", "\"once\", \"expires\": \"1h\""),
	MORE("the same for the run", "\"run\", \"expires\": \"1h\""),
	MORE("an end of a no", "\"no\", \"expires\": \"1h\""),
	MORE("no time", "\"remember\", \"expires\": \"0s\""),
	MORE("less than no time", "\"remember\", \"expires\": \"-1s\""),
	MORE("a moment", "\"remember\", \"expires\": \"1ms\""),
	MORE("for ever", "\"remember\", \"expires\": \"9999999999999999999h\""),
	MORE("for a year", "\"remember\", \"expires\": \"8760h\""),
	MORE("a number of seconds", "\"remember\", \"expires\": 3600"),
	MORE("a time that is null", "\"remember\", \"expires\": null"),
	MORE("a time without a unit's end", "\"remember\", \"expires\": \"1hh\""),
	MORE("a date", "\"remember\", \"expires\": \"2030-01-01\""),
	/* what is no line of the protocol */
	NONSENSE("an empty line", ""),
	NONSENSE("blanks", "  \t "),
	NONSENSE("a word alone", "once"),
	NONSENSE("the line of a terminal", "1 once"),
	NONSENSE("a string", "\"once\""),
	NONSENSE("a list", "[\"$A\", \"once\"]"),
	NONSENSE("a list of answers", "[{\"id\": \"$A\", \"answer\": \"once\"}]"),
	NONSENSE("two objects in a line",
		 "{\"id\": \"$A\", \"answer\": \"once\"}{\"id\": \"$B\", \"answer\": \"once\"}"),
	NONSENSE("something behind the object", "{\"id\": \"$A\", \"answer\": \"once\"} x"),
	NONSENSE("something before it", "x {\"id\": \"$A\", \"answer\": \"once\"}"),
	NONSENSE("half a line, then a whole one", "{\"id\": \"$A\", \"answ"),
	NONSENSE("other quotation marks", "{'id': '$A', 'answer': 'once'}"),
	NONSENSE("a comma more", "{\"id\": \"$A\", \"answer\": \"once\",}"),
	NONSENSE("a comment", "{\"id\": \"$A\", /* yes */ \"answer\": \"once\"}"),
	NONSENSE("a mark of the byte order", "\xef\xbb\xbf{\"id\": \"$A\", \"answer\": \"once\"}"),
	NONSENSE("bytes that are no UTF-8", "{\"id\": \"$A\", \"answer\": \"once\xff\"}"),
	NONSENSE("an overlong form", "{\"id\": \"$A\", \"answer\": \"\xc1\xafnce\"}"),
	NONSENSE("half a pair of surrogates", "{\"id\": \"$A\", \"answer\": \"\\ud800\"}"),
	NONSENSE("an escape sequence of terminals", "\x1b[2J{\"id\": \"$A\", \"answer\": \"once\"}"),
	NONSENSE("a control character in a word", "{\"id\": \"$A\", \"answer\": \"once\x01\"}"),
	NONSENSE("the question itself", "{\"type\": \"question\", \"seq\": 1, \"answers\": [\"once\"]}"),
	NONSENSE("that it is closed", "{\"type\": \"closed\", \"why\": \"answered\"}"),
	NONSENSE("an answer within the answer", "{\"result\": {\"id\": \"$A\", \"answer\": \"once\"}}"),
	NONSENSE("a request of HTTP", "POST / HTTP/1.1\r"),
	NONSENSE("a NUL before the line", "\0{\"id\": \"$A\", \"answer\": \"once\"}"),
	NONSENSE("a NUL behind the object", "{\"id\": \"$A\", \"answer\": \"once\"}\0"),
	NONSENSE("a NUL in a word", "{\"id\": \"$A\", \"answer\": \"once\0\"}"),
	NONSENSE("nothing but NULs", "\0\0\0\0"),
	NONSENSE("two bytes for each character", "{\0\"\0i\0d\0\"\0"),
	TRIES("half a line, and the end", "{\"id\": \"$A\", \"answer\": \"once\"}", ALL_GONE, ENDS),
};

static void rig_make_socket(struct rig *rig, unsigned flags)
{
	int pair[2];

	rig_make(rig, &front_socket, flags);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	rig->approver.options.socket_fd = pair[0];
	rig->front_fd = pair[1];
	rig_open_question(rig, 0, flags & OFFERS_RUN);
	rig_open_question(rig, 1, flags & OFFERS_RUN);
}

/* The honest answer behind an attempt. */
static void rig_answer_at_socket(struct rig *rig, const char *sentence)
{
	const struct attempt honest = TRIES("", "{\"id\": \"$B\", \"answer\": \"once\"}\n", "", 0);
	char text[TEXT_BYTES_MAX];

	attempt_write(rig->front_fd, text, attempt_expand(&honest, text));
	rig_handle(rig, 0);
	rig_expect(rig, sentence, "B once; ");
}

START_TEST(test_socket)
{
	for (size_t i = 0; i < COUNT(at_the_socket); i++, attempt_count()) {
		const struct attempt *attempt = &at_the_socket[i];
		char text[TEXT_BYTES_MAX];
		struct rig rig;

		rig_make_socket(&rig, attempt->flags);
		attempt_write(rig.front_fd, text, attempt_expand(attempt, text));
		if (attempt->flags & ENDS)
			(void)shutdown(rig.front_fd, SHUT_WR);
		rig_handle(&rig, 0);
		rig_expect(&rig, attempt->sentence, attempt->expected);
		if (!strchr(attempt->expected, 'B'))
			rig_answer_at_socket(&rig, attempt->sentence);
		rig_free(&rig);
	}
}
END_TEST

/* Long lines, and deep ones. */
START_TEST(test_long_lines)
{
	static const struct {
		const char *sentence, *end, *expected;
		char byte;
		size_t len;
	} rows[] = {
		{"a line as long as it may be, without sense", "\n", ALL_GONE, 'x', APPROVER_LINE_BYTES_MAX},
		{"a line that is one byte too long", "\n", ALL_GONE, ' ', APPROVER_LINE_BYTES_MAX + 1},
		{"a huge line with an answer at its end", ONCE_A, ALL_GONE, ' ', 12000},
		{"a line without an end", "", ALL_GONE, 'x', 12000},
		{"a deep list", "\n", ALL_GONE, '[', APPROVER_LINE_BYTES_MAX},
		{"blanks before an answer", ONCE_A, "A once; ", ' ', 2000},
	};

	for (size_t i = 0; i < COUNT(rows); i++, attempt_count()) {
		const struct attempt attempt = {"", rows[i].end, strlen(rows[i].end), "", 0};
		char text[TEXT_BYTES_MAX], before[TEXT_BYTES_MAX];
		size_t len = attempt_expand(&attempt, text);
		struct rig rig;

		rig_make_socket(&rig, 0);
		memset(before, rows[i].byte, sizeof(before));
		attempt_write(rig.front_fd, before, rows[i].len);
		attempt_write(rig.front_fd, text, len);
		rig_handle(&rig, 0);
		rig_expect(&rig, rows[i].sentence, rows[i].expected);
		rig_free(&rig);
	}
}
END_TEST

/* ---- the command ---- */

static const struct attempt by_command[] = {
	TRIES("a command that says nothing", "true", "A gone; ", 0),
	TRIES("one that fails", "exit 1", "A gone; ", 0),
	TRIES("one that is killed", "kill -9 $$", "A gone; ", 0),
	TRIES("one that is not there", "/nonexistent/ask 2>&-", "A gone; ", 0),
	TRIES("one that talks", "echo yes", "A malformed; ", 0),
	TRIES("one that answers the other question", "echo '{\"id\": \"$B\", \"answer\": \"once\"}'", "A malformed; ",
	      0),
	TRIES("one that answers a closed one", "echo '{\"id\": \"$C\", \"answer\": \"once\"}'", "A malformed; ", 0),
	TRIES("one that changes its mind",
	      "echo '{\"id\": \"$A\", \"answer\": \"no\"}'; echo '{\"id\": \"$A\", "
	      "\"answer\": \"once\"}'",
	      "A no; ", 0),
	TRIES("one that answers half", "printf '{\"id\": \"$A\", \"answer\": \"onc'", "A malformed; ", 0),
	TRIES("one that prints on and on", "yes | head -c 100000", "A malformed; ", 0),
	TRIES("one that prints without lines", "yes | tr -d '\\n' | head -c 100000", "A malformed; ", 0),
	TRIES("one that prints NULs", "head -c 100 /dev/zero", "A malformed; ", 0),
	TRIES("one that repeats the question", "cat", "A malformed; ", 0),
	TRIES("one whose child answers later", "(sleep 0.02; echo '{\"id\": \"$A\", \"answer\": \"no\"}') &", "A no; ",
	      0),
};

START_TEST(test_command)
{
	for (size_t i = 0; i < COUNT(by_command); i++, attempt_count()) {
		const struct attempt *attempt = &by_command[i];
		char text[TEXT_BYTES_MAX];
		struct rig rig;

		rig_make(&rig, &front_command, attempt->flags);
		text[attempt_expand(attempt, text)] = '\0';
		rig.approver.options.command = text;
		rig_open_question(&rig, 0, false);
		rig_handle(&rig, 20000);
		rig_expect(&rig, attempt->sentence, attempt->expected);
		rig_free(&rig);
	}
}
END_TEST

/* ---- the channel to the supervisor, if the approver itself were hostile ---- */

START_TEST(test_channel)
{
	static const struct {
		const char *sentence;
		uint32_t word, way;
		size_t len;
		int received;
		enum ask_result result;
	} rows[] = {
		{"a word behind the last", APPROVAL_WORD_MAX, 0, sizeof(struct approval_answer), 1,
		 ASK_ANSWER_MALFORMED},
		{"a word far behind it", UINT32_MAX, 0, sizeof(struct approval_answer), 1, ASK_ANSWER_MALFORMED},
		{"a way behind the last", APPROVAL_ONCE, APPROVAL_WAY_MAX, sizeof(struct approval_answer), 1,
		 ASK_ANSWER_MALFORMED},
		{"a way far behind it", APPROVAL_ONCE, 1u << 31, sizeof(struct approval_answer), 1,
		 ASK_ANSWER_MALFORMED},
		{"a shorter message", APPROVAL_ONCE, 0, sizeof(struct approval_answer) - 1, -EPIPE, 0},
		{"one byte", APPROVAL_ONCE, 0, 1, -EPIPE, 0},
		{"no byte", APPROVAL_ONCE, 0, 0, -EPIPE, 0},
	};
	int pair[2];

	for (size_t i = 0; i < COUNT(rows); i++, attempt_count()) {
		struct approval_answer answer = {.word = rows[i].word, .way = rows[i].way}, got = {.word = APPROVAL_NO};
		const char *how;

		memset(answer.id, 'a', sizeof(answer.id)); /* without a NUL */
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		ck_assert_int_eq(send(pair[0], &answer, rows[i].len, 0), (ssize_t)rows[i].len);
		ck_assert_msg(approver_receive_answer(pair[1], &got) == rows[i].received, "%s", rows[i].sentence);
		if (rows[i].received == 1) {
			ck_assert_uint_eq(strlen(got.id), SHA256_HEX_SIZE - 1);
			ck_assert_msg(approver_read_answer(&got, &how) == rows[i].result, "%s", rows[i].sentence);
		} else {
			ck_assert_uint_eq(got.word, APPROVAL_NO); /* untouched */
		}
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
}
END_TEST

/* An approver that reads nothing for a while gets all withdrawals after it, and each question's once. */
START_TEST(test_full_channel)
{
	struct approver_withdrawals withdrawals = {.count = 0};
	static char text[APPROVAL_TEXT_BYTES_MAX];
	struct approval_question got;
	unsigned sent = 0, received = 0, withdrawn = 0;
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (struct approval_question question = {.kind = APPROVAL_QUESTION};
	     approver_send_question(pair[0], &question, text, sizeof(text)) == ASK_NO_ANSWER_YET; sent++)
		;
	for (unsigned i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++) {
		struct approval_question question = {.kind = APPROVAL_QUESTION};

		attempt_fill(question.id, (char)('a' + i));
		approver_withdraw(&withdrawals, pair[0], &question);
	}
	ck_assert_uint_eq(withdrawals.count, APPROVAL_OPEN_QUESTIONS_MAX);
	while (recv(pair[1], &got, sizeof(got), MSG_DONTWAIT) == sizeof(got)) {
		received++;
		ck_assert_int_eq(got.kind, APPROVAL_QUESTION);
	}
	ck_assert_uint_eq(received, sent);
	approver_send_withdrawals(&withdrawals, pair[0]);
	ck_assert_uint_eq(withdrawals.count, 0);
	for (; recv(pair[1], &got, sizeof(got), MSG_DONTWAIT) == sizeof(got); withdrawn++) {
		ck_assert_int_eq(got.kind, APPROVAL_WITHDRAWAL);
		ck_assert_int_eq(got.id[0], 'a' + (char)withdrawn);
	}
	ck_assert_uint_eq(withdrawn, APPROVAL_OPEN_QUESTIONS_MAX);
	(void)close(pair[1]);
	approver_withdraw(&withdrawals, pair[0], &got); /* nobody is there to be told */
	ck_assert_uint_eq(withdrawals.count, 0);
	(void)close(pair[0]);
	attempt_count();
}
END_TEST

/* Ten questions a second, whenever they come. */
START_TEST(test_rate)
{
	static const struct {
		const char *sentence;
		uint64_t step_ms;
		unsigned expected;
	} rows[] = {
		{"a thousand at once", 0, 10},
		{"one each ms", 1, 10},
		{"one each 10 ms, for ten seconds", 10, 100},
		{"one each 99 ms, for 99 seconds", 99, 910},
		{"one each 100 ms, for a hundred seconds", 100, 1000},
	};

	for (size_t i = 0; i < COUNT(rows); i++, attempt_count()) {
		struct approver_rate rate = {0};
		unsigned count = 0;

		for (unsigned n = 0; n < 1000; n++)
			count += approver_rate_permits(&rate, UINT64_C(1000000) * (1000 + rows[i].step_ms * n));
		ck_assert_msg(count == rows[i].expected, "%s: %u", rows[i].sentence, count);
	}
}
END_TEST

START_TEST(test_count)
{
	(void)printf("%u attempts\n", attempts);
	ck_assert_uint_ge(attempts, 220);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attempts");
	TCase *all = tcase_create("all");

	(void)setenv("CK_FORK", "no", 1); /* the attempts are counted */
	tcase_add_test(all, test_socket);
	tcase_add_test(all, test_long_lines);
	tcase_add_test(all, test_command);
	attempts_add_terminal_tests(all);
	attempts_add_text_tests(all);
	tcase_add_test(all, test_channel);
	tcase_add_test(all, test_full_channel);
	tcase_add_test(all, test_rate);
	tcase_add_test(all, test_count);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
