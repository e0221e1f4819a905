/* Attempts by the file of --approvals, and by text that people are shown. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "approval/remembered.h"
#include "approval/show.h"
#include "tests/unit/approval/attempts.h"

#define NOW_S UINT64_C(1000)

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
	LINE("an end in more than 30 days", "\"$S\"", "\"$P\"", "2593001"), /* NOW_S and 30 days */
	LINE("an end in milliseconds", "\"$S\"", "\"$P\"", "1780000000000"),
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

	for (size_t i = 0; i < COUNT(in_the_file); i++, attempt_count()) {
		int fd = memfd_create("approvals", MFD_CLOEXEC);
		struct approval_question question = {0};
		char text[TEXT_BYTES_MAX];

		attempt_fill(question.scope, '1');
		attempt_fill(question.policy_sha256, '2');
		attempt_write(fd, text, attempt_expand(&in_the_file[i], text));
		ck_assert_msg(!remembered_find(fd, &question, NOW_S), "%s", in_the_file[i].sentence);
		attempt_write(fd, text, attempt_expand(&honest, text));
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

	for (size_t i = 0; i < COUNT(rows); i++, attempt_count()) {
		char shown[SHOW_BYTES_MAX], expected[SHOW_BYTES_MAX];

		(void)snprintf(expected, sizeof(expected), "\"%s\"", rows[i][2]);
		show_text(shown, rows[i][1], strlen(rows[i][1]));
		ck_assert_msg(strcmp(shown, expected) == 0, "%s: %s", rows[i][0], shown);
	}
}
END_TEST

void attempts_add_text_tests(TCase *all)
{
	tcase_add_test(all, test_file);
	tcase_add_test(all, test_shown);
}
