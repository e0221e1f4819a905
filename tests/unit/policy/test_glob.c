/* The glob matcher against a naive one that tries every split, and its time on hostile patterns. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/paths/glob.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/unit.h"

/* Returns the first component's length; the rest is NULL after the last component. */
static size_t head(const char *text, const char **ret_rest)
{
	const char *end = strchrnul(text, '/');

	*ret_rest = *end ? end + 1 : NULL;
	return (size_t)(end - text);
}

static bool naive_name(const char *pattern, size_t pattern_len, const char *name, size_t len)
{
	if (pattern_len == 0)
		return len == 0;
	if (*pattern == '*')
		return naive_name(pattern + 1, pattern_len - 1, name, len) ||
		       (len > 0 && naive_name(pattern, pattern_len, name + 1, len - 1));
	return len > 0 && *pattern == *name && naive_name(pattern + 1, pattern_len - 1, name + 1, len - 1);
}

/* A NULL path has no component left. */
static bool naive(const char *pattern, const char *path)
{
	const char *pattern_rest, *path_get_rest_below;
	size_t pattern_len, len;

	if (!pattern)
		return !path;
	pattern_len = head(pattern, &pattern_rest);
	if (pattern_len == 2 && memcmp(pattern, "**", 2) == 0) {
		if (naive(pattern_rest, path))
			return true;
		if (!path)
			return false;
		(void)head(path, &path_get_rest_below);
		return naive(pattern, path_get_rest_below);
	}
	if (!path)
		return false;
	len = head(path, &path_get_rest_below);
	return naive_name(pattern, pattern_len, path, len) && naive(pattern_rest, path_get_rest_below);
}

/* Any path below (up to two more components of the alphabet, or what the pattern needs) that matches. */
static bool naive_below(const char *pattern, const char *path)
{
	const char *pattern_rest, *path_get_rest_below;
	size_t pattern_len, len;

	if (!path)
		return true;
	if (!pattern)
		return false;
	pattern_len = head(pattern, &pattern_rest);
	if (pattern_len == 2 && memcmp(pattern, "**", 2) == 0)
		return true;
	len = head(path, &path_get_rest_below);
	return naive_name(pattern, pattern_len, path, len) && naive_below(pattern_rest, path_get_rest_below);
}

static uint64_t state = 88172645463325252u;

static unsigned pick(unsigned count)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state % count);
}

static void make(char *out, bool pattern)
{
	unsigned parts = 1 + pick(4);
	char last;

	for (unsigned i = 0; i < parts; i++) {
		if (i)
			*out++ = '/';
		if (pattern && pick(4) == 0) {
			*out++ = '*';
			*out++ = '*';
			continue;
		}
		last = '/';
		for (unsigned j = 0, len = 1 + pick(4); j < len; j++) {
			last = pattern && pick(3) == 0 && last != '*' ? '*' : (char)('a' + (char)pick(2));
			*out++ = last;
		}
	}
	*out = '\0';
}

START_TEST(test_like_naive)
{
	char pattern[32], path[32];
	const unsigned count = SANITIZED ? 30000 : (unsigned)few_of(300000);
	unsigned matched = 0;

	for (unsigned i = 0; i < count; i++) {
		struct arena arena = {0};
		struct glob glob, below;
		char longer[80];

		make(pattern, true);
		make(path, false);
		ck_assert_int_eq(glob_compile(&arena, pattern, false, &glob), 0);
		ck_assert_int_eq(glob_compile(&arena, pattern, true, &below), 0);
		ck_assert_msg(glob_matches(&glob, path, strlen(path)) == naive(pattern, path), "%s %s", pattern, path);
		ck_assert_msg(glob_may_match_below(&glob, path, strlen(path)) == naive_below(pattern, path),
			      "below %s %s", pattern, path);
		(void)snprintf(longer, sizeof(longer), "%s/**", pattern);
		ck_assert_msg(glob_matches(&below, path, strlen(path)) == naive(longer, path), "%s %s", longer, path);
		ck_assert_msg(glob_matches(&glob, "", 0) == naive(pattern, NULL), "%s and nothing", pattern);
		matched += naive(pattern, path);
		arena_release(&arena);
	}
	ck_assert_uint_gt(matched, count / 30); /* enough of the random cases must match */
}
END_TEST

START_TEST(test_bad_patterns)
{
	static const char *const bad[] = {"", "a//b", "a/", "/a", "a**", "**a", "a/**b/c", "***"};
	struct arena arena = {0};
	struct glob glob;
	char deep[3 * GLOB_PARTS_MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(glob_compile(&arena, bad[i], false, &glob) == -EINVAL, "%s", bad[i]);
	memset(deep, '/', sizeof(deep));
	for (size_t i = 0; i < sizeof(deep); i += 2)
		deep[i] = 'a';
	deep[2 * GLOB_PARTS_MAX - 1] = '\0';
	ck_assert_int_eq(glob_compile(&arena, deep, true, &glob), 0);
	deep[2 * GLOB_PARTS_MAX - 1] = '/';
	deep[2 * GLOB_PARTS_MAX + 1] = '\0';
	ck_assert_int_eq(glob_compile(&arena, deep, false, &glob), -E2BIG);
	arena_release(&arena);
}
END_TEST

/* Patterns on which backtracking to every star takes exponential time. */
START_TEST(test_no_blow_up)
{
	static char pattern[4096], path[4096];
	struct arena arena = {0};
	struct timespec begin, end;
	struct glob glob;

	for (unsigned i = 0; i < 60; i++)
		memcpy(pattern + strlen(pattern), i % 2 ? "*a/" : "**/", 4);
	memcpy(pattern + strlen(pattern), "b", 2);
	for (unsigned i = 0; i + 1 < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'a';
	ck_assert_int_eq(glob_compile(&arena, pattern, false, &glob), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	ck_assert(!glob_matches(&glob, path, strlen(path)));
	memset(pattern, 0, sizeof(pattern));
	for (unsigned i = 0; i < 120; i++)
		memcpy(pattern + strlen(pattern), "*a", 3);
	memcpy(pattern + strlen(pattern), "b", 2);
	memset(path, 'a', sizeof(path) - 1);
	ck_assert_int_eq(glob_compile(&arena, pattern, false, &glob), 0);
	ck_assert(!glob_matches(&glob, path, strlen(path)));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	ck_assert_int_lt((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000, 1000);
	arena_release(&arena);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy glob");
	TCase *tcase = tcase_create("glob");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_like_naive);
	tcase_add_test(tcase, test_bad_patterns);
	tcase_add_test(tcase, test_no_blow_up);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
