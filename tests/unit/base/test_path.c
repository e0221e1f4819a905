#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tests/unit/unit.h"

struct join_case {
	const char *base, *path, *want;
	bool lexical;
};

static const struct join_case joins[] = {
	{"/", "", "/", true},
	{"/", "/", "/", true},
	{"/", ".", "/", true},
	{"/", "..", "/", true},
	{"/", "../../x", "/x", true},
	{"/", "a", "/a", true},
	{"/", "a/", "/a", true},
	{"/work", "", "/work", true},
	{"/work", "a/b", "/work/a/b", true},
	{"/work", "./a/./b/.", "/work/a/b", true},
	{"/work", "a//b///c", "/work/a/b/c", true},
	{"/work", "..", "/", true},
	{"/work/sub", "../a", "/work/a", true},
	{"/work/sub", "../../../..", "/", true},
	{"/work/sub", "a/..", "/work/sub", false},
	{"/work/sub", "../a/../b", "/work/b", false},
	{"/work", "a/b/../../../../c", "/c", false},
	{"/work", "/etc/passwd", "/etc/passwd", true},
	{"/work", "//etc//passwd/", "/etc/passwd", true},
	{"/work", "/..", "/", true},
	{"/work", "/a/..", "/", false},
	{"/work", "/a/../../b", "/b", false},
	{"/work", "...", "/work/...", true},
	{"/work", ".a/..b/c..", "/work/.a/..b/c..", true},
};

START_TEST(test_join)
{
	const struct join_case *c = &joins[_i];
	bool lexical = !c->lexical;
	char out[PATH_MAX];
	int len = path_join(c->base, c->path, out, sizeof(out), &lexical);

	ck_assert_str_eq(out, c->want);
	ck_assert_int_eq(len, (int)strlen(c->want));
	ck_assert_int_eq(lexical, c->lexical);
}
END_TEST

/* An exact buffer, so that ASan finds an overflow. */
START_TEST(test_join_room)
{
	bool lexical = true;
	char *out = malloc(8);

	ck_assert_int_eq(path_join("/ab", "cde", out, 8, &lexical), 7);
	ck_assert_str_eq(out, "/ab/cde");
	ck_assert_int_eq(path_join("/ab", "cdef", out, 8, &lexical), -ENAMETOOLONG);
	ck_assert_int_eq(path_join("/", "1234567", out, 8, &lexical), -ENAMETOOLONG);
	ck_assert_int_eq(path_join("/234567", "", out, 8, &lexical), 7);
	ck_assert_int_eq(path_join("/2345678", "x", out, 8, &lexical), -ENAMETOOLONG);
	ck_assert_int_eq(path_join("/2345678", "/", out, 8, &lexical), 1);
	ck_assert_int_eq(path_join("/", "", out, 2, &lexical), 1);
	ck_assert_int_eq(path_join("/", "", out, 1, &lexical), -ENAMETOOLONG);
	free(out);
}
END_TEST

/* A path of PATH_MAX - 1 bytes is allowed, also when the result is shorter. */
START_TEST(test_join_long)
{
	char path[PATH_MAX], out[PATH_MAX];
	bool lexical;

	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '.' : '/';
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(path_join("/work", path, out, sizeof(out), &lexical), 1);
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	ck_assert_int_eq(path_join("/work", path, out, sizeof(out), &lexical), PATH_MAX - 1);
	ck_assert_int_eq(path_join("/work", path + 1, out, sizeof(out), &lexical), -ENAMETOOLONG);
}
END_TEST

START_TEST(test_split)
{
	char path[PATH_MAX + 4] = "a/b", dir[PATH_MAX];
	const char *name;

	ck_assert_int_eq(path_split("a/b/c", dir, &name), 0);
	ck_assert_str_eq(dir, "a/b");
	ck_assert_str_eq(name, "c");
	ck_assert_int_eq(path_split("c", dir, &name), 0);
	ck_assert_str_eq(dir, "");
	ck_assert_str_eq(name, "c");
	memset(path, 'a', PATH_MAX - 1);
	memcpy(path + PATH_MAX - 1, "/c", 3);
	ck_assert_int_eq(path_split(path, dir, &name), 0);
	ck_assert_uint_eq(strlen(dir), PATH_MAX - 1);
	memcpy(path + PATH_MAX - 1, "a/c", 4);
	ck_assert_int_eq(path_split(path, dir, &name), -ENAMETOOLONG);
}
END_TEST

START_TEST(test_below)
{
	ck_assert(path_is_below("/a/b", "/a"));
	ck_assert(path_is_below("/a", "/a"));
	ck_assert(path_is_below("/a", "/"));
	ck_assert(path_is_below("/", "/"));
	ck_assert(!path_is_below("/ab", "/a"));
	ck_assert(!path_is_below("/", "/a"));
	ck_assert(!path_is_below("/a", "/a/b"));
}
END_TEST

START_TEST(test_rest)
{
	const char *path = "/a/b/c";

	ck_assert_ptr_eq(path_get_rest_below(path, "/a"), path + 3);
	ck_assert_ptr_eq(path_get_rest_below(path, "/"), path + 1);
	ck_assert_str_eq(path_get_rest_below(path, path), "");
	ck_assert_str_eq(path_get_rest_below("/", "/"), "");
	ck_assert_ptr_null(path_get_rest_below(path, "/a/b/cd"));
	ck_assert_ptr_null(path_get_rest_below(path, "/a/b/c/d"));
}
END_TEST

START_TEST(test_wants_dir)
{
	static const char *const yes[] = {"/", "a/", "a/.", "a/..", ".", "..", "//", "/a//"};
	static const char *const no[] = {"", "a", "/a", "a/b", "...", "a.", "a..", "a/.b", "a/..b"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		ck_assert_msg(path_requires_directory(yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		ck_assert_msg(!path_requires_directory(no[i]), "%s", no[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("path");
	TCase *tcase = tcase_create("path");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, test_join, 0, sizeof(joins) / sizeof(joins[0]));
	tcase_add_test(tcase, test_join_room);
	tcase_add_test(tcase, test_join_long);
	tcase_add_test(tcase, test_split);
	tcase_add_test(tcase, test_below);
	tcase_add_test(tcase, test_rest);
	tcase_add_test(tcase, test_wants_dir);
	return unit_run(suite);
}
