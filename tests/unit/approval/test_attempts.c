/*
 * What a hostile or confused front may try: by its socket, command or terminal, by the file of --approvals, by text
 * that people are shown, and by the channel to the supervisor. Each attempt is a row: its sentence, its bytes, and all
 * that may come of it; afterwards an honest answer must still be taken. Prints how many there are.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "approval/private.h"
#include "approval/remembered.h"
#include "approval/show.h"
#include "supervisor/ask/approver.h"
#include "tests/unit/unit.h"

#define TEXT_BYTES_MAX 16384u
#define NOW_S UINT64_C(1000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	OFFERS_RUN = 1, /* "run" and "remember" are offered */
	HAS_FILE = 2,   /* there is a file of --approvals */
	ENDS = 4,       /* the front closes its end behind these bytes */
};

/*
 * bytes: $A, $B are the ids of the two open questions, $C is that of a closed one, $S and $P are scope and policy of A.
 * expected: the answers that the supervisor gets, "A no; B gone; ".
 */
struct attempt {
	const char *sentence, *bytes;
	size_t len;
	const char *expected;
	unsigned flags;
};

#define TRIES(sentence, bytes, expected, ...)                             \
	{                                                                 \
		sentence, bytes, sizeof(bytes) - 1, expected, __VA_ARGS__ \
	}
#define ALL_GONE "A gone; B gone; "

static unsigned attempts;

/* ---- two open questions ---- */

struct rig {
	struct approver approver;
	int supervisor_fd, front_fd;
};

static void fill(char id[SHA256_HEX_SIZE], char digit)
{
	memset(id, digit, SHA256_HEX_SIZE - 1);
	id[SHA256_HEX_SIZE - 1] = '\0';
}

/* Puts the ids where `bytes` names them. */
static size_t expand(const struct attempt *attempt, char out[TEXT_BYTES_MAX])
{
	static const char names[] = "ABCSP", digits[] = "abc12";
	size_t len = 0;

	for (size_t i = 0; i < attempt->len; i++) {
		const char *name = attempt->bytes[i] == '$' && i + 1 < attempt->len && attempt->bytes[i + 1]
					   ? strchr(names, attempt->bytes[i + 1])
					   : NULL;

		ck_assert_uint_lt(len + SHA256_HEX_SIZE, TEXT_BYTES_MAX);
		if (name) {
			fill(out + len, digits[name - names]);
			len += SHA256_HEX_SIZE - 1;
			i++;
		} else {
			out[len++] = attempt->bytes[i];
		}
	}
	return len;
}

static void rig_open_question(struct rig *rig, unsigned at, bool offers_run)
{
	struct approver_question *question = &rig->approver.question[at];
	const char *more = offers_run ? "\"run\", \"remember\", " : "";

	*question = (struct approver_question){.is_open = true, .answer_fd = -1, .order = at + 1};
	question->head.can_hold_for_run = offers_run;
	question->head.deadline_ns = UINT64_MAX;
	fill(question->head.id, (char)('a' + at));
	fill(question->head.scope, (char)('1' + at));
	fill(question->head.policy_sha256, '2');
	ck_assert_int_gt(asprintf(&question->text,
				  "{\"seq\": %u, \"shown\": [\"wants to: read\"], \"answers\": [\"once\", %s\"no\"]}",
				  at + 1, more),
			 0);
	ck_assert_int_eq(rig->approver.front->ask(&rig->approver, question), 0);
}

static void rig_make(struct rig *rig, const struct approver_front *front, unsigned flags)
{
	int pair[2];

	*rig = (struct rig){.approver = {.front = front, .has_reported_stray_answer = true}, .front_fd = -1};
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		rig->approver.question[i].answer_fd = -1;
	rig->approver.options = (struct approver_options){
		.socket_fd = -1, .terminal_fd = -1, .remembered_fd = flags & HAS_FILE ? memfd_create("kept", 0) : -1};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	rig->approver.channel_fd = pair[0];
	rig->supervisor_fd = pair[1];
}

