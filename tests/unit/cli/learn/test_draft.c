/* The policy that is being learnt: rules with reasons, disabled ones, additions to an earlier policy, its file. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/learn/draft.h"
#include "tests/unit/unit.h"

static char dir[] = "/tmp/test-draft-XXXXXX";

static int add(struct draft *draft, unsigned right, const char *path, const char *disabled)
{
	return draft_add_path_rule(draft, right, path, strdup("a reason"), NULL, disabled);
}

/* The n-th rule of filesystem.KEY. Borrowed; NULL: there is none. */
static const json_t *get_rule(const struct draft *draft, const char *key, size_t at)
{
	return json_array_get(json_object_get(json_object_get(draft->root, "filesystem"), key), at);
}

START_TEST(rules_have_reasons)
{
	struct draft draft = {0};
	struct scan_found found = {.files = 7, .used = 2, .sensitive_names = {strdup("/d/key"), strdup("/d/other")}};
	const json_t *also;

	ck_assert_int_eq(draft_init(&draft, NULL, "x", "minimal"), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/a", NULL), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/a", NULL), 0); /* once */
	ck_assert_int_eq(add(&draft, POLICY_WRITE, "/d/a", NULL), 0);
	ck_assert_int_eq(draft_add_path_rule(&draft, POLICY_READ, "/d", strdup("r"), &found, NULL), 0);
	ck_assert_int_eq(draft_add_path_rule(&draft, POLICY_READ, "/e", NULL, NULL, NULL), -ENOMEM);
	ck_assert_uint_eq(draft_count_rules(&draft), 3);
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(&draft, "read", 0), "because")), "a reason");
	also = json_object_get(get_rule(&draft, "read", 1), "also_grants");
	ck_assert_int_eq(json_integer_value(json_object_get(also, "count")), 5);
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(also, "names"), 0)), "/d/key");
	scan_found_release(&found);
	draft_release(&draft);
}
END_TEST

