/* Text for people who decide: nothing but printable ASCII, and no text imitates what is put in by callgate. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "approval/show.h"
#include "tests/unit/unit.h"

static void check_shown(const char *bytes, const char *expected)
{
	char shown[SHOW_BYTES_MAX];

	show_text(shown, bytes, strlen(bytes));
	ck_assert_str_eq(shown, expected);
}

START_TEST(escapes)
{
	/* RIGHT-TO-LEFT OVERRIDE, which clang-tidy refuses in a string literal. */
	static const char reversed[] = {'\xe2', '\x80', '\xae', 'g', 'p', 'j', '\0'};

	check_shown("", "\"\"");
	check_shown("/usr/bin/cat ~", "\"/usr/bin/cat ~\"");
	check_shown("a\"b\\c", "\"a\\\"b\\\\c\"");
	check_shown("a\x1b[2J\n\x7f", "\"a\\u{1b}[2J\\u{a}\\u{7f}\"");
	check_shown(reversed, "\"\\u{202e}gpj\"");
	check_shown("p\xd0\xb0y", "\"p\\u{430}y\"");
	check_shown("\xf0\x9f\x98\x80", "\"\\u{1f600}\"");
	check_shown("\xff\xc3", "\"\\xff\\xc3\"");
	check_shown("\xed\xa0\x80", "\"\\xed\\xa0\\x80\""); /* a surrogate */
}
END_TEST

START_TEST(escapes_json)
{
	json_t *value = json_pack("{s:[s, s, i]}", "a\x7f", "\x7f\x7fz", "p\xd0\xb0y", 1);
	char *text = show_as_json(value, JSON_COMPACT);

	ck_assert_str_eq(text, "{\"a\\u007f\":[\"\\u007f\\u007fz\",\"p\\u0430y\",1]}");
	free(text);
	json_decref(value);
	ck_assert_ptr_null(show_as_json(NULL, 0));
}
END_TEST

/* Of a long text both ends are seen, and how much is not. */
START_TEST(shortens)
{
	char text[4096], shown[SHOW_BYTES_MAX];

	memset(text, 'm', sizeof(text));
	memcpy(text, "begin", 5);
	memcpy(text + sizeof(text) - 3, "end", 3);
	show_text(shown, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(shown, "m\\...3676 bytes...\\m"));
	ck_assert(strncmp(shown, "\"begin", 6) == 0 && strcmp(shown + strlen(shown) - 4, "end\"") == 0);
	check_shown("\\...9 bytes...\\", "\"\\\\...9 bytes...\\\\\"");
}
END_TEST

/* A text on which the answer depends is whole up to 2048 characters; of a longer one it is known how much is not. */
START_TEST(shows_long_texts)
{
	char text[4096], shown[SHOW_LONG_BYTES_MAX];

	memset(text, 'm', sizeof(text));
	memcpy(text + 1000, "evil", 4);
	ck_assert_uint_eq(show_long_text(shown, text, 2048), 0);
	ck_assert_uint_eq(strlen(shown), 2050);
	ck_assert_ptr_nonnull(strstr(shown, "mevilm"));
	ck_assert_uint_eq(show_long_text(shown, text, 2049), 2049 - 420);
	ck_assert_ptr_nonnull(strstr(shown, "m\\...1629 bytes...\\m"));
	memset(text, '\n', sizeof(text)); /* each is "\u{a}" */
	ck_assert_uint_eq(show_long_text(shown, text, 409), 0);
	ck_assert_uint_gt(show_long_text(shown, text, 410), 0);
	ck_assert_uint_eq(show_long_text(shown, text, 0), 0);
	ck_assert_str_eq(shown, "\"\"");
}
END_TEST

/* Any bytes: the buffer is never overrun (AddressSanitizer), and what is shown is printable ASCII. */
/* At most three rows of 80 columns, with a name and an indent before it. */
START_TEST(shows_in_short)
{
	char shown[SHOW_BYTES_MAX], text[5000];

	memset(text, 'a', sizeof(text));
	show_short_text(shown, text, 150);
	ck_assert_uint_eq(strlen(shown), 152);
	show_short_text(shown, text, 151);
	ck_assert_ptr_nonnull(strstr(shown, "a\\...1 bytes...\\a"));
	memset(text, '\n', sizeof(text));
	show_short_text(shown, text, sizeof(text));
	ck_assert_uint_lt(strlen("  again: with arguments: ") + strlen(shown), 3 * 80);
	ck_assert_ptr_nonnull(strstr(shown, " bytes...\\\\u{a}"));
}
END_TEST

START_TEST(shows_any_bytes)
{
	srandom(20);
	for (unsigned i = 0; i < 1000; i++) {
		size_t len = (size_t)(random() % (i % 4 < 2 ? 700 : 3000));
		char *bytes = malloc(len + 1), shown[SHOW_BYTES_MAX], whole[SHOW_LONG_BYTES_MAX];

		ck_assert_ptr_nonnull(bytes);
		for (size_t at = 0; at < len; at++)
			bytes[at] = (char)(i % 2 ? random() : 0xf0 | (random() & 7));
		show_text(shown, bytes, len);
		ck_assert_uint_lt(strlen(shown), SHOW_BYTES_MAX);
		for (const char *at = shown; *at; at++)
			ck_assert(*at >= ' ' && *at <= '~');
		ck_assert_uint_lt(show_long_text(whole, bytes, len), len + 1);
		free(bytes);
		ck_assert_uint_lt(strlen(whole), SHOW_LONG_BYTES_MAX);
		for (const char *at = whole; *at; at++)
			ck_assert(*at >= ' ' && *at <= '~');
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("show");
	TCase *all = tcase_create("all");

	tcase_add_test(all, escapes);
	tcase_add_test(all, escapes_json);
	tcase_add_test(all, shortens);
	tcase_add_test(all, shows_long_texts);
	tcase_add_test(all, shows_in_short);
	tcase_add_test(all, shows_any_bytes);
	suite_add_tcase(suite, all);
	return unit_run(suite);
}