static void rig_free(struct rig *rig)
{
	for (size_t i = 0; i < APPROVAL_OPEN_QUESTIONS_MAX; i++)
		if (rig->approver.question[i].is_open)
			questions_close(&rig->approver, &rig->approver.question[i], "withdrawn");
	buf_release(&rig->approver.output);
	(void)close(rig->approver.channel_fd);
	(void)close(rig->supervisor_fd);
	for (size_t i = 0; i < 4; i++) {
		const int fds[] = {rig->front_fd, rig->approver.options.socket_fd, rig->approver.options.terminal_fd,
				   rig->approver.options.remembered_fd};

		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
}

/* Handles what the front has written, and what it goes on to write, until it is read or its end is seen. */
static void rig_handle(struct rig *rig, int wait_ms)
{
	struct pollfd ready[FRONT_FDS_MAX];

	do {
		for (size_t i = 0; i < FRONT_FDS_MAX; i++)
			ready[i] = (struct pollfd){.fd = -1};
		rig->approver.front->watch(&rig->approver, ready);
		if (poll(ready, FRONT_FDS_MAX, wait_ms) <= 0)
			return;
		rig->approver.front->handle(&rig->approver, ready);
	} while (rig->approver.question[0].is_open || rig->approver.question[1].is_open);
}

/* Checks the answers that came, in order. */
static void rig_expect(struct rig *rig, const char *sentence, const char *expected)
{
	static const char *const words[APPROVAL_WORD_MAX] = {"once", "run",        "remember",  "no",
							     "stop", "unanswered", "malformed", "gone"};
	struct approval_answer answer;
	char got[256] = "";

	while (approver_receive_answer(rig->supervisor_fd, &answer) > 0) {
		ck_assert_uint_lt(answer.word, APPROVAL_WORD_MAX);
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c %s; ", answer.id[0] - 'a' + 'A',
			       words[answer.word]);
	}
	ck_assert_msg(strcmp(got, expected) == 0, "%s: the supervisor gets \"%s\", and not \"%s\"", sentence, got,
		      expected);
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

static void write_all(int fd, const char *bytes, size_t len)
{
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
}

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

	write_all(rig->front_fd, text, expand(&honest, text));
	rig_handle(rig, 0);
	rig_expect(rig, sentence, "B once; ");
}