START_TEST(disabled_rules_count_for_nothing)
{
	struct draft draft = {0};

	ck_assert_int_eq(draft_init(&draft, NULL, "x", "minimal"), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/.env", ".env file"), 0);
	ck_assert_uint_eq(draft_count_rules(&draft), 0);
	ck_assert_str_eq(json_string_value(json_object_get(get_rule(&draft, "read", 0), "disabled")), ".env file");
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/.env", ".env file"), 0);
	ck_assert_uint_eq(draft_count_rules(&draft), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/.env", NULL), 0); /* --allow-risky --merge */
	ck_assert_uint_eq(draft_count_rules(&draft), 1);
	ck_assert_ptr_null(get_rule(&draft, "read", 1));
	draft_release(&draft);
}
END_TEST

START_TEST(an_earlier_policy_keeps_its_rules)
{
	_cleanup_json_ json_t *old = json_loads("{\"version\": 1, \"name\": \"old\", \"extends\": [\"data\"],"
						"\"filesystem\": {\"read\": [\"/d/a\", {\"path\": \"/d/b\"}]},"
						"\"limits\": {\"wall\": \"5s\"}}", 0, NULL);
	struct draft draft = {0};

	ck_assert_int_eq(draft_init(&draft, old, "new", NULL), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/a", NULL), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/b", NULL), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/c", NULL), 0);
	ck_assert_uint_eq(draft_count_rules(&draft), 3);
	ck_assert_str_eq(json_string_value(get_rule(&draft, "read", 0)), "/d/a");
	ck_assert_str_eq(json_string_value(json_object_get(draft.root, "name")), "old");
	ck_assert_str_eq(json_string_value(json_object_get(json_object_get(draft.root, "limits"), "wall")), "5s");
	ck_assert_uint_eq(json_array_size(json_object_get(json_object_get(old, "filesystem"), "read")), 2);
	draft_release(&draft);
}
END_TEST

START_TEST(names_that_are_no_text_are_kept_as_text)
{
	struct draft draft = {0};

	ck_assert_int_eq(draft_init(&draft, NULL, "x", NULL), 0);
	ck_assert_int_eq(draft_add_ungrantable_path(&draft, POLICY_READ, "/d/\xff\n", "why"), 0);
	ck_assert_int_eq(draft_add_ungrantable_path(&draft, POLICY_READ, "/d/\xff\n", "why"), 0);
	ck_assert_int_eq(draft_add_ungrantable_path(&draft, POLICY_WRITE, "/d/\xff\n", "why"), 0);
	ck_assert_int_eq(draft_add_disabled_path(&draft, "/d/\xff"), 0);
	ck_assert_int_eq(draft_add_disabled_path(&draft, "/d/\xff"), 0);
	ck_assert_uint_eq(json_array_size(draft.ungrantable), 2);
	ck_assert_uint_eq(json_array_size(draft.disabled_paths), 1);
	ck_assert_str_eq(json_string_value(json_array_get(draft.disabled_paths, 0)), "/d/\\xff");
	draft_release(&draft);
}
END_TEST

START_TEST(writing_outside)
{
	static const struct {
		const char *extends, *path, *disabled;
		bool outside;
	} cases[] = {
		{"minimal", "@workdir/x", NULL, false}, {"minimal", "/data", NULL, true},
		{"minimal", "~/x", NULL, true},
		{"minimal", "/data", "why", false},     {"./own.json", "@workdir", NULL, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct draft draft = {0};

		ck_assert_int_eq(draft_init(&draft, NULL, "x", cases[i].extends), 0);
		ck_assert_int_eq(add(&draft, POLICY_WRITE, cases[i].path, cases[i].disabled), 0);
		ck_assert_msg(draft_writes_outside_workdir(&draft) == cases[i].outside, "%zu", i);
		draft_release(&draft);
	}
}
END_TEST

START_TEST(a_file_is_not_replaced_unasked)
{
	_cleanup_free_ char *path = text_format("%s/p.json", dir), *below = text_format("%s/p.json/q", dir),
			    *text = NULL;
	struct draft draft = {0};
	struct stat status;
	size_t len;

	ck_assert_int_eq(draft_init(&draft, NULL, "x", "minimal"), 0);
	ck_assert_int_eq(draft_write(&draft, path, true), 0);
	ck_assert_int_eq(add(&draft, POLICY_READ, "/d/new", NULL), 0);
	ck_assert_int_eq(draft_write(&draft, path, true), -EEXIST);
	ck_assert_int_eq(io_read_file(AT_FDCWD, path, 100000, &text, &len), 0);
	ck_assert_ptr_null(strstr(text, "/d/new"));
	free(text);
	text = NULL;
	ck_assert_int_eq(draft_write(&draft, path, false), 0);
	ck_assert_int_eq(io_read_file(AT_FDCWD, path, 100000, &text, &len), 0);
	ck_assert_ptr_nonnull(strstr(text, "/d/new"));
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0644);
	ck_assert_int_eq(draft_write(&draft, below, true), -ENOTDIR);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else is left in it */
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	draft_release(&draft);
}
END_TEST

static void make_dir(void)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
	ck_assert_int_eq(io_remove_tree(AT_FDCWD, dir), 0);
}

int main(void)
{
	Suite *suite = suite_create("learn draft");
	TCase *tcase = tcase_create("all");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, make_dir, remove_dir);
	tcase_add_test(tcase, rules_have_reasons);
	tcase_add_test(tcase, disabled_rules_count_for_nothing);
	tcase_add_test(tcase, an_earlier_policy_keeps_its_rules);
	tcase_add_test(tcase, names_that_are_no_text_are_kept_as_text);
	tcase_add_test(tcase, writing_outside);
	tcase_add_test(tcase, a_file_is_not_replaced_unasked);
	return unit_run(suite);
}
