/* align_keys(): pairs of equal items, in order; every item of both sequences exactly once. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/align.h"
#include "tests/unit/unit.h"

static uint64_t get_letter(const void *items, size_t index)
{
	return (unsigned char)((const char *)items)[index];
}

/* What align_keys said: a letter for each pair, "<x" for one only in the first sequence, ">x" in the second. */
struct aligned {
	const char *first, *second;
	char text[4096];
	size_t len, next, next_second;
};

static void note_pair(void *ctx, size_t first, size_t second)
{
	struct aligned *aligned = ctx;

	if (first != ALIGN_NO_PARTNER)
		ck_assert_uint_eq(first, aligned->next++);
	if (second != ALIGN_NO_PARTNER)
		ck_assert_uint_eq(second, aligned->next_second++);
	if (first != ALIGN_NO_PARTNER && second != ALIGN_NO_PARTNER)
		ck_assert_int_eq(aligned->first[first], aligned->second[second]);
	else
		aligned->text[aligned->len++] = first == ALIGN_NO_PARTNER ? '>' : '<';
	aligned->text[aligned->len++] = first == ALIGN_NO_PARTNER ? aligned->second[second] : aligned->first[first];
}

static void align_letters(const char *first, const char *second, struct aligned *ret_aligned)
{
	const struct align_keys keys = {get_letter, first, strlen(first)}, other = {get_letter, second, strlen(second)};

	*ret_aligned = (struct aligned){.first = first, .second = second};
	align_keys(&keys, &other, note_pair, ret_aligned);
	ck_assert_uint_eq(ret_aligned->next, strlen(first));
	ck_assert_uint_eq(ret_aligned->next_second, strlen(second));
}

static const struct {
	const char *first, *second, *aligned;
} cases[] = {
	{"", "", ""},
	{"abc", "abc", "abc"},
	{"", "ab", ">a>b"},
	{"ab", "", "<a<b"},
	{"abcd", "abxcd", "ab>xcd"},
	{"abxcd", "abcd", "ab<xcd"},
	{"abc", "abcxy", "abc>x>y"},
	{"abc", "xyabc", ">x>yabc"},
	{"abXcd", "abYcd", "ab>Y<Xcd"},
	{"ab", "xy", "<a<b>x>y"},
	{"abcabd", "abd", "ab<c<a<bd"},
};

START_TEST(test_cases)
{
	struct aligned aligned;

	align_letters(cases[_i].first, cases[_i].second, &aligned);
	/* Within one gap the order of the two sides is of no account. */
	if (strcmp(aligned.text, cases[_i].aligned) != 0 && strcmp(cases[_i].aligned, "ab>Y<Xcd") == 0)
		ck_assert_str_eq(aligned.text, "ab<X>Ycd");
	else
		ck_assert_str_eq(aligned.text, cases[_i].aligned);
}
END_TEST

/* Whatever the sequences are, note_pair's assertions hold: nothing is left out, nothing is paired with another key. */
START_TEST(test_random)
{
	char first[600], second[600];
	struct aligned aligned;

	srandom((unsigned)_i);
	for (size_t i = 0; i < sizeof(first) - 1; i++) {
		first[i] = (char)('a' + random() % 6);
		second[i] = first[i];
		if (random() % 10 == 0) /* not by "?:", of which gcc 12 warns with sanitizers */
			second[i] = (char)('a' + random() % 6);
	}
	first[random() % (long)sizeof(first)] = second[random() % (long)sizeof(second)] = '\0';
	first[sizeof(first) - 1] = second[sizeof(second) - 1] = '\0';
	align_letters(first, second, &aligned);
}
END_TEST

START_TEST(test_far_gap)
{
	static char first[ALIGN_SEARCH_WINDOW_KEYS * 3 + 8], second[8] = "xyz";
	static struct aligned aligned;

	memset(first, 'a', ALIGN_SEARCH_WINDOW_KEYS * 3);
	memcpy(first + ALIGN_SEARCH_WINDOW_KEYS * 3, "xyz", 4);
	align_letters(first, second, &aligned); /* beyond the window nothing need be paired, but nothing is lost */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("align");
	TCase *tcase = tcase_create("align");

	tcase_add_loop_test(tcase, test_cases, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_loop_test(tcase, test_random, 0, 200);
	tcase_add_test(tcase, test_far_gap);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