START_TEST(test_socket)
{
	for (size_t i = 0; i < COUNT(at_the_socket); i++, attempts++) {
		const struct attempt *attempt = &at_the_socket[i];
		char text[TEXT_BYTES_MAX];
		struct rig rig;

		rig_make_socket(&rig, attempt->flags);
		write_all(rig.front_fd, text, expand(attempt, text));
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

	for (size_t i = 0; i < COUNT(rows); i++, attempts++) {
		const struct attempt attempt = {"", rows[i].end, strlen(rows[i].end), "", 0};
		char text[TEXT_BYTES_MAX], before[TEXT_BYTES_MAX];
		size_t len = expand(&attempt, text);
		struct rig rig;

		rig_make_socket(&rig, 0);
		memset(before, rows[i].byte, sizeof(before));
		write_all(rig.front_fd, before, rows[i].len);
		write_all(rig.front_fd, text, len);
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
	for (size_t i = 0; i < COUNT(by_command); i++, attempts++) {
		const struct attempt *attempt = &by_command[i];
		char text[TEXT_BYTES_MAX];
		struct rig rig;

		rig_make(&rig, &front_command, attempt->flags);
		text[expand(attempt, text)] = '\0';
		rig.approver.options.command = text;
		rig_open_question(&rig, 0, false);
		rig_handle(&rig, 20000);
		rig_expect(&rig, attempt->sentence, attempt->expected);
		rig_free(&rig);
	}
}
END_TEST

/* ---- the terminal, where question 1, of A, is shown, and 2 comes behind it ---- */

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
	write_all(master, "1 once\n", 7); /* before the question is there: no answer to it */
	rig_open_question(rig, 0, false);
	rig_open_question(rig, 1, false);
	rig_handle(rig, 0);
}

START_TEST(test_terminal)
{
	for (size_t i = 0; i < COUNT(at_the_terminal); i++, attempts++) {
		const struct attempt *attempt = &at_the_terminal[i];
		char text[TEXT_BYTES_MAX];
		struct rig rig;

		rig_make_terminal(&rig);
		rig_expect(&rig, "what was typed before the question", "");
		write_all(rig.front_fd, text, expand(attempt, text));
		rig_handle(&rig, 0);
		rig_expect(&rig, attempt->sentence, attempt->expected);
		if (attempt->expected[0] == '\0') {
			write_all(rig.front_fd, "1 once\n", 7);
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
		write_all(rig.front_fd, "1 once\n", 7);
	} while (++turns < 100);
	ck_assert_uint_gt(turns, 0);
	ck_assert_uint_lt(turns, 100);
	write_all(rig.front_fd, "1 no\n", 5);
	rig_handle(&rig, 0);
	rig_expect(&rig, "a long question", "A no; ");
	rig_free(&rig);
	attempts++;
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
	write_all(rig.front_fd, "1 no\n", 5);
	rig_handle(&rig, 0);
	rig_expect(&rig, "a terminal whose output was stopped", "A no; ");
	rig_free(&rig);
	attempts++;
}
END_TEST

/* ---- the file of --approvals ---- */

#define LINE(sentence, scope, policy, expires) \
	TRIES(sentence, "{\"scope\": " scope ", \"policy_sha256\": " policy ", \"expires\": " expires "}\n", "", 0)

static const struct attempt in_the_file[] = {
	LINE("another scope", "\"$A\"", "\"$P\"", "2000"),
	LINE("another policy", "\"$S\"", "\"$A\"", "2000"),
	LINE("scope and policy exchanged", "\"$P\"", "\"$S\"", "2000"),
	LINE("no scope, for every question", "\"\"", "\"$P\"", "2000"),
	LINE("a pattern for a scope", "\"*\"", "\"$P\"", "2000"),
	LINE("the beginning of the scope", "\"11111111\"", "\"$P\"", "2000"),
	LINE("a longer scope", "\"$S1\"", "\"$P\"", "2000"),
	LINE("a scope with a NUL behind it", "\"$S\\u0000\"", "\"$P\"", "2000"),
	LINE("a list of scopes", "[\"$S\"]", "\"$P\"", "2000"),
	LINE("null for a policy", "\"$S\"", "null", "2000"),
	LINE("true for a policy", "\"$S\"", "true", "2000"),
	LINE("an end that is over", "\"$S\"", "\"$P\"", "999"),
	LINE("an end that is just now", "\"$S\"", "\"$P\"", "1000"),
	LINE("an end before all times", "\"$S\"", "\"$P\"", "-1"),
	LINE("no end", "\"$S\"", "\"$P\"", "0"),
	LINE("null for an end", "\"$S\"", "\"$P\"", "null"),
	LINE("true for an end", "\"$S\"", "\"$P\"", "true"),
	LINE("a string for an end", "\"$S\"", "\"$P\"", "\"2000\""),
	LINE("a real number for an end", "\"$S\"", "\"$P\"", "2000.0"),
	LINE("an end that is infinite", "\"$S\"", "\"$P\"", "1e400"),
	LINE("an end that wraps", "\"$S\"", "\"$P\"", "18446744073709551616"),
	LINE("two ends", "\"$S\"", "\"$P\"", "1, \"expires\": 2000"),
	TRIES("a list", "[\"$S\", \"$P\", 2000]\n", "", 0),
	TRIES("two objects in a line", "{}{\"scope\": \"$S\", \"policy_sha256\": \"$P\", \"expires\": 2000}\n", "", 0),
	TRIES("half a line", "{\"scope\": \"$S\", \"policy_sha256\": \"$P\", \"expi\n", "", 0),
	TRIES("an object of two lines", "{\"scope\": \"$S\", \"policy_sha256\": \"$P\",\n\"expires\": 2000}\n", "", 0),
	TRIES("an answer of the protocol", "{\"id\": \"$A\", \"answer\": \"remember\"}\n", "", 0),
};

START_TEST(test_file)
{
	const struct attempt honest = LINE("", "\"$S\"", "\"$P\"", "2000");

	for (size_t i = 0; i < COUNT(in_the_file); i++, attempts++) {
		int fd = memfd_create("approvals", MFD_CLOEXEC);
		struct approval_question question = {0};
		char text[TEXT_BYTES_MAX];

		fill(question.scope, '1');
		fill(question.policy_sha256, '2');
		write_all(fd, text, expand(&in_the_file[i], text));
		ck_assert_msg(!remembered_find(fd, &question, NOW_S), "%s", in_the_file[i].sentence);
		write_all(fd, text, expand(&honest, text));
		ck_assert_msg(remembered_find(fd, &question, NOW_S), "an answer behind it: %s",
			      in_the_file[i].sentence);
		(void)close(fd);
	}
}
END_TEST

/* ---- text that people are shown ---- */

START_TEST(test_shown)
{
	static const char *const rows[][3] = {
		{"the end of the quotation", "x\", \"answer\": \"once", "x\\\", \\\"answer\\\": \\\"once"},
		{"a line of its own", "x\nwants to: read", "x\\u{a}wants to: read"},
		{"a line's end as terminals have it", "x\r\n", "x\\u{d}\\u{a}"},
		{"a cleared screen", "\x1b[2J\x1b[H", "\\u{1b}[2J\\u{1b}[H"},
		{"another title", "\x1b]0;once\x07", "\\u{1b}]0;once\\u{7}"},
		{"a control character of eight bits",
		 "\xc2\x9b"
		 "2J",
		 "\\u{9b}2J"},
		{"a bare one, which is no UTF-8",
		 "\x9b"
		 "2J",
		 "\\x9b2J"},
		{"characters that go back", "ab\x08\x08", "ab\\u{8}\\u{8}"},
		{"a deleted character", "a\x7f", "a\\u{7f}"},
		{"text from right to left",
		 "\xe2\x80\xae"
		 "dwssap"
		 "\xe2\x80\xac",
		 "\\u{202e}dwssap\\u{202c}"},
		{"isolated text",
		 "\xe2\x81\xa6"
		 "a\xe2\x81\xa9",
		 "\\u{2066}a\\u{2069}"},
		{"a character of no width", "pass\xe2\x80\x8bwd", "pass\\u{200b}wd"},
		{"one that joins",
		 "a\xe2\x80\x8d"
		 "b",
		 "a\\u{200d}b"},
		{"a soft hyphen",
		 "a\xc2\xad"
		 "b",
		 "a\\u{ad}b"},
		{"a mark of the byte order",
		 "\xef\xbb\xbf"
		 "a",
		 "\\u{feff}a"},
		{"a Cyrillic look-alike", "/etc/p\xd0\xb0sswd", "/etc/p\\u{430}sswd"},
		{"a slash of full width",
		 "a\xef\xbc\x8f"
		 "b",
		 "a\\u{ff0f}b"},
		{"a fraction's slash",
		 "a\xe2\x81\x84"
		 "b",
		 "a\\u{2044}b"},
		{"a blank that does not break",
		 "a\xc2\xa0"
		 "b",
		 "a\\u{a0}b"},
		{"a mark upon a letter", "e\xcc\x81", "e\\u{301}"},
		{"characters that are only tags", "\xf3\xa0\x81\x81", "\\u{e0041}"},
		{"a line separator",
		 "a\xe2\x80\xa8"
		 "b",
		 "a\\u{2028}b"},
		{"what looks like an escape", "\\u{41}", "\\\\u{41}"},
		{"what looks like bytes left out", "\\...9 bytes...\\", "\\\\...9 bytes...\\\\"},
		{"an overlong slash", "\xc0\xaf", "\\xc0\\xaf"},
		{"a surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"a point beyond Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"the half of a character", "a\xe2\x80", "a\\xe2\\x80"},
		{"a format", "%s%n", "%s%n"},
	};

	for (size_t i = 0; i < COUNT(rows); i++, attempts++) {
		char shown[SHOW_BYTES_MAX], expected[SHOW_BYTES_MAX];

		(void)snprintf(expected, sizeof(expected), "\"%s\"", rows[i][2]);
		show_text(shown, rows[i][1], strlen(rows[i][1]));
		ck_assert_msg(strcmp(shown, expected) == 0, "%s: %s", rows[i][0], shown);
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

	for (size_t i = 0; i < COUNT(rows); i++, attempts++) {
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

		fill(question.id, (char)('a' + i));
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
	attempts++;
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

	for (size_t i = 0; i < COUNT(rows); i++, attempts++) {
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
	tcase_add_test(all, test_terminal);
	tcase_add_test(all, test_long_question_on_terminal);
	tcase_add_test(all, test_stopped_terminal);
	tcase_add_test(all, test_file);
	tcase_add_test(all, test_shown);
	tcase_add_test(all, test_channel);
	tcase_add_test(all, test_full_channel);
	tcase_add_test(all, test_rate);
	tcase_add_test(all, test_count);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
