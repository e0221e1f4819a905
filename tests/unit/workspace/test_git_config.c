/* What git's configuration names (workspace/executed/git-config.h). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "workspace/executed/git-config.h"

/* The variables of a text, as "section.key=value" with "|" between them. */
static const char *variables(const char *text)
{
	static char all[2 * PATH_MAX];
	struct git_config_variable variable = {.section = ""};

	all[0] = '\0';
	while (git_config_read(&text, &variable)) {
		const size_t len = strlen(all);

		(void)snprintf(all + len, sizeof(all) - len, "%s%s.%s=%s", len ? "|" : "", variable.section,
			       variable.key, variable.value);
	}
	return all;
}

START_TEST(test_config)
{
	static const struct {
		const char *text, *all;
	} cases[] = {
		{"", ""},
		{"[core]\n\thooksPath = a b \n", "core.hookspath=a b"},
		{"[CORE] hooksPath=a;b\n", "core.hookspath=a"},
		{"# x\n; [core]\n[core]\nbare\nPager = \"a # b\" # c\n", "core.pager=a # b"},
		{"[filter \"x]\\\"y\"]\nclean = a \\\n b\nsmudge=\"\\\"q\\\"\"\n",
		 "filter.clean=a  b|filter.smudge=\"q\""},
		{"[filter.x]\nclean=c\n[core]fsmonitor=m", "filter.clean=c|core.fsmonitor=m"},
		{"\xef\xbb\xbf[core]\r\nhooksPath = h\r\n", "core.hookspath=h"},
		{"[core\nhooksPath = h\n", "core.hookspath=h"},
		{"[core]\nhooksPath = \"h\n[a]x=y\n", "core.hookspath=h|a.x=y"},
		{"[core]\nhooksPath = h\\", "core.hookspath=h"},
		{"[core]\nhooksPath =", "core.hookspath="},
		{"[core]\nhooksPath = \"h  \"  \n", "core.hookspath=h  "},
		{"[core]\n= x\n?\nhooksPath = h\n", "core.hookspath=h"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_str_eq(variables(cases[i].text), cases[i].all);
}
END_TEST

/* Names and values that are too long are shortened, and do not spill. */
START_TEST(test_long)
{
	const size_t len = 3 * (size_t)PATH_MAX;
	char *text = malloc(len + 32);
	struct git_config_variable variable = {.section = ""};
	const char *at = text;

	ck_assert_ptr_nonnull(text);
	memset(text, 'a', len + 31);
	text[0] = '[';
	text[100] = ']';
	text[200] = '=';
	text[len + 31] = '\0';
	ck_assert(git_config_read(&at, &variable));
	ck_assert_uint_eq(strlen(variable.section), sizeof(variable.section) - 1);
	ck_assert_uint_eq(strlen(variable.key), sizeof(variable.key) - 1);
	ck_assert_uint_eq(strlen(variable.value), PATH_MAX - 1);
	ck_assert(!git_config_read(&at, &variable));
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("git-config");
	TCase *tests = tcase_create("all");

	tcase_add_test(tests, test_config);
	tcase_add_test(tests, test_long);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
