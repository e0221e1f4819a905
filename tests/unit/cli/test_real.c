/* cli_resolve_real_path() against realpath(3), on links of every kind; one memory for all of them, in both orders. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/host/real.h"
#include "tests/unit/cli/made-tree.h"
#include "tests/unit/unit.h"

static char top[] = "/tmp/callgate-real-XXXXXX";

static const struct made_entry made[] = {
	{"a", NULL},
	{"a/b", NULL},
	{"a/b/c", NULL},
	{"f", ""},
	{"a/sibling", "../a/b"},
	{"a/near", "b"},
	{"chain", "a/sibling/c"},
	{"circle", "circle"},
	{"a/up", ".."},
	{"a/up-slash", "../"},
	{"dot", "./a"},
	{"slash", "a/"},
	{"file-slash", "f/"},
	{"file-dot", "f/."},
	{"odd", "f/../a"},
	{"far", "../../../../../../../../../../tmp"},
	{"root", "/"},
	{"gone", "nothing"},
};

static const char *const asked[] = {
	"",
	"/",
	"/a",
	"/a/b/c",
	"/a/sibling",
	"/a/sibling/c",
	"/a/near/c",
	"/a/near/none",
	"/chain",
	"/chain/x",
	"/circle",
	"/circle/x",
	"/a/up",
	"/a/up/f",
	"/a/up/a/up/a",
	"/a/up-slash/f",
	"/dot",
	"/dot/b",
	"/slash/b",
	"/file-slash",
	"/file-dot",
	"/odd",
	"/odd/b",
	"/far",
	"/far/none",
	"/root",
	"/root/tmp",
	"/gone",
	"/gone/x",
	"/f",
	"/f/",
	"/f/x",
	"/a//b",
	"/a/./b",
	"/a/../f",
	"/a/",
	"/none",
	"/none/x",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void make_all(void)
{
	made_tree_create(top, made, COUNT(made));
}

static void remove_all(void)
{
	made_tree_remove(top, made, COUNT(made));
}

static void same(struct cli_path_cache *real, const char *path)
{
	char *found = cli_resolve_real_path(real, path), *expected = realpath(path, NULL);

	ck_assert_msg(!found == !expected, "%s: %s, not %s", path, found, expected);
	if (found)
		ck_assert_str_eq(found, expected);
	free(found);
	free(expected);
}

START_TEST(test_like_realpath)
{
	struct cli_path_cache real = {0};
	char path[PATH_MAX];

	make_all();
	for (size_t i = 0; i < 2 * COUNT(asked); i++) {
		size_t which = i < COUNT(asked) ? i : 2 * COUNT(asked) - 1 - i;

		(void)snprintf(path, sizeof(path), "%s%s", top, asked[which]);
		same(&real, path);
	}
	same(&real, "/");
	same(&real, "//");
	same(&real, "/..");
	same(&real, "");
	ck_assert_int_eq(chdir(top), 0);
	same(&real, "a/up-slash/./odd/../file");
	same(&real, "a/near/../c");
	same(&real, ".");
	same(&real, "../tmp");
	cli_path_cache_release(&real);
	remove_all();
}
END_TEST

/* More names than the table has room for at first. */
START_TEST(test_many)
{
	struct cli_path_cache real = {0};
	char path[64];

	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(path, sizeof(path), "/none-%u/x", i % 2500);
		ck_assert_ptr_null(cli_resolve_real_path(&real, path));
	}
	same(&real, "/tmp");
	cli_path_cache_release(&real);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("real");
	TCase *tcase = tcase_create("real");

	tcase_add_test(tcase, test_like_realpath);
	tcase_add_test(tcase, test_many);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
