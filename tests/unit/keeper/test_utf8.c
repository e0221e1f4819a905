/* The examples are those of the Unicode Standard 3.9, tables 3-8 to 3-11. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "keeper/utf8.h"
#include "tests/unit/unit.h"

#define BAD "\xef\xbf\xbd"

static const struct {
	const char *bytes, *text;
} cases[] = {
	{"", ""},
	{"plain", "plain"},
	{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"a\xff""b", "a" BAD "b"},
	/* overlong forms */
	{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", BAD BAD BAD BAD BAD BAD BAD BAD "A"},
	/* surrogates */
	{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", BAD BAD BAD BAD BAD BAD BAD BAD "A"},
	/* past U+10FFFF and stray continuation bytes */
	{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", BAD BAD BAD BAD BAD "A" BAD BAD "B"},
	/* each truncated sequence becomes one U+FFFD */
	{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", BAD BAD BAD BAD "A"},
	{"end\xe2\x82", "end" BAD},
};

START_TEST(test_text)
{
	_cleanup_free_ char *text = NULL;
	bool changed;
	size_t len;

	text = utf8_copy_repaired(cases[_i].bytes, strlen(cases[_i].bytes), &len, &changed);
	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, cases[_i].text);
	ck_assert_uint_eq(len, strlen(cases[_i].text));
	ck_assert(changed == (strcmp(cases[_i].bytes, cases[_i].text) != 0));
}
END_TEST

START_TEST(test_nul)
{
	_cleanup_free_ char *text = NULL;
	bool changed;
	size_t len;

	text = utf8_copy_repaired("a\0b", 3, &len, &changed);
	ck_assert_uint_eq(len, 3);
	ck_assert_mem_eq(text, "a\0b", 4);
	ck_assert(!changed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("utf8");
	TCase *tcase = tcase_create("utf8");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, test_text, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_test(tcase, test_nul);
	return unit_run(suite);
}
